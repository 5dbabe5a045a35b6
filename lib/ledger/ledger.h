/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_LEDGER_H
#define ISO_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ledger/op.h"
#include "lib/ledger/record.h"
#include "lib/status.h"

/*
 * The conservation core: cumulative counters per edge and the one order in
 * which they may change.  It knows nothing of prices, clocks or bytes.
 *
 *     open:              CLOSED -> OPENED
 *     begin:             OPENED, IDLE -> PLANNING      credits
 *     apply:             PLANNING                     at most one operation, before debits
 *     freeze, leave:     PLANNING                     before debits
 *     debit:             PLANNING                     any number of times
 *     plan:              PLANNING -> LOWERING, READY   must the quota be lowered?
 *     lowered, abort:    LOWERING -> READY
 *     record:            READY -> WRITTEN              if anything changed
 *     undo:              WRITTEN -> UNDONE, OPENED     the disk took nothing of the record
 *     commit:            WRITTEN, READY, UNDONE -> IDLE  durable; now messages and raises
 *
 * The order (debit, lower the quota, read it back, record, make durable,
 * raise, send) is enforced by assertions: a call out of turn is a bug.
 * A counter may be told to a neighbour only in phase IDLE.
 */

enum iso_ledger_phase {
	ISO_LEDGER_CLOSED = 0,
	ISO_LEDGER_OPENED, /* read; nothing may leave before it is durable again */
	ISO_LEDGER_IDLE,
	ISO_LEDGER_PLANNING,
	ISO_LEDGER_LOWERING, /* the quota must be lowered and read back */
	ISO_LEDGER_READY,
	ISO_LEDGER_WRITTEN, /* the record was handed out; it must become durable */
	ISO_LEDGER_UNDONE,  /* it was not written at all, and this tick never was */
};

/*
 * No donor has more than this under way on one edge, 4294 CPUs: then what is
 * counted beside S and R fits in 32 bits, and an edge is 48 bytes.
 */
#define ISO_LEDGER_UNDER_WAY_MAX ((int64_t)UINT32_MAX - 1)

struct iso_ledger_edge {
	uint64_t peer;
	uint64_t sent;	   /* S, working copy */
	uint64_t received; /* R, working copy */
	uint32_t peer_gen;
	uint16_t flags; /* ISO_EDGE_STATE_*, working copy */
	uint16_t durable_flags;
	uint32_t debit;	   /* part of sent that is not durable yet */
	uint32_t credit;   /* part of received that is not durable yet */
	uint32_t arriving; /* largest S heard from the peer, less R */
	uint32_t unacked;  /* S less the largest R heard; UINT32_MAX: so much or more */
};

/* The operation of this tick, and what it changed: undone or shown until it is durable. */
struct iso_ledger_op {
	enum iso_op_kind kind; /* 0: none */
	uint32_t index;	       /* of the edge it changed; UINT32_MAX: none */
	uint32_t edge_count;   /* before; so are all below */
	uint32_t flags;
	int64_t endowment_ucpu;
	int64_t budget_ucpu;
	uint64_t last_op;
	int64_t last_op_ucpu;
	struct iso_record_edge edge;
	uint32_t unacked; /* of that edge */
};

/* Read it freely; only the functions below change it. */
struct iso_ledger {
	uint64_t cluster;
	uint64_t node;
	int64_t floor_ucpu; /* a donor keeps this */
	uint32_t edges_max;
	/* From here on: the working record. */
	uint32_t gen;
	uint32_t inc;
	uint32_t epoch;
	enum iso_halt halt;
	uint32_t flags; /* ISO_NODE_* */
	int64_t endowment_ucpu;
	int64_t budget_ucpu; /* no transfer can be larger */
	uint64_t last_op;
	int64_t last_op_ucpu;
	uint64_t seq; /* of the newest durable record */
	uint32_t edge_count;
	enum iso_ledger_phase phase;
	bool dirty; /* something beside debits, credits and the operation changed */
	bool begun; /* a record of this incarnation is durable */
	enum iso_halt durable_halt;
	struct iso_ledger_op op;
	/* Sums, kept step by step and asserted against the edges in begin and commit. */
	int64_t holdings_ucpu; /* x, working copy */
	int64_t debit_ucpu;    /* of all edges */
	int64_t credit_ucpu;
	int64_t arriving_ucpu;	       /* seen - received, of the edges that credit */
	int64_t ceiling_ucpu;	       /* of this plan */
	int64_t enforced_ucpu;	       /* what the kernel enforces, as last told */
	uint8_t order[ISO_DEGREE_MAX]; /* indices of the edges, by peer */
	struct iso_ledger_edge edges[];
};

struct iso_ledger_config {
	uint64_t cluster;
	uint64_t node;
	uint32_t epoch;
	int64_t budget_ucpu; /* > 0; of a new node: the journal's holds from then on */
	int64_t floor_ucpu;  /* >= 0 */
	uint32_t edges_max;  /* <= ISO_DEGREE_MAX */
};

size_t iso_ledger_size(uint32_t edges_max);

/* Memory: size bytes, aligned for uint64_t; owned by the caller.  ISO_E_RANGE, ISO_E_SHORT. */
ISO_MUST_USE enum iso_status iso_ledger_init(void *memory, size_t size,
					     const struct iso_ledger_config *config,
					     struct iso_ledger **ret_ledger);

/*
 * The first record of a new node.  ISO_E_RANGE: endowment not within [floor, budget].
 * Generation 0, with endowment 0: a node that waits for its admission.
 */
ISO_MUST_USE enum iso_status iso_ledger_genesis(const struct iso_ledger_config *config,
						uint32_t gen, int64_t endowment_ucpu,
						struct iso_record *ret_record);

/*
 * Whoever has an administrator may at any time be buried without being asked, and
 * then enforce its floor, as the registry once heard of it.  So it only falls
 * as long as the journal lasts; another journal is another life.
 */
bool iso_ledger_floor_possible(const struct iso_record *record, int64_t floor_ucpu);

/*
 * Takes up the journal's state under the next incarnation: CLOSED -> OPENED.
 * ISO_E_FOREIGN: another cluster or node.  ISO_E_FULL: more edges than
 * edges_max.  ISO_E_MALFORMED: not a possible state.  ISO_E_RANGE: the floor, see
 * iso_ledger_floor_possible().
 */
ISO_MUST_USE enum iso_status iso_ledger_open(struct iso_ledger *ledger,
					     const struct iso_record *record);

/* Back to CLOSED, e.g. after the journal failed; nothing can be sent any more. */
void iso_ledger_close(struct iso_ledger *ledger);

/*
 * The edge to a peer, made with zero counters if there is none; OPENED only.
 * An edge that is there keeps its generation and state.
 * ISO_E_FULL; ISO_E_RANGE for the node itself or generation 0; ISO_E_UNKNOWN: there
 * is none, and it is not for the configuration to make one: this node is not
 * admitted, or it has an administrator, whose operations alone do from
 * the first one on.  Otherwise an edge could be made to a buried generation,
 * beside those that its burial has closed.
 */
ISO_MUST_USE enum iso_status iso_ledger_edge(struct iso_ledger *ledger, uint64_t peer,
					     uint32_t peer_gen, uint32_t *ret_index);

/* In logarithmic time.  ISO_E_UNKNOWN: no edge to this peer. */
ISO_MUST_USE enum iso_status iso_ledger_find(const struct iso_ledger *ledger, uint64_t peer,
					     uint32_t *ret_index);

/*
 * IDLE only: what a neighbour's message says, in any order and any number of times:
 * its S and R, and the newest incarnation of this node that it knows.  The
 * message is of the two generations that the edge is between.
 * ISO_E_HALTED: this node has stopped trading, by this message or before;
 * ledger->halt says why.  ISO_E_UNKNOWN: the edge is closed or a tombstone.
 */
struct iso_ledger_news {
	uint64_t sent;
	uint64_t received;
	uint32_t known_inc;
	int64_t budget_ucpu;    /* as the peer knows it; 0: not said */
};
ISO_MUST_USE enum iso_status iso_ledger_heard(struct iso_ledger *ledger, uint32_t index,
					      const struct iso_ledger_news *news);

/* x = A + sum R - sum S of the working copy; never stored. */
int64_t iso_ledger_holdings(const struct iso_ledger *ledger);

/* Same for what is durable: without the debits and credits under way. */
int64_t iso_ledger_durable_holdings(const struct iso_ledger *ledger);

/* S - R of the peer as last heard, at most; INT64_MAX: nobody knows here. */
int64_t iso_ledger_under_way(const struct iso_ledger *ledger, uint32_t index);

/* An edge over which units may be given away: neither closed, frozen nor a tombstone. */
bool iso_ledger_edge_open(const struct iso_ledger *ledger, uint32_t index);

/* An edge over which units may come: as above, or frozen.  Messages go over it. */
bool iso_ledger_edge_credits(const struct iso_ledger *ledger, uint32_t index);

/*
 * IDLE only: a neighbour that closed or folded its edge says that this generation is
 * void; it must be authentic.  The node halts (BURIED) unless it has before.
 */
void iso_ledger_void(struct iso_ledger *ledger);

/* OPENED or IDLE -> PLANNING.  Credits everything heard; returns how much. */
int64_t iso_ledger_begin(struct iso_ledger *ledger);

/*
 * An operation of the administrator: PLANNING only, before freezes, leave and debits,
 * at most one a tick.  ret_moved: what it moves (MINT, BURN: units; FOLD: what it
 * adds to A; else 0), also in the record, for the answer when it is asked for again.
 *
 * ISO_OK         applied; may be acknowledged once the record is durable.  An
 *                abort undoes a BURN as if it had never come.
 * ISO_E_STALE    this number or a greater one was applied before; if it is
 *                last_op, last_op_ucpu is its answer
 * ISO_E_BUSY     not yet, and the same operation may be tried again: FOLD of an
 *                edge that is neither closed nor frozen, or frozen with other counters
 * ISO_E_FOREIGN  for another generation
 * ISO_E_HALTED   only VOID is applied by a node that has halted
 * ISO_E_RANGE    refused: a number out of range, an edge whose generation or
 *                state does not allow it, a certificate that is not of this edge
 * ISO_E_FULL     refused: OPEN of one edge too many
 * ISO_E_UNKNOWN  refused: no edge to this generation of the peer
 *
 * BURN takes no more than iso_ledger_room(), be it nothing.  OPEN of an edge
 * that is open, CLOSE of a closed one, FOLD of a folded one change nothing.
 * CLOSE stops credits with those of this tick: the caller has waited as
 * long as the peer's leases demand, or op->on says that the peer is known to
 * be dead.
 */
ISO_MUST_USE enum iso_status iso_ledger_apply(struct iso_ledger *ledger, const struct iso_op *op,
					      int64_t *ret_moved_ucpu);

/*
 * PLANNING, before debits: the peer says that it is leaving.  From this
 * record on nothing is debited on the edge; it may be told once durable.
 * Not an edge that is closed or a tombstone.
 */
void iso_ledger_freeze(struct iso_ledger *ledger, uint32_t index);

/*
 * PLANNING, before debits: leaves the cluster for good, halt LEFT.  The caller
 * knows that every peer has frozen its edge for good and that all it ever sent
 * is credited here.  ISO_E_BUSY: not leaving, halted, something is owned,
 * enforced, about to change or not known to have arrived.
 */
ISO_MUST_USE enum iso_status iso_ledger_leave(struct iso_ledger *ledger, int64_t enforced_ucpu);

/*
 * PLANNING only; not halted, edge open, amount > 0, S stays within
 * ISO_UNITS_MAX and what is under way within ISO_LEDGER_UNDER_WAY_MAX.
 * The caller keeps to iso_ledger_room(): more is a bug.
 */
void iso_ledger_debit(struct iso_ledger *ledger, uint32_t index, int64_t amount_ucpu);

/* How much may still be given: max(0, x - floor), x while leaving, 0 when halted. */
int64_t iso_ledger_room(const struct iso_ledger *ledger);

/*
 * What may be enforced: min(x, ceiling), and no more than the floor when
 * halted.  target: of the working copy, once it is durable; limit: also
 * before, so not counting credits and minting under way.
 */
int64_t iso_ledger_target(const struct iso_ledger *ledger);
int64_t iso_ledger_limit(const struct iso_ledger *ledger);

/*
 * PLANNING -> LOWERING if the kernel enforces more than iso_ledger_limit(),
 * else READY.  ceiling: configured or effective, whichever is less, now.
 */
void iso_ledger_plan(struct iso_ledger *ledger, int64_t ceiling_ucpu, int64_t enforced_ucpu);

/* The working copy differs from what is durable: there is a record to write. */
bool iso_ledger_changed(const struct iso_ledger *ledger);

/*
 * LOWERING -> READY.  readback: what the kernel says it enforces now.
 * ISO_E_RANGE: still above the limit; the caller tries again or aborts.
 */
ISO_MUST_USE enum iso_status iso_ledger_lowered(struct iso_ledger *ledger, int64_t readback_ucpu);

/*
 * The quota could not be lowered: undoes this tick's debits and its operation
 * if that is a BURN; keeps credits and every other operation.
 * LOWERING or READY -> READY; returns the debits that were undone.
 */
int64_t iso_ledger_abort(struct iso_ledger *ledger);

/* READY and changed -> WRITTEN: the record that must become durable. */
void iso_ledger_record(struct iso_ledger *ledger, struct iso_record *ret_record);

/*
 * WRITTEN -> UNDONE: the disk was full, say, and has taken no byte of the record, so
 * the journal still is what it was.  Then this tick never was: its credits are
 * heard of and not taken up, its debits, its operation, its freezes and a leave have not
 * happened.  What a neighbour has shown to be wrong (halt) stays, and asks
 * for a record again.  To be followed by a commit.
 *
 * False, and OPENED again: the record was the first of this incarnation, before which
 * nothing may be said.  There is nothing to commit, and the next begin tries again.
 */
ISO_MUST_USE bool iso_ledger_undo(struct iso_ledger *ledger);

/*
 * WRITTEN -> IDLE with seq of the record that is durable now; UNDONE, or READY and
 * not changed, -> IDLE with the seq that was durable before.
 */
void iso_ledger_commit(struct iso_ledger *ledger, uint64_t durable_seq);

/* The state a snapshot for the audit shows: durable, in any phase but CLOSED. */
void iso_ledger_durable(const struct iso_ledger *ledger, struct iso_record *ret_record);

/* Whom a node that is admitted will trade with. */
struct iso_ledger_peer {
	uint64_t node;
	uint32_t gen;
};

struct iso_ledger_admission {
	uint64_t id;		/* number of the operation */
	uint32_t gen;		/* the new generation */
	int64_t endowment_ucpu; /* its first share, within [floor, budget] */
	int64_t budget_ucpu;
	const struct iso_ledger_peer *peers; /* borrowed for the call */
	uint32_t peer_count;
};

/*
 * Begins a new generation of a node: the record that follows the journal's newest
 * (old), for a node that was never admitted or has halted, with fresh edges.
 * Numbers of records and incarnations go on.
 * ISO_E_STALE: an operation of this number or a later one was applied.
 * ISO_E_BUSY: the old generation lives.  ISO_E_FOREIGN: another node's record.
 * ISO_E_FULL: too many peers.  ISO_E_RANGE: an amount, no greater generation,
 * a peer twice, the node itself, or a generation of a peer that old knows to have ended.
 */
ISO_MUST_USE enum iso_status iso_ledger_admit(const struct iso_ledger_config *config,
					      const struct iso_record *old,
					      const struct iso_ledger_admission *admission,
					      struct iso_record *ret_record);

#endif
