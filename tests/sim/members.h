/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_MEMBERS_H
#define ISO_TESTS_MEMBERS_H

#include "lib/ledger/ledger.h"
#include "lib/ledger/registry.h"
#include "lib/rng.h"

/*
 * A cluster for the administrator's procedures: nodes with the real ledger, a
 * network that loses, repeats and delays, leases as times, kernels as numbers.
 * Trading is random: it is the ledger's business that it does no harm.
 */

#define MEMBERS_MAX	10u
#define MEMBERS_MAIL	96u
#define MEMBERS_LATE	64u
#define MEMBERS_LEASE	20u /* steps */
#define MEMBERS_PROMISE 25u

struct members_message {
	uint32_t from, to;
	uint32_t from_gen, to_gen;
	struct iso_ledger_news news;
	bool leaving, frozen, tombstone;
	uint64_t sent_at;
};

struct members_node {
	bool exists;  /* there is a machine */
	bool running; /* its agent */
	bool cut;     /* from everybody else, the administrator as well */
	struct iso_ledger *ledger;
	_Alignas(8) uint8_t memory[8192];
	struct iso_record durable;
	int64_t floor_ucpu, ceiling_ucpu;
	int64_t enforced_ucpu;		/* by its kernel */
	uint64_t deadline[MEMBERS_MAX]; /* of the lease that each neighbour renews */
	uint64_t started_at;
	uint64_t closing[MEMBERS_MAX]; /* since when; 0: not */
	bool peer_leaves[MEMBERS_MAX];
	uint64_t frozen_sent[MEMBERS_MAX]; /* the peer's S when it had frozen; see frozen */
	bool frozen[MEMBERS_MAX];
	bool tombstone[MEMBERS_MAX];
	uint32_t tombstone_gen[MEMBERS_MAX];
};

struct members {
	struct iso_rng rng;
	uint64_t now;
	uint32_t faults; /* of 100 */
	uint32_t trades; /* of 100: how often somebody gives to a neighbour */
	uint64_t cluster;
	struct members_node nodes[MEMBERS_MAX];
	struct members_message mail[MEMBERS_MAIL];
	uint32_t mail_count;
	struct iso_op late[MEMBERS_LATE]; /* operations that were sent once, and to whom */
	uint32_t late_to[MEMBERS_LATE];
	uint32_t late_count;
	uint64_t ticks;
};

void members_init(struct members *members, uint64_t seed);

/* Ids are 1000, 1001, ... unless they are given before anything else. */
extern uint64_t members_ids[MEMBERS_MAX];

static inline uint64_t members_id(uint32_t index)
{
	return members_ids[index] != 0 ? members_ids[index] : 1000 + index;
}

/* MEMBERS_MAX: nobody. */
uint32_t members_index(uint64_t id);

/* A machine with a new journal: of generation 0, or founding with a share and a ring of peers. */
void members_add(struct members *members, uint32_t index, uint32_t gen, int64_t share_ucpu,
		 int64_t budget_ucpu);
void members_edge(struct members *members, uint32_t a, uint32_t b);
void members_start(struct members *members, uint32_t index);
void members_kill(struct members *members, uint32_t index);

/* One tick of one node, with an operation or without. */
enum iso_status members_tick(struct members *members, uint32_t index, const struct iso_op *op);
enum iso_status members_admit(struct members *members, uint32_t index,
			      const struct iso_ledger_admission *admission);

/* Time goes on by one: somebody ticks, mail arrives, leases run out. */
void members_step(struct members *members);

int64_t members_enforced(const struct members *members);

#endif
