/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_NODE_H
#define ISO_MODEL_NODE_H

#include <stddef.h>

#include "tests/model/disk.h"

/*
 * One node: the memory of a real struct iso_trade, as it lies there, and the
 * world around the process: page cache, disk, kernel, guard.  Every step is
 * made by the real code of lib/ledger and lib/trade: what is taken from a
 * message, operations, leases, draining and leaving, what a restart does.  Only what
 * to give by price is not asked of it; the explorer tries every amount.
 *
 * After each step the memory is folded, so that states which the ledger
 * cannot tell apart are one state:
 *   - prices, times and counts of messages are put back to constants (always),
 *     but for those of the candidate's lease: see MODEL_NOW_NS;
 *   - seq and inc of journal and memory are lowered together, seq by an even
 *     number: slots are chosen by its parity, otherwise both are only compared;
 *   - what is not acknowledged is put to S, unless nothing is and the node leaves:
 *     otherwise it only limits what price would give;
 *   - in phase IDLE enforced and ceiling (as told) are put to 0: the next plan writes them;
 *   - what a message says of its receiver is not kept with it or with who heard
 *     it: see model_message_fold().
 * With setup->exact only the first is done.
 */
enum model_pc {
	MODEL_DOWN = 0,
	MODEL_READ, /* restarted: journal read, not yet made durable */
	MODEL_OPENED,
	MODEL_IDLE,
	MODEL_LOWERING,
	MODEL_READY,
	MODEL_WRITTEN, /* in the page cache */
	MODEL_SYNCED,
	MODEL_ADMITTED, /* the record of a new generation is in the page cache */
	MODEL_REFUSED,	/* the journal is damaged, the agent does not start */
};

struct model_message {
	uint8_t source_gen, destination_gen;
	uint8_t sent;	  /* S */
	uint8_t received; /* R */
	uint8_t inc;
	uint8_t echo_inc;
	uint8_t flags; /* ISO_EDGE_* */
	uint8_t seq;
	uint8_t echo_seq; /* with leases only */
};

/* An operation of the administrator. */
#define MODEL_OP_ADMIT 100u /* a kind beside those of lib/ledger/op.h */

struct model_op {
	uint8_t id; /* 0: none */
	uint8_t kind;
	uint8_t node; /* that is to apply it */
	uint8_t gen;
	uint8_t amount;
	uint8_t budget;
	uint8_t peer, peer_gen;
	uint8_t sent, received;
	uint8_t on;
	uint8_t gens[MODEL_EDGES]; /* of the peers of a node that is admitted */
};

/* What a node answers to it. */
struct model_answer {
	uint8_t id; /* 0: none, or not yet */
	int8_t moved;
	int8_t endowment;
	uint8_t sent, received; /* of the edge to its peer */
};

struct model_outside {
	uint8_t pc;
	uint8_t enforced;	     /* by the kernel */
	uint8_t unsynced;	     /* bit k: slot k of the cache is newer than the disk */
	uint8_t pending;	     /* only without retransmission: bit per edge */
	uint8_t amount[MODEL_EDGES]; /* only when messages carry amounts: the last transfer */
	bool lease;		     /* the guard knows a deadline that has not come */
	uint8_t op, op_peer;	     /* under way, to be answered; 0: none */
	int8_t op_moved;
	struct model_slot cache[2], disk[2];
};

#define MODEL_IMAGE_MAX 4096u

/*
 * The clock of every node stands, and what is past is put back instead: before
 * the candidate's newest lease ran out, or so long ago that every promise has
 * passed as well.  The numbers of messages say no more than whether they were
 * sent before or after that lease ran out.
 */
#define MODEL_UNIT_NS	  ((uint64_t)1 << 24)
#define MODEL_NOW_NS	  (1000 * MODEL_UNIT_NS)
#define MODEL_BEFORE_NS	  (850 * MODEL_UNIT_NS)
#define MODEL_LONG_AGO_NS (500 * MODEL_UNIT_NS)
#define MODEL_LEASE_NS	  (100 * MODEL_UNIT_NS)
#define MODEL_PROMISE_NS  (300 * MODEL_UNIT_NS)
#define MODEL_LEASE_BITS  20 /* of the times in struct iso_lease */
#define MODEL_SEQ_OLD	  1u
#define MODEL_SEQ_NEW	  2u

/* The node that is buried or leaves; the only one whose lease can run out. */
#define MODEL_CANDIDATE (MODEL_NODES - 1)

static inline bool model_leases(const struct model_setup *setup)
{
	return setup->script == MODEL_BURIES || setup->script == MODEL_BURIES_REJOINS ||
	       setup->script == MODEL_LEAVES_BURIES;
}

struct model_node {
	struct model_outside outside;
	_Alignas(16) uint8_t image[MODEL_IMAGE_MAX]; /* struct iso_trade and what follows it */
};

/* What the invariants need to know of a node; index: the other node. */
struct model_summary {
	uint8_t pc;
	uint8_t enforced;
	bool damaged;  /* a power cut now would lose the journal */
	bool equation; /* what the ledger says it holds is what the counters say */
	bool unsynced;
	int8_t endowment;
	int8_t share_disk;
	int8_t share;	    /* working copy */
	int8_t share_least; /* over disk, cache and memory */
	int8_t target;	    /* what is to be enforced in the end; IDLE only */
	uint8_t sent_disk[MODEL_NODES];
	uint8_t sent[MODEL_NODES]; /* working copy */
	uint8_t edge_gen[MODEL_NODES];
	uint8_t edge_flags[MODEL_NODES];
	uint8_t received_disk[MODEL_NODES];
	uint8_t received_most[MODEL_NODES]; /* over disk, cache and memory */
	uint8_t inc_disk;
	bool leased;  /* may enforce more than the floor, as itself or its guard knows */
	bool lately;  /* since the newest lease ran out it has started, or heard of the candidate */
	bool closing; /* takes nothing from the candidate any more */
	uint8_t tombstone_gen; /* which life of whom it tells that it has ended; 0: none */
	uint8_t tombstone_for;
	uint8_t gen_disk;
	uint8_t halt_disk;
	uint8_t halt;  /* also in memory */
	uint8_t flags; /* of any of its records, and in memory */
	uint8_t last_op_disk;
	int8_t last_moved_disk;
	uint8_t edge_gen_disk[MODEL_NODES];
	uint8_t edge_flags_disk[MODEL_NODES];
};

static inline uint32_t model_peer(uint32_t node, uint32_t k)
{
	return (node + 1 + k) % MODEL_NODES;
}

/* Bytes of a node that say all about it. */
size_t model_node_bytes(void);

/* The three nodes whose memory is live; the tests load and fold them. */
struct model_node *model_live(uint32_t node);

/* Makes the three of them anew, with their first journals, all down. */
void model_node_init(const struct model_setup *setup);
void model_node_fold(const struct model_setup *setup, uint32_t node);
void model_node_summary(const struct model_setup *setup, uint32_t node,
			struct model_summary *ret_summary);

/*
 * Steps: each returns false and has done nothing useful if it cannot be made now.
 * debits: by number of the other node.  op: with id 0: none.
 */
bool model_read(const struct model_setup *setup, uint32_t node);
bool model_resync(const struct model_setup *setup, uint32_t node);
bool model_begin(const struct model_setup *setup, uint32_t node, const uint8_t debits[MODEL_NODES],
		 const struct model_op *op);
bool model_lower(const struct model_setup *setup, uint32_t node);
bool model_stuck(const struct model_setup *setup, uint32_t node);
bool model_record(const struct model_setup *setup, uint32_t node, struct model_answer *ret_answer);
bool model_sync(const struct model_setup *setup, uint32_t node);
bool model_sync_fails(const struct model_setup *setup, uint32_t node, enum model_write how);
/*
 * The disk takes this of the record, says none, and the tick is undone and ends.
 * MODEL_AT_SYNC and more: so says fdatasync, and what was before is in the page cache again.
 */
#define MODEL_AT_SYNC MODEL_WRITES
bool model_disk_full(const struct model_setup *setup, uint32_t node, uint8_t how,
		     struct model_answer *ret_answer);
bool model_raise_early(const struct model_setup *setup, uint32_t node);
bool model_commit(const struct model_setup *setup, uint32_t node, struct model_answer *ret_answer);
bool model_admit(const struct model_setup *setup, uint32_t node, const struct model_op *op,
		 struct model_answer *ret_answer);
bool model_admitted(const struct model_setup *setup, uint32_t node,
		    struct model_answer *ret_answer);
bool model_message(const struct model_setup *setup, uint32_t node, uint32_t peer,
		   struct model_message *ret_message);
bool model_receive(const struct model_setup *setup, uint32_t node, uint32_t peer,
		   const struct model_message *message);

/*
 * All that a message says beside its S are lower bounds: R of the sender's
 * counter, the echo of the receiver's incarnation.  They can only stop the receiver, if they are
 * more than it knows itself.  So they need not be kept: a message arrives with the largest R and
 * echo it could have if it had been sent just now.  If that stops nobody, no older message does.
 */
void model_message_fold(const struct model_setup *setup, struct model_message *message);
void model_message_unfold(const struct model_setup *setup, struct model_message *message,
			  const struct model_summary *sender, const struct model_summary *receiver,
			  uint32_t receiver_node);

bool model_kill(const struct model_setup *setup, uint32_t node);

/* Kill in the middle of writing the record, half of which is in the page cache. */
bool model_kill_writing(const struct model_setup *setup, uint32_t node, enum model_write how);

/* how: what became of each unsynced slot. */
bool model_power(const struct model_setup *setup, uint32_t node, const enum model_write how[2]);

/* Time passes.  The candidate's lease runs out: its guard lowers the quota, and its messages
   until now renew nothing any more, as its neighbours learn by model_outdate(). */
bool model_expire(const struct model_setup *setup, uint32_t node);
bool model_outdate(const struct model_setup *setup, uint32_t node);

/* What a neighbour has heard of the candidate, and its own start, was before that. */
bool model_age(const struct model_setup *setup, uint32_t node);

/* What a neighbour may have promised the candidate was long ago. */
bool model_forget_promise(const struct model_setup *setup, uint32_t node);

/* The power goes, and never comes back. */
bool model_switch_off(const struct model_setup *setup, uint32_t node);

/* Another machine takes its name, with an empty journal. */
bool model_replace(const struct model_setup *setup, uint32_t node);

#endif
