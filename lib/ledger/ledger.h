/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_LEDGER_H
#define ISO_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/ledger/record.h"
#include "lib/status.h"

/*
 * The conservation core: cumulative counters per edge and the one order in
 * which they may change.  It knows nothing of prices, clocks or bytes.
 *
 *     open:              CLOSED -> OPENED
 *     begin:             OPENED, IDLE -> PLANNING      credits
 *     debit:             PLANNING                     any number of times
 *     plan:              PLANNING -> LOWERING, READY   must the quota be lowered?
 *     lowered, abort:    LOWERING -> READY
 *     record:            READY -> WRITTEN              if anything changed
 *     commit:            WRITTEN, READY -> IDLE        durable; now messages and raises
 *
 * The order (debit, lower the quota, read it back, record, make durable,
 * raise, send) is enforced by assertions: a call out of turn is a bug.
 * A counter may be told to a neighbour only in phase IDLE.
 */

enum iso_ledger_phase {
	ISO_LEDGER_CLOSED = 0,
	ISO_LEDGER_OPENED,      /* read; nothing may leave before it is durable again */
	ISO_LEDGER_IDLE,
	ISO_LEDGER_PLANNING,
	ISO_LEDGER_LOWERING,    /* the quota must be lowered and read back */
	ISO_LEDGER_READY,
	ISO_LEDGER_WRITTEN,     /* the record was handed out; it must become durable */
};

struct iso_ledger_edge {
	uint64_t peer;
	uint32_t peer_gen;
	uint32_t flags;         /* ISO_EDGE_STATE_* */
	uint64_t sent;          /* S, working copy */
	uint64_t received;      /* R, working copy */
	uint64_t debit;         /* part of sent that is not durable yet */
	uint64_t credit;        /* part of received that is not durable yet */
	uint64_t seen;          /* largest S heard from the peer */
	uint64_t acked;         /* largest R heard from the peer */
};

/* Read it freely; only the functions below change it. */
struct iso_ledger {
	uint64_t cluster;
	uint64_t node;
	int64_t budget_ucpu;    /* no transfer can be larger */
	int64_t floor_ucpu;     /* a donor keeps this */
	uint32_t edges_max;
	/* From here on: the working record. */
	uint32_t gen;
	uint32_t inc;
	uint32_t epoch;
	enum iso_halt halt;
	int64_t endowment_ucpu;
	uint64_t last_op;
	uint64_t seq;           /* of the newest durable record */
	uint32_t edge_count;
	enum iso_ledger_phase phase;
	bool dirty;             /* something beside the edges' debits and credits changed */
	int64_t ceiling_ucpu;   /* of this plan */
	int64_t enforced_ucpu;  /* what the kernel enforces, as last told */
	struct iso_ledger_edge edges[];
};

struct iso_ledger_config {
	uint64_t cluster;
	uint64_t node;
	uint32_t epoch;
	int64_t budget_ucpu;    /* > 0 */
	int64_t floor_ucpu;     /* >= 0 */
	uint32_t edges_max;     /* <= ISO_DEGREE_MAX */
};

size_t iso_ledger_size(uint32_t edges_max);

/* Memory: size bytes, aligned for uint64_t; owned by the caller.  ISO_E_RANGE, ISO_E_SHORT. */
ISO_MUST_USE enum iso_status iso_ledger_init(void *memory, size_t size,
					     const struct iso_ledger_config *config,
					     struct iso_ledger **ret_ledger);

/* The first record of a new node.  ISO_E_RANGE: endowment not within [floor, budget]. */
ISO_MUST_USE enum iso_status iso_ledger_genesis(const struct iso_ledger_config *config,
						uint32_t gen, int64_t endowment_ucpu,
						struct iso_record *ret_record);

/*
 * Takes up the journal's state under the next incarnation: CLOSED -> OPENED.
 * ISO_E_FOREIGN: another cluster or node.  ISO_E_FULL: more edges than
 * edges_max.  ISO_E_MALFORMED: not a possible state.
 */
ISO_MUST_USE enum iso_status iso_ledger_open(struct iso_ledger *ledger,
					     const struct iso_record *record);

/* Back to CLOSED, e.g. after the journal failed; nothing can be sent any more. */
void iso_ledger_close(struct iso_ledger *ledger);

/*
 * The edge to a peer, made with zero counters if there is none; OPENED only.
 * ISO_E_FULL; ISO_E_RANGE for the node itself or generation 0.  An edge that
 * is there keeps its generation.
 */
ISO_MUST_USE enum iso_status iso_ledger_edge(struct iso_ledger *ledger, uint64_t peer,
					     uint32_t peer_gen, uint32_t *ret_index);

/* ISO_E_UNKNOWN: no edge to this peer. */
ISO_MUST_USE enum iso_status iso_ledger_find(const struct iso_ledger *ledger, uint64_t peer,
					     uint32_t *ret_index);

/*
 * IDLE only: what a neighbour's message says, in any order and any number of times:
 * its S and R, and the newest incarnation of this node that it knows.
 * ISO_E_HALTED: this node has stopped trading, by this message or before;
 * ledger->halt says why.
 */
struct iso_ledger_news {
	uint64_t sent;
	uint64_t received;
	uint32_t known_inc;
};
ISO_MUST_USE enum iso_status iso_ledger_heard(struct iso_ledger *ledger, uint32_t index,
					      const struct iso_ledger_news *news);

/* x = A + sum R - sum S of the working copy; never stored. */
int64_t iso_ledger_holdings(const struct iso_ledger *ledger);

/* Same for what is durable: without the debits and credits under way. */
int64_t iso_ledger_durable_holdings(const struct iso_ledger *ledger);

/* An edge over which units may flow. */
bool iso_ledger_edge_open(const struct iso_ledger *ledger, uint32_t index);

/* OPENED or IDLE -> PLANNING.  Credits everything heard; returns how much. */
int64_t iso_ledger_begin(struct iso_ledger *ledger);

/*
 * PLANNING only; not halted, edge open, amount > 0.  The caller keeps to
 * iso_ledger_room(): more is a bug.
 */
void iso_ledger_debit(struct iso_ledger *ledger, uint32_t index, int64_t amount_ucpu);

/* How much may still be debited: max(0, x - floor), 0 when halted. */
int64_t iso_ledger_room(const struct iso_ledger *ledger);

/*
 * What may be enforced: min(x, ceiling), and no more than the floor when
 * halted.  target: of the working copy, once it is durable; limit: also
 * before, so not counting credits under way.
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
 * The quota could not be lowered: undoes this tick's debits, keeps its
 * credits.  LOWERING or READY -> READY; returns what was undone.
 */
int64_t iso_ledger_abort(struct iso_ledger *ledger);

/* READY and changed -> WRITTEN: the record that must become durable. */
void iso_ledger_record(struct iso_ledger *ledger, struct iso_record *ret_record);

/*
 * WRITTEN -> IDLE with seq of the record that is durable now; READY and not
 * changed -> IDLE with the seq that was durable before.
 */
void iso_ledger_commit(struct iso_ledger *ledger, uint64_t durable_seq);

/* The state a snapshot for the audit shows: durable, in any phase but CLOSED. */
void iso_ledger_durable(const struct iso_ledger *ledger, struct iso_record *ret_record);

#endif
