/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REMEDY_H
#define ISO_REMEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ata/strategy.h"
#include "lib/rng.h"

/*
 * What ails a practitioner's allocation, and what the practice options of
 * lib/ata/strategy.h do about it: each a small world of workers, played once
 * without the remedy and once with it, on the same luck.
 */

/* What goes by of a run: a value each so many rounds. */
#define REMEDY_POINTS 240

struct remedy_curve {
	size_t count;
	double x[REMEDY_POINTS], y[REMEDY_POINTS];
};

/* Who measures what: the symptom, small is good; curve may be NULL. */
typedef double remedy_fn(bool is_cured, uint64_t seed, struct remedy_curve *curve);

/* n >> B: worker time of the first 3000 rounds over that of the best allocation.  Cure: clusters.
 */
remedy_fn remedy_many_workers;
/* The same, cured by what an earlier run has left. */
remedy_fn remedy_warm_start;
/* One worker is ten times as slow from round 3000 on: round time of the 500 rounds after, over the
 * best one's.  Cure: drift detection. */
remedy_fn remedy_slow_down;
/* A worker that is known to be too slow becomes the fastest.  Cure: drift detection and probes. */
remedy_fn remedy_speed_up;
/* Speeds wander.  Round time over the best one's.  Cure: discounting. */
remedy_fn remedy_wandering;
/* Who has much to do becomes slow: tasks that change place, a round.  Cure: EMA smoothing. */
remedy_fn remedy_oscillation;
/* Tasks that change place, a round, near the optimum.  Cure: an allocation every 50 rounds. */
remedy_fn remedy_chatty;
/* Tasks of different size: round time over the best one's.  Cure: normalised by cost. */
remedy_fn remedy_uneven;
/* Narrow widths and an unlucky first time.  Cure: forced first exploration. */
remedy_fn remedy_unlucky;
/* Nobody knows alpha: it was set 100 times too large.  Cure: calibration. */
remedy_fn remedy_alpha;
/* One worker's results are late for their round each time.  Cure: asynchronous statistics. */
remedy_fn remedy_late;

#endif
