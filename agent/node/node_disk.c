/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/node/crash.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

/*
 * The disk below the journal.  One that takes nothing, since it is full, over
 * its quota or read-only, is waited for: nothing is traded, neighbours are still
 * told that this node lives, and what it owns stays enforced.  So is one that finds
 * that out when it is to make a record durable, see journal.c.  After any other
 * failure nobody knows what the journal holds, and the node ends.
 */

void node_fail(struct node *node, const char *why)
{
	log_error("journal: %s; trading stops and isobard ends; the limit stays at %" PRId64
		  " ucpu", why, job_view(node->job)->enforced_ucpu);
	iso_trade_close(node->trade);
	node->failed = true;
	loop_quit(node->loop);
}

static void disk_is_back(struct node *node)
{
	if (!node_is_stuck(node))
		return;
	log_info("journal: can be written again after %.0f s; trading goes on",
		 (double)(clock_now_ns() - node->stuck_ns) / ISO_NS_PER_S);
	node->stuck_ns = 0;
}

static void disk_is_full(struct node *node, const char *why)
{
	bool is_told = node_is_stuck(node);

	snprintf(node->stuck_reason, sizeof(node->stuck_reason), "%s", why);
	snprintf(node->stuck_text, sizeof(node->stuck_text),
		 "%s; nothing is traded until it can be written, tried at each tick; the share "
		 "stays as it is and is enforced", why);
	if (is_told)
		return;
	node->stuck_ns = clock_now_ns();
	log_warn("journal: %s", node->stuck_text);
}

bool node_is_stuck(const struct node *node)
{
	return node->stuck_ns != 0;
}

enum node_written node_make_durable(struct node *node, struct iso_trade_plan *plan)
{
	struct error error = { 0 };
	struct iso_record record;

	iso_trade_record(node->trade, &record);
	if (journal_write(node->journal, &record, &error) == 0) {
		crash_point("durable");
		node->durable_seq = record.seq;
		node->journal_writes++;
		disk_is_back(node);
		return NODE_WRITTEN;
	}
	if (!journal_is_whole(node->journal)) {
		node_fail(node, error.text);
		return NODE_FAILED;
	}
	disk_is_full(node, error.text);
	return iso_trade_undo(node->trade, plan) ? NODE_WRITTEN : NODE_NOT_BEGUN;
}

void node_try_disk(struct node *node)
{
	struct error error = { 0 };

	if (!node_is_stuck(node))
		return;
	if (journal_probe(node->journal, &error) == 0)
		disk_is_back(node);
	else if (journal_is_whole(node->journal))
		disk_is_full(node, error.text);
	else
		node_fail(node, error.text);
}
