/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_CONF_H
#define ISO_COORDINATOR_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/allocation.h"
#include "agent/conf/confutil.h"
#include "agent/net/curve.h"
#include "lib/ata/strategy.h"

/*
 * /etc/isobar/isobar-coordinator.conf as a plain struct: everything filled in
 * and checked, quantities in their base units.
 */

#define CCONF_NAME_BYTES  64
#define CCONF_PATH_BYTES  256
#define CCONF_WORKERS_MAX 256u

enum cconf_partition {
	CCONF_PARTITION_IID,
	CCONF_PARTITION_DIRICHLET,
	CCONF_PARTITION_OVERLAP,
};
/* Those of enum iso_strategy_kind, behind two that are none. */
enum cconf_strategy {
	CCONF_STRATEGY_AUTO, /* not after cconf_load() */
	CCONF_STRATEGY_NONE,
	CCONF_STRATEGY_ATA,
	CCONF_STRATEGY_ATA_EMPIRICAL,
	CCONF_STRATEGY_ATA_POOLED,
	CCONF_STRATEGY_GTA,
	CCONF_STRATEGY_UTA,
	CCONF_STRATEGY_OFTA,
};
/* Those of enum iso_model_kind, counted from 0, and one more. */
#define CCONF_MODEL_USER 6
enum cconf_log_level { CCONF_LOG_ERROR, CCONF_LOG_WARNING, CCONF_LOG_INFO, CCONF_LOG_DEBUG };

struct cconf_worker {
	char name[CCONF_NAME_BYTES];
	char public_key[CURVE_KEY_BYTES];
	int line;
};

struct cconf {
	char run[CCONF_NAME_BYTES];
	char listen[160];
	char secret_key[CCONF_PATH_BYTES];
	char data[CCONF_PATH_BYTES];
	char state_directory[CCONF_PATH_BYTES];
	char run_directory[CCONF_PATH_BYTES];
	char control_group[CCONF_NAME_BYTES];
	char user[CCONF_NAME_BYTES]; /* empty: who it is */
	int log_level; /* enum cconf_log_level */
	bool sandbox;

	struct {
		int method; /* enum iso_method_kind - 1 */
		int model;  /* enum iso_model_kind - 1, or CCONF_MODEL_USER */
		int64_t hidden;
		char task[CCONF_PATH_BYTES];
		char executable[CCONF_PATH_BYTES];
		uint64_t task_limit_ns;
		double l2;
		int64_t samples_per_task;
		double samples_spread;
		int64_t tasks_per_round; /* B, S */
		double learning_rate, decay;
		bool has_learning_rate; /* the file says it */
		bool has_tasks_per_round;
		int64_t delay_max; /* R; 0: not said */
		int partition;	   /* enum cconf_partition */
		double dirichlet_alpha, overlap;
		int64_t seed;
		uint64_t start_after_ns;   /* the first round waits this long for all workers */
		uint64_t stop_after_ns;	   /* of training; 0: never */
		int64_t stop_after_rounds; /* steps; 0: never */
	} training;

	struct {
		double smoothness, noise_variance, target, gap; /* 0: not known */
		int line; /* of smoothness; 0: not said */
	} theory;

	struct {
		int strategy; /* enum cconf_strategy */
		uint64_t alpha_ns;
		struct allocation_options options;
		/* The first option that is set and has no effect with this strategy; or NULL. */
		const char *idle;
		int idle_line;
		char profile[CCONF_PATH_BYTES];
		int64_t profile_trust;
	} allocation;

	struct {
		uint64_t first_ns, least_ns;
		int64_t mads;
		int64_t give_up_after;
	} lease;

	uint64_t ping_ns;
	uint64_t evaluation_interval_ns;
	uint64_t checkpoint_interval_ns;

	unsigned workers_count;
	struct cconf_worker workers[CCONF_WORKERS_MAX];
};

/*
 * -EINVAL: "FILE: line 12: ..."; other errors are those of reading the file.
 * *ret_conf is untouched on failure.
 */
int cconf_load(const char *path, struct cconf *ret_conf, struct error *reterr);
/* Same, from memory; name stands for the file in messages. */
int cconf_parse(const char *name, const char *text, struct cconf *ret_conf, struct error *reterr);

/* The allocation that a strategy, not auto, is; 0: none. */
enum iso_strategy_kind cconf_allocation(int strategy);

/* What the file's words for them are. */
const char *cconf_strategy_text(int strategy);
const char *cconf_model_text(int model);

/* Samples of the largest task there can be. */
uint32_t cconf_samples_max(const struct cconf *conf);

/* Every option there is, for the manual, the sample file and --help. */
const struct confutil_schema *cconf_schema(void);

#endif
