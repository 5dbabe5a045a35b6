/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_admit.h"

#include <stdio.h>

#include "lib/data/partition.h"

_Static_assert((int)ISO_TRAIN_LINEAR == (int)ISO_MODEL_LINEAR, "models have the same numbers");
_Static_assert((int)ISO_TRAIN_MLP == (int)ISO_MODEL_MLP, "models have the same numbers");

static struct iso_partition_config partition_of(const struct cconf *conf, uint32_t classes)
{
	static const enum iso_partition_kind kinds[] = {
		[CCONF_PARTITION_IID] = ISO_PARTITION_IID,
		[CCONF_PARTITION_DIRICHLET] = ISO_PARTITION_DIRICHLET,
		[CCONF_PARTITION_OVERLAP] = ISO_PARTITION_OVERLAP,
	};

	return (struct iso_partition_config){
		.kind = kinds[conf->training.partition],
		.parts = conf->workers_count,
		.classes = classes,
		.alpha = conf->training.dirichlet_alpha,
		.overlap = conf->training.overlap,
		.seed = (uint64_t)conf->training.seed,
	};
}

bool admit_misfits(const struct cconf *conf, const struct run *run,
		   const struct iso_train_hello *hello, char text[ISO_TRAIN_TEXT_BYTES])
{
	const struct run_model *model = run_model(run);
	const struct iso_partition_config partition = partition_of(conf, hello->classes);
	uint32_t least = iso_partition_least(&partition, hello->samples);
	uint64_t checksum = run_data_checksum(run);

	if (hello->features != model->features ||
	    (model->wants_classes && hello->classes > model->classes))
		snprintf(text, ISO_TRAIN_TEXT_BYTES,
			 "its data has %u features and %u classes, the model %u and %u",
			 hello->features, hello->classes, model->features, model->classes);
	else if (model->user_task != 0 && hello->user_task == 0)
		snprintf(text, ISO_TRAIN_TEXT_BYTES, "it has no task of a user");
	else if (model->user_task != 0 && hello->user_task != model->user_task)
		snprintf(text, ISO_TRAIN_TEXT_BYTES,
			 "it has another task (checksum %016llx, not %016llx)",
			 (unsigned long long)hello->user_task,
			 (unsigned long long)model->user_task);
	else if (checksum != 0 && hello->data_checksum != checksum)
		snprintf(text, ISO_TRAIN_TEXT_BYTES,
			 "its data differs from the other workers' (checksum %016llx, not %016llx)",
			 (unsigned long long)hello->data_checksum, (unsigned long long)checksum);
	else if (least < cconf_samples_max(conf))
		snprintf(text, ISO_TRAIN_TEXT_BYTES, "its part of %u samples is less than a task's",
			 least);
	else
		return false;
	return true;
}

struct iso_train_welcome admit_welcome(const struct cconf *conf, const struct run *run,
				       uint32_t worker)
{
	const struct run_model *model = run_model(run);
	struct iso_partition_config partition = partition_of(conf, model->classes);
	bool overlaps = partition.kind == ISO_PARTITION_OVERLAP;

	return (struct iso_train_welcome){
		.term = run_term(run),
		.worker = worker,
		.workers = conf->workers_count,
		.model = model->kind,
		.params = run_params_count(run),
		.features = model->features,
		.classes = model->classes,
		.hidden = model->hidden,
		.user_task = model->user_task,
		.samples_max = cconf_samples_max(conf),
		.partition = (uint32_t)partition.kind,
		.partition_seed = partition.seed,
		.alpha = overlaps ? partition.overlap : partition.alpha,
		.l2 = conf->training.l2,
		.ping_ns = conf->ping_ns,
	};
}
