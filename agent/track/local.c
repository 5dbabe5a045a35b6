/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/local.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/partition.h"

/* Outputs of the model, whatever the data have. */
static uint32_t classes_of(enum iso_model_kind kind, const struct dataset *data)
{
	if (kind == ISO_MODEL_LINEAR)
		return 1;
	return kind == ISO_MODEL_LOGISTIC ? 2 : data->classes;
}

static int make_model(const struct plan *plan, const struct dataset *data,
		      struct iso_model *ret_model, struct error *reterr)
{
	enum iso_model_kind kind = (enum iso_model_kind)(plan->model + 1);
	const struct iso_model model = {
		.kind = kind,
		.features = data->features,
		.classes = classes_of(kind, data),
		.hidden = kind == ISO_MODEL_MLP ? (uint32_t)plan->hidden : 0,
		.l2 = (float)plan->l2,
	};

	if (!iso_model_valid(&model) || !dataset_fits(data, &model))
		return error_set(reterr, -EINVAL,
				 "model %s does not fit data of %u features and %u classes",
				 plan_model_text(plan), data->features, data->classes);
	*ret_model = model;
	return 0;
}

/* Those of all samples that are used at all. */
static uint32_t samples_used(const struct plan *plan, const struct dataset *data)
{
	return plan->samples != 0 && plan->samples < (int64_t)data->samples
		   ? (uint32_t)plan->samples
		   : data->samples;
}

static enum iso_partition_kind kind_of(const struct plan *plan)
{
	if (plan->overlap != 0)
		return ISO_PARTITION_OVERLAP;
	return plan->partition == PLAN_PARTITION_DIRICHLET ? ISO_PARTITION_DIRICHLET
							   : ISO_PARTITION_IID;
}

/* Relative sizes, or NULL: all are the same. */
static const uint32_t *sizes_of(const struct plan *plan, uint32_t sizes[PLAN_NODES_MAX])
{
	bool are_equal = true;

	for (unsigned i = 0; i < plan->nodes_count; i++) {
		sizes[i] = (uint32_t)plan->nodes[i].size;
		are_equal &= sizes[i] == sizes[0];
	}
	return are_equal ? NULL : sizes;
}

/* How often a sample of this part counts, so that all samples of all parts count alike. */
static double weight_of(const struct iso_partition_config *config, uint32_t used, uint32_t own)
{
	double all = 0;

	for (uint32_t i = 0; i < config->parts; i++)
		all += iso_partition_part(config, used, i).count;
	return (double)own * config->parts / all;
}

static int take_part(const struct plan *plan, uint32_t node, struct local *local,
		     struct error *reterr)
{
	const struct dataset *data = local->data;
	uint32_t used = samples_used(plan, data), sizes[PLAN_NODES_MAX];
	const struct iso_partition_config config = {
		.kind = kind_of(plan),
		.parts = plan->nodes_count,
		.classes = data->classes,
		.alpha = plan->dirichlet_alpha,
		.overlap = plan->overlap,
		.sizes = sizes_of(plan, sizes),
		.seed = (uint64_t)plan->seed,
	};

	if (config.kind == ISO_PARTITION_DIRICHLET && data->labels == NULL)
		return error_set(reterr, -EINVAL, "the data have no classes to partition by");
	if (iso_partition_check(&config, used) != ISO_OK)
		return error_set(reterr, -EINVAL, "%u samples cannot be split among %u nodes so",
				 used, plan->nodes_count);
	uint32_t *workspace = calloc(iso_partition_workspace(&config, used), sizeof(*workspace));
	local->order = calloc(iso_partition_room(&config, used), sizeof(*local->order));
	int r = workspace == NULL || local->order == NULL
		    ? error_errno(reterr, -ENOMEM, "partition of the data")
		    : 0;
	if (r == 0 && iso_partition(&config, data->labels, used, workspace, local->order) != ISO_OK)
		r = error_set(reterr, -EINVAL, "the data have a class beyond the last");
	free(workspace);
	if (r < 0)
		return r;
	struct iso_part part = iso_partition_part(&config, used, node);
	local->samples = local->order + part.first;
	local->samples_count = part.count;
	local->weight = weight_of(&config, used, part.count);
	return 0;
}

int local_open(const struct plan *plan, uint32_t node, const struct dataset *data,
	       struct local *ret_local, struct error *reterr)
{
	struct local local = { .data = data };
	int r = make_model(plan, data, &local.model, reterr);

	if (r == 0)
		r = take_part(plan, node, &local, reterr);
	if (r < 0) {
		local_close(&local);
		return r;
	}
	local.params = iso_model_params(&local.model);
	*ret_local = local;
	return 0;
}

void local_close(struct local *local)
{
	free(local->order);
	*local = (struct local){ 0 };
}
