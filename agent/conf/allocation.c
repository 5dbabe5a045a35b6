/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/allocation.h"

#include <errno.h>

int allocation_check(const struct allocation_options *options, const char **ret_option,
		     struct error *reterr)
{
	if (options->calibrate_tasks != 0 &&
	    options->calibrate_tasks < (int64_t)ISO_ATA_CALIBRATE_MIN) {
		*ret_option = "calibrate-tasks";
		return error_set(reterr, -EINVAL, "calibrate-tasks is 0 or from %u on",
				 ISO_ATA_CALIBRATE_MIN);
	}
	if (options->drift > 0 && options->drift < ISO_ATA_DRIFT_MIN) {
		*ret_option = "drift";
		return error_set(reterr, -EINVAL, "drift is 0 or from %g on", ISO_ATA_DRIFT_MIN);
	}
	return 0;
}

void allocation_configure(const struct allocation_options *options,
			  struct iso_strategy_config *config)
{
	config->width.constant =
	    options->width == ALLOCATION_WIDTH_2 ? ISO_ATA_WIDTH_FINAL : ISO_ATA_WIDTH_FIRST;
	config->width.eta = options->eta;
	config->by_rate = options->share_normalised;
	config->options = (struct iso_ata_options){
		.explore_tasks = (uint32_t)options->explore_tasks,
		.discount = options->discount,
		.smoothing = options->smoothing,
		.every_rounds = (uint32_t)options->every_rounds,
		.by_round = options->statistics == ALLOCATION_BY_ROUND,
		.by_cost = options->cost_normalised,
		.calibrate_tasks = (uint32_t)options->calibrate_tasks,
		.cluster = options->cluster,
		.drift = options->drift,
		.probe_rounds = (uint32_t)options->probe_rounds,
	};
}
