/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/node/node_private.h"
#include "lib/enforce/property.h"
#include "lib/quantity.h"

/* Joining and leaving: what a node without a share enforces, and what it says. */

int64_t node_least_ucpu(const struct node *node)
{
	uint64_t quota_us = CGROUP_QUOTA_MIN_US * (uint64_t)ISO_NS_PER_S;

	int64_t least_ucpu = (int64_t)((quota_us + node->conf->period_ns - 1) /
				       node->conf->period_ns);

	/* Nor does systemd keep less for a unit. */
	if (node->conf->unit[0] != '\0' && least_ucpu < (int64_t)ISO_PROPERTY_STEP_UCPU)
		return ISO_PROPERTY_STEP_UCPU;
	return least_ucpu;
}

int64_t node_enforced_ucpu(const struct node *node)
{
	int64_t enforced_ucpu = job_view(node->job)->enforced_ucpu;

	/*
	 * No quota is smaller than the kernel's least.  Where nobody runs it is nothing; and a
	 * node without a share cannot do more about it than say so.
	 */
	if (enforced_ucpu <= node_least_ucpu(node) &&
	    (!node->has_share || (node->is_leaving && node->is_empty)))
		return 0;
	return enforced_ucpu;
}

static unsigned unsettled(const struct node *node)
{
	struct iso_trade_edge edge;
	unsigned count = 0;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++)
		count += iso_trade_edge(node->trade, i, &edge) == ISO_OK &&
			 (edge.flags & ISO_EDGE_STATE_FOLDED) == 0 && !edge.settled;
	return count;
}

static void explain_leaving(const struct node *node, const struct iso_trade_status *trade,
			    char *out, size_t size)
{
	if (!node->is_empty)
		snprintf(out, size, "cgroup %s is not empty: end its processes, and what is left "
			 "of the share, %.4f CPU, is given away", conf_job(node->conf),
			 (double)trade->share_ucpu / ISO_UCPU_PER_CPU);
	else if (trade->share_ucpu > 0)
		snprintf(out, size, "%.4f CPU are left to give away",
			 (double)trade->share_ucpu / ISO_UCPU_PER_CPU);
	else
		snprintf(out, size, "%u neighbours have yet to confirm what they were given",
			 unsettled(node));
}

struct node_standing node_standing(const struct node *node, const struct iso_trade_status *trade)
{
	struct node_standing standing = { 0 };
	char *reason = standing.reason;
	size_t size = sizeof(standing.reason);

	if (trade->gen == 0 || trade->halt == ISO_HALT_LEFT) {
		bool is_new = trade->gen == 0;

		standing.name = is_new ? "waiting for admission" : "left";
		snprintf(reason, size, "%s; an administrator admits it with isobarctl join%s",
			 is_new ? "it has no share yet" : "it gave its share away",
			 node->is_empty ? ""
					: "; its group is not empty and gets the kernel's least "
					  "quota, which is nobody's share");
	} else if (trade->halt == ISO_HALT_BURIED) {
		standing.name = "buried";
		snprintf(reason, size, "generation %" PRIu32 " was buried%s%s, and its share is "
			 "with the others; an administrator admits it anew with isobarctl join",
			 trade->gen, node->trust.halted_by[0] != '\0' ? ", says " : "",
			 node->trust.halted_by);
	} else if (trade->halt != ISO_HALT_NONE) {
		return standing;
	} else if ((trade->flags & ISO_NODE_LEAVING) != 0) {
		standing.name = "leaving";
		explain_leaving(node, trade, reason, size);
	} else if ((trade->flags & ISO_NODE_DRAINING) != 0) {
		standing.name = "draining";
		snprintf(reason, size, "what is above the floor is given away");
	}
	if (node->is_frozen && standing.name != NULL) {
		/* What should be given is not: that is why it takes so long. */
		size_t used = strlen(reason);

		snprintf(reason + used, size - used, "; frozen: nothing is given before "
			 "isobarctl thaw");
	}
	return standing;
}

/* Found by a message, in the journal or by an operation: said once, then in the status. */
static void tell(struct node *node, const struct iso_trade_status *trade)
{
	struct node_standing standing = node_standing(node, trade);
	const char *name = standing.name;
	char why[NODE_HALT_BYTES];

	/* Damage that nobody asked for. */
	if (name == NULL && trade->halt != ISO_HALT_NONE)
		name = iso_halt_text(trade->halt);
	if (name == node->standing)
		return;
	node->standing = name;
	if (name == NULL)
		log_info("node %s: trades with a share of %.4f CPU", node->conf->node,
			 (double)trade->share_ucpu / ISO_UCPU_PER_CPU);
	else if (standing.name == NULL)
		log_error("trading has stopped for good: %s; the limit goes to the floor",
			  node_halt_text(node, trade->halt, why));
	else if (trade->halt == ISO_HALT_BURIED)
		log_error("node %s: %s: %s; the limit goes to the floor", node->conf->node, name,
			  standing.reason);
	else
		log_info("node %s: %s: %s", node->conf->node, name, standing.reason);
}

/* Nobody runs in the job's group or below it; one that cannot be asked is not empty. */
static bool is_empty(const struct node *node)
{
	bool is_populated = true;

	/* Nothing is limited there, whoever runs. */
	if (node->conf->dry_run)
		return true;
	int r = cgroup_populated(job_cgroup(node->job), &is_populated, NULL);
	return r == -ENODEV || (r == 0 && !is_populated);
}

void node_look(struct node *node)
{
	struct iso_trade_status trade;

	iso_trade_status(node->trade, &trade);
	job_set_budget(node->job, trade.budget_ucpu);
	node->has_share = trade.gen != 0 && trade.halt != ISO_HALT_LEFT;
	node->is_leaving = (trade.flags & ISO_NODE_LEAVING) != 0;
	/* Asking costs a walk through the group on cgroup v1. */
	node->is_empty = (node->has_share && !node->is_leaving) || is_empty(node);
	if (!node->has_share && !node->is_empty && !node->empty_told)
		log_warn("cgroup %s: not empty, and this node has no share: what runs there gets "
			 "the kernel's least quota, %.4f CPU, which is nobody's share",
			 conf_job(node->conf), (double)node_least_ucpu(node) / ISO_UCPU_PER_CPU);
	node->empty_told = !node->has_share && !node->is_empty;
	tell(node, &trade);
}
