/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_FASTEST_H
#define ISO_SGD_FASTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/sgd/pace.h"

/*
 * Whom naive-optimal lets compute: the m* fastest workers (Ringmaster algorithm 3,
 * lib/sgd/theory.h), by the mean of each one's last ISO_PACE_TIMES times.  The paper knows
 * the times and they do not change.  Here they are measured, and do, so a worker that is
 * left out is tried again: after a while what is known of it is forgotten, and as nobody
 * can say that it is slow, it is one of the fastest until it has delivered.  The while is
 * ISO_FASTEST_RETRY_NS or ISO_FASTEST_RETRY_TASKS of its tasks, whichever is longer, since
 * a gradient of a slow worker is old.
 */
#define ISO_FASTEST_RETRY_NS	60000000000ull
#define ISO_FASTEST_RETRY_TASKS 20

struct iso_fastest_worker {
	struct iso_pace pace; /* since it was tried last */
	bool is_out;
	uint64_t retry_at_ns; /* while it is out */
};

struct iso_fastest {
	uint32_t workers;
	double variance, target; /* sigma^2, epsilon > 0 */
	/* Borrowed, of all workers; the first zeroed: nothing is known and nobody is out. */
	struct iso_fastest_worker *of;
	double *scratch_s;
	/* The rest begins as 0. */
	uint64_t chosen_at_ns;
	uint32_t chosen_of;
	uint32_t news; /* times since then */
	bool is_due;   /* for a worker it was the first time */
};

/* A task took so long: on-CPU or wall time, as rates are to mean. */
void iso_fastest_add(struct iso_fastest *fastest, uint32_t worker, uint64_t time_ns);

/*
 * Chooses anew: at the first time of a worker, when another number of them is present, when
 * one is to be tried again, and for other times at most once a second.  rates[workers]: what a
 * time is divided by, 0: absent.  True: read is_out again.
 */
bool iso_fastest_choose(struct iso_fastest *fastest, uint64_t now_ns, const double *rates);

#endif
