/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_STRATEGY_STATE_H
#define ISO_ATA_STRATEGY_STATE_H

#include "lib/ata/drift.h"
#include "lib/ata/strategy.h"
#include "lib/rng.h"

/* What the files of the strategy share, and nobody else. */

struct iso_strategy_worker {
	struct iso_ata_samples samples;
	uint64_t seen;	      /* times ever taken, faded or not; imported ones, too */
	uint64_t given_round; /* the last one that gave it a task */
	double rate_cpus;
	double given_mean_s; /* OFTA; 0: none */
	uint32_t kept;	     /* of calibrate_tasks */
	uint32_t drifts;
	bool present;
	bool is_reopened; /* changed, and still of little score */
};

/* A worker's place in the clusters; number 0: in none. */
struct iso_strategy_place {
	struct iso_ata_samples together;
	uint32_t number;
};

struct iso_strategy {
	struct iso_strategy_config config;
	struct iso_rng rng;
	bool exploring, changed;
	bool is_probe; /* somebody has tasks only to be looked at again: not to be kept */
	bool is_calibrated;
	bool is_stale;	     /* the workers are others than at the last new allocation */
	uint64_t round;	     /* of the last allocation; 0: none yet */
	uint64_t made_round; /* when it was last a new one */
	uint64_t seen;	     /* times taken, over all workers */
	uint64_t clustered;  /* of them, when the clusters were last made */
	double level;	     /* loss of the last RAS: where the next one starts to look */
	struct iso_strategy_worker *workers;
	double *scores; /* by worker */
	uint32_t *held; /* by worker: the last allocation */
	/* By worker; NULL without the option. */
	double *smoothed; /* 0: none yet */
	double *kept;	  /* calibrate_tasks of each worker */
	struct iso_ata_drift *drift;
	struct iso_strategy_place *places;
	/* Scratch of one allocation. */
	double *some_scores; /* of the workers in question, packed */
	uint32_t *some_tasks;
	uint32_t *present; /* worker numbers */
	uint32_t *first;   /* of these, who must get a task whatever the scores are */
	uint32_t *unseen;
	uint32_t *unsure;
	void *ras;
};

static inline bool iso_strategy_positive(double value)
{
	return value > 0 && value <= 1.7976931348623157e308;
}

/* Is it one of those that learn? */
static inline bool iso_strategy_learns(enum iso_strategy_kind kind)
{
	return kind == ISO_STRATEGY_ATA || kind == ISO_STRATEGY_ATA_EMPIRICAL ||
	       kind == ISO_STRATEGY_ATA_POOLED;
}

/* Is an option in (0, 1) that means nothing at its ends in use? */
static inline bool iso_strategy_inside(double option)
{
	return option > 0 && option < 1;
}

/* Are alpha and eta still to be measured? */
static inline bool iso_strategy_calibrates(const struct iso_strategy *strategy)
{
	return strategy->config.options.calibrate_tasks > 0 && !strategy->is_calibrated;
}

/* Ends the calibration if present[count] have all they need for it (strategy_learn.c). */
void iso_strategy_calibrate(struct iso_strategy *strategy, uint32_t count);

/* Fills scores[] of the present workers (strategy_score.c). */
void iso_strategy_score(struct iso_strategy *strategy, uint64_t round, uint32_t count);

/* Makes the clusters anew, if enough was learnt since (strategy_cluster.c). */
void iso_strategy_make_clusters(struct iso_strategy *strategy, uint32_t count, double variance);

/* All B tasks to list[count] of the present ones by their scores (strategy_explore.c). */
void iso_strategy_share_out(struct iso_strategy *strategy, uint64_t round, uint32_t count,
			    uint32_t *ret_tasks);

/* Equal numbers of tasks to all of list[count], the remainder to random ones. */
void iso_strategy_spread(struct iso_strategy *strategy, uint32_t *list, uint32_t count,
			 uint32_t tasks, uint32_t *ret_tasks);

#endif
