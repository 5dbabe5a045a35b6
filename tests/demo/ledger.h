/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_LEDGER_H
#define ISO_DEMO_LEDGER_H

#include <jansson.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * The audit of the ledgers: share + in flight = budget.
 *
 * Each node is asked for one snapshot of its ledger.  The snapshots are of
 * different instants; together they are a picture of one instant just when no
 * receiver has credited more than the donor's snapshot has debited (S >= R on
 * every directed edge).  While one has, the donor is asked again: its counter
 * only grows.  Then for each node
 *     share = endowment + sum of received - sum of sent,   enforced <= share
 * and over all of them
 *     sum of shares + sum of (sent - received) = sum of endowments = budget.
 */
struct ledger_sum {
	uint64_t shares_ucpu, in_flight_ucpu;
	unsigned rereads;
};

/* Fetches the reply to "ledger" of one node, a new reference; -errno. */
typedef int ledger_fetch_fn(void *context, unsigned node, json_t **ret_ledger);

/*
 * Returns 0; -EAGAIN when a node did not answer (nothing is proved either
 * way); -EBADMSG when a reply is not a ledger; -EUCLEAN when the sum does not
 * hold.  The error says which node or edge.
 */
int ledger_audit(unsigned nodes, uint64_t budget_ucpu, ledger_fetch_fn *fetch, void *context,
		 struct ledger_sum *ret_sum, struct error *reterr);

#endif
