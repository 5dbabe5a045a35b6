/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_SIM_METHOD_ORACLE_H
#define TESTS_SIM_METHOD_ORACLE_H

#include "lib/sgd/method.h"

/*
 * Every method a second time, as plainly as the papers say it: lists of gradients, means added
 * up from nothing at each update.  Slow, and shares no line with lib/sgd.
 */

#define ORACLE_WORKERS 6
#define ORACLE_PARAMS  3
#define ORACLE_LIST    512

struct oracle_gradient {
	uint32_t worker;
	uint64_t version;
	double values[ORACLE_PARAMS];
	bool used;
	uint32_t others; /* that its worker still has in flight */
};

struct oracle_list {
	uint32_t count;
	struct oracle_gradient items[ORACLE_LIST];
};

struct oracle {
	struct iso_method_config config;
	double x[ORACLE_PARAMS];
	uint64_t k;
	uint64_t rounds;
	bool present[ORACLE_WORKERS];
	uint32_t depth[ORACLE_WORKERS]; /* set by the caller */
	uint64_t point[ORACLE_WORKERS]; /* ringleader: version last received */
	bool has_point[ORACLE_WORKERS]; /* ... and it was started there */
	uint64_t start[ORACLE_WORKERS]; /* version of its last START: set by the caller */
	bool expected[ORACLE_WORKERS];  /* ringleader: in S */
	uint32_t tasks[ORACLE_WORKERS]; /* of the round; sgd-ata: with the 1 */
	bool gone[ORACLE_WORKERS];      /* left in this round; a return does not count */
	uint64_t batch;                 /* of the round */
	bool in_round;
	uint64_t forget_at; /* ia2sgd, after a restart */
	bool begun;         /* in this event */
	bool updating;
	struct oracle_list now;  /* this round's gradients, or the table */
	struct oracle_list next; /* ringleader: the second table */
	uint64_t used, ignored, delay_max, delay_sum;
};

/* What has not come back, by the caller's own book: at a point not newer than `version`. */
typedef uint32_t oracle_in_flight_fn(const void *book, uint32_t worker, uint64_t version);

void oracle_join(struct oracle *oracle, uint32_t worker);
void oracle_leave(struct oracle *oracle, uint32_t worker);
void oracle_begin(struct oracle *oracle, const uint32_t *tasks);
/* A gradient that was not stopped or lost before. */
enum iso_method_verdict oracle_arrive(struct oracle *oracle,
				      const struct oracle_gradient *gradient);
/* After each event and its orders: what follows of itself. */
void oracle_settle(struct oracle *oracle, oracle_in_flight_fn *in_flight, const void *book);
/* What a saved state keeps. */
void oracle_restart(struct oracle *oracle);
uint64_t oracle_buffered(const struct oracle *oracle);

#endif
