/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/objective.h"

#include <assert.h>
#include <stdio.h>

#include "agent/train/taskwatch.h"

struct objective objective_of_model(const struct iso_model *model)
{
	assert(iso_model_valid(model));
	return (struct objective){ .model = *model, .params = iso_model_params(model) };
}

/* What others wrote goes to logs and over the network: one line of printable ASCII. */
static void make_printable(char text[OBJECTIVE_TEXT_BYTES])
{
	text[OBJECTIVE_TEXT_BYTES - 1] = '\0';
	for (char *at = text; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

const char *objective_of_task(const struct isobar_task *task, const struct isobar_task_shape *shape,
			      char text[OBJECTIVE_TEXT_BYTES], struct objective *ret_objective)
{
	text[0] = '\0';
	taskwatch_enter(ISO_WORKER_CHECK);
	int r = task->check(shape, text, OBJECTIVE_TEXT_BYTES);
	taskwatch_leave();
	if (r != 0) {
		make_printable(text);
		if (text[0] == '\0')
			snprintf(text, OBJECTIVE_TEXT_BYTES, "the task refuses these data");
		return text;
	}
	taskwatch_enter(ISO_WORKER_PARAMS);
	uint32_t params = task->params(shape);
	taskwatch_leave();
	if (params == 0 || params > ISOBAR_TASK_PARAMS_MAX) {
		snprintf(text, OBJECTIVE_TEXT_BYTES, "the task has %u parameters, not 1 to %u",
			 params, ISOBAR_TASK_PARAMS_MAX);
		return text;
	}
	size_t bytes = 0;
	if (task->workspace != NULL) {
		taskwatch_enter(ISO_WORKER_WORKSPACE);
		bytes = task->workspace(shape, ISOBAR_TASK_SAMPLES_MAX);
		taskwatch_leave();
	}
	*ret_objective = (struct objective){
		.task = task,
		.shape = *shape,
		.params = params,
		.workspace_bytes = bytes,
	};
	return NULL;
}

bool objective_wants_classes(const struct objective *objective)
{
	return objective->task != NULL ? objective->shape.classes > 0
				       : iso_model_is_classifier(&objective->model);
}

bool objective_takes_sparse(const struct objective *objective, const struct dataset *data)
{
	return objective->task == NULL && data->starts != NULL;
}

size_t objective_workspace_bytes(const struct objective *objective, uint32_t count)
{
	assert(count <= ISOBAR_TASK_SAMPLES_MAX);
	return objective->task != NULL
		   ? objective->workspace_bytes
		   : iso_model_workspace_floats(&objective->model, count) * sizeof(float);
}

void objective_init(const struct objective *objective, uint64_t seed, float *ret_params)
{
	if (objective->task == NULL) {
		iso_model_init(&objective->model, seed, ret_params);
		return;
	}
	taskwatch_enter(ISO_WORKER_INIT);
	objective->task->init(&objective->shape, seed, ret_params);
	taskwatch_leave();
}

double objective_gradient(const struct objective *objective, const float *params,
			  const struct iso_model_batch *batch, void *workspace, float *ret_gradient)
{
	if (objective->task == NULL)
		return iso_model_gradient(&objective->model, params, batch, workspace,
					  ret_gradient);
	taskwatch_enter(ISO_WORKER_GRADIENT);
	double loss = objective->task->gradient(&objective->shape, params, batch->x, batch->targets,
						batch->count, workspace, ret_gradient);
	taskwatch_leave();
	return loss;
}

double objective_loss(const struct objective *objective, const float *params,
		      const struct iso_model_batch *batch, void *workspace, uint32_t *ret_correct)
{
	if (objective->task == NULL)
		return iso_model_loss(&objective->model, params, batch, workspace, ret_correct);
	*ret_correct = 0;
	taskwatch_enter(ISO_WORKER_LOSS);
	double loss = objective->task->loss(&objective->shape, params, batch->x, batch->targets,
					    batch->count, workspace, ret_correct);
	taskwatch_leave();
	return loss;
}
