/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRADE_H
#define ISO_TRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trade/cost.h"
#include "lib/ledger/audit.h"
#include "lib/ledger/lease.h"
#include "lib/ledger/ledger.h"
#include "lib/ledger/op.h"
#include "lib/ledger/record.h"
#include "lib/trade/share.h"
#include "lib/status.h"
#include "lib/wire/edge.h"

/*
 * The trading core of one node: ledger, prices and messages behind the one
 * order that keeps the sum of shares equal to the budget.  A tick:
 *
 *     iso_trade_receive()   for every message that has come
 *     iso_trade_begin()     credits, the administrator's operation, prices, debits; the plan
 *                           says what to do:
 *     if plan.lower         lower the quota to plan.limit_ucpu, READ IT BACK, then
 *                           iso_trade_lowered(); on any failure iso_trade_abort()
 *     if plan.record        iso_trade_record(), write it, fdatasync; a failure is
 *                           final: iso_trade_close() and end, unless the disk has no
 *                           room and the journal is what it was: iso_trade_undo()
 *     iso_trade_commit()    only now:
 *     raise                 the quota to what commit returned, if it is more than enforced
 *     send                  iso_trade_message() on every edge, also when nothing changed
 *     answer                the operation, if there was one and plan.op_status is ISO_OK
 *
 * A call out of turn fails an assertion; messages cannot be had before the
 * commit.  Start: init, open (with the journal's record), then a tick like
 * any other, whose record (the new incarnation) must be durable before the
 * first message; what arrives before that is dropped.
 *
 * All times are CLOCK_BOOTTIME: leases go on while the machine sleeps.
 */

struct iso_trade;

struct iso_trade_peer {
	uint64_t node;
	uint32_t gen;           /* for an edge that the journal does not know yet */
};

struct iso_trade_config {
	uint64_t cluster;
	uint64_t node;
	uint32_t epoch;
	uint64_t shared_digest; /* of what else all nodes must agree on; part of the frame's */
	int64_t budget_ucpu;    /* of a new node; the journal's holds from then on */
	int64_t floor_ucpu;
	struct iso_share_params share;
	struct iso_lease_params lease; /* zeros: no leases, and nothing is closed without a word */
	/*
	 * A start trusts the journal only once every neighbour has answered, or after so
	 * long: until then nothing is given and no more enforced than before the start.
	 * An old copy is noticed before its share is enforced.  0: trusted at once.
	 */
	uint64_t verify_ns;
	uint32_t edges_max;     /* peers, and edges that only the journal knows; 0: 64 */
	const struct iso_trade_peer *peers; /* borrowed for as long as the node is used */
	uint32_t peer_count;
	/*
	 * How far a peer is trusted, >= 0, by index of the edge; INT64_MAX: without limit.
	 * Since the edge was opened no more is given in net (S - R) than that, and no more
	 * is taken (R - S): a credit beyond it stays in flight until something goes back.
	 * And the peer's price is not passed on to others beyond what that can account for.
	 * Borrowed for as long as the node is used, edges_max of them; they may change between
	 * two calls.  NULL: no limits.
	 */
	const int64_t *limits_ucpu;
};

/* Bytes for one node; 0 if the configuration is out of range. */
size_t iso_trade_size(const struct iso_trade_config *config);

/*
 * Memory: size bytes, aligned for uint64_t, owned by the caller and released
 * by it at any time.  ISO_E_RANGE: a value out of range, a peer twice or the
 * node itself.  ISO_E_FULL: more peers than edges_max.  ISO_E_SHORT: size.
 */
ISO_MUST_USE enum iso_status iso_trade_init(void *memory, size_t size,
					    const struct iso_trade_config *config,
					    struct iso_trade **ret_trade);

/*
 * The record that makes a new node's journal; generation and endowment 0 for
 * one that waits for its admission.  ISO_E_RANGE as iso_ledger_genesis().
 */
ISO_MUST_USE enum iso_status iso_trade_genesis(const struct iso_trade_config *config, uint32_t gen,
					       int64_t endowment_ucpu,
					       struct iso_record *ret_record);

/*
 * Begins a new generation of a node that was never admitted or has halted:
 * the record that follows old, the journal's newest.  Once it is durable the
 * shell closes the trade, makes it anew with the peers of the admission, and opens
 * it with this record.  A deadline of the generation before is void then.
 * The statuses of iso_ledger_admit().
 */
ISO_MUST_USE enum iso_status iso_trade_admit(const struct iso_trade_config *config,
					     const struct iso_record *old,
					     const struct iso_ledger_admission *admission,
					     struct iso_record *ret_record);

/*
 * Takes up the journal's state.  Edges of the journal that are not among the
 * configured peers keep their counters and stay dormant, and so do tombstones.
 * A peer to whom the configuration must not make an edge (iso_ledger_edge())
 * waits for the operation that does.  The lease begins anew: see
 * iso_trade_lease_resume().
 * ISO_E_FOREIGN, ISO_E_FULL, ISO_E_MALFORMED as iso_ledger_open().
 */
ISO_MUST_USE enum iso_status iso_trade_open(struct iso_trade *trade,
					    const struct iso_record *record);

/* After the journal failed: nothing can be sent or planned any more. */
void iso_trade_close(struct iso_trade *trade);

/* Why a message was dropped; each is counted. */
enum iso_trade_drop {
	ISO_DROP_FORM = 0,      /* not a frame: size, magic, fields */
	ISO_DROP_CHECKSUM,
	ISO_DROP_VERSION,
	ISO_DROP_CLUSTER,
	ISO_DROP_CONFIG,        /* other epoch or digest: trading refused until they agree */
	ISO_DROP_ADDRESS,       /* for another node */
	ISO_DROP_SENDER,        /* source is not who the link authenticated, or is no peer */
	ISO_DROP_GENERATION,
	ISO_DROP_CLOSED,        /* edge closed, closing or dormant, or this node is not open yet */
	ISO_DROP_HALTED,
	/* The rest of the message was used, its price was not: */
	ISO_DROP_STALE,         /* older than the newest */
	ISO_DROP_REFERENCE,     /* coded against a price that is not kept, or by no table */
	ISO_DROP_COUNT,
};
/* Short and stable: keys of the status in JSON, and labels of metrics. */
const char *iso_trade_drop_text(enum iso_trade_drop drop);

/*
 * Takes in one message; never between begin and commit.  sender: the node id
 * that the link has authenticated.
 * now_ns: never before an earlier call's.
 * ISO_OK also for stale prices.  Otherwise it was dropped whole and counted:
 * the statuses of iso_edge_decode(), ISO_E_FOREIGN (cluster, address, sender,
 * generation), ISO_E_CONFIG, ISO_E_UNKNOWN (closed), ISO_E_HALTED: this
 * message, or one before, has shown that the ledger cannot be trusted; see
 * iso_trade_status.halt.
 */
ISO_MUST_USE enum iso_status iso_trade_receive(struct iso_trade *trade, uint64_t now_ns,
					       uint64_t sender, const void *bytes, size_t size);

struct iso_trade_input {
	uint64_t now_ns;
	int64_t enforced_ucpu;  /* what the kernel enforces, as read; INT64_MAX: no limit */
	int64_t ceiling_ucpu;   /* configured or effective, whichever is less, now; > 0 */
	struct iso_cost cost;   /* with this tick's measured demand; passes iso_cost_check() */
	bool hold;              /* give nothing, e.g. while the cgroup is in conflict */
	/* Nobody runs here: what is above the floor is offered as what a ceiling leaves over is. */
	bool release;
	bool paused;            /* neither give nor have room: the share stays as it is */
	const struct iso_op *op; /* to apply in this tick; NULL: none; borrowed for the call */
};

struct iso_trade_plan {
	int64_t share_ucpu;     /* x after this tick */
	int64_t target_ucpu;    /* what is to be enforced in the end: min(x, ceiling) */
	int64_t limit_ucpu;     /* what may be enforced before the record is durable */
	int64_t credited_ucpu;
	int64_t debited_ucpu;
	bool lower;             /* to limit_ucpu, before the record */
	bool record;            /* write one, make it durable */
	/*
	 * What became of the operation: statuses of iso_ledger_apply().  ISO_OK: to be
	 * answered after the commit, with what it moved.  ISO_E_BUSY also for a
	 * CLOSE whose time has not come, see iso_trade_close_at_ns(), and for a
	 * BURN that was aborted, or waits for the journal to be verified; ISO_E_RANGE
	 * also for a CLOSE where there are no leases.
	 */
	enum iso_status op_status;
	int64_t op_moved_ucpu;
};

/* ISO_E_RANGE: an input outside of what its comment says; nothing has changed then. */
ISO_MUST_USE enum iso_status iso_trade_begin(struct iso_trade *trade,
					     const struct iso_trade_input *input,
					     struct iso_trade_plan *ret_plan);

/* ISO_E_RANGE: readback is still above plan.limit_ucpu: try again, or abort. */
ISO_MUST_USE enum iso_status iso_trade_lowered(struct iso_trade *trade, int64_t readback_ucpu);

/*
 * Undoes the debits of this tick, and its operation if that was a BURN; keeps its credits.
 * The plan is replaced (lower is false).
 */
void iso_trade_abort(struct iso_trade *trade, struct iso_trade_plan *ret_plan);

/* The record to make durable: encode it with iso_record_encode() or hand it to the journal. */
void iso_trade_record(struct iso_trade *trade, struct iso_record *ret_record);

/*
 * Instead of making the record durable: the journal is what it was, but that a power cut
 * may yet leave this record.  As if this tick had done nothing; commit with the seq that
 * was durable before.  Messages, and with them leases, go on.  What nobody can take up is
 * best not asked for until the disk is back: input.paused, and no operation.
 * An operation that this tick had applied has not been: plan.op_status is ISO_E_BUSY.
 * False: it was the first record of an incarnation.  Then there is no commit, and nobody
 * hears of this node before a later tick's record is durable.
 */
ISO_MUST_USE bool iso_trade_undo(struct iso_trade *trade, struct iso_trade_plan *ret_plan);

/*
 * The record is durable (or plan.record was false).  durable_seq: seq of the
 * newest record on disk.  Returns what may be enforced now; above what is
 * enforced: raise.
 */
int64_t iso_trade_commit(struct iso_trade *trade, uint64_t durable_seq);

/*
 * Until when the kernel may enforce more than the floor, as it was after the
 * last begin or message.  0: no lease yet.  UINT64_MAX: none is needed.  It
 * may fall from UINT64_MAX when an edge is opened: tell it to whoever enforces
 * it before the operation is answered.
 */
uint64_t iso_trade_lease_deadline(const struct iso_trade *trade);

/* After open: a deadline of an agent before, of this boot and generation. */
void iso_trade_lease_resume(struct iso_trade *trade, uint64_t deadline_ns);

/*
 * When the edge may be closed without a word on its peer's death, as things
 * are: a message of the peer's puts it off until a CLOSE has been asked for.
 * UINT64_MAX: never.
 */
uint64_t iso_trade_close_at_ns(const struct iso_trade *trade, uint32_t index);

/* Number of edges: index < count in the calls below.  They stay; OPEN may add one. */
uint32_t iso_trade_edges(const struct iso_trade *trade);

/*
 * The message for an edge, the same bytes until the next begin.  Only between
 * commit and begin.  ISO_E_UNKNOWN: nothing is sent on this edge (closed, closing, dormant).
 * ISO_E_HALTED.
 */
ISO_MUST_USE enum iso_status iso_trade_message(const struct iso_trade *trade, uint32_t index,
					       uint64_t *ret_peer,
					       uint8_t ret_bytes[ISO_EDGE_BYTES]);

struct iso_trade_status {
	uint32_t gen;
	uint32_t inc;
	uint64_t record_seq;
	int64_t endowment_ucpu;
	int64_t share_ucpu;     /* durable */
	int64_t unacked_ucpu;   /* sent, not known to have arrived: in flight as known here */
	int64_t arriving_ucpu;  /* heard of and not credited yet; the next tick does */
	int64_t price_q32;      /* shown at the last tick: marginal + mu */
	int64_t marginal_q32;
	double curvature;
	uint64_t seq;           /* messages per edge so far in this incarnation */
	uint64_t digest;        /* of the shared configuration, as sent */
	/* The newest transfer of the last tick; another reason than GAVE: there was none. */
	struct iso_share_decision gave;
	uint32_t gave_edge;
	int64_t budget_ucpu;
	uint32_t flags;         /* ISO_NODE_* */
	uint64_t last_op;
	int64_t last_op_ucpu;
	bool verified;          /* see iso_trade_config.verify_ns */
	bool lease_valid;       /* more than the floor may be enforced, at the newest time seen */
	uint64_t lease_deadline_ns; /* iso_trade_lease_deadline() */
	enum iso_halt halt;
	uint64_t received;      /* messages taken in */
	uint64_t drops[ISO_DROP_COUNT];
};
void iso_trade_status(const struct iso_trade *trade, struct iso_trade_status *ret_status);

struct iso_trade_edge {
	uint64_t peer;
	uint32_t peer_gen;
	uint32_t flags;         /* ISO_EDGE_STATE_* */
	bool dormant;           /* in the journal, not in the configuration; or a tombstone */
	bool closing;           /* a CLOSE waits until it may be done: nothing is sent or taken */
	bool leaving;           /* the peer says so */
	bool settled;           /* leaving: the peer has frozen it, and nothing is in flight */
	uint64_t close_at_ns;   /* iso_trade_close_at_ns() */
	uint64_t sent;          /* S, durable */
	uint64_t received;      /* R, durable */
	uint64_t acked;         /* the peer's R as last heard */
	uint32_t peer_inc;
	uint64_t peer_seq;
	uint64_t last_ns;       /* when the newest message came, to 17 ms; 0: never in this run */
	struct iso_share_heard heard;           /* valid: the price is known, within T_fresh */
	double remainder_ucpu;
	int64_t limit_ucpu;     /* INT64_MAX: none */
	bool withheld;          /* the peer says that it gave more than the limit lets in */
	enum iso_share_reason reason;           /* of the last decision */
};

/* ISO_E_UNKNOWN: no such index. */
ISO_MUST_USE enum iso_status iso_trade_edge(const struct iso_trade *trade, uint32_t index,
					    struct iso_trade_edge *ret_edge);

/* For the audit, in any phase after open: the durable state. */
void iso_trade_snapshot(const struct iso_trade *trade, int64_t enforced_ucpu, int64_t ceiling_ucpu,
			struct iso_audit_node *ret_node);

#endif
