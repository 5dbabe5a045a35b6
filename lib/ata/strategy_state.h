/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_STRATEGY_STATE_H
#define ISO_ATA_STRATEGY_STATE_H

#include "lib/ata/strategy.h"
#include "lib/rng.h"

/* What the files of the strategy share, and nobody else. */

struct iso_strategy_worker {
	struct iso_ata_samples samples;
	uint64_t seen;       /* times ever taken, faded or not */
	double rate_cpus;
	double given_mean_s; /* OFTA; 0: none */
	bool present;
};

struct iso_strategy {
	struct iso_strategy_config config;
	struct iso_rng rng;
	bool exploring, changed;
	bool is_stale;       /* the workers are others than at the last new allocation */
	uint64_t round;      /* of the last allocation; 0: none yet */
	uint64_t made_round; /* when it was last a new one */
	struct iso_strategy_worker *workers;
	double *scores;      /* by worker */
	double *smoothed;    /* by worker; 0: none yet */
	uint32_t *held;      /* by worker: the last allocation */
	/* Scratch of one allocation. */
	double *some_scores; /* of the workers in question, packed */
	uint32_t *some_tasks;
	uint32_t *present;   /* worker numbers */
	uint32_t *first;     /* of these, who must get a task whatever the scores are */
	uint32_t *unseen;
	uint32_t *unsure;
	void *ras;
};

static inline bool iso_strategy_positive(double value)
{
	return value > 0 && value <= 1.7976931348623157e308;
}

/* Fewer samples than that are none: they have faded. */
#define ISO_STRATEGY_SAMPLES_MIN 1e-9

/* Fills scores[] of the present workers (strategy_score.c). */
void iso_strategy_score(struct iso_strategy *strategy, uint64_t round, uint32_t count);

/* All B tasks to list[count] of the present ones by their scores (strategy_explore.c). */
void iso_strategy_share_out(struct iso_strategy *strategy, uint32_t count, uint32_t *ret_tasks);

/* Equal numbers of tasks to all of list[count], the remainder to random ones. */
void iso_strategy_spread(struct iso_strategy *strategy, uint32_t *list, uint32_t count,
			 uint32_t tasks, uint32_t *ret_tasks);

#endif
