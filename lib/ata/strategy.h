/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_STRATEGY_H
#define ISO_ATA_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ata/score.h"
#include "lib/status.h"

/*
 * Which worker gets how many of the B tasks of a round.  The strategy learns
 * from task times and knows which workers are there; it sends nothing and
 * waits for nothing (lib/sgd/round.h does the round).
 */

enum iso_strategy_kind {
	ISO_STRATEGY_ATA = 1,       /* lower confidence bounds with a known alpha */
	ISO_STRATEGY_ATA_EMPIRICAL, /* ... with widths relative to the measured mean */
	ISO_STRATEGY_GTA,           /* greedy (Rennala SGD): everybody computes until B are in */
	ISO_STRATEGY_UTA,           /* uniform: floor(B/n) each, the rest drawn each round */
};

struct iso_strategy_config {
	enum iso_strategy_kind kind;
	uint32_t workers; /* n: slots; a slot counts only while it is present */
	uint32_t batch;   /* B >= 1 */
	struct iso_ata_width width;
	/*
	 * Scale expected times by the known rate: the samples are on-CPU times,
	 * which stay the same while shares move, and the score of worker i is
	 * divided by its rate.  false is the paper's plain form: the samples
	 * are then whatever time the caller measures.
	 */
	bool by_rate;
	uint64_t seed;
};

struct iso_strategy;

/* "ata", "ata-empirical", "gta" or "uta"; ISO_E_UNKNOWN for anything else. */
ISO_MUST_USE enum iso_status iso_strategy_kind_parse(const char *text,
						     enum iso_strategy_kind *ret_kind);
const char *iso_strategy_kind_text(enum iso_strategy_kind kind);

/* Bytes that init needs; 0 if the configuration is not valid. */
size_t iso_strategy_size(const struct iso_strategy_config *config);

/*
 * memory is borrowed until the strategy is no longer used; 8-byte aligned.
 * ISO_E_RANGE: a number of the configuration makes no sense (workers or batch
 * 0, a width that is not positive and finite).  ISO_E_SHORT: size too small.
 * All workers start absent, with rate 1 and no samples.
 */
ISO_MUST_USE enum iso_status iso_strategy_init(void *memory, size_t size,
					       const struct iso_strategy_config *config,
					       struct iso_strategy **ret_strategy);

/* Absent workers get no tasks; their samples stay. */
void iso_strategy_set_present(struct iso_strategy *strategy, uint32_t worker, bool present);

/* rate_cpus > 0, see iso_rate_cpus(); only used with by_rate. */
void iso_strategy_set_rate(struct iso_strategy *strategy, uint32_t worker, double rate_cpus);

/* One finished task of the worker took time_s > 0 (other values are ignored). */
void iso_strategy_observe(struct iso_strategy *strategy, uint32_t worker, double time_s);

/*
 * The allocation of round k (1-based) into ret_tasks[workers].  It sums to B
 * over the present workers, except with GTA, where every present worker may
 * start up to B and the round ends when B are in.
 *
 * ATA while some score is 0 (paper section 4, authors' code): workers without
 * a sample come first, one task each, drawn without replacement if there are
 * more of them than tasks; what is left goes evenly to the other workers
 * with score 0, the remainder of the division to random ones of them, and a
 * worker with a positive score gets nothing.  (Only if every worker with score
 * 0 has just got its first task and tasks are left over, these go to those
 * first-timers evenly.)  RAS decides once all scores are positive.
 *
 * ISO_E_UNKNOWN: no worker is present.
 */
ISO_MUST_USE enum iso_status iso_strategy_allocate(struct iso_strategy *strategy, uint64_t round,
						   uint32_t *ret_tasks);

/* The scores the last allocation used, wall seconds a task with by_rate; 0: unknown or absent. */
const double *iso_strategy_scores(const struct iso_strategy *strategy);

/* Whether the last allocation still explored (some present worker had score 0). */
bool iso_strategy_exploring(const struct iso_strategy *strategy);

/* For checkpoints: all that is learnt, and the generator. */
struct iso_ata_samples iso_strategy_samples(const struct iso_strategy *strategy, uint32_t worker);
void iso_strategy_restore_samples(struct iso_strategy *strategy, uint32_t worker,
				  struct iso_ata_samples samples);
uint64_t iso_strategy_rng(const struct iso_strategy *strategy);
void iso_strategy_restore_rng(struct iso_strategy *strategy, uint64_t state);

#endif
