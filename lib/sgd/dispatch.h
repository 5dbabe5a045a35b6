/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_DISPATCH_H
#define ISO_SGD_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Who holds which task, computed at which point, and until when.  A method
 * (lib/sgd/method.h) says what is to be computed; the dispatcher makes tasks of that, hands
 * them out, believes each task's result once, hands tasks out again that were lost on
 * the way, and counts what was computed in vain.  Events come in with their time;
 * what to send comes out of iso_dispatch_next_order() and
 * iso_dispatch_next_cancel(), which the caller drains after each event.  Nothing is
 * allocated after init.
 *
 * Leases.  A worker with tasks must deliver its next result before its lease ends:
 * median + mads x MAD of its own last on-CPU times (32 of them), times
 * min(threads, tasks it holds) and divided by its rate, since its threads share that
 * rate; never below lease_min_ns, and lease_first_ns until it has delivered 3
 * results; doubled with each lease that ran out in a row (at most 64-fold); never
 * above an hour.  Each result renews it.  When it ends, movable tasks go to whoever
 * would be done first, the same worker if nobody better is here; others are sent again
 * to the same worker, which goes on with those it has.  A result that comes late is
 * still accepted if its task has not been done meanwhile: so a lease that is too short
 * wastes work but can never stop a run.
 *
 * Points.  Tasks stand on points, of which several are in use at once.  The
 * dispatcher gives each a small index while it is in use, so that the caller can keep
 * what it sends of it in an array.
 */

struct iso_dispatch_config {
	uint32_t workers;        /* slots, 0 .. workers-1 */
	uint32_t tasks_max;      /* in flight at once, of all workers */
	uint32_t threads_max;    /* a worker that says it has more counts as having this many */
	uint32_t lease_mads;     /* 8 is generous: one in 10^7 for normal times */
	uint64_t lease_first_ns; /* before a worker's speed is known */
	uint64_t lease_min_ns;   /* at least a few quota periods and a network round trip */
	bool movable;            /* any worker can compute a task that another had */
	bool newest_only;        /* rounds: what is older than a worker's newest order is in vain */
	uint64_t term;           /* of this coordinator; results of other terms are refused */
	uint64_t serial;         /* tasks of earlier terms */
};

struct iso_dispatch;

/* Bytes that init needs; 0 if the configuration is not valid. */
size_t iso_dispatch_size(const struct iso_dispatch_config *config);

/* memory is borrowed, 8-byte aligned.  ISO_E_RANGE: configuration; ISO_E_SHORT: size. */
ISO_MUST_USE enum iso_status iso_dispatch_init(void *memory, size_t size,
					       const struct iso_dispatch_config *config,
					       struct iso_dispatch **ret_dispatch);

/*
 * Workers.  A join of a worker that is present counts as leave and join (it has
 * restarted).  leave returns how many tasks it held; they are forgotten.
 */
void iso_dispatch_join(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
		       uint32_t threads, uint64_t share_ucpu);
uint32_t iso_dispatch_leave(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker);
/* A worker that has just joined shall drop what it still has from before. */
void iso_dispatch_drop(struct iso_dispatch *dispatch, uint32_t worker);
/* New threads or share of a present worker; leases that run are stretched or shortened. */
void iso_dispatch_set_rate(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
			   uint32_t threads, uint64_t share_ucpu);

/*
 * The orders of a method.  start: `count` more tasks of a present worker at a version,
 * which is the newest there was, a newer one, or the one this worker was last given.
 * tag comes back with the results.  stop: what it has at points older than `version` is
 * forgotten; returns how many tasks that were.
 */
void iso_dispatch_start(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
			uint32_t count, uint64_t version, uint64_t tag);
uint32_t iso_dispatch_stop(struct iso_dispatch *dispatch, uint64_t now_ns, uint32_t worker,
			   uint64_t version);

/* One result as it came off the wire. */
struct iso_dispatch_result {
	uint64_t term;
	uint64_t task;
	uint32_t attempt;
	uint32_t worker;    /* slot of the sender, which is known from its key */
	bool abandoned;     /* stopped on the way: only on_cpu_ns counts, no gradient */
	bool finite;        /* no NaN or infinity in it */
	uint64_t on_cpu_ns; /* what the task cost, or had cost when it was stopped */
};

enum iso_dispatch_verdict {
	ISO_DISPATCH_ACCEPTED = 1,
	ISO_DISPATCH_LATE,       /* its task is done, stopped or forgotten, or never was */
	ISO_DISPATCH_OTHER_TERM, /* another coordinator's: not work */
	ISO_DISPATCH_ABANDONED,  /* stopped work, counted */
	ISO_DISPATCH_NOT_FINITE, /* refused, the task is handed out again */
};

/* The task of an accepted result. */
struct iso_dispatch_done {
	uint32_t worker; /* who had it last: the method's books have it there */
	uint64_t version;
	uint64_t serial;
	uint64_t tag;
};

/* *ret_done is written for ACCEPTED only. */
enum iso_dispatch_verdict iso_dispatch_result(struct iso_dispatch *dispatch, uint64_t now_ns,
					      const struct iso_dispatch_result *result,
					      struct iso_dispatch_done *ret_done);

/* A task in an order: what the worker is to compute. */
struct iso_dispatch_task {
	uint64_t task;    /* unlike any other of the term */
	uint64_t serial;  /* the same when it is handed out again: counts tasks over all terms */
	uint32_t attempt; /* from 1 */
};

struct iso_dispatch_order {
	uint32_t worker;
	uint32_t count;    /* tasks written */
	bool with_params;  /* false: the worker has shown that it has the point */
	uint32_t point;    /* index */
	uint64_t version;  /* of the point */
	uint64_t oldest;   /* what the worker has of older versions is in vain */
};

/*
 * The next order to send, at most `capacity` (>= 1) of its tasks, all of one point;
 * false when there is none.  Handing it out starts the lease, so send it.  A lost
 * message is made good by the lease.
 */
bool iso_dispatch_next_order(struct iso_dispatch *dispatch, uint64_t now_ns,
			     struct iso_dispatch_task *tasks, uint32_t capacity,
			     struct iso_dispatch_order *ret_order);

/*
 * What a worker need not go on with and no order will tell it; false when there is nothing
 * more.  To be drained before orders.  Advice: nothing depends on its arrival.
 */
struct iso_dispatch_cancel {
	uint32_t worker;
	uint32_t attempt; /* 0: no single task */
	uint64_t task;    /* was done elsewhere */
	uint64_t oldest;  /* all of older versions; 0: only the task; UINT64_MAX: all */
};
bool iso_dispatch_next_cancel(struct iso_dispatch *dispatch,
			      struct iso_dispatch_cancel *ret_cancel);

/*
 * Time has come: ends leases.  Call it until false, after results and no later than
 * iso_dispatch_wake_ns().  True: a task has moved, which the method must be told.
 */
struct iso_dispatch_move {
	uint32_t from, to;
};
bool iso_dispatch_tick(struct iso_dispatch *dispatch, uint64_t now_ns,
		       struct iso_dispatch_move *ret_move);
uint64_t iso_dispatch_wake_ns(const struct iso_dispatch *dispatch); /* UINT64_MAX: never */

/* Points: as many as can be in use at once, and whether one is, with its version. */
uint32_t iso_dispatch_points(const struct iso_dispatch *dispatch);
bool iso_dispatch_point_in_use(const struct iso_dispatch *dispatch, uint32_t point,
			       uint64_t *ret_version);

/*
 * What the greedy rule would have burnt for `batch` results since the last call.
 * With r_i = min(threads, share in CPUs) of each present worker and c_i its mean
 * on-CPU time a task (since the last call, else of its last 32, else the mean over the
 * measured workers), worker i finishes tasks at c_i/r_i, 2 c_i/r_i, ...;
 * t is the batch-th smallest of all these times (RAS again), and until then every
 * worker burns r_i: sum_i r_i t.  For r_i = 1 this is the paper's n x round time.
 */
uint64_t iso_dispatch_greedy_ns(struct iso_dispatch *dispatch, uint32_t batch);

/* Totals since init, so that a report that is lost costs nothing. */
struct iso_dispatch_totals {
	uint64_t accepted; /* results */
	uint64_t late;
	uint64_t other_term;
	uint64_t abandoned;
	uint64_t not_finite;
	uint64_t moved;          /* tasks handed to another worker */
	uint64_t resent;         /* ... to the same one again */
	uint64_t leases_expired;
	uint64_t accepted_cpu_ns;
	uint64_t late_cpu_ns;
	uint64_t abandoned_cpu_ns;
	uint64_t not_finite_cpu_ns;
};
const struct iso_dispatch_totals *iso_dispatch_totals(const struct iso_dispatch *dispatch);

/* Tasks that were ever started, those of earlier terms included. */
uint64_t iso_dispatch_serial(const struct iso_dispatch *dispatch);

struct iso_dispatch_worker {
	bool present;
	bool suspect;            /* its last lease ran out */
	uint32_t leases_expired; /* in a row */
	uint32_t tasks;          /* held now */
	uint64_t accepted;       /* since init */
	uint64_t mean_ns;        /* of its last on-CPU times; 0: none */
	uint64_t median_ns;
	uint64_t lease_end_ns;   /* UINT64_MAX: holds nothing */
};
struct iso_dispatch_worker iso_dispatch_worker(const struct iso_dispatch *dispatch,
					       uint32_t worker);

#endif
