/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_part.h"

#include <stdlib.h>

#include "lib/data/batch.h"
#include "lib/data/partition.h"

static const char *misfit(const struct iso_train_welcome *welcome, const struct dataset *data)
{
	/* From the network: too large for what iso_softmax_params() is asked for. */
	uint64_t params = (uint64_t)welcome->classes * (welcome->features + 1ull);

	if (welcome->model != ISO_TRAIN_SOFTMAX)
		return "the worker does not know this model";
	if (welcome->features != data->features || welcome->classes < data->classes ||
	    welcome->classes < 2)
		return "the model does not fit the worker's data";
	if (welcome->params != params)
		return "the number of parameters does not fit the model";
	if (welcome->workers > data->samples)
		return "more workers than samples";
	if (welcome->samples_per_task > ISO_BATCH_MAX ||
	    welcome->samples_per_task > data->samples / welcome->workers)
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
		.model = { welcome->features, welcome->classes, (float)welcome->l2 },
		.data = data,
		.part = order + (size_t)welcome->worker * size,
		.part_samples = size,
		.samples_per_task = welcome->samples_per_task,
	};
	return NULL;
}

void part_close(struct part *part)
{
	free(part->order);
	part->order = NULL;
}
