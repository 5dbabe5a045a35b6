/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TEST_WORLD_STATE_H
#define ISO_TEST_WORLD_STATE_H

#include "lib/ledger/registry.h"
#include "tests/sim/world.h"

/* Inside of tests/sim/world*.c only. */

#define DEAD_NODE 5u

#define SECOND_NS     1000000000.0
#define TICK_S	      0.2
#define SYNC_S	      0.005
#define PER_NODE_UCPU 500000
#define QUOTA_UCPU    10 /* one µs per period of 100 ms */
#define INBOX_MAX     512u
#define GUARD_S	      0.2  /* before the deadline */
#define SLACK_S	      0.5  /* of the promise, beyond clocks */

/* Where a node is in its tick; each is one event, so that anything may happen between two. */
enum step {
	STEP_IDLE = 0,
	STEP_LOWER,
	STEP_WRITE,
	STEP_SYNC,
	STEP_COMMIT,
	STEP_SEND,
	STEP_RESYNC,
	STEP_COUNT,
};

enum event_type {
	EVENT_STEP = 1,
	EVENT_MESSAGE,
	EVENT_RESTART,
	EVENT_HEAL,
	EVENT_WEATHER,
	EVENT_CUT,
	EVENT_SHIFT,
	EVENT_DEATH,
	EVENT_GUARD,
	EVENT_OFFICE,
	EVENT_LOOSEN,
};

struct event {
	uint64_t at_ns;
	uint64_t order;
	enum event_type type;
	uint32_t node;
	uint32_t epoch; /* of the node when a step was scheduled; a crash outdates it */
	uint32_t message;
};

struct message {
	uint32_t source, destination;
	uint64_t amount; /* WORLD_AMOUNTS only */
	uint8_t bytes[ISO_EDGE_BYTES];
};

/* What a node adds to the sums of the invariants, as last looked at. */
struct world_part {
	int64_t enforced, share, endowment, sent_less_received;
};

struct node {
	struct iso_trade *trade;
	struct iso_trade_config config;
	struct iso_trade_peer peers[ISO_DEGREE_MAX];
	uint32_t peer_index[ISO_DEGREE_MAX]; /* node at the other end */
	uint32_t peer_edge[ISO_DEGREE_MAX];  /* number of this edge there */
	struct iso_cost cost; /* true, without noise */
	double noise;
	int64_t ceiling_ucpu;
	double rate, offset_ns;
	bool up, powered, distrusted, dead;
	uint32_t epoch;
	enum step step;
	struct iso_trade_plan plan;
	uint64_t written_seq, durable_seq;
	int64_t enforced_ucpu, lower_late_ucpu;
	uint8_t disk[ISO_JOURNAL_BYTES], cache[ISO_JOURNAL_BYTES];
	struct iso_record durable, cached; /* what disk and page cache would give */
	bool touched;
	struct world_part part;
	uint32_t inbox[INBOX_MAX], inbox_count;
	uint64_t told[WORLD_NODES_MAX];	    /* WORLD_AMOUNTS: S in the last message */
	uint64_t believed[WORLD_NODES_MAX]; /* WORLD_AMOUNTS: sum of the amounts that came */
	/* The guard: lives as long as the power is on. */
	uint64_t deadline_ns;
	bool guard_armed;
	/* What the administrator asks for, until it is answered. */
	struct iso_op op;
	bool asked, carried;
	uint64_t answered;
	int64_t moved_ucpu;
	bool is_off; /* the power stays off */
	/* For who has the registry. */
	bool fenced;	      /* off, and its floor was given away */
	int64_t allowed_ucpu; /* to be enforced at most */
	bool is_cut; /* no message gets through */
};

/* An operation that was sent once, and may come again. */
struct world_late {
	uint32_t node;
	struct iso_op op;
};
#define WORLD_LATE 64u

/* What the administrator's register says of a node. */
struct member {
	uint32_t gen;
	uint32_t void_gen;       /* the life that was buried; 0: none */
	int64_t endowment_ucpu;  /* of this life */
};

/* S and R of the end at a neighbour, final. */
struct certificate {
	uint64_t sent, received;
};

/* One procedure at a time, in phases; each asks until it is answered. */
struct admin {
	enum world_order order;
	uint32_t node, heir, phase;
	uint64_t next_id, until_ns;
	int64_t amount_ucpu, estate_ucpu;
	uint64_t mint_id, burn_id, grant_id;     /* under way; 0: none */
	uint32_t mint_node, burn_node;
	bool has_estate;
	struct certificate certified[ISO_DEGREE_MAX]; /* as peer_index of the node */
	struct member members[WORLD_NODES_MAX];
};

struct world {
	struct world_setup setup;
	struct iso_rng rng;
	struct iso_quant quant;
	uint32_t count;
	int64_t budget_ucpu;
	struct node *nodes;
	bool cut[WORLD_NODES_MAX][WORLD_NODES_MAX];
	uint64_t now_ns, order, digest;
	struct event *heap;
	uint32_t heap_count, heap_max;
	struct message *messages;
	uint32_t *spare, spare_count, message_max;
	struct world_counts counts;
	struct iso_audit_node *snapshots;
	struct world_part sums;
	uint32_t touched[WORLD_NODES_MAX], touched_count;
	FILE *trace;
	struct admin admin;
	struct iso_registry *registry; /* NULL: there is none */
	struct world_late late[WORLD_LATE];
	uint32_t late_next;
	bool governed; /* there are leases or an administrator: see world_lives.c */
	bool calm;
	bool broken;
	char violation[256];
	uint64_t trace_from; /* ISO_TRACE: events from here on are printed; 0: none */
};

/* Randomness, all of it from the seed. */
double world_unit(struct world *world);
double world_exponential(struct world *world, double mean);
bool world_chance(struct world *world, double probability);

/* Events in the order of their time, and the messages that some of them carry. */
void world_push(struct world *world, struct event event, double delay_s);
struct event world_pop(struct world *world);
uint32_t world_message_new(struct world *world);
void world_message_free(struct world *world, uint32_t message);

/* A node's life. */
void world_step(struct world *world, uint32_t i);
void world_restart(struct world *world, uint32_t i);
void world_receive(struct world *world, const struct event *event);
void world_crash(struct world *world, uint32_t i, bool power);
void world_sync_disk(struct world *world, struct node *node);
void world_enforce(struct world *world, struct node *node, int64_t ucpu);
uint64_t world_clock_ns(const struct world *world, const struct node *node);
enum iso_status world_admit(struct world *world, uint32_t i,
			    const struct iso_ledger_admission *admission);

/* The guard: told the deadline, asked for every raise, and lowering by itself. */
void world_renew(struct world *world, uint32_t i);
void world_raise(struct world *world, uint32_t i, int64_t ucpu);
void world_guard(struct world *world, uint32_t i);

/* The administrator, ten times a second. */
void world_admin_start(struct world *world);
void world_admin_step(struct world *world);
/* What the register counts beyond the ledgers' shares and what is in flight. */
int64_t world_admin_aside(const struct world *world);

/* Another administrator, with the real registry. */
void world_office_open(struct world *world);
void world_office(struct world *world);
void world_office_hears(struct world *world, uint32_t i);
bool world_office_ends(const struct world *world, uint32_t i);
void world_office_check(struct world *world);
void world_office_enter(struct world *world, struct iso_registry_entry *entry);
bool world_office_reaches(const struct node *node);
void world_office_forget(struct world *world, uint32_t i); /* its journal: it is a new machine */
void world_office_wish(struct world *world);
void world_office_tidy_up(struct world *world);

/* What node i has sent over its edge k and the other end has not credited; 0: no such edge. */
int64_t world_in_flight(const struct world *world, uint32_t i, uint32_t k);

static inline uint64_t world_id(uint32_t i)
{
	return 1000 + i;
}

static inline uint32_t world_index(uint64_t id)
{
	return (uint32_t)(id - 1000);
}

/* What has happened. */
void world_trace_event(const struct world *world, const struct event *event, enum step step);

/* What must hold. */
void world_touch(struct world *world, struct node *node); /* it has changed: look at it */
void world_violate(struct world *world, const char *what, uint32_t node, int64_t by);
void world_check(struct world *world);
/* I2 and I5 of one node. */
void world_check_limits(struct world *world, uint32_t i, bool may_own_less);
void world_check_lives(struct world *world);
void world_audit(struct world *world);

#endif
