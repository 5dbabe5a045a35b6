/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_ROUND_H
#define ISO_SGD_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * One synchronous mini-batch round after the other on the coordinator:
 * B gradients at x^k are collected and averaged, whoever computes them.  It
 * decides which task goes to whom, believes each task's result once, takes
 * tasks back from workers that are gone or silent, and counts what was
 * computed in vain.  Events come in with their time; what to send comes out of
 * iso_round_next_order() and iso_round_next_cancel(), which the caller drains
 * after each event.  Nothing is allocated after init.
 *
 * Exact modes (ATA, UTA): the round has tasks 0 .. B-1 and each worker gets
 * its allocation.  Greedy mode (GTA, "Rennala SGD"): every worker is kept busy
 * at x^k until B gradients are in; a task id is then a slot that is used again
 * with a higher attempt.
 *
 * Leases.  A worker with tasks must deliver its next result before its lease
 * ends: median + mads x MAD of its own last on-CPU times (32 of them), times
 * min(threads, tasks it holds) and divided by its rate, since its threads
 * share that rate; never below lease_min_ns, doubled with each lease that ran
 * out in a row (at most 64-fold), and lease_first_ns until it has delivered
 * 3 results.  Each result renews it.  When it ends, the exact modes give the
 * tasks to others, or again to the same worker if nobody better is there; the
 * greedy mode sends them again, unchanged.  A result that comes late is still
 * accepted if its task has not been done meanwhile: so a lease that is too
 * short wastes work but can never stop a round.
 */

struct iso_round_config {
	uint32_t workers;        /* slots, 0 .. workers-1 */
	uint32_t batch;          /* B: results that complete a round */
	uint32_t params;         /* floats in a gradient */
	uint32_t threads_max;    /* a worker that says it has more counts as having this many */
	uint32_t greedy_depth;   /* GTA: tasks held per thread; 2 leaves no gap between tasks */
	uint32_t lease_mads;     /* 8 is generous: one in 10^7 for normal times */
	uint64_t lease_first_ns; /* before a worker's speed is known */
	uint64_t lease_min_ns;   /* at least a few quota periods and a network round trip */
	uint64_t term;           /* of this coordinator; results of other terms are refused */
};

struct iso_round;

/* Bytes that init needs; 0 if the configuration is not valid. */
size_t iso_round_size(const struct iso_round_config *config);

/* memory is borrowed, 8-byte aligned.  ISO_E_RANGE: configuration; ISO_E_SHORT: size. */
ISO_MUST_USE enum iso_status iso_round_init(void *memory, size_t size,
					    const struct iso_round_config *config,
					    struct iso_round **ret_round);

/*
 * Workers.  A join of a worker that is present counts as leave and join (it
 * has restarted).  With tasks queued it gets some at once; otherwise it waits
 * for the next round (exact) or starts at once (greedy).
 */
void iso_round_join(struct iso_round *round, uint64_t now_ns, uint32_t worker, uint32_t threads,
		    uint64_t share_ucpu);
void iso_round_leave(struct iso_round *round, uint64_t now_ns, uint32_t worker);
/* New threads or share of a present worker; leases that run are stretched or shortened. */
void iso_round_set_rate(struct iso_round *round, uint64_t now_ns, uint32_t worker,
			uint32_t threads, uint64_t share_ucpu);

/*
 * Starts round `number`, which must be greater than the last one, from an
 * allocation of the present workers that sums to B (of absent workers:
 * their tasks are queued for the others).  tasks NULL starts a greedy round.
 * What was still running of an older round is void: workers learn it from the
 * new order.
 */
void iso_round_start(struct iso_round *round, uint64_t now_ns, uint64_t number,
		     const uint32_t *tasks);

/* One result as it came off the wire.  gradient is borrowed for the call. */
struct iso_round_result {
	uint64_t term;
	uint64_t number;     /* round */
	uint32_t worker;
	uint32_t task;
	uint32_t attempt;
	bool abandoned;      /* stopped on the way: only on_cpu_ns counts, no gradient */
	uint64_t on_cpu_ns;  /* what the task cost, or had cost when it was stopped */
	double loss;
	const float *gradient; /* params floats: mean over the task's own mini-batch */
};

enum iso_round_verdict {
	ISO_ROUND_ACCEPTED = 1,
	ISO_ROUND_LATE,       /* of this round, but its task is done or was never handed out so */
	ISO_ROUND_OLD,        /* of an older round (or the round is complete) */
	ISO_ROUND_OTHER_TERM, /* another coordinator's, or of a future round: not work */
	ISO_ROUND_ABANDONED,  /* stopped work, counted */
	ISO_ROUND_NOT_FINITE, /* NaN or infinity in it: refused, the task is handed out again */
};
const char *iso_round_verdict_text(enum iso_round_verdict verdict);

/*
 * on_cpu_ns of an accepted, late or old result is a true sample of the
 * worker's speed, so callers may feed the strategy with it.
 */
enum iso_round_verdict iso_round_result(struct iso_round *round, uint64_t now_ns,
					const struct iso_round_result *result);

/* A task in an order: what the worker is to compute. */
struct iso_round_task {
	uint32_t task;
	uint32_t attempt; /* from 1 */
};

struct iso_round_order {
	uint32_t worker;
	uint32_t count;     /* tasks written */
	bool with_params;   /* false: the worker has shown in this round that it has them */
	uint64_t number;    /* round */
};

/*
 * The next order to send, at most `capacity` (>= 1) of its tasks; false when there
 * is none.  Handing it out starts the lease, so send it.  A lost message is made
 * good by the lease.
 */
bool iso_round_next_order(struct iso_round *round, uint64_t now_ns, struct iso_round_task *tasks,
			  uint32_t capacity, struct iso_round_order *ret_order);

/*
 * The next task that a worker need not go on with (it was done elsewhere, or
 * the round is complete: then task is UINT32_MAX and means all); false when
 * there is none.  Advice: nothing depends on its arrival.
 */
struct iso_round_cancel {
	uint32_t worker;
	uint32_t task;
	uint32_t attempt;
	uint64_t number;
};
bool iso_round_next_cancel(struct iso_round *round, struct iso_round_cancel *ret_cancel);

/* Time has come: ends leases.  Call it no later than iso_round_wake_ns(). */
void iso_round_tick(struct iso_round *round, uint64_t now_ns);
uint64_t iso_round_wake_ns(const struct iso_round *round); /* UINT64_MAX: nothing runs out */

/* B results are in.  The mean of the gradients and of the losses; valid until the next start. */
bool iso_round_complete(const struct iso_round *round);
const float *iso_round_gradient(const struct iso_round *round);
double iso_round_loss(const struct iso_round *round);

/*
 * Totals since init, so that a report that is lost costs nothing.
 *
 * greedy_cpu_ns is what the greedy rule would have burnt for the same rounds.
 * With r_i = min(threads, share in CPUs) of each present worker and c_i its mean
 * on-CPU time a task (of this round, else of its last 32, else the mean over the
 * measured workers), worker i finishes tasks at c_i/r_i, 2 c_i/r_i, ...;
 * t is the B-th smallest of all these times (RAS again), and until then every
 * worker burns r_i: sum_i r_i t.  For r_i = 1 this is the paper's n x round time.
 */
struct iso_round_totals {
	uint64_t rounds;           /* completed */
	uint64_t accepted;         /* results */
	uint64_t late;
	uint64_t old;
	uint64_t other_term;
	uint64_t abandoned;
	uint64_t not_finite;
	uint64_t requeued;         /* tasks taken back from a worker */
	uint64_t leases_expired;
	uint64_t accepted_cpu_ns;
	uint64_t discarded_cpu_ns; /* late, old, abandoned, not finite */
	uint64_t greedy_cpu_ns;
};
const struct iso_round_totals *iso_round_totals(const struct iso_round *round);

/* For status displays. */
struct iso_round_worker_view {
	bool present;
	bool suspect;              /* its last lease ran out */
	uint32_t tasks;            /* held now */
	uint64_t accepted;         /* since init */
	uint64_t median_ns;        /* of its last on-CPU times; 0: none */
	uint64_t lease_end_ns;     /* UINT64_MAX: holds nothing */
};
struct iso_round_worker_view iso_round_worker(const struct iso_round *round, uint32_t worker);

#endif
