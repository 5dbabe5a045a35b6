/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/evaluate.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/train/fence.h"
#include "agent/train/objective.h"
#include "agent/train/taskwatch.h"

#define SLICE_SAMPLES 200u
_Static_assert(SLICE_SAMPLES <= ISOBAR_TASK_SAMPLES_MAX, "what a user's task is promised");

struct evaluation {
	struct objective objective;
	const struct dataset *data;
	bool is_running;
	struct evaluation_point running;
	uint32_t done, correct;
	double loss_sum;
	struct evaluation_point points[EVALUATIONS_MAX];
	uint32_t points_count;
	uint32_t samples[SLICE_SAMPLES];
	float targets[SLICE_SAMPLES];
	float *params, *x;
	struct fence workspace;
};

int evaluation_open(const struct iso_model *model, const struct dataset *data,
		    struct evaluation **ret_evaluation, struct error *reterr)
{
	struct evaluation *evaluation = calloc(1, sizeof(*evaluation));

	if (data->samples == 0 || !dataset_fits(data, model)) {
		free(evaluation);
		return error_set(reterr, -EINVAL, "the test set does not fit the model");
	}
	if (evaluation != NULL) {
		evaluation->objective = objective_of_model(model);
		/* The penalty is no part of a test loss. */
		evaluation->objective.model.l2 = 0;
		evaluation->data = data;
		evaluation->params = calloc(evaluation->objective.params, sizeof(float));
		evaluation->x = calloc((size_t)SLICE_SAMPLES * data->features, sizeof(float));
	}
	if (evaluation == NULL || evaluation->params == NULL || evaluation->x == NULL ||
	    fence_open(objective_workspace_bytes(&evaluation->objective, SLICE_SAMPLES),
		       &evaluation->workspace) < 0) {
		evaluation_close(evaluation);
		return error_errno(reterr, -ENOMEM, "evaluation");
	}
	*ret_evaluation = evaluation;
	return 0;
}

void evaluation_start(struct evaluation *evaluation, const float *params, uint64_t round,
		      uint64_t at_ns)
{
	memcpy(evaluation->params, params,
	       evaluation->objective.params * sizeof(*params));
	evaluation->is_running = true;
	evaluation->running = (struct evaluation_point){ .round = round, .at_ns = at_ns };
	evaluation->done = 0;
	evaluation->correct = 0;
	evaluation->loss_sum = 0;
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

bool evaluation_step(struct evaluation *evaluation)
{
	const struct dataset *data = evaluation->data;
	uint32_t left = data->samples - evaluation->done;
	uint32_t count = left < SLICE_SAMPLES ? left : SLICE_SAMPLES;
	uint32_t correct;

	assert(evaluation->is_running);
	assert(count >= 1);
	for (uint32_t i = 0; i < count; i++)
		evaluation->samples[i] = evaluation->done + i;
	dataset_gather(data, evaluation->samples, count, evaluation->x);
	dataset_targets(data, objective_wants_classes(&evaluation->objective),
			evaluation->samples, count, evaluation->targets);
	const struct iso_model_batch batch = { evaluation->x, evaluation->targets, count };
	evaluation->loss_sum += count * objective_loss(&evaluation->objective, evaluation->params,
						       &batch, evaluation->workspace.data,
						       &correct);
	evaluation->correct += correct;
	evaluation->done += count;
	if (evaluation->done < data->samples)
		return false;
	evaluation->is_running = false;
	evaluation->running.accuracy = (double)evaluation->correct / data->samples;
	evaluation->running.loss = evaluation->loss_sum / data->samples;
	add_point(evaluation);
	return true;
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

struct evaluation *evaluation_close(struct evaluation *evaluation)
{
	if (evaluation == NULL)
		return NULL;
	free(evaluation->params);
	free(evaluation->x);
	fence_close(&evaluation->workspace);
	free(evaluation);
	return NULL;
}
