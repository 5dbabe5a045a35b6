/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_NODE_H
#define ISO_MODEL_NODE_H

#include <stddef.h>

#include "tests/model/disk.h"

/*
 * One node: the memory of a real struct iso_trade, as it lies there, and the
 * world around the process: page cache, disk, kernel.  Every step is made by
 * the real code of lib/ledger, and lib/trade where it guards the ledger: what
 * is taken from a message, when one may leave, what a restart does.  Only what
 * to give is not asked of it; the explorer tries every amount.
 *
 * After each step the memory is folded, so that states which the ledger
 * cannot tell apart are one state:
 *   - prices, times and counts of messages are put back to constants (always);
 *   - seq and inc of journal and memory are lowered together, seq by an even
 *     number: slots are chosen by its parity, otherwise both are only compared;
 *   - acked (R as heard) is put to 0: lib/ledger only ever writes it;
 *   - in phase IDLE enforced (as told) is put to 0: the next plan writes it;
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
	MODEL_REFUSED, /* the journal is damaged, the agent does not start */
};

struct model_message {
	uint8_t source_gen, destination_gen;
	uint8_t sent;	  /* S */
	uint8_t received; /* R */
	uint8_t inc;
	uint8_t echo_inc;
};

struct model_outside {
	uint8_t pc;
	uint8_t enforced;	     /* by the kernel */
	uint8_t unsynced;	     /* bit k: slot k of the cache is newer than the disk */
	uint8_t pending;	     /* only without retransmission: bit per edge */
	uint8_t amount[MODEL_EDGES]; /* only when messages carry amounts: the last transfer */
	struct model_slot cache[2], disk[2];
};

#define MODEL_IMAGE_MAX 2048u

struct model_node {
	struct model_outside outside;
	_Alignas(16) uint8_t image[MODEL_IMAGE_MAX]; /* struct iso_trade and what follows it */
};

/* What the invariants need to know of a node; index: the other node. */
struct model_summary {
	uint8_t pc;
	uint8_t enforced;
	bool damaged; /* a power cut now would lose the journal */
	bool halted;
	bool equation; /* what the ledger says it holds is what the counters say */
	bool unsynced;
	int8_t endowment;
	int8_t share_disk;
	int8_t share_least; /* over disk, cache and memory */
	int8_t target;	    /* what is to be enforced in the end; IDLE only */
	uint8_t sent_disk[MODEL_NODES];
	uint8_t sent[MODEL_NODES]; /* working copy */
	uint8_t received_disk[MODEL_NODES];
	uint8_t received_most[MODEL_NODES]; /* over disk, cache and memory */
	uint8_t inc_disk;
};

/* Bytes of a node that say all about it. */
size_t model_node_bytes(void);

/* The three nodes whose memory is live; the tests load and fold them. */
struct model_node *model_live(uint32_t node);

/* Makes the three of them anew, with their first journals, all down. */
void model_node_init(const struct model_setup *setup);
void model_node_fold(const struct model_setup *setup, uint32_t node);
void model_node_summary(uint32_t node, struct model_summary *ret_summary);

/*
 * Steps: each returns false and has done nothing useful if it cannot be made now.
 * debits: by number of the other node.
 */
bool model_read(const struct model_setup *setup, uint32_t node);
bool model_resync(const struct model_setup *setup, uint32_t node);
bool model_begin(const struct model_setup *setup, uint32_t node, const uint8_t debits[MODEL_NODES]);
bool model_lower(const struct model_setup *setup, uint32_t node);
bool model_stuck(const struct model_setup *setup, uint32_t node);
bool model_record(const struct model_setup *setup, uint32_t node);
bool model_sync(const struct model_setup *setup, uint32_t node);
bool model_sync_fails(const struct model_setup *setup, uint32_t node, enum model_write how);
bool model_raise_early(const struct model_setup *setup, uint32_t node);
bool model_commit(const struct model_setup *setup, uint32_t node);
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
void model_message_fold(struct model_message *message);
void model_message_unfold(struct model_message *message, const struct model_summary *sender,
			  const struct model_summary *receiver, uint32_t receiver_node);

bool model_kill(const struct model_setup *setup, uint32_t node);

/* Kill in the middle of writing the record, half of which is in the page cache. */
bool model_kill_writing(const struct model_setup *setup, uint32_t node, enum model_write how);

/* how: what became of each unsynced slot. */
bool model_power(const struct model_setup *setup, uint32_t node, const enum model_write how[2]);

/* All three at rest, everything of this node's settled: it is stopped and joins under gen + 1. */
bool model_rejoin(const struct model_setup *setup, uint32_t node);

#endif
