/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_AUDIT_H
#define ISO_LEDGER_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/ledger/record.h"

/*
 * Proves share + in flight = budget from snapshots that were taken at
 * different moments.  Snapshots are one instant of the cluster if and only
 * if S_i >= R_j on every edge (counters only grow, and a credit carries the S it
 * came from); where that fails the donor was read too early and is read
 * again.  The sums are then checked on a true cut.
 *
 * While the administrator is at work the endowments are not the budget: what the
 * registry knows of that comes in as terms, and the audit still is exact.
 * A generation that has ended leaves edges without another end: they count
 * as if they were folded, A + R - S, and what is kept for it is reserved.  A node
 * that left ends its generation by its own snapshot.
 */

struct iso_audit_node {
	struct iso_record record;
	int64_t holdings_ucpu; /* x as the node states it */
	int64_t enforced_ucpu; /* what its kernel enforces */
	int64_t floor_ucpu;
	int64_t ceiling_ucpu;
};

enum iso_audit_check {
	ISO_AUDIT_OK = 0,
	ISO_AUDIT_CLUSTER,    /* a node of another cluster */
	ISO_AUDIT_TWICE,      /* a node appears twice */
	ISO_AUDIT_PEER,	      /* an edge to a node that is not among the snapshots */
	ISO_AUDIT_VOID,	      /* an edge to an ended generation is open, or was read too early */
	ISO_AUDIT_ONE_SIDED,  /* its two ends are not of the same generations */
	ISO_AUDIT_CUT,	      /* S < R: donor read too early, or its journal rolled back */
	ISO_AUDIT_EQUATION,   /* x is not A + sum R - sum S */
	ISO_AUDIT_ENFORCED,   /* the kernel enforces more than x */
	ISO_AUDIT_CEILING,    /* the kernel enforces more than the ceiling */
	ISO_AUDIT_FLOOR,      /* x is below the floor */
	ISO_AUDIT_HALTED,     /* the node has stopped trading */
	ISO_AUDIT_AMOUNTS,    /* its amounts cannot be added to the others': forged */
	ISO_AUDIT_RESERVED,   /* an ended generation enforces more than is reserved for it */
	ISO_AUDIT_ENDOWMENTS, /* sum A, pending and reserved amounts are not the budget */
	ISO_AUDIT_SUM,	      /* sum x + in flight is not sum A */
	ISO_AUDIT_TOTAL,      /* the kernels together enforce more than the budget */
};

/* A phrase; static, never NULL. */
const char *iso_audit_text(enum iso_audit_check check);

struct iso_audit_finding {
	enum iso_audit_check check;
	uint64_t node;	  /* id; 0 for a check of the whole */
	uint64_t peer;	  /* id, for a check of an edge; else 0.  CUT: the receiver */
	int64_t found;	  /* for CUT: S; for an inequality: its left side */
	int64_t expected; /* for CUT: R; for an inequality: its right side */
};

#define ISO_AUDIT_FINDINGS_MAX 32u

/* A generation that has ended: buried, or left. */
struct iso_audit_void {
	uint64_t node;
	uint32_t gen;
	int64_t reserved_ucpu; /* what it may still enforce: its floor, or 0 */
};

/* What is to be proven.  All amounts are counted in the budget and >= 0. */
struct iso_audit_terms {
	int64_t budget_ucpu;
	int64_t minting_ucpu; /* granted, and not in the snapshot of its node yet */
	int64_t burning_ucpu; /* burned in a snapshot, and still part of the budget */
	const struct iso_audit_void *voids;
	uint32_t void_count;
};

struct iso_audit_result {
	bool proven;	   /* no finding at all */
	uint32_t findings; /* all of them, also those that did not fit */
	struct iso_audit_finding finding[ISO_AUDIT_FINDINGS_MAX];
	int64_t shares_ucpu;
	int64_t in_flight_ucpu;
	int64_t endowments_ucpu; /* with what edges to ended generations will add */
	int64_t enforced_ucpu;	 /* by those that live */
	int64_t reserve_ucpu;	 /* owned and not enforced */
	int64_t reserved_ucpu;	 /* for ended generations */
	int64_t pending_ucpu;	 /* minting and burning */
};

/*
 * Which snapshot must be taken again, and why; the caller repeats until
 * there is none.  If the same edge fails again although the donor was read after
 * the receiver, a journal was rolled back.  ISO_E_UNKNOWN: none.
 */
ISO_MUST_USE enum iso_status iso_audit_reread(const struct iso_audit_node *nodes, uint32_t count,
					      const struct iso_audit_terms *terms,
					      uint32_t *ret_index);

/*
 * Takes any numbers: a sum that an int64_t cannot hold stays at its end and is
 * a finding, so forged amounts never wrap around to the right total.
 */
void iso_audit_run(const struct iso_audit_node *nodes, uint32_t count,
		   const struct iso_audit_terms *terms, struct iso_audit_result *ret_result);

#endif
