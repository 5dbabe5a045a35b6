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
#include "agent/base/service.h"
#include "agent/node/crash.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

/* One tick in the order that lib/trade/trade.h demands, and the timer that calls it. */

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

/* 0: nothing is amiss. */
static unsigned state_number(const char *state)
{
	for (unsigned i = CGROUP_DRIFTED; i < CGROUP_DRY_RUN; i++)
		if (strcmp(state, cgroup_state_name((enum cgroup_state)i)) == 0)
			return i;
	return 0;
}

/* The log tells when a state begins and ends; status shows it in between. */
static void log_job_state(struct node *node, uint64_t now_ns)
{
	const char *reason, *state = job_state(node->job, &reason), *path = conf_job(node->conf);
	unsigned number = state_number(state);
	uint32_t untold = 0;

	_Static_assert(CGROUP_DRY_RUN < ISO_TELLING_STATES, "each state has its place");
	/* That the quota does not hold it has been logged by then. */
	if (reason == job_facts(node->job)->unbound)
		number = 0;
	/* What is amiss at the start has been said by then as well. */
	switch (iso_telling_look(&node->telling, now_ns, number, &untold)) {
	case ISO_TELL_NOTHING: break;
	case ISO_TELL_BEGIN:
		if (untold > 0)
			log_warn("cgroup %s: %s: %s; not said were %u changes before",
				 path, state, reason, untold);
		else
			log_warn("cgroup %s: %s: %s", path, state, reason);
		break;
	case ISO_TELL_END: log_info("cgroup %s: ok again", path); break;
	case ISO_TELL_COUNT:
		log_info("cgroup %s: ok for a minute; not said were %u changes before", path,
			 untold);
		break;
	}
}

/* No quota is smaller than the kernel's least; what that counts for: node_enforced_ucpu(). */
static int limit(struct node *node, uint64_t now_ns, int64_t entitled_ucpu, struct error *reterr)
{
	int64_t least_ucpu = node_least_ucpu(node);

	return job_limit(node->job, now_ns,
			 entitled_ucpu > least_ucpu ? entitled_ucpu : least_ucpu, reterr);
}

/* False when the kernel may still enforce more than planned: the debits are then undone. */
static bool lower(struct node *node, uint64_t now_ns, const struct iso_trade_plan *plan)
{
	struct error error = { 0 };
	int r = limit(node, now_ns, plan->limit_ucpu, &error);
	int64_t enforced_ucpu = node_enforced_ucpu(node);

	if (r == 0 && iso_trade_lowered(node->trade, enforced_ucpu) == ISO_OK) {
		if (node->limit_failed)
			log_info("cgroup %s: can be lowered again", conf_job(node->conf));
		node->limit_failed = false;
		crash_point("lowered");
		return true;
	}
	if (!node->limit_failed)
		log_error("cgroup %s: cannot lower to %" PRId64 " ucpu: %s; giving nothing away",
			  conf_job(node->conf), plan->limit_ucpu, error.text);
	node->limit_failed = true;
	return false;
}

static enum iso_status begin(struct node *node, const struct iso_op *op,
			     struct iso_trade_plan *ret_plan)
{
	const struct job_view *view = job_view(node->job);
	const struct iso_trade_input input = {
		.now_ns = clock_boot_ns(),
		.enforced_ucpu = node_enforced_ucpu(node),
		.ceiling_ucpu = view->ceiling_ucpu,
		.cost = node_cost(node->conf, view->demand_ucpu),
		/* The last of the share goes when nobody needs a quota any more. */
		.hold = view->hold || (node->is_leaving && !node->is_empty) ||
			(op != NULL && op->kind == ISO_OP_LEAVE),
		.release = job_facts(node->job)->is_released,
		.paused = node->is_frozen || node_is_stuck(node),
		.op = op,
	};

	return iso_trade_begin(node->trade, &input, ret_plan);
}

/* Raising and sending: what may be done once everything is durable. */
static void carry_out(struct node *node, uint64_t now_ns)
{
	int64_t writes = (int64_t)job_view(node->job)->quota_writes;
	struct error error = { 0 };
	int r = limit(node, now_ns, node->entitled_ucpu, &error);
	bool has_written = (int64_t)job_view(node->job)->quota_writes != writes;

	log_job_state(node, now_ns);
	/* Another writer's value is put right at a slower pace, and is a state. */
	if (r < 0 && r != -ESTALE && !node->raise_told && !node->limit_failed) {
		log_warn("cgroup %s: %s; trying again at each tick", conf_job(node->conf),
			 error.text);
		node->raise_told = true;
	}
	/* Not every tick has something to write: only a write shows that it can be done again. */
	if (node->raise_told && r == 0 && has_written) {
		log_info("cgroup %s: can be written again", conf_job(node->conf));
		node->raise_told = false;
	}
	crash_point("raised");
	send_all(node);
	crash_point("sent");
	if (node->link != NULL)
		link_tick(node->link, now_ns);
	if (node->host == NULL)
		return;
	/* Without a share, or with one that is on its way out, nobody trains. */
	if (node->entitled_ucpu > 0 && !node->is_leaving)
		host_step(node->host, now_ns, (uint64_t)node->entitled_ucpu,
			  job_view(node->job)->cpus);
	else
		host_pause(node->host);
}

void node_describe(const struct node *node, char ret_text[NODE_TEXT_BYTES])
{
	const struct job_view *view = job_view(node->job);
	const char *reason, *state = job_state(node->job, &reason);

	if (node_is_stuck(node))
		state = "journal cannot be written";
	snprintf(ret_text, NODE_TEXT_BYTES, "node %.63s: %s, share %.3f CPU, demand %.3f CPU",
		 node->conf->node, node->standing != NULL ? node->standing : state,
		 (double)node->entitled_ucpu / ISO_UCPU_PER_CPU,
		 (double)view->demand_ucpu / ISO_UCPU_PER_CPU);
}

/* The service manager's watchdog is fed here alone: by what enforces, when it has. */
static void end_tick(struct node *node)
{
	char text[NODE_TEXT_BYTES];

	node->ticks++;
	node_describe(node, text);
	service_status(text);
	service_alive();
}

/* False: this tick ends here. */
static bool record(struct node *node, struct iso_trade_plan *plan)
{
	enum node_written written = NODE_WRITTEN;
	int64_t limit_ucpu = plan->limit_ucpu;

	if (plan->record)
		written = node_make_durable(node, plan);
	else
		node_try_disk(node);
	/* Lowered it is, by now; what may be enforced before the record is, may be. */
	if (written == NODE_NOT_BEGUN) {
		node->entitled_ucpu = limit_ucpu;
		end_tick(node);
	}
	return written == NODE_WRITTEN && !node->failed;
}

void node_tick(struct node *node, uint64_t now_ns)
{
	struct iso_trade_plan plan;

	job_lease_renew(node->job, iso_trade_lease_deadline(node->trade));
	job_observe(node->job, now_ns);
	node_look(node);
	node_tell_trust(node, now_ns);
	const struct iso_op *op = node_op_next(node);
	enum iso_status status = begin(node, op, &plan);
	assert(status == ISO_OK); /* conf_check() has seen the cost */
	crash_point("begin");
	if (plan.lower && !lower(node, now_ns, &plan))
		iso_trade_abort(node->trade, &plan);
	if (!record(node, &plan))
		return;
	if (plan.debited_ucpu > 0)
		remember_decision(node, now_ns);
	node->entitled_ucpu = iso_trade_commit(node->trade, node->durable_seq);
	node->is_begun = true;
	crash_point("committed");
	node_history_note(node, op, &plan);
	if (op != NULL) {
		/* A first edge makes a lease necessary: the guard knows of it first. */
		job_lease_renew(node->job, iso_trade_lease_deadline(node->trade));
		node_op_done(node, &plan);
		crash_point("answered");
	}
	carry_out(node, now_ns);
	end_tick(node);
}

/* The disk was full at the start: what node_open() could not do then. */
static void begin_late(struct node *node)
{
	struct error error = { 0 };

	if (node_begin(node, &error) == 0)
		return;
	log_error("node %s: %s; isobard ends, and the limit stays as it is", node->conf->node,
		  error.text);
	node->failed = true;
	loop_quit(node->loop);
}

void node_arm(struct node *node)
{
	uint64_t wake_ns = job_wake_at_ns(node->job);

	(void)timer_arm(node->timer.fd, wake_ns < node->tick_at_ns ? wake_ns : node->tick_at_ns);
}

/*
 * How many ticks were missed since the last one.  So many at once are told, when that
 * begins and when it has been over for a while: whoever feeds a watchdog with
 * what this node does sees the same.
 */
#define LATE_TICKS   5u
#define LATE_OVER_NS 60000000000u

static void note_lateness(struct node *node, uint64_t now_ns)
{
	uint64_t tick_ns = node->conf->trading.tick_ns;
	uint64_t missed = (now_ns - node->tick_at_ns) / tick_ns;

	node->ticks_late += missed;
	if (missed >= LATE_TICKS) {
		if (node->late_ns == 0)
			log_warn("node %s: a tick came %.1f s late: this machine is too busy, or "
				 "this process was stopped; its limit stays meanwhile",
				 node->conf->node,
				 (double)(now_ns - node->tick_at_ns) / ISO_NS_PER_S);
		node->late_ns = now_ns;
	} else if (node->late_ns != 0 && now_ns - node->late_ns >= LATE_OVER_NS) {
		log_info("node %s: ticks come in time again", node->conf->node);
		node->late_ns = 0;
	}
}

/* Its own clock stands still meanwhile, so this is no lateness; that of leases goes on. */
static void note_sleep(struct node *node)
{
	uint64_t before_ns = clock_now_ns(), boot_ns = clock_boot_ns();
	uint64_t slept_ns = iso_sleep_look(&node->sleep, before_ns, boot_ns, clock_now_ns());

	if (slept_ns > 0)
		log_warn("node %s: this machine slept for %.1f s; leases went on meanwhile",
			 node->conf->node, (double)slept_ns / ISO_NS_PER_S);
}

void node_on_timer(struct loop_source *source, short revents)
{
	struct node *node = (struct node *)((char *)source - offsetof(struct node, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	if (!timer_consume(source->fd))
		return;
	note_sleep(node);
	if (now_ns >= node->tick_at_ns) {
		note_lateness(node, now_ns);
		node_tick(node, now_ns);
		if (!node->failed && node->is_begun && !node->is_public)
			begin_late(node);
		if (node->failed)
			return;
		node->tick_at_ns = job_align(node->job, now_ns + node->conf->trading.tick_ns);
	} else {
		/* Between ticks the policy may pay back or raise at a better moment. */
		job_observe(node->job, now_ns);
		(void)limit(node, now_ns, node->entitled_ucpu, NULL);
	}
	node_arm(node);
}
