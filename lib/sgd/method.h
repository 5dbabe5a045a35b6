/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_METHOD_H
#define ISO_SGD_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * The server side of the SGD methods: what a gradient that arrives does to x,
 * and which worker computes next, at which point.  A method holds x and counts
 * what was computed; it knows nothing of time, messages, leases or threads.
 * The coordinator (real workers) and the simulator drive the same code:
 *
 *	join, leave, begin, arrive, lost  ->  method  ->  START and STOP orders
 *
 * Words.  A computation is one gradient of one mini-batch by one worker at one
 * point.  A point is x after so many updates, and is named by that number, its
 * version.  The delay of a gradient is the number of updates since its point.
 * In flight is a computation that was started and has neither arrived nor been
 * stopped or lost.
 *
 * Work an event costs: O(1) amortised and O(params) arithmetic; begin() and the end
 * of a round O(workers).  Nothing is allocated after init.
 *
 * Definitions: the ATA paper (arXiv 2502.00775), Ringmaster ASGD (2501.16168) and
 * Ringleader ASGD (2509.22860).  How each rule treats workers that come, go or lose
 * work is said at the head of lib/sgd/rule_*.c.
 */

enum iso_method_kind {
	ISO_METHOD_MINIBATCH = 1,    /* mean of B gradients at x^k by allocation (ATA alg. 1) */
	ISO_METHOD_RENNALA,          /* all compute at x^k until S are in; the rest is stopped */
	ISO_METHOD_MALENIA,          /* own data: ... until their harmonic mean is S/n */
	ISO_METHOD_SGD_ATA,          /* own data: a_i + 1 each; mean of means (ATA app. B) */
	ISO_METHOD_ASGD,             /* every gradient is applied as it comes */
	ISO_METHOD_DELAY_ADAPTIVE,   /* ... with gamma n / max(n, delay) */
	ISO_METHOD_NAIVE_OPTIMAL,    /* asgd on admitted workers (Ringmaster alg. 3) */
	ISO_METHOD_RINGMASTER,       /* asgd; delays of R and more are ignored (alg. 4) */
	ISO_METHOD_RINGMASTER_STOPS, /* ... are stopped before they arrive (alg. 5) */
	ISO_METHOD_RINGLEADER,       /* own data: a table in two phases, n updates a round */
	ISO_METHOD_IA2SGD,           /* own data: mean of the latest gradient of each worker */
};
#define ISO_METHOD_KINDS 11u

/* "minibatch", "rennala", "ringmaster-stops", ... */
const char *iso_method_text(enum iso_method_kind kind);

/* What a driver must know of a method before it makes one. */
struct iso_method_traits {
	bool by_rounds;        /* waits for iso_method_begin() between its rounds */
	bool wants_allocation; /* ... which needs tasks[] */
	bool own_data;         /* a computation of worker i can be done by nobody else */
	bool can_cap;          /* may be `capped` */
	bool stops;            /* gives STOP orders */
};
struct iso_method_traits iso_method_traits(enum iso_method_kind kind);

struct iso_method_config {
	enum iso_method_kind kind;
	uint32_t workers;   /* slots, 0 .. workers-1 */
	uint32_t params;    /* floats in a gradient; 0: only the counting, gradients are NULL */
	uint32_t depth_max; /* a worker that runs more at once counts as running this many */
	uint32_t batch;     /* S of rennala and malenia; the others read it off the allocation */
	uint64_t delay_max; /* R of ringmaster and ringmaster-stops, >= 1 */
	/*
	 * Starts are limited by an allocation (ATA algorithm 7).  A round is then
	 * one begin(): worker i may start tasks[i] computations, and the round ends when
	 * none of them is left or in flight.  With ringleader: tasks[i] + 1 in each of its
	 * own rounds, so that its table always fills.
	 */
	bool capped;
	double step;        /* gamma_k = step / (1 + decay k), k = updates so far; >= 0 */
	double decay;       /* >= 0 */
};

struct iso_method;

/* Bytes that init needs; 0 if the configuration is not valid. */
size_t iso_method_size(const struct iso_method_config *config);

/*
 * memory is borrowed, 8-byte aligned.  All workers are absent, x is 0.
 * ISO_E_RANGE: configuration; ISO_E_SHORT: size.
 */
ISO_MUST_USE enum iso_status iso_method_init(void *memory, size_t size,
					     const struct iso_method_config *config,
					     struct iso_method **ret_method);

/* x^0, params floats, borrowed for the call; only before anything has started. */
void iso_method_set_point(struct iso_method *method, const float *x);

/*
 * Workers.  depth >= 1: how many computations it runs at once (its threads, 1 in the
 * simulator).  A join of a worker that is present counts as leave and join: it has
 * restarted.  With a leave all that the worker had in flight is lost, also what it
 * would have started; the arrival of such a computation must not be reported.
 * In a round with an allocation a newcomer waits for the next one unless there is
 * lost work to do; else it starts at once.
 */
void iso_method_join(struct iso_method *method, uint32_t worker, uint32_t depth);
void iso_method_leave(struct iso_method *method, uint32_t worker);

/*
 * A present worker runs more or fewer at once from now on.  What is in flight goes on: with
 * fewer it is only followed by less.  Without a meaning where a round has an allocation.
 */
void iso_method_set_depth(struct iso_method *method, uint32_t worker, uint32_t depth);

/* naive-optimal only: whether the worker is one of the m* fastest.  At first all are. */
void iso_method_admit(struct iso_method *method, uint32_t worker, bool admitted);

/* Whether iso_method_begin() is due: nothing new starts before it is called. */
bool iso_method_between_rounds(const struct iso_method *method);

/*
 * tasks[workers], borrowed for the call: the allocation; NULL where neither wants_allocation
 * nor capped.  Its sum must be positive.  Tasks of absent workers go to others
 * (minibatch) or are dropped.
 */
void iso_method_begin(struct iso_method *method, const uint32_t *tasks);

/* One gradient, as it was computed for a START at this version.  gradient is borrowed. */
struct iso_method_arrival {
	uint32_t worker;
	uint64_t version;
	const float *gradient; /* params floats, finite; NULL if params is 0 */
};

enum iso_method_verdict {
	ISO_METHOD_USED = 1, /* x has moved by it */
	ISO_METHOD_BUFFERED, /* kept for a later update */
	ISO_METHOD_IGNORED,  /* too old, or it had been stopped or lost before: counted */
};

/*
 * Each computation in flight is reported once.  One that was stopped may be reported
 * too (it came before the STOP reached the worker): it is ignored and counted as late.
 */
enum iso_method_verdict iso_method_arrive(struct iso_method *method,
					  const struct iso_method_arrival *arrival);

/*
 * `count` computations in flight will never arrive though their worker is present (they
 * crashed, or nobody answers for them).  They are started again where the rule allows:
 * by others if the data is shared and the round has an allocation, else by the same
 * worker; so a driver that loses the same work again and again makes the worker leave.
 */
void iso_method_lost(struct iso_method *method, uint32_t worker, uint64_t version,
		     uint32_t count);

/*
 * minibatch only: the driver hands `count` computations in flight to another present
 * worker by itself (a lease ran out).  They count as lost and started; no order comes
 * of it, and they arrive as those of `to`.
 */
void iso_method_move(struct iso_method *method, uint32_t from, uint32_t to, uint32_t count);

enum iso_method_act { ISO_METHOD_START = 1, ISO_METHOD_STOP };

struct iso_method_order {
	enum iso_method_act act;
	uint32_t worker;
	uint32_t count;   /* START: this many computations more, at `version` */
	/*
	 * START: the current version, or the one that this worker was last given.
	 * STOP: what the worker computes at points older than this is in vain; the
	 * method has counted it as stopped and does not wait for it.
	 */
	uint64_t version;
};

/*
 * The next order, false when there is none; to be drained after each event.  A START
 * counts as started, and is in flight, when it is handed out here.  A STOP comes
 * before the STARTs that take its place.
 */
bool iso_method_next(struct iso_method *method, struct iso_method_order *ret_order);

/* The number of updates: the name of the current point. */
uint64_t iso_method_version(const struct iso_method *method);

/* The current x, params floats.  Inside it is double: gamma g may be far below x's last bit. */
void iso_method_point(const struct iso_method *method, float *ret_x);
/* The same without rounding, borrowed until the next event; NULL if params is 0. */
const double *iso_method_exact_point(const struct iso_method *method);

/*
 * What became of every computation.  At any time between events
 *
 *	started = used + buffered + ignored + stopped + lost + in_flight
 */
struct iso_method_totals {
	uint64_t rounds;    /* finished */
	uint64_t updates;
	uint64_t started;
	uint64_t used;      /* in at least one update */
	uint64_t buffered;  /* kept for the next update */
	uint64_t ignored;   /* arrived in vain: too old, or replaced by a newer one */
	uint64_t stopped;   /* by a STOP */
	uint64_t lost;
	uint64_t in_flight;
	uint64_t late;      /* arrived after they had been counted as stopped or lost */
	/* Of those used, at their last update; with ia2sgd at their first, in which they arrive. */
	uint64_t delay_max;
	uint64_t delay_sum; /* of those used, at their first update */
};
struct iso_method_totals iso_method_totals(const struct iso_method *method);

/* Of one worker: for reports and tests. */
struct iso_method_worker {
	bool present;
	uint32_t in_flight;
	uint32_t tasks_left; /* what its allocation still allows it to start */
};
struct iso_method_worker iso_method_worker(const struct iso_method *method, uint32_t worker);

/*
 * All durable state as bytes: x, tables, totals; little-endian, the same on every
 * machine.  What is in flight and what a round by allocation has collected so far
 * count as lost in it: after a restore all workers are absent, join anew and start at
 * the restored x.  save writes state_bytes() bytes, which may change with each event.
 */
size_t iso_method_state_bytes(const struct iso_method *method);
void iso_method_save(const struct iso_method *method, uint8_t *ret_bytes);

/*
 * Into a method just initialised.  ISO_E_SHORT, ISO_E_LONG, ISO_E_MALFORMED (not a state, or
 * numbers that cannot be), ISO_E_VERSION, ISO_E_CONFIG (other kind, workers or params);
 * on any of them the method is as before.
 */
ISO_MUST_USE enum iso_status iso_method_restore(struct iso_method *method, const uint8_t *bytes,
						size_t size);

#endif
