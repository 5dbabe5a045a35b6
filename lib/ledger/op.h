/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_OP_H
#define ISO_LEDGER_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Operations of the administrator, who numbers them upwards for the whole
 * cluster and repeats each until it is answered.  A node applies one if and
 * only if its number is greater than that of the newest it has applied, and
 * both are in the same record: so none is done twice, whenever the power goes.
 */
enum iso_op_kind {
	ISO_OP_MINT = 1,        /* A and x grow by the amount */
	ISO_OP_BURN,            /* A and x fall by the amount, or what the floor allows */
	ISO_OP_BUDGET,          /* the budget is another one */
	ISO_OP_OPEN,            /* an edge to a generation of a peer, with S = R = 0 */
	ISO_OP_CLOSE,           /* burial: nothing over this edge any more, S and R certify */
	ISO_OP_FOLD,            /* a closed or frozen edge becomes part of A, and a tombstone */
	ISO_OP_DRAIN,           /* begin or end to give away everything above the floor */
	ISO_OP_LEAVE,           /* give away everything and leave; there is no way back */
	ISO_OP_VOID,            /* only takes the number, so that none before it comes late */
};

struct iso_op {
	uint64_t id;            /* its number, > 0 */
	enum iso_op_kind kind;
	uint32_t gen;           /* of the node that is to apply it */
	int64_t amount_ucpu;    /* MINT: exactly; BURN: at most; > 0 */
	int64_t budget_ucpu;    /* any kind: the budget as of this operation; 0: unchanged */
	uint64_t peer;          /* OPEN, CLOSE, FOLD */
	uint32_t peer_gen;      /* the same; > 0 */
	uint64_t sent;          /* FOLD: S and R of this end, as certified */
	uint64_t received;
	bool on;                /* DRAIN: begin or end; CLOSE: declared death, without waiting */
};

/* One word in lower case, as in "mint"; static, never NULL. */
const char *iso_op_name(enum iso_op_kind kind);

/* ISO_E_UNKNOWN: no such kind. */
ISO_MUST_USE enum iso_status iso_op_find(const char *name, enum iso_op_kind *ret_kind);

/* What can be told without a ledger: the kind is one, amounts in range.  ISO_E_RANGE. */
ISO_MUST_USE enum iso_status iso_op_check(const struct iso_op *op);

#endif
