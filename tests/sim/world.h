/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TEST_WORLD_H
#define ISO_TEST_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/graph/graph.h"
#include "lib/rng.h"
#include "lib/trade/trade.h"

/*
 * A cluster of real iso_trade nodes under a simulated network, kernel, page
 * cache, disk and guard, driven by one seed, with one administrator who keeps
 * a register and does one thing after the other.  After every event the
 * invariants I1-I6 are checked; the first violation is kept and ends the run.
 */
#define WORLD_NODES_MAX 64u

enum world_topology {
	WORLD_RANDOM = 1,       /* ring and as many chords */
	WORLD_RING,
	WORLD_LINE,
	WORLD_STAR,
	WORLD_COMPLETE,
	WORLD_EXPONENTIAL,
};

/* Rules of the agent that can be broken, to see that the world notices. */
enum world_mutant {
	WORLD_FAITHFUL = 0,
	WORLD_SEND_EARLY,       /* messages leave before the record is durable */
	WORLD_AMOUNTS,          /* messages carry the last transfer instead of the total */
	WORLD_TRUST_CACHE,      /* a restart goes on from the page cache without syncing it */
	WORLD_LOWER_LATE,       /* the quota is lowered after the messages have left */
	WORLD_GUARD_ASLEEP,     /* nobody lowers when a lease ends and the agent does not */
	WORLD_RAISE_LATE,       /* the guard lets a raise through after the lease has ended */
	WORLD_SHORT_PROMISE,    /* granters wait for no longer than the lease itself */
	WORLD_FROM_RECEIPT,     /* leases count from when the answer came */
	WORLD_GRANT_PARTIAL,    /* an estate is granted before all edges are closed */
	WORLD_CLOSE_EARLY,      /* edges are closed at once, as if somebody vouched for a death */
};

/* What the administrator can be told to do. */
enum world_order {
	WORLD_NOTHING = 0,
	WORLD_MINT,             /* at a node: amount, or random */
	WORLD_BURN,
	WORLD_DRAIN,            /* begin, and end it 10 s later */
	WORLD_LEAVE,            /* leave, fold, and join again later */
	WORLD_BURY_DEAD,        /* the power is cut; bury by lease, power comes, join again */
	WORLD_BURY_CUT_OFF,     /* the node lives on behind a partition */
	WORLD_BURY_ALIVE,       /* nothing is wrong with it */
	WORLD_BURY_AMNESIAC,    /* as it is, after world_restore() */
	WORLD_ORDERS,
};

/* Zero is what the word in brackets says. */
struct world_setup {
	uint64_t seed;
	uint32_t nodes;
	enum world_topology topology;
	enum world_mutant mutant;
	enum iso_share_mode mode;
	enum iso_cost_kind cost;
	double rho;             /* of the logarithmic codes [0.25] */
	double dead_band;
	double base_age_s;      /* T_base [32 ticks]; INFINITY: any reference will do */
	double fresh_age_s;     /* T_fresh [10 s]; INFINITY: any price counts */
	bool no_wait;           /* several transfers in flight per direction of an edge */
	double demand;          /* factor on every demand [1] */
	double noise;           /* standard deviation of the measured marginal cost, relative */
	double cut_s;           /* both halves apart from 30 s for so long; demands shift at 80 s */
	double tight_s;         /* until then ceilings are 60 % of what they are: too low [0] */
	double dies_s;          /* node 5 loses power at this time, for good [never] */
	double loss;
	double duplicate;
	double delay_s;         /* mean, exponential */
	double tail;            /* probability of one more second, exponential */
	double crash;           /* probability per step of a node */
	double partition;       /* probability per second */
	double change;          /* probability per second that a node's demand or ceiling changes */
	double stuck;           /* probability that lowering a quota fails */
	double full;            /* probability that the disk takes nothing of a record */
	double lease_s;         /* 0: no leases */
	double drift;           /* clock rates are 1 +- this; 0: 0.01 */
	double stall;           /* probability per step that an agent stops, for about a lease */
	double admin;           /* probability per second that the administrator begins something */
	double office;          /* the same of one who has the real registry; with lease_s */
	bool audit;
};

struct world_counts {
	uint64_t events, messages, lost, duplicated, credits, debits, quota_writes, aborts;
	uint64_t transfers; /* debits, each edge by itself */
	uint64_t kills[8], powers[8];   /* per step at which the node was */
	uint64_t undone;
	uint64_t partitions, audits, skewed, reread, torn;
	uint64_t stalls, guard_lowered, guard_refused, tombstones;
	uint64_t done[WORLD_ORDERS];    /* orders that were carried out to their end */
	/* By the registry's administrator; books: times that they were proven exact. */
	uint64_t entries, budgets, ended, buried_alive, left, admitted, books;
};

struct world;

/* Everything random follows from setup->seed.  Owned by the caller until world_free(). */
struct world *world_new(const struct world_setup *setup);
struct world *world_free(struct world *world);

/* Runs to a time or until there were so many events; stops at a violation. */
void world_run(struct world *world, double until_s, uint64_t events_max);

/* From now on one line for each event. */
void world_trace(struct world *world, FILE *out);

/* From now on no crash, partition or change; loss and delay stay. */
void world_calm(struct world *world);

/* NULL if every invariant has held; else what broke, with seed, event and node. */
const char *world_violation(const struct world *world);

const struct world_counts *world_counts(const struct world *world);
double world_time_s(const struct world *world);

/*
 * (F(enforced) - F*) / F*, F* by bisection on the exact box problem, over the
 * nodes that are not dead and what they own.
 * ret_distance: half of sum |enforced - optimum|, as a fraction of that; may be NULL.
 */
double world_gap(const struct world *world, double *ret_distance);

/* Depends on every event so far: equal for equal seeds. */
uint64_t world_digest(const struct world *world);

struct iso_trade *world_node(struct world *world, uint32_t index);
int64_t world_enforced(const struct world *world, uint32_t index);
int64_t world_floor(const struct world *world, uint32_t index);
int64_t world_budget(const struct world *world);

/* amount_ucpu: MINT and BURN; 0: as chance will have it. */
void world_command(struct world *world, enum world_order order, uint32_t node,
		   int64_t amount_ucpu);

/* Nothing is under way. */
bool world_idle(const struct world *world);

/* The administrator's view: the generation of a node; whether one is void. */
uint32_t world_generation(const struct world *world, uint32_t index);
bool world_is_void(const struct world *world, uint32_t index);

/* Messages from and to a node are lost, or arrive again. */
void world_cut_off(struct world *world, uint32_t index, bool is_cut);

/*
 * Keep a node's disk, and put it back as a restored backup would: the node
 * restarts from it and is not counted on by the invariants any more.
 */
void world_backup(struct world *world, uint32_t index, uint8_t ret_journal[ISO_JOURNAL_BYTES]);
void world_restore(struct world *world, uint32_t index, const uint8_t journal[ISO_JOURNAL_BYTES]);

#endif
