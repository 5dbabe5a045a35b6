/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_part.h"

#include <stdlib.h>

#include "lib/data/batch.h"
#include "lib/data/partition.h"

static struct iso_model model_of(const struct iso_train_welcome *welcome)
{
	return (struct iso_model){
		.kind = (enum iso_model_kind)welcome->model,
		.features = welcome->features,
		.classes = welcome->classes,
		.l2 = (float)welcome->l2,
	};
}

static const char *misfit(const struct iso_train_welcome *welcome, const struct dataset *data)
{
	const struct iso_model model = model_of(welcome);

	if (iso_model_kind_text(model.kind) == NULL)
		return "the worker does not know this model";
	if (!iso_model_valid(&model) || !dataset_fits(data, &model))
		return "the model does not fit the worker's data";
	if (welcome->params != iso_model_params(&model))
		return "the number of parameters does not fit the model";
	if (welcome->workers > data->samples)
		return "more workers than samples";
	if (welcome->samples_max > ISO_BATCH_MAX ||
	    welcome->samples_max > data->samples / welcome->workers)
		return "a task wants more samples than the worker has";
	return NULL;
}

const char *part_take(struct part *part, const struct iso_train_welcome *welcome,
		      const struct dataset *data, struct lesson *ret_lesson)
{
	const char *why = misfit(welcome, data);
	const struct iso_partition_config config = {
		.kind = (enum iso_partition_kind)welcome->partition,
		.parts = welcome->workers,
		.classes = welcome->classes,
		.alpha = welcome->alpha,
		.seed = welcome->partition_seed,
	};

	if (why != NULL)
		return why;

	uint32_t *order = calloc(data->samples, sizeof(*order));
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

	uint32_t size = iso_partition_size(&config, data->samples);
	*ret_lesson = (struct lesson){
		.model = model_of(welcome),
		.data = data,
		.part = order + (size_t)welcome->worker * size,
		.part_samples = size,
		.samples_per_task = welcome->samples_max,
	};
	return NULL;
}

void part_close(struct part *part)
{
	free(part->order);
	part->order = NULL;
}
