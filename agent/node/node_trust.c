/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

/*
 * How far neighbours are trusted, and what is said of those that do not deserve
 * it.  Whoever has a neighbour's key chooses what to send and how often, so the log
 * has one line a minute of it; the counts are in the status.
 */
#define COMPLAINT_INTERVAL_NS (60u * (uint64_t)ISO_NS_PER_S)

/* An edge of an earlier configuration, for which this one says nothing: only back. */
static int64_t limit_of(const struct conf *conf, const struct peer *peer)
{
	uint64_t limit_ucpu =
		peer != NULL ? conf_limit_ucpu(conf, peer->id) : conf->trading.limit_ucpu;

	return limit_ucpu < INT64_MAX ? (int64_t)limit_ucpu : INT64_MAX;
}

void node_set_limits(struct node *node)
{
	uint64_t without = 0;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		const struct peer *peer = node_peer_of_edge(node, i);
		uint64_t bit = (uint64_t)1 << i;
		struct iso_trade_edge edge;

		node->limits_ucpu[i] = limit_of(node->conf, peer);
		if (node->limits_ucpu[i] != 0 || peer == NULL ||
		    iso_trade_edge(node->trade, i, &edge) != ISO_OK ||
		    (edge.flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)) != 0)
			continue;
		without |= bit;
		if ((node->trust.without & bit) == 0)
			log_warn("neighbour %s: no limit is configured: what was given goes back, "
				 "and nothing else, until trading.limit is set", peer->as.name);
	}
	node->trust.without = without;
}

/* Once: later messages of whoever it is are dropped because of it. */
static void note_halt(struct node *node, const struct peer *peer)
{
	struct iso_trade_status trade;

	if (node->trust.is_halted)
		return;
	iso_trade_status(node->trade, &trade);
	node->trust.is_halted = trade.halt != ISO_HALT_NONE;
	if (trade.halt == ISO_HALT_AMNESIA || trade.halt == ISO_HALT_OVERDRAFT ||
	    trade.halt == ISO_HALT_BURIED)
		snprintf(node->trust.halted_by, sizeof(node->trust.halted_by), "%s",
			 peer->as.name);
}

void node_note_message(struct node *node, const struct peer *peer, enum iso_status status)
{
	struct node_trust *trust = &node->trust;

	/* It may come before this node is open, or after its edge has been closed. */
	if (status == ISO_OK || status == ISO_E_UNKNOWN)
		return;
	if (status == ISO_E_HALTED) {
		note_halt(node, peer);
		return;
	}
	trust->dropped++;
	snprintf(trust->dropped_of, sizeof(trust->dropped_of), "%s", peer->as.name);
	trust->dropped_why = status;
}

static void tell_dropped(struct node_trust *trust, uint64_t now_ns)
{
	if (trust->dropped == trust->dropped_told || now_ns < trust->dropped_at_ns)
		return;
	log_warn("neighbour %s: dropped a message: %s; dropped so far, of all: %" PRIu64,
		 trust->dropped_of, iso_status_text(trust->dropped_why), trust->dropped);
	trust->dropped_told = trust->dropped;
	trust->dropped_at_ns = now_ns + COMPLAINT_INTERVAL_NS;
}

static void tell_withheld(struct node *node, uint64_t now_ns)
{
	struct node_trust *trust = &node->trust;
	struct iso_trade_edge edge;

	if (now_ns < trust->withheld_at_ns)
		return;
	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		uint64_t bit = (uint64_t)1 << i;
		const struct peer *peer = node_peer_of_edge(node, i);

		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK || peer == NULL ||
		    edge.withheld == ((trust->withheld & bit) != 0))
			continue;
		if (edge.withheld)
			log_warn("neighbour %s: says that it gave more than its limit of %.4f CPU "
				 "lets in: that is not credited, and stays in flight",
				 peer->as.name, (double)edge.limit_ucpu / ISO_UCPU_PER_CPU);
		else
			log_info("neighbour %s: what it gave is within its limit again",
				 peer->as.name);
		trust->withheld ^= bit;
		trust->withheld_at_ns = now_ns + COMPLAINT_INTERVAL_NS;
	}
}

void node_tell_trust(struct node *node, uint64_t now_ns)
{
	tell_dropped(&node->trust, now_ns);
	tell_withheld(node, now_ns);
}

const char *node_halt_text(const struct node *node, enum iso_halt halt,
			   char ret_text[NODE_HALT_BYTES])
{
	const char *by = node->trust.halted_by;

	assert(halt != ISO_HALT_NONE);
	snprintf(ret_text, NODE_HALT_BYTES, "%s%s%.63s%s", iso_halt_text(halt),
		 by[0] != '\0' ? " (" : "", by, by[0] != '\0' ? " said so)" : "");
	return ret_text;
}
