/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/node_private.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/control/status.h"
#include "agent/guard/guard_client.h"
#include "lib/quantity.h"

/* What the node says about itself.  Nothing here changes anything. */

#define DROPS_MAX (ISO_DROP_COUNT + LINK_DROP_COUNT + 1)

static double age_s(uint64_t now_ns, uint64_t then_ns)
{
	return then_ns == 0 ? (double)NAN : (double)(now_ns - then_ns) / ISO_NS_PER_S;
}

static bool is_reached(const struct node *node, const struct peer *peer)
{
	return node->link != NULL && peer != NULL && peer->link != UINT32_MAX;
}

static const char *neighbour_state(const struct node *node, const struct iso_trade_edge *edge,
				   const struct peer *peer)
{
	/* What has ended for good comes first, also of a peer that still sends. */
	if ((edge->flags & ISO_EDGE_STATE_FOLDED) != 0)
		return "folded";
	if ((edge->flags & ISO_EDGE_STATE_CLOSED) != 0)
		return "closed";
	if (!is_reached(node, peer))
		return "not configured";
	if (link_peer(node->link, peer->link).up)
		return "up";
	return edge->last_ns == 0 ? "not heard yet" : "down";
}

static const char *edge_state(const struct iso_trade_edge *edge)
{
	if ((edge->flags & ISO_EDGE_STATE_FOLDED) != 0)
		return "folded";
	if ((edge->flags & ISO_EDGE_STATE_CLOSED) != 0)
		return "closed";
	if (edge->closing)
		return "closing";
	if ((edge->flags & ISO_EDGE_STATE_FROZEN) != 0)
		return "frozen";
	return edge->dormant ? "dormant" : "open";
}

static int64_t in_ms(uint64_t boot_ns, uint64_t at_ns)
{
	if (at_ns == UINT64_MAX)
		return STATUS_UNKNOWN;
	return at_ns > boot_ns ? (int64_t)((at_ns - boot_ns) / 1000000u) : 0;
}

/* now_ns: CLOCK_BOOTTIME, as all times of the trading core. */
static unsigned fill_neighbours(const struct node *node, uint64_t now_ns,
				struct status_neighbour *out)
{
	struct iso_trade_edge edge;
	unsigned count = 0;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		const struct peer *peer = node_peer_of_edge(node, i);

		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK)
			continue;
		out[count++] = (struct status_neighbour){
			.name = peer != NULL ? peer->as.name : "?",
			.address = peer != NULL ? peer->as.address : NULL,
			.state = neighbour_state(node, &edge, peer),
			.age_s = age_s(now_ns, edge.last_ns),
			.price = edge.heard.valid ? iso_price_real(edge.heard.price.value_q32) :
						    (double)NAN,
			.sent_ucpu = (int64_t)edge.sent,
			.received_ucpu = (int64_t)edge.received,
			.in_flight_ucpu = (int64_t)(edge.sent - edge.acked),
			.remainder = edge.remainder_ucpu,
			.generation = edge.peer_gen,
			.edge = edge_state(&edge),
			.decision = iso_share_reason_text(edge.reason),
			.limit_ucpu = edge.limit_ucpu < INT64_MAX ? edge.limit_ucpu
								  : STATUS_UNKNOWN,
			.is_withheld = edge.withheld,
			.close_in_ms = in_ms(now_ns, edge.close_at_ns),
		};
	}
	return count;
}

/* There is an edge over which units could flow, and nobody at the other end of any. */
static bool is_isolated(const struct node *node)
{
	struct iso_trade_edge edge;
	bool has_edge = false;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		const struct peer *peer = node_peer_of_edge(node, i);

		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK ||
		    (edge.flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)) != 0)
			continue;
		if (is_reached(node, peer) && link_peer(node->link, peer->link).up)
			return false;
		has_edge = true;
	}
	return has_edge;
}

/* Worst first: what an administrator must know before anything else. */
static const char *node_state(const struct node *node, const struct iso_trade_status *trade,
			      struct node_standing *standing, const char **ret_reason)
{
	const char *state = job_state(node->job, ret_reason);

	if (standing->name != NULL) {
		*ret_reason = standing->reason;
		return standing->name;
	}
	if (trade->halt != ISO_HALT_NONE) {
		*ret_reason = node_halt_text(node, trade->halt, standing->reason);
		return "degraded";
	}
	if (node_is_stuck(node) && (strcmp(state, "ok") == 0 || strcmp(state, "degraded") == 0)) {
		*ret_reason = node->stuck_text;
		return "degraded";
	}
	if (strcmp(state, "ok") != 0)
		return state;
	if (node->is_frozen) {
		*ret_reason = "an administrator has stopped trading; the share stays as it is and "
			      "is enforced, until isobarctl thaw";
		return "frozen";
	}
	if (!is_isolated(node))
		return state;
	if (trade->drops[ISO_DROP_CONFIG] > 0)
		*ret_reason = "neighbours have another epoch, quantiser or lease configured";
	else if (node->conf->trading.lease_ns != 0)
		*ret_reason = "no neighbour answers; the share stays, and of it no more than the "
			      "floor is enforced when the lease ends";
	else
		*ret_reason = "no neighbour answers; the share stays as it is";
	return "isolated";
}

static unsigned fill_drops(const struct node *node, const struct iso_trade_status *trade,
			   struct status_drop out[DROPS_MAX])
{
	struct link_counters counters;
	unsigned count = 0;

	for (int i = 0; i < ISO_DROP_COUNT; i++)
		out[count++] = (struct status_drop){
			.reason = iso_trade_drop_text((enum iso_trade_drop)i),
			.count = (int64_t)trade->drops[i],
		};
	if (node->link == NULL)
		return count;
	counters = link_counters(node->link);
	for (int i = 0; i < LINK_DROP_COUNT; i++)
		if (i != LINK_DROP_REJECTED) /* those are the ones above */
			out[count++] = (struct status_drop){
				.reason = link_drop_text((enum link_drop)i),
				.count = (int64_t)counters.dropped[i],
			};
	out[count++] = (struct status_drop){ "handshake", (int64_t)counters.refused };
	assert(count <= DROPS_MAX);
	return count;
}

static void fill_agent(struct status *status)
{
	struct rusage usage;
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	status->sandbox = sandbox_look();
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		status->agent.cpu_ns =
			(int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * ISO_NS_PER_S +
			(int64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	if (file == NULL)
		return;
	if (fscanf(file, "%*d %ld", &pages) == 1)
		status->agent.rss_bytes = pages * sysconf(_SC_PAGESIZE);
	fclose(file);
}

static void fill_job(struct status *status, const struct node *node)
{
	const struct job_view *view = job_view(node->job);

	status->cgroup = cgroup_path(job_cgroup(node->job));
	status->unit = node->conf->unit[0] != '\0' ? node->conf->unit : NULL;
	status->quota_us = view->written_us == 0 ? STATUS_UNKNOWN : (int64_t)view->written_us;
	status->readback_us =
		view->limit.unlimited ? STATUS_UNKNOWN : (int64_t)view->limit.quota_us;
	status->period_us = (int64_t)(node->conf->period_ns / 1000);
	status->enforced_ucpu =
		view->enforced_ucpu == INT64_MAX ? STATUS_UNKNOWN : view->enforced_ucpu;
	status->effective_ucpu = (int64_t)view->effective.ucpu;
	status->effective_by = view->effective.ucpu < view->effective.ceiling_ucpu ?
				       "quota" : view->effective.by;
	status->cpus = view->cpus;
	status->limit_changes = (int64_t)cgroup_drift_count(job_cgroup(node->job));
	status->is_dry_run = node->conf->dry_run;
	status->ceiling_ucpu = view->ceiling_ucpu;
	if (view->metered) {
		status->on_cpu_ucpu = (int64_t)view->on_cpu_ucpu;
		status->wait_ucpu = (int64_t)view->wait_ucpu;
		status->demand_ucpu = (int64_t)view->demand_ucpu;
	}
	status->debt_ns = (int64_t)view->debt_ns;
	status->throttled_ns = (int64_t)view->throttled_ns;
	status->meter = job_meter_name(node->job);
	status->meter_reason = job_meter_reason(node->job);
	status->quota_writes = (int64_t)view->quota_writes;
}

/* notes: room for JOB_NOTES_MAX. */
static void fill_facts(struct status *status, const struct node *node, const char **notes)
{
	const struct job_facts *facts = job_facts(node->job);

	status->presence = job_presence_name(facts->presence);
	status->is_released = facts->is_released;
	if (facts->has_tasks)
		status->unbound.realtime_threads = facts->tasks.realtime;
	if (facts->has_realtime)
		status->unbound.realtime_ucpu = (int64_t)facts->realtime_ucpu;
	if (facts->host.sched_ext[0] != '\0')
		status->unbound.sched_ext = facts->host.sched_ext;
	for (unsigned i = 0; i < facts->note_count; i++)
		notes[i] = facts->notes[i];
	status->ratios.use = facts->ratios[ISO_FACT_OVERUSE];
	status->ratios.throttled_use = facts->ratios[ISO_FACT_EARLY];
	status->ratios.meter = facts->ratios[ISO_FACT_ACCOUNTS];
	status->ratios.stolen = facts->ratios[ISO_FACT_STOLEN];
	status->ratios.interrupts = facts->ratios[ISO_FACT_INTERRUPTS];
	status->notes = notes;
	status->note_count = facts->note_count;
}

static void fill_guard(struct status *status, const struct node *node)
{
	const struct guard_status *guard = job_guard(node->job);
	uint64_t now_ns = clock_boot_ns();

	if (guard == NULL)
		return;
	status->guard.state = guard_state_name(guard->state);
	status->guard.reason = guard->reason[0] != '\0' ? guard->reason : NULL;
	status->guard.watchdog = guard_watchdog_name(guard->watchdog);
	status->guard.pid = guard->pid > 0 ? guard->pid : STATUS_UNKNOWN;
	status->guard.restarts = guard->restarts;
	status->guard.auto_burial = guard->auto_burial;
	if (guard->deadline_ns != UINT64_MAX)
		status->guard.lease_s =
			guard->deadline_ns > now_ns ?
				(double)(guard->deadline_ns - now_ns) / ISO_NS_PER_S : 0;
}

static double left_s(uint64_t boot_ns, uint64_t deadline_ns)
{
	if (deadline_ns == UINT64_MAX)
		return (double)NAN;
	return deadline_ns > boot_ns ? (double)(deadline_ns - boot_ns) / ISO_NS_PER_S : 0.0;
}

static void fill_life(struct status *status, const struct node *node,
		      const struct iso_trade_status *trade)
{
	uint64_t boot_ns = clock_boot_ns();

	status->generation = trade->gen;
	status->incarnation = trade->inc;
	status->halt = status_halt_name(trade->halt);
	status->is_draining = (trade->flags & ISO_NODE_DRAINING) != 0;
	status->is_frozen = node->is_frozen;
	status->is_leaving = (trade->flags & ISO_NODE_LEAVING) != 0;
	status->last_op = (int64_t)trade->last_op;
	status->last_op_ucpu = trade->last_op_ucpu;
	status->admin = node->admin != NULL ? admin_address(node->admin) : NULL;
	status->has_lease = node->conf->trading.lease_ns != 0;
	status->lease.valid = trade->lease_valid;
	status->lease.remaining_s = left_s(boot_ns, trade->lease_deadline_ns);
}

static void fill_training(struct status *status, const struct conf *conf,
			  const struct host_status *worker)
{
	double sent_bytes = worker->measures[ISO_WORKER_SENT_BYTES - 1];

	status->has_training = true;
	status->training.round = (int64_t)worker->round;
	status->training.live = worker->live;
	status->training.neighbours = 0;
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		status->training.neighbours += conf->neighbours[i].worker_address[0] != '\0';
	status->training.loss = worker->measures[ISO_WORKER_LOSS_IS - 1];
	status->training.accuracy = worker->measures[ISO_WORKER_ACCURACY - 1];
	status->training.spread = worker->measures[ISO_WORKER_SPREAD - 1];
	status->training.alpha = worker->measures[ISO_WORKER_ALPHA - 1];
	/* A worker is not trusted: what it says may be no count. */
	if (sent_bytes >= 0 && sent_bytes < 0x1p53)
		status->training.sent_bytes = (int64_t)sent_bytes;
}

static void fill_worker(struct status *status, const struct node *node)
{
	if (node->host == NULL)
		return;
	struct host_status worker = host_status(node->host);
	status->has_worker = true;
	status->worker.state = worker.state;
	status->worker.pid = worker.pid;
	status->worker.restarts = worker.restarts;
	status->worker.threads = worker.threads;
	status->worker.tasks = (int64_t)worker.tasks_done;
	if (worker.has_training)
		fill_training(status, node->conf, &worker);
}

static json_t *command_status(void *context, const json_t *request)
{
	const struct node *node = context;
	struct status_neighbour neighbours[ISO_DEGREE_MAX];
	struct status_drop drops[DROPS_MAX];
	const char *notes[JOB_NOTES_MAX];
	struct iso_trade_status trade;
	uint64_t now_ns = clock_now_ns();
	char decision[sizeof(node->decision) + 32];
	struct node_standing standing;
	struct status status;

	(void)request;
	iso_trade_status(node->trade, &trade);
	status_init(&status);
	fill_job(&status, node);
	fill_facts(&status, node, notes);
	fill_guard(&status, node);
	fill_worker(&status, node);
	fill_agent(&status);
	status.journal_error = node_is_stuck(node) ? node->stuck_reason : NULL;
	status.node = status.instance = node->conf->node;
	status.cluster = node->conf->cluster;
	status.version = PACKAGE_VERSION;
	standing = node_standing(node, &trade);
	status.state = node_state(node, &trade, &standing, &status.reason);
	if (status.reason != NULL && status.reason[0] == '\0')
		status.reason = NULL;
	status.share_ucpu = trade.share_ucpu;
	/* Without a share there is none: the kernel's least quota is nobody's. */
	status.reserve_ucpu = status.enforced_ucpu == STATUS_UNKNOWN || !node->has_share ?
				      STATUS_UNKNOWN :
				      trade.share_ucpu - status.enforced_ucpu;
	status.floor_ucpu = (int64_t)node->conf->floor_ucpu;
	status.endowment_ucpu = trade.endowment_ucpu;
	status.budget_ucpu = trade.gen != 0 ? trade.budget_ucpu : STATUS_UNKNOWN;
	status.marginal_cost = iso_price_real(trade.marginal_q32);
	status.price = iso_price_real(trade.price_q32);
	status.reload = node->reload[0] != '\0' ? node->reload : NULL;
	status.uptime_s = age_s(now_ns, node->started_ns);
	status.ticks = (int64_t)node->ticks;
	status.ticks_late = (int64_t)node->ticks_late;
	status.sleeps = node->sleep.count;
	status.slept_s = (double)node->sleep.total_ns / ISO_NS_PER_S;
	status.journal_writes = (int64_t)node->journal_writes;
	if (node->decided_ns != 0) {
		snprintf(decision, sizeof(decision), "%s (%.0f s ago)", node->decision,
			 age_s(now_ns, node->decided_ns));
		status.last_decision = decision;
	}
	if (!trade.verified)
		status.last_decision = "none until all neighbours have confirmed the journal";
	status.neighbours = neighbours;
	status.neighbour_count = fill_neighbours(node, clock_boot_ns(), neighbours);
	fill_life(&status, node, &trade);
	if (node->link != NULL) {
		status.messages_sent = (int64_t)link_counters(node->link).sent;
		status.messages_received = (int64_t)link_counters(node->link).received;
	}
	status.drops = drops;
	status.drop_count = fill_drops(node, &trade, drops);
	return status_json(&status);
}

json_t *node_command_ledger(void *context, const json_t *request)
{
	const struct node *node = context;
	const struct job_view *view = job_view(node->job);
	struct status_ledger ledger = {
		.cluster = node->conf->cluster,
		.node = node->conf->node,
	};

	(void)request;
	iso_trade_snapshot(node->trade, view->enforced_ucpu, view->ceiling_ucpu, &ledger.snapshot);
	for (uint32_t i = 0; i < ledger.snapshot.record.edge_count; i++) {
		if (node_peer_of_edge(node, i) != NULL)
			ledger.peers[i] = node_peer_of_edge(node, i)->as.name;
		ledger.limits_ucpu[i] = node->limits_ucpu[i];
	}
	return status_ledger_json(&ledger);
}

const struct control_command node_commands[] = {
	{ .name = "status", .fn = command_status },
	{ .name = "ledger", .fn = node_command_ledger },
	{ .name = "op", .changes_state = true, .later = node_command_op },
	{ .name = "admit", .changes_state = true, .later = node_command_admit },
	{ .name = "freeze", .changes_state = true, .fn = node_command_freeze },
	{ .name = "thaw", .changes_state = true, .fn = node_command_thaw },
	{ .name = "history", .fn = node_command_history },
	{ .name = "log-level", .changes_state = true, .fn = node_command_log_level },
	{ .name = "reload", .changes_state = true, .fn = node_command_reload },
};
const size_t node_command_count = sizeof(node_commands) / sizeof(node_commands[0]);
