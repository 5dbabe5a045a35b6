/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/evaluate.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/train/evaluate_pass.h"
#include "agent/train/examiner.h"

#define FINISH_WAIT_MS 100
/* Whoever ends a coordinator waits no longer than this for the last evaluation. */
#define FINISH_NS 30000000000ull

struct evaluation {
	/* One of these two. */
	struct pass *pass;
	struct examiner *examiner;
	struct objective objective; /* of the pass */
	bool is_running;
	struct evaluation_point running;
	struct evaluation_point points[EVALUATIONS_MAX];
	uint32_t points_count;
};

static int open_model(struct evaluation *evaluation, const struct evaluation_config *config,
		      struct error *reterr)
{
	if (!dataset_fits(config->data, config->model))
		return error_set(reterr, -EINVAL, "the test set does not fit the model");
	evaluation->objective = objective_of_model(config->model);
	if (pass_open(&evaluation->objective, config->data, &evaluation->pass) < 0)
		return error_errno(reterr, -ENOMEM, "evaluation");
	return 0;
}

static int open_task(struct evaluation *evaluation, const struct evaluation_config *config,
		     struct error *reterr)
{
	const struct examiner_config child = {
		.executable = config->executable,
		.task = config->task,
		.data = config->folder,
		.limit_ns = config->limit_ns,
	};

	return examiner_open(&child, &evaluation->examiner, reterr);
}

int evaluation_open(const struct evaluation_config *config, struct evaluation **ret_evaluation,
		    struct error *reterr)
{
	struct evaluation *evaluation;
	int r;

	if (config->data->samples == 0)
		return error_set(reterr, -EINVAL, "the test set is empty");
	evaluation = calloc(1, sizeof(*evaluation));
	if (evaluation == NULL)
		return error_errno(reterr, -ENOMEM, "evaluation");
	r = config->model != NULL ? open_model(evaluation, config, reterr)
				  : open_task(evaluation, config, reterr);
	if (r < 0) {
		evaluation_close(evaluation);
		return r;
	}
	*ret_evaluation = evaluation;
	return 0;
}

struct evaluation *evaluation_close(struct evaluation *evaluation)
{
	if (evaluation == NULL)
		return NULL;
	pass_close(evaluation->pass);
	examiner_close(evaluation->examiner);
	free(evaluation);
	return NULL;
}

uint32_t evaluation_params(const struct evaluation *evaluation)
{
	return evaluation->pass != NULL ? evaluation->objective.params
					: examiner_params(evaluation->examiner);
}

uint64_t evaluation_user_task(const struct evaluation *evaluation)
{
	return evaluation->pass != NULL ? 0 : examiner_checksum(evaluation->examiner);
}

const char *evaluation_task_name(const struct evaluation *evaluation)
{
	return evaluation->pass != NULL ? NULL : examiner_name(evaluation->examiner);
}

int evaluation_init(struct evaluation *evaluation, uint64_t seed, float *ret_params,
		    struct error *reterr)
{
	if (evaluation->examiner != NULL)
		return examiner_init(evaluation->examiner, seed, ret_params, reterr);
	objective_init(&evaluation->objective, seed, ret_params);
	return 0;
}

void evaluation_start(struct evaluation *evaluation, const float *params, uint64_t round,
		      uint64_t at_ns, uint64_t now_ns)
{
	if (evaluation->examiner != NULL) {
		if (evaluation->is_running || !examiner_start(evaluation->examiner, params, now_ns))
			return;
	} else {
		pass_start(evaluation->pass, params);
	}
	evaluation->is_running = true;
	evaluation->running = (struct evaluation_point){ .round = round, .at_ns = at_ns };
}

bool evaluation_is_running(const struct evaluation *evaluation)
{
	return evaluation->is_running;
}

static void add_point(struct evaluation *evaluation)
{
	struct evaluation_point *points = evaluation->points;

	if (evaluation->points_count == EVALUATIONS_MAX) {
		/* Every other one goes: the whole run stays in sight. */
		for (uint32_t i = 0; i < EVALUATIONS_MAX / 2; i++)
			points[i] = points[2 * i];
		evaluation->points_count = EVALUATIONS_MAX / 2;
	}
	points[evaluation->points_count++] = evaluation->running;
}

static bool step_pass(struct evaluation *evaluation)
{
	if (!pass_step(evaluation->pass))
		return false;

	struct pass_result result = pass_result(evaluation->pass);
	evaluation->is_running = false;
	evaluation->running.accuracy = (double)result.correct / result.samples;
	evaluation->running.loss = result.loss;
	add_point(evaluation);
	return true;
}

static bool step_examiner(struct evaluation *evaluation, uint64_t now_ns)
{
	struct evaluation_point *running = &evaluation->running;
	enum examiner_answer answer =
	    examiner_poll(evaluation->examiner, now_ns, &running->loss, &running->accuracy);

	evaluation->is_running = answer == EXAMINER_BUSY;
	if (answer == EXAMINER_DONE)
		add_point(evaluation);
	return answer == EXAMINER_DONE;
}

bool evaluation_step(struct evaluation *evaluation, uint64_t now_ns)
{
	assert(evaluation->is_running);
	return evaluation->pass != NULL ? step_pass(evaluation) : step_examiner(evaluation, now_ns);
}

void evaluation_finish(struct evaluation *evaluation)
{
	uint64_t until_ns = clock_now_ns() + FINISH_NS;

	while (evaluation->is_running) {
		uint64_t now_ns = clock_now_ns();

		(void)evaluation_step(evaluation, now_ns);
		if (!evaluation->is_running || evaluation->examiner == NULL)
			continue;
		if (now_ns >= until_ns) {
			log_warn("evaluation by task '%s': not waited for any longer",
				 examiner_name(evaluation->examiner));
			evaluation->is_running = false;
			return;
		}
		examiner_wait(evaluation->examiner, FINISH_WAIT_MS);
	}
}

uint64_t evaluation_wake_ns(const struct evaluation *evaluation, uint64_t now_ns)
{
	if (!evaluation->is_running)
		return UINT64_MAX;
	return evaluation->pass != NULL ? now_ns : examiner_wake_ns(evaluation->examiner, now_ns);
}

const char *evaluation_state(struct evaluation *evaluation)
{
	return evaluation->pass != NULL ? "running" : examiner_state(evaluation->examiner);
}

bool evaluation_knows(const struct evaluation *evaluation, uint64_t round)
{
	uint32_t count = evaluation->points_count;

	if (evaluation->is_running)
		return evaluation->running.round == round;
	return count > 0 && evaluation->points[count - 1].round == round;
}

const struct evaluation_point *evaluation_points(const struct evaluation *evaluation,
						 uint32_t *ret_count)
{
	*ret_count = evaluation->points_count;
	return evaluation->points;
}

void evaluation_restore(struct evaluation *evaluation, const struct evaluation_point *points,
			uint32_t count)
{
	assert(count <= EVALUATIONS_MAX);
	memcpy(evaluation->points, points, count * sizeof(*points));
	evaluation->points_count = count;
}
