/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/node/crash.h"
#include "agent/node/node_private.h"

/* One tick in the order that lib/trade.h demands, and the timer that calls it. */

static void send_all(struct node *node)
{
	uint8_t bytes[ISO_EDGE_BYTES];
	uint64_t id;

	if (node->link == NULL)
		return;
	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		const struct peer *peer = node_peer_of_edge(node, i);

		if (peer == NULL || peer->link == UINT32_MAX ||
		    iso_trade_message(node->trade, i, &id, bytes) != ISO_OK)
			continue;
		(void)link_send(node->link, peer->link, bytes, sizeof(bytes));
		crash_point("sending");
	}
	/* Not sent now is sent with the next tick: it will say the same and more. */
}

/* Nothing can be proven after this: end, with the limit lowered as it is. */
static void fail(struct node *node, const char *why)
{
	log_error("journal: %s; trading stops and isobard ends; the limit stays at %" PRId64
		  " ucpu", why, job_view(node->job)->enforced_ucpu);
	iso_trade_close(node->trade);
	node->failed = true;
	loop_quit(node->loop);
}

/* False when the kernel may still enforce more than planned: the debits are then undone. */
static bool lower(struct node *node, uint64_t now_ns, const struct iso_trade_plan *plan)
{
	struct error error = { 0 };
	int r = job_limit(node->job, now_ns, plan->limit_ucpu, &error);
	int64_t enforced_ucpu = job_view(node->job)->enforced_ucpu;

	if (r == 0 && iso_trade_lowered(node->trade, enforced_ucpu) == ISO_OK) {
		if (node->limit_failed)
			log_info("cgroup %s: can be lowered again", node->conf->cgroup);
		node->limit_failed = false;
		crash_point("lowered");
		return true;
	}
	if (!node->limit_failed)
		log_error("cgroup %s: cannot lower to %" PRId64 " ucpu: %s; giving nothing away",
			  node->conf->cgroup, plan->limit_ucpu, error.text);
	node->limit_failed = true;
	return false;
}

static bool make_durable(struct node *node)
{
	struct error error = { 0 };
	struct iso_record record;

	iso_trade_record(node->trade, &record);
	if (journal_write(node->journal, &record, &error) < 0) {
		fail(node, error.text);
		return false;
	}
	crash_point("durable");
	node->durable_seq = record.seq;
	node->journal_writes++;
	return true;
}

/* The newest transfer given, for status: what, to whom, and the two prices. */
static void remember_decision(struct node *node, uint64_t now_ns)
{
	struct iso_trade_status status;

	iso_trade_status(node->trade, &status);
	if (status.gave.reason != ISO_SHARE_GAVE)
		return;
	const struct peer *peer = node_peer_of_edge(node, status.gave_edge);
	if (peer == NULL)
		return;
	snprintf(node->decision, sizeof(node->decision),
		 "gave %" PRId64 " ucpu to %s: marginal cost %.4g here, at most %.4g there",
		 status.gave.given_ucpu, peer->as.name, iso_price_real(status.gave.own_q32),
		 iso_price_real(status.gave.upper_q32));
	node->decided_ns = now_ns;
}

/* The log tells when a state begins and ends; status shows it in between. */
static void log_job_state(struct node *node)
{
	const char *reason, *state = job_state(node->job, &reason);
	bool is_first = node->job_state == NULL;

	if (!is_first && strcmp(state, node->job_state) == 0)
		return;
	node->job_state = state;
	if (is_first)
		return; /* what is amiss at the start has been said by then */
	if (reason[0] != '\0')
		log_warn("cgroup %s: %s: %s", node->conf->cgroup, state, reason);
	else
		log_info("cgroup %s: ok again", node->conf->cgroup);
}

/* Found by a message or in the journal: said once, and from then on in the status. */
static void tell_halt(struct node *node)
{
	struct iso_trade_status status;

	if (node->halt_told)
		return;
	iso_trade_status(node->trade, &status);
	if (status.halt == ISO_HALT_NONE)
		return;
	node->halt_told = true;
	log_error("trading has stopped for good: %s; the limit goes to the floor",
		  iso_halt_text(status.halt));
}

void node_tick(struct node *node, uint64_t now_ns)
{
	struct error error = { 0 };
	struct iso_trade_plan plan;

	tell_halt(node);
	job_lease_renew(node->job, UINT64_MAX); /* no neighbour may bury this node yet */
	job_observe(node->job, now_ns);
	const struct job_view *view = job_view(node->job);
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = view->enforced_ucpu,
		.ceiling_ucpu = view->ceiling_ucpu,
		.cost = node_cost(node->conf, view->demand_ucpu),
		.hold = view->hold,
	};

	enum iso_status status = iso_trade_begin(node->trade, &input, &plan);
	assert(status == ISO_OK); /* conf_check() has seen the cost */
	crash_point("begin");
	if (plan.lower && !lower(node, now_ns, &plan))
		iso_trade_abort(node->trade, &plan);
	else if (plan.debited_ucpu > 0)
		remember_decision(node, now_ns);
	if (plan.record && !make_durable(node))
		return;
	node->entitled_ucpu = iso_trade_commit(node->trade, node->durable_seq);
	crash_point("committed");
	int r = job_limit(node->job, now_ns, node->entitled_ucpu, &error);
	log_job_state(node);
	/* Another writer's value is put right at a slower pace, and is a state. */
	if (r < 0 && r != -ESTALE && !node->raise_failed && !node->limit_failed)
		log_warn("cgroup %s: %s; trying again at each tick", node->conf->cgroup,
			 error.text);
	node->raise_failed = r < 0;
	crash_point("raised");
	send_all(node);
	crash_point("sent");
	if (node->link != NULL)
		link_tick(node->link, now_ns);
	if (node->host != NULL)
		host_step(node->host, now_ns, (uint64_t)node->entitled_ucpu, view->cpus);
	node->ticks++;
}

void node_arm(struct node *node)
{
	uint64_t wake_ns = job_wake_at_ns(node->job);

	(void)timer_arm(node->timer.fd, wake_ns < node->tick_at_ns ? wake_ns : node->tick_at_ns);
}

void node_on_timer(struct loop_source *source, short revents)
{
	struct node *node = (struct node *)((char *)source - offsetof(struct node, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	if (!timer_consume(source->fd))
		return;
	if (now_ns >= node->tick_at_ns) {
		node_tick(node, now_ns);
		if (node->failed)
			return;
		node->tick_at_ns = job_align(node->job, now_ns + node->conf->trading.tick_ns);
	} else {
		/* Between ticks the policy may pay back or raise at a better moment. */
		job_observe(node->job, now_ns);
		(void)job_limit(node->job, now_ns, node->entitled_ucpu, NULL);
	}
	node_arm(node);
}
