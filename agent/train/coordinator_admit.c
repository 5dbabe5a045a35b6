/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_admit.h"

#include <stdio.h>

#include "lib/data/partition.h"

bool admit_misfits(const struct cconf *conf, const struct run *run,
		   const struct iso_train_hello *hello, char text[ISO_TRAIN_TEXT_BYTES])
{
	const struct iso_model *model = run_model(run);
	uint64_t checksum = run_data_checksum(run);

	if (hello->features != model->features ||
	    (iso_model_is_classifier(model) && hello->classes > model->classes))
		snprintf(text, ISO_TRAIN_TEXT_BYTES,
			 "its data has %u features and %u classes, the model %u and %u",
			 hello->features, hello->classes, model->features, model->classes);
	else if (checksum != 0 && hello->data_checksum != checksum)
		snprintf(text, ISO_TRAIN_TEXT_BYTES,
			 "its data differs from the other workers' (checksum %016llx, not %016llx)",
			 (unsigned long long)hello->data_checksum, (unsigned long long)checksum);
	else if (hello->samples / conf->workers_count < (uint32_t)conf->training.samples_per_task)
		snprintf(text, ISO_TRAIN_TEXT_BYTES, "its part of %u samples is less than a task's",
			 hello->samples / conf->workers_count);
	else
		return false;
	return true;
}

struct iso_train_welcome admit_welcome(const struct cconf *conf, const struct run *run,
				       uint32_t worker)
{
	static const enum iso_partition_kind partitions[] = {
		[CCONF_PARTITION_IID] = ISO_PARTITION_IID,
		[CCONF_PARTITION_DIRICHLET] = ISO_PARTITION_DIRICHLET,
	};
	const struct iso_model *model = run_model(run);

	return (struct iso_train_welcome){
		.term = run_term(run),
		.worker = worker,
		.workers = conf->workers_count,
		.model = ISO_TRAIN_SOFTMAX,
		.params = iso_model_params(model),
		.features = model->features,
		.classes = model->classes,
		.samples_max = (uint32_t)conf->training.samples_per_task,
		.partition = (uint32_t)partitions[conf->training.partition],
		.partition_seed = (uint64_t)conf->training.seed,
		.alpha = conf->training.dirichlet_alpha,
		.l2 = conf->training.l2,
		.ping_ns = conf->ping_ns,
	};
}
