/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/evaluate_pass.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/train/fence.h"
#include "agent/train/taskwatch.h"

#define SLICE_SAMPLES 200u
_Static_assert(SLICE_SAMPLES <= ISOBAR_TASK_SAMPLES_MAX, "what a user's task is promised");

struct pass {
	struct objective objective;
	const struct dataset *data;
	uint32_t done, correct;
	double loss_sum;
	uint32_t samples[SLICE_SAMPLES];
	float targets[SLICE_SAMPLES];
	float *params, *x;
	struct fence workspace;
};

int pass_open(const struct objective *objective, const struct dataset *data, struct pass **ret_pass)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	bool has_rows = !objective_takes_sparse(objective, data);

	if (pass == NULL)
		return -ENOMEM;
	pass->objective = *objective;
	/* The penalty is no part of a test loss. */
	pass->objective.model.l2 = 0;
	pass->data = data;
	pass->params = calloc(objective->params, sizeof(float));
	if (has_rows)
		pass->x = calloc((size_t)SLICE_SAMPLES * data->features, sizeof(float));
	if (pass->params == NULL || (has_rows && pass->x == NULL) ||
	    fence_open(objective_workspace_bytes(objective, SLICE_SAMPLES), &pass->workspace) < 0) {
		pass_close(pass);
		return -ENOMEM;
	}
	*ret_pass = pass;
	return 0;
}

struct pass *pass_close(struct pass *pass)
{
	if (pass == NULL)
		return NULL;
	free(pass->params);
	free(pass->x);
	fence_close(&pass->workspace);
	free(pass);
	return NULL;
}

void pass_start(struct pass *pass, const float *params)
{
	memcpy(pass->params, params, pass->objective.params * sizeof(*params));
	pass->done = 0;
	pass->correct = 0;
	pass->loss_sum = 0;
}

bool pass_step(struct pass *pass)
{
	const struct dataset *data = pass->data;
	uint32_t left = data->samples - pass->done;
	uint32_t count = left < SLICE_SAMPLES ? left : SLICE_SAMPLES;
	uint32_t correct;

	assert(count >= 1);
	for (uint32_t i = 0; i < count; i++)
		pass->samples[i] = pass->done + i;
	const struct iso_model_batch batch =
	    dataset_batch(data, objective_wants_classes(&pass->objective), pass->samples, count,
			  pass->x, pass->targets);
	pass->loss_sum += count * objective_loss(&pass->objective, pass->params, &batch,
						 pass->workspace.data, &correct);
	if (!fence_intact(&pass->workspace))
		taskwatch_fault(ISO_WORKER_OVERRAN, ISO_WORKER_LOSS, 0,
				"wrote beyond its workspace");
	/* More right ones than there are would be a user's task's mistake. */
	pass->correct += correct < count ? correct : count;
	pass->done += count;
	return pass->done == data->samples;
}

struct pass_result pass_result(const struct pass *pass)
{
	assert(pass->done == pass->data->samples);
	return (struct pass_result){
		.loss = pass->loss_sum / pass->data->samples,
		.correct = pass->correct,
		.samples = pass->data->samples,
	};
}
