/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_compute.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/train/taskwatch.h"
#include "lib/data/batch.h"
#include "lib/sgd/step.h"

/*
 * Samples computed between two looks at whether the task is still wanted.
 * Also what bounds a thread's memory.
 */
#define CHUNK_SAMPLES 128u
_Static_assert(CHUNK_SAMPLES <= ISOBAR_TASK_SAMPLES_MAX, "what a user's task is promised");

bool task_fits(const struct task *task, const struct lesson *lesson)
{
	if (task->samples < 1 || task->samples > lesson->samples_max)
		return false;
	return !task->is_range || task->first <= lesson->part_samples - task->samples;
}

/* Rows of wide registers that begin in a line of the cache: a third faster. */
static float *make_rows(const struct lesson *lesson)
{
	return aligned_alloc(64, (size_t)CHUNK_SAMPLES * lesson->data->features * sizeof(float));
}

int desk_open(const struct lesson *lesson, struct desk *ret_desk)
{
	const struct objective *objective = &lesson->objective;
	bool has_rows = !objective_takes_sparse(objective, lesson->data);
	struct desk desk = {
		.samples = calloc(lesson->samples_max, sizeof(*desk.samples)),
		.x = has_rows ? make_rows(lesson) : NULL,
		.targets = calloc(CHUNK_SAMPLES, sizeof(*desk.targets)),
	};

	if (desk.samples == NULL || (has_rows && desk.x == NULL) || desk.targets == NULL ||
	    fence_open(objective->params * sizeof(float), &desk.gradient) < 0 ||
	    fence_open(objective_workspace_bytes(objective, CHUNK_SAMPLES), &desk.workspace) < 0) {
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
	fence_close(&desk->workspace);
	fence_close(&desk->gradient);
	*desk = (struct desk){ 0 };
}

static void choose_samples(const struct lesson *lesson, const struct task *task,
			   uint32_t *ret_samples)
{
	if (task->is_range)
		memcpy(ret_samples, lesson->part + task->first,
		       task->samples * sizeof(*ret_samples));
	else
		iso_batch_draw(task->seed, lesson->part, lesson->part_samples, task->samples,
			       ret_samples);
}

/*
 * Adds weight times the mean over samples [done .. done + count) of the batch that the
 * desk has drawn.  A built-in model adds by itself, and leaves its penalty out.
 */
static double add_chunk(const struct lesson *lesson, struct desk *desk, const float *params,
			uint32_t done, uint32_t count, float weight, float *gradient)
{
	const struct objective *objective = &lesson->objective;
	const struct iso_model_batch batch =
	    dataset_batch(lesson->data, objective_wants_classes(objective), desk->samples + done,
			  count, desk->x, desk->targets);

	if (objective->task == NULL)
		return iso_model_add(&objective->model, params, &batch, weight,
				     desk->workspace.data, gradient);
	double loss = objective_gradient(objective, params, &batch, desk->workspace.data,
					 desk->gradient.data);
	if (!fence_intact(&desk->gradient))
		taskwatch_fault(ISO_WORKER_OVERRAN, ISO_WORKER_GRADIENT, 0,
				"wrote beyond its gradient");
	if (!fence_intact(&desk->workspace))
		taskwatch_fault(ISO_WORKER_OVERRAN, ISO_WORKER_GRADIENT, 0,
				"wrote beyond its workspace");
	iso_sgd_add(gradient, desk->gradient.data, objective->params, weight);
	return (double)weight * loss;
}

/*
 * The mean over the batch is the mean of the chunks' means, weighted by their
 * sizes (so the penalty, which a user's task has in each of them, is in it once).
 */
struct task_result compute(const struct lesson *lesson, struct desk *desk, const struct task *task,
			   const float *params, struct cpuclock *clock,
			   compute_is_unwanted_fn *is_unwanted, void *context)
{
	struct task_result result = { .task = *task };
	uint32_t params_count = lesson->objective.params, total = task->samples, done = 0;
	uint64_t started_ns = clock_now_ns(), cpu_ns = cpuclock_read(clock);

	assert(task_fits(task, lesson));
	result.gradient = calloc(params_count, sizeof(*result.gradient));
	if (result.gradient != NULL)
		choose_samples(lesson, task, desk->samples);
	while (result.gradient != NULL && done < total && !is_unwanted(context)) {
		uint32_t count = total - done < CHUNK_SAMPLES ? total - done : CHUNK_SAMPLES;
		float weight = (float)count / (float)total;

		result.loss +=
		    add_chunk(lesson, desk, params, done, count, weight, result.gradient);
		done += count;
	}
	if (done == total && lesson->objective.task == NULL)
		result.loss +=
		    iso_model_add_penalty(&lesson->objective.model, params, result.gradient);
	result.not_finite = done == total && !(isfinite(result.loss) &&
					       iso_sgd_finite(result.gradient, params_count));
	result.abandoned = done < total;
	if (result.abandoned) {
		free(result.gradient);
		result.gradient = NULL;
	}
	result.on_cpu_ns = cpuclock_read(clock) - cpu_ns;
	result.wall_ns = clock_now_ns() - started_ns;
	if (!result.abandoned)
		taskwatch_observe(result.on_cpu_ns);
	return result;
}
