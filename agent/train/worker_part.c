/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/data/batch.h"
#include "lib/data/partition.h"

uint32_t part_classes(const struct dataset *data)
{
	return data->labels != NULL ? data->classes : 0;
}

static const char *take_model(const struct iso_train_welcome *welcome, const struct dataset *data,
			      struct objective *ret_objective)
{
	const struct iso_model model = {
		.kind = (enum iso_model_kind)welcome->model,
		.features = welcome->features,
		/* A model of numbers has one output. */
		.classes = welcome->classes > 0 ? welcome->classes : 1,
		.hidden = welcome->hidden,
		.l2 = (float)welcome->l2,
	};

	if (iso_model_kind_text(model.kind) == NULL)
		return "the worker does not know this model";
	if (!iso_model_valid(&model) || !dataset_fits(data, &model))
		return "the model does not fit the worker's data";
	*ret_objective = objective_of_model(&model);
	return NULL;
}

static const char *take_task(const struct iso_train_welcome *welcome, const struct dataset *data,
			     const struct usertask *task, char text[OBJECTIVE_TEXT_BYTES],
			     struct objective *ret_objective)
{
	const struct isobar_task_shape shape = { data->features, part_classes(data) };
	/* One class is what values are called elsewhere. */
	uint32_t classes = welcome->classes > 1 ? welcome->classes : 0;

	if (task == NULL || task->task == NULL)
		return "the run trains a user's task, and the worker has none";
	if (welcome->user_task != task->checksum) {
		snprintf(text, OBJECTIVE_TEXT_BYTES,
			 "the worker's task '%s' is another file: checksum %016llx, not %016llx",
			 task->task->name, (unsigned long long)task->checksum,
			 (unsigned long long)welcome->user_task);
		return text;
	}
	if (welcome->features != data->features || classes != shape.classes)
		return "the run's data are of another shape than the worker's";
	return objective_of_task(task->task, &shape, text, ret_objective);
}

static const char *take_objective(const struct iso_train_welcome *welcome,
				  const struct dataset *data, const struct usertask *task,
				  char text[OBJECTIVE_TEXT_BYTES], struct objective *ret_objective)
{
	const char *why = welcome->model == ISO_TRAIN_USER
				  ? take_task(welcome, data, task, text, ret_objective)
				  : take_model(welcome, data, ret_objective);

	if (why != NULL)
		return why;
	if (welcome->params != ret_objective->params) {
		snprintf(text, OBJECTIVE_TEXT_BYTES,
			 "the number of parameters does not fit the model: %u, not %u",
			 ret_objective->params, welcome->params);
		return text;
	}
	if (welcome->workers > data->samples)
		return "more workers than samples";
	if (welcome->samples_max > ISO_BATCH_MAX)
		return "a task wants more samples than the worker has";
	if (welcome->partition == ISO_PARTITION_DIRICHLET && data->labels == NULL)
		return "the data have no classes to be partitioned by";
	return NULL;
}

const char *part_take(struct part *part, const struct iso_train_welcome *welcome,
		      const struct dataset *data, const struct usertask *task,
		      struct lesson *ret_lesson)
{
	struct objective objective;
	const char *why = take_objective(welcome, data, task, part->why, &objective);
	const struct iso_partition_config config = {
		.kind = (enum iso_partition_kind)welcome->partition,
		.parts = welcome->workers,
		.classes = welcome->classes,
		.alpha = welcome->alpha,
		.overlap = welcome->alpha,
		.seed = welcome->partition_seed,
	};

	if (why != NULL)
		return why;

	if (iso_partition_check(&config, data->samples) != ISO_OK)
		return "the data cannot be partitioned so";
	struct iso_part mine = iso_partition_part(&config, data->samples, welcome->worker);
	if (welcome->samples_max > mine.count)
		return "a task wants more samples than the worker has";

	uint32_t *order = calloc(iso_partition_room(&config, data->samples), sizeof(*order));
	uint32_t *workspace =
	    calloc(iso_partition_workspace(&config, data->samples), sizeof(*workspace));
	if (order == NULL || workspace == NULL)
		why = "the worker has no memory for its part of the data";
	else if (iso_partition(&config, data->labels, data->samples, workspace, order) != ISO_OK)
		why = "the data cannot be partitioned so";
	free(workspace);
	if (why != NULL) {
		free(order);
		return why;
	}
	free(part->order);
	part->order = order;

	*ret_lesson = (struct lesson){
		.objective = objective,
		.data = data,
		.part = order + mine.first,
		.part_samples = mine.count,
		.samples_max = welcome->samples_max,
	};
	return NULL;
}

void part_close(struct part *part)
{
	free(part->order);
	part->order = NULL;
}
