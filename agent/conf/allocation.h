/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONF_ALLOCATION_H
#define ISO_CONF_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/confutil.h"
#include "lib/ata/strategy.h"

/*
 * What can be asked of an allocation that learns: the same in the coordinator's
 * configuration and in a scenario's curve, so that what was found out by
 * simulation can be copied.
 */

enum allocation_width { ALLOCATION_WIDTH_2, ALLOCATION_WIDTH_4E };
enum allocation_statistics { ALLOCATION_ASYNCHRONOUS, ALLOCATION_BY_ROUND };

struct allocation_options {
	double eta;
	int width; /* enum allocation_width */
	bool share_normalised;
	int64_t explore_tasks, calibrate_tasks;
	double discount, smoothing; /* 1: none */
	int64_t every_rounds;
	int statistics; /* enum allocation_statistics */
	bool cost_normalised;
	double cluster, drift;
	int64_t probe_rounds;
};

/* clang-format off */
#define ALLOCATION_ROW(of_section, owner, field, of_type, of_name, ...)				   \
	{ .section = of_section, .name = of_name, .type = CONFUTIL_##of_type, __VA_ARGS__,	   \
	  .offset = offsetof(struct owner, field), .size = sizeof(((struct owner *)0)->field) }

/* Rows of a schema: of this section, whose struct `owner` has the options in `member`. */
#define ALLOCATION_OPTIONS(of_section, owner, member)						   \
	ALLOCATION_ROW(of_section, owner, member.eta, NUMBER, "eta",				   \
		.initial = "1", .min = 1e-6, .max = 1e6,					   \
		.doc = "ata-empirical: the same as a multiple of the mean"),			   \
	ALLOCATION_ROW(of_section, owner, member.width, CHOICE, "width",			   \
		.choices = "2|4e", .initial = "2",						   \
		.doc = "constant of the confidence width: of the final paper, of its first "	   \
		       "version"),								   \
	ALLOCATION_ROW(of_section, owner, member.share_normalised, BOOL, "share-normalised",	   \
		.initial = "yes",								   \
		.doc = "learn on-CPU times, divided by the CPUs a worker has; no: learn wall "	   \
		       "times, as published"),							   \
	ALLOCATION_ROW(of_section, owner, member.explore_tasks, INTEGER, "explore-tasks",	   \
		.initial = "0", .min = 0, .max = 1e6,						   \
		.doc = "each worker first gets so many tasks, one a round"),			   \
	ALLOCATION_ROW(of_section, owner, member.calibrate_tasks, INTEGER, "calibrate-tasks",	   \
		.initial = "0", .min = 0, .max = ISO_ATA_CALIBRATE_MAX,				   \
		.doc = "alpha and eta are estimated from the first times of each worker, this "	   \
		       "many"),									   \
	ALLOCATION_ROW(of_section, owner, member.discount, NUMBER, "discount",			   \
		.initial = "1", .min = 0.5, .max = 1,						   \
		.doc = "each round, what was learnt before weighs so much of what it did"),	   \
	ALLOCATION_ROW(of_section, owner, member.smoothing, NUMBER, "smoothing",		   \
		.initial = "1", .min = 1e-3, .max = 1,						   \
		.doc = "weight of the newest score in the moving average; 1: no averaging"),	   \
	ALLOCATION_ROW(of_section, owner, member.every_rounds, INTEGER, "every-rounds",		   \
		.initial = "1", .min = 1, .max = 1e6,						   \
		.doc = "a new allocation only every so many rounds"),				   \
	ALLOCATION_ROW(of_section, owner, member.statistics, CHOICE, "statistics",		   \
		.choices = "asynchronous|by-round", .initial = "asynchronous",			   \
		.doc = "by-round: late times do not count, as published"),			   \
	ALLOCATION_ROW(of_section, owner, member.cost_normalised, BOOL, "cost-normalised",	   \
		.initial = "yes", .doc = "learn time by size instead of time a task"),		   \
	ALLOCATION_ROW(of_section, owner, member.cluster, NUMBER, "cluster",			   \
		.initial = "0", .min = 0, .max = 0.9,						   \
		.doc = "workers whose means differ by less than this share share samples; "	   \
		       "0: none"),								   \
	ALLOCATION_ROW(of_section, owner, member.drift, NUMBER, "drift",			   \
		.initial = "0", .min = 0, .max = ISO_ATA_DRIFT_MAX,				   \
		.doc = "deviations after which a worker is explored anew, such as 24; 0: never"),  \
	ALLOCATION_ROW(of_section, owner, member.probe_rounds, INTEGER, "probe-rounds",		   \
		.initial = "0", .min = 0, .max = 1e9,						   \
		.doc = "a worker without tasks gets one after so many rounds; 0: no")
/* clang-format on */

/*
 * Some have a gap between off and the least value that works.  -EINVAL: "OPTION is
 * ...", and *ret_option is its name.
 */
int allocation_check(const struct allocation_options *options, const char **ret_option,
		     struct error *reterr);

/* All of a strategy's configuration that they say. */
void allocation_configure(const struct allocation_options *options,
			  struct iso_strategy_config *config);

#endif
