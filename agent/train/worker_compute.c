/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_compute.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "lib/data/batch.h"

/*
 * Samples computed between two looks at whether the task is still wanted.
 * Also what bounds a thread's memory.
 */
#define CHUNK_SAMPLES 128u

int desk_open(const struct lesson *lesson, struct desk *ret_desk)
{
	size_t features = lesson->model.features;
	struct desk desk = {
		.samples = calloc(lesson->samples_per_task, sizeof(*desk.samples)),
		.x = calloc(CHUNK_SAMPLES * features, sizeof(*desk.x)),
		.targets = calloc(CHUNK_SAMPLES, sizeof(*desk.targets)),
		.workspace = calloc(iso_model_workspace_floats(&lesson->model, CHUNK_SAMPLES),
				    sizeof(*desk.workspace)),
		.gradient = calloc(iso_model_params(&lesson->model), sizeof(*desk.gradient)),
	};

	if (desk.samples == NULL || desk.x == NULL || desk.targets == NULL ||
	    desk.workspace == NULL || desk.gradient == NULL) {
		desk_close(&desk);
		return -ENOMEM;
	}
	*ret_desk = desk;
	return 0;
}

void desk_close(struct desk *desk)
{
	free(desk->samples);
	free(desk->x);
	free(desk->targets);
	free(desk->workspace);
	free(desk->gradient);
	*desk = (struct desk){ 0 };
}

/*
 * The mean over the batch is the mean of the chunks' means, weighted by their
 * sizes (so the penalty, which is in each of them, is in it once).
 */
struct task_result compute(const struct lesson *lesson, struct desk *desk, const struct task *task,
			   const float *params, struct cpuclock *clock,
			   compute_is_unwanted_fn *is_unwanted, void *context)
{
	struct task_result result = { .task = *task };
	uint32_t params_count = iso_model_params(&lesson->model);
	uint32_t total = lesson->samples_per_task, done = 0;
	uint64_t started_ns = clock_now_ns(), cpu_ns = cpuclock_read(clock);

	result.gradient = calloc(params_count, sizeof(*result.gradient));
	if (result.gradient != NULL)
		iso_batch_draw(task->seed, lesson->part, lesson->part_samples, total,
			       desk->samples);
	while (result.gradient != NULL && done < total && !is_unwanted(context)) {
		uint32_t count = total - done < CHUNK_SAMPLES ? total - done : CHUNK_SAMPLES;
		float weight = (float)count / (float)total;

		const struct iso_model_batch batch = { desk->x, desk->targets, count };
		dataset_gather(lesson->data, desk->samples + done, count, desk->x);
		dataset_targets(lesson->data, iso_model_is_classifier(&lesson->model),
				desk->samples + done, count, desk->targets);
		result.loss += (double)weight * iso_model_gradient(&lesson->model, params, &batch,
								   desk->workspace, desk->gradient);
		for (uint32_t i = 0; i < params_count; i++)
			result.gradient[i] += weight * desk->gradient[i];
		done += count;
	}
	result.abandoned = done < total;
	if (result.abandoned) {
		free(result.gradient);
		result.gradient = NULL;
	}
	result.on_cpu_ns = cpuclock_read(clock) - cpu_ns;
	result.wall_ns = clock_now_ns() - started_ns;
	return result;
}
