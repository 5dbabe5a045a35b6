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
 * waits for nothing.
 */

enum iso_strategy_kind {
	ISO_STRATEGY_ATA = 1,       /* lower confidence bounds with a known alpha */
	ISO_STRATEGY_ATA_EMPIRICAL, /* ... with widths relative to the measured mean */
	ISO_STRATEGY_GTA,           /* greedy (Rennala SGD): everybody computes until B are in */
	ISO_STRATEGY_UTA,           /* uniform: floor(B/n) each, the rest drawn each round */
	/* Optimal for means that are given: an oracle, or an earlier run's profile. */
	ISO_STRATEGY_OFTA,
	/*
	 * Ours, in no paper: bounds as wide as the times' own spread says, which the
	 * workers share where one alone has few samples (iso_ata_score_pooled()).
	 * Needs neither alpha nor eta, and no score of a worker that was seen is 0.
	 */
	ISO_STRATEGY_ATA_POOLED,
};

/*
 * Practice options of the kinds that learn (ata, ata-empirical, ata-pooled);
 * the others ignore them, but for every_rounds, which ofta and uta follow.
 * All zero: none of them, which is what the papers do.
 */
struct iso_ata_options {
	/*
	 * Forced first exploration, E: a worker with fewer than E times gets one task
	 * a round whatever its score is, drawn if they are more than B; all tasks go to such
	 * workers evenly while there are no others.  Takes E rounds, with n > B
	 * workers E n/B.  For narrow widths, where one unlucky first time would rule a
	 * worker out for long.  Costs the slow workers' E tasks.
	 */
	uint32_t explore_tasks;
	/*
	 * Discounting, lambda in (0, 1); 0 or 1: none.  Each round the weight of all that was
	 * learnt before is multiplied by it, so that about 1/(1 - lambda) rounds
	 * count, also in the bounds' ln(2k^2).  For speeds that wander slowly.  Costs
	 * exploring for ever: who gets no tasks is forgotten and tried again.  Best with
	 * ata-pooled; the papers' widths need hundreds of samples to be positive.
	 */
	double discount;
	/*
	 * EMA smoothing, weight in (0, 1); 0 or 1: none.  What the allocation goes by is
	 * s~ += weight (s - s~), from each worker's first positive score on.  For an
	 * allocation that swings: a worker slows down because it has much to do, is given
	 * little, is fast again.  Costs 1/weight rounds of delay after any change.
	 */
	double smoothing;
	/*
	 * A new allocation every M rounds only; 0 or 1: every round.  The last one is kept
	 * in between, but while exploring, after a probe and when workers come or go.  For
	 * rounds so short, or workers so many, that changing orders costs more than it gains.
	 * Costs learning M times more slowly near the optimum.
	 */
	uint32_t every_rounds;
	/*
	 * Synchronous statistics: only times of tasks of the current round count.  false:
	 * asynchronous, each counts when it arrives, late ones too.  True is the
	 * paper's letter; but who is slow enough to be late always is then never
	 * known to be slow.
	 */
	bool by_round;
	/*
	 * Task cost normalisation: what is learnt is time / cost.  For tasks of different
	 * sizes, where a worker would seem slow for having got a large one.  Costs
	 * are relative; only their ratios matter.
	 */
	bool by_cost;
	/*
	 * Calibration by a short run, S in 4..4096; 0: none.  The first S times of each worker
	 * are kept (as with explore_tasks it gets them early), and once all who are present have
	 * theirs, alpha and eta are what iso_ata_norm() finds: the largest norm of X_i - mu_i, and
	 * the largest such norm over mu_i.  For when nobody can say what alpha is: too small
	 * a one misleads, one too large explores for hours.  What is imported is not among the
	 * S times.  Costs 8 S bytes a worker; of few times of many workers the largest norm is
	 * too large, so S should be 64 or more then.
	 */
	uint32_t calibrate_tasks;
	/*
	 * Clustering of similar workers: relative tolerance in (0, 1); 0: none.  Workers whose
	 * means differ by no more than that and two standard errors share their samples:
	 * a score is raised to (1 - tolerance) times that of all of them together, but never
	 * above the worker's own mean.  Who is like no other and has too few times for a score
	 * gets mean / (1 + width).  For n >> B with few kinds of machines, where the
	 * papers' widths want hundreds of samples of each worker.  Costs a sort now and then, and
	 * optimism: two who are not alike are told apart only after a while.
	 */
	double cluster;
	/*
	 * Drift detection, threshold in standard deviations, 4 to 1000, 24 is a good one; 0:
	 * none.  Sums of how much a worker's times exceed, or fall below, its mean (Page's CUSUM,
	 * half a deviation allowed); beyond the threshold only the times since the sum began
	 * count, so that the worker is explored anew.  For sudden changes.  Costs a false
	 * alarm, and some exploring, every 2 10^4 tasks at 12 and every 3 10^5 at 16, if the
	 * times are as irregular as exponential ones; at 24 none in many millions.
	 */
	double drift;
	/*
	 * A worker without a task for so many rounds gets one; 0: no.  For noticing that one
	 * who is too slow to be used has become fast.  Costs n / probe_rounds tasks a round.  With
	 * every_rounds it waits for the next new allocation.
	 */
	uint32_t probe_rounds;
};

/* Bounds of the options. */
#define ISO_ATA_CALIBRATE_MIN 4u
#define ISO_ATA_CALIBRATE_MAX 4096u
#define ISO_ATA_DRIFT_MIN     4.0
#define ISO_ATA_DRIFT_MAX     1000.0

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
	struct iso_ata_options options;
	uint64_t seed;
};

struct iso_strategy;

/* "ata", "ata-empirical", "gta", "uta", "ofta", "ata-pooled". */
const char *iso_strategy_kind_text(enum iso_strategy_kind kind);

/* Bytes that init needs; 0 if the configuration is not valid. */
size_t iso_strategy_size(const struct iso_strategy_config *config);

/*
 * memory is borrowed until the strategy is no longer used; 8-byte aligned.
 * ISO_E_RANGE: a number of the configuration makes no sense (workers or batch
 * 0, a width that is not positive and finite, an option outside its range).
 * ISO_E_SHORT: size too small.  All workers start absent, with rate 1 and no samples.
 */
ISO_MUST_USE enum iso_status iso_strategy_init(void *memory, size_t size,
					       const struct iso_strategy_config *config,
					       struct iso_strategy **ret_strategy);

/* Absent workers get no tasks; their samples stay. */
void iso_strategy_set_present(struct iso_strategy *strategy, uint32_t worker, bool present);

/* rate_cpus > 0, see iso_rate_cpus(); only used with by_rate. */
void iso_strategy_set_rate(struct iso_strategy *strategy, uint32_t worker, double rate_cpus);

/*
 * OFTA: the worker's mean task time, on a CPU with by_rate; 0: not known.  Who is not
 * known gets no tasks; if nobody present is, all get equally many.
 */
void iso_strategy_set_mean(struct iso_strategy *strategy, uint32_t worker, double mean_s);

/* One finished task. */
struct iso_ata_task {
	double time_s;
	double cost;    /* relative size, for by_cost */
	uint64_t round; /* the round whose task it was; 0: the current one; UINT64_MAX: none */
};

/* Ignored unless time, or with by_cost time / cost, is one (iso_ata_time_valid()). */
void iso_strategy_observe(struct iso_strategy *strategy, uint32_t worker,
			  const struct iso_ata_task *task);

/*
 * The allocation of round k (1-based, never going back) into ret_tasks[workers].
 * It sums to B over the present workers, except with GTA, where every present
 * worker may start up to B and the round ends when B are in.
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

/* Whether the last allocation differs from the one before it; true at first. */
bool iso_strategy_changed(const struct iso_strategy *strategy);

/* The scores the last allocation used, wall seconds a task with by_rate; 0: unknown or absent. */
const double *iso_strategy_scores(const struct iso_strategy *strategy);

/* Whether the last allocation still explored (some present worker had score 0). */
bool iso_strategy_exploring(const struct iso_strategy *strategy);

struct iso_ata_samples iso_strategy_samples(const struct iso_strategy *strategy, uint32_t worker);

/* As configured, or as calibrated. */
struct iso_ata_width iso_strategy_width(const struct iso_strategy *strategy);
/* Still to be: false for kinds that have no alpha and eta, whatever the options say. */
bool iso_strategy_calibrating(const struct iso_strategy *strategy);
bool iso_strategy_calibrated(const struct iso_strategy *strategy);

/* Number of the worker's cluster, from 1, fast ones first; 0: in none. */
uint32_t iso_strategy_cluster(const struct iso_strategy *strategy, uint32_t worker);

/* How often the worker's times were found to have changed; in this process. */
uint32_t iso_strategy_drifts(const struct iso_strategy *strategy, uint32_t worker);

/*
 * Warm start: what an earlier run knew of the worker, in place of what is known.
 * No more than `believed` samples' weight is given to it, so that what has changed since
 * is soon unlearnt.  ISO_E_RANGE: none, or no samples of task times.
 */
ISO_MUST_USE enum iso_status iso_strategy_import(struct iso_strategy *strategy, uint32_t worker,
						 struct iso_ata_samples samples, double believed);

/*
 * For checkpoints: all that is learnt, little-endian, the whole's and each worker's (who may
 * have another number in the next run).  A strategy restored from both goes on bit
 * for bit as the saved one.  ISO_E_MALFORMED: values that no strategy of this
 * configuration saves; nothing is changed then.  The batch alone may have been another.
 */
size_t iso_strategy_state_bytes(const struct iso_strategy *strategy);
void iso_strategy_save(const struct iso_strategy *strategy, uint8_t *ret_bytes);
ISO_MUST_USE enum iso_status iso_strategy_restore(struct iso_strategy *strategy,
						  const uint8_t *bytes);
size_t iso_strategy_worker_bytes(const struct iso_strategy *strategy);
void iso_strategy_save_worker(const struct iso_strategy *strategy, uint32_t worker,
			      uint8_t *ret_bytes);
ISO_MUST_USE enum iso_status iso_strategy_restore_worker(struct iso_strategy *strategy,
							 uint32_t worker, const uint8_t *bytes);

#endif
