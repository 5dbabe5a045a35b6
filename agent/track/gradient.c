/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/gradient.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/train/objective.h"
#include "lib/rng.h"

/* Samples of a piece: enough that handing it out costs nothing, few enough for many threads. */
#define PIECE_SAMPLES_MIN 512u
#define PIECES_MAX	  4096u
_Static_assert(PIECES_MAX <= POOL_TASKS_MAX, "the pool takes all pieces at once");

struct gradient {
	const struct local *local;
	struct pool *pool;
	uint64_t seed;
	uint32_t samples; /* of one gradient */
	bool is_drawn;	  /* else all of the part */
	uint32_t piece_samples, pieces;
	struct task_result *results; /* [pieces], of those that came out of turn */
	uint32_t added;		     /* pieces that are in the sum */
	bool is_running;
	uint64_t version;
	double *values, loss;
	uint64_t on_cpu_ns, pieces_done;
};

/* The penalty is no part of what is weighted. */
static struct objective weighted_objective(const struct local *local)
{
	struct iso_model model = local->model;

	model.l2 = (float)((double)model.l2 / local->weight);
	return objective_of_model(&model);
}

int gradient_open(const struct local *local, uint32_t batch, uint64_t seed, struct pool *pool,
		  struct gradient **ret_gradient, struct error *reterr)
{
	struct gradient *gradient = calloc(1, sizeof(*gradient));

	if (gradient == NULL)
		return error_errno(reterr, -ENOMEM, "gradient");
	gradient->local = local;
	gradient->pool = pool;
	gradient->seed = seed;
	gradient->is_drawn = batch != 0 && batch < local->samples_count;
	gradient->samples = gradient->is_drawn ? batch : local->samples_count;
	gradient->piece_samples = (gradient->samples - 1) / PIECES_MAX + 1;
	if (gradient->piece_samples < PIECE_SAMPLES_MIN)
		gradient->piece_samples = PIECE_SAMPLES_MIN;
	gradient->pieces = (gradient->samples - 1) / gradient->piece_samples + 1;
	gradient->results = calloc(gradient->pieces, sizeof(*gradient->results));
	gradient->values = calloc(local->params, sizeof(*gradient->values));
	if (gradient->results == NULL || gradient->values == NULL) {
		gradient_close(gradient);
		return error_errno(reterr, -ENOMEM, "gradient");
	}
	pool_set_lesson(pool, &(struct lesson){
				  .objective = weighted_objective(local),
				  .data = local->data,
				  .part = local->samples,
				  .part_samples = local->samples_count,
				  .samples_max = gradient->samples < gradient->piece_samples
						     ? gradient->samples
						     : gradient->piece_samples,
			      });
	*ret_gradient = gradient;
	return 0;
}

static void forget_results(struct gradient *gradient)
{
	for (uint32_t i = 0; gradient->results != NULL && i < gradient->pieces; i++) {
		free(gradient->results[i].gradient);
		gradient->results[i].gradient = NULL;
	}
}

struct gradient *gradient_close(struct gradient *gradient)
{
	if (gradient == NULL)
		return NULL;
	/* The lesson stands on what the owner frees next. */
	pool_set_lesson(gradient->pool, NULL);
	forget_results(gradient);
	free(gradient->results);
	free(gradient->values);
	free(gradient);
	return NULL;
}

static struct task piece_task(const struct gradient *gradient, uint64_t number, uint32_t piece)
{
	uint32_t first = piece * gradient->piece_samples, left = gradient->samples - first;
	/* Of each gradient, and of each piece of it, a sequence of its own. */
	struct iso_rng of_gradient = { gradient->seed ^ number };
	struct iso_rng rng = { iso_rng_next(&of_gradient) ^ piece };

	return (struct task){
		.version = gradient->version,
		.seed = iso_rng_next(&rng),
		.task = piece,
		.attempt = 1,
		.samples = left < gradient->piece_samples ? left : gradient->piece_samples,
		.is_range = !gradient->is_drawn,
		.first = gradient->is_drawn ? 0 : first,
	};
}

int gradient_start(struct gradient *gradient, uint64_t number, const double *y)
{
	uint32_t params_count = gradient->local->params;
	float *params = calloc(params_count, sizeof(*params));
	int r = params == NULL ? -ENOMEM : 0;

	assert(!gradient->is_running);
	gradient->version++;
	for (uint32_t i = 0; i < params_count && r == 0; i++) {
		params[i] = (float)y[i];
		gradient->values[i] = 0;
	}
	if (r == 0)
		r = pool_set_point(gradient->pool, gradient->version, params);
	for (uint32_t i = 0; i < gradient->pieces && r == 0; i++) {
		struct task task = piece_task(gradient, number, i);

		r = pool_submit(gradient->pool, &task);
	}
	if (r < 0) {
		pool_cancel(gradient->pool, NULL);
		return -ENOMEM;
	}
	gradient->added = 0;
	gradient->loss = 0;
	gradient->is_running = true;
	return 0;
}

bool gradient_is_running(const struct gradient *gradient)
{
	return gradient->is_running;
}

/* In the order of the pieces, so that the sum is the same whoever was faster. */
static void add_in_turn(struct gradient *gradient)
{
	while (gradient->added < gradient->pieces) {
		struct task_result *result = &gradient->results[gradient->added];

		if (result->gradient == NULL)
			return;
		double weight = gradient->local->weight * result->task.samples / gradient->samples;
		for (uint32_t i = 0; i < gradient->local->params; i++)
			gradient->values[i] += weight * (double)result->gradient[i];
		gradient->loss += weight * result->loss;
		free(result->gradient);
		result->gradient = NULL;
		gradient->added++;
	}
	gradient->is_running = false;
}

static int fail(struct gradient *gradient, int code)
{
	pool_cancel(gradient->pool, NULL);
	forget_results(gradient);
	gradient->is_running = false;
	return code;
}

int gradient_take(struct gradient *gradient)
{
	struct task_result result;

	while (pool_take(gradient->pool, &result)) {
		bool is_wanted = gradient->is_running && result.task.version == gradient->version;
		bool is_of_use = !result.abandoned && !result.not_finite;

		gradient->on_cpu_ns += result.on_cpu_ns;
		gradient->pieces_done += is_of_use;
		if (!is_wanted) {
			free(result.gradient);
			continue;
		}
		if (!is_of_use) {
			free(result.gradient);
			return fail(gradient, result.not_finite ? -EDOM : -ENOMEM);
		}
		gradient->results[result.task.task] = result;
	}
	if (!gradient->is_running)
		return 0;
	add_in_turn(gradient);
	return !gradient->is_running;
}

const double *gradient_values(const struct gradient *gradient)
{
	assert(!gradient->is_running);
	return gradient->values;
}

double gradient_loss(const struct gradient *gradient)
{
	assert(!gradient->is_running);
	return gradient->loss;
}

uint64_t gradient_on_cpu_ns(const struct gradient *gradient)
{
	return gradient->on_cpu_ns;
}

uint64_t gradient_pieces(const struct gradient *gradient)
{
	return gradient->pieces_done;
}
