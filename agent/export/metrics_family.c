/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/metrics_family.h"

#include <stddef.h>

#define UCPU   1e6
#define NS     1e9
#define MICROS 1e6

static const char *const states[] = { "ok",	  "drifted",  "conflict", "gone",
				      "degraded", "frozen",   "isolated", "dry-run",
				      "waiting for admission", "draining", "leaving",
				      "left",	  "buried",   "other",	  NULL };
static const char *const presences[] = { "running", "empty", "frozen", "gone", "other", NULL };
static const char *const halts[] = { "amnesia", "overdraft", "buried", "left", "other", NULL };
static const char *const guards[] = { "off", "ok", "restarting", "none", "other", NULL };
static const char *const watchdogs[] = { "none", "armed", "too slow", "failed", "other", NULL };
static const char *const edges[] = { "open",   "dormant", "frozen", "closing",
				     "closed", "folded",  "other",  NULL };

#define NODE(n, h, p, d) { .name = n, .help = h, .path = p, .per = d }
#define EDGE(n, h, p, d) { .name = n, .scope = METRICS_EDGE, .help = h, .path = p, .per = d }

const struct metrics_family metrics_families[] = {
	{ .name = "isobar_state", .help = "1 for the state that the node is in, else 0.",
	  .path = "state", .label = "state", .values = states },
	{ .name = "isobar_halt", .help = "1 for the reason why the node has stopped trading for "
	  "good, else 0; none while it trades.",
	  .path = "halt", .label = "halt", .values = halts },
	NODE("isobar_frozen", "1 while an administrator has stopped trading.", "frozen", 0),
	NODE("isobar_draining", "1 while the node gives away all but its floor.", "draining", 0),
	NODE("isobar_leaving", "1 while the node gives away everything to leave.", "leaving", 0),

	NODE("isobar_share_cpus", "CPUs that the node owns.", "share_ucpu", UCPU),
	NODE("isobar_reserve_cpus", "Part of the share that is owned and not enforced.",
	     "reserve_ucpu", UCPU),
	NODE("isobar_floor_cpus", "CPUs below which the share never falls by trading.",
	     "floor_ucpu", UCPU),
	NODE("isobar_ceiling_cpus", "CPUs of which this machine can make use.", "ceiling_ucpu",
	     UCPU),
	NODE("isobar_budget_cpus", "CPUs of all nodes together, as this node was told.",
	     "budget_ucpu", UCPU),
	NODE("isobar_enforced_cpus", "CPUs that the kernel is known to allow the job.",
	     "enforced_ucpu", UCPU),
	{ .name = "isobar_quota_cpus", .help = "Quota of the job's cgroup as written, in CPUs.",
	  .path = "quota_us", .per_path = "period_us" },
	{ .name = "isobar_quota_readback_cpus",
	  .help = "Quota of the job's cgroup as read back from the kernel, in CPUs.",
	  .path = "readback_us", .per_path = "period_us" },
	NODE("isobar_quota_period_seconds", "Period of the quota.", "period_us", MICROS),
	NODE("isobar_effective_cpus", "CPUs that the job can get after every limit there is.",
	     "effective_ucpu", UCPU),
	NODE("isobar_cpus", "CPUs that the job may run on: online, and in its cpuset.", "cpus", 0),
	NODE("isobar_limit_changes_total", "Times that somebody else has changed the limit.",
	     "limit_changes", 0),
	NODE("isobar_dry_run", "1 if no limit is written.", "dry_run", 0),

	{ .name = "isobar_job", .help = "1 for what is in the job's group, else 0.",
	  .path = "presence", .label = "presence", .values = presences },
	NODE("isobar_released", "1 while the share above the floor is for the others, since the "
	     "job has nothing to run.", "released", 0),
	NODE("isobar_realtime_threads", "Threads of the job that no quota binds.",
	     "unbound.realtime_threads", 0),
	NODE("isobar_realtime_cpus", "CPUs that those run on.", "unbound.realtime_ucpu", UCPU),
	{ .name = "isobar_sched_ext", .help = "1 while a sched_ext scheduler is loaded, which may "
	  "ignore quotas.", .path = "unbound.sched_ext", .is_text = true },
	NODE("isobar_use_ratio", "What the job used by what it may use, over ten seconds.",
	     "ratios.use", 0),
	NODE("isobar_throttled_use_ratio", "Part of the quota that was used in periods that the "
	     "kernel ended as used up.", "ratios.throttled_use", 0),
	NODE("isobar_meter_ratio", "What the meter counts by what the kernel's own account of "
	     "the job has, over a minute.", "ratios.meter", 0),
	NODE("isobar_host_stolen_ratio", "Part of the host's CPU time that a hypervisor gave to "
	     "others, over a minute.", "ratios.stolen", 0),
	NODE("isobar_host_interrupts_ratio", "Part of the host's CPU time that interrupts took, "
	     "over a minute.", "ratios.interrupts", 0),
	{ .name = "isobar_notes", .help = "Notes to the administrator in isobarctl status.",
	  .path = "notes", .is_count = true },
	NODE("isobar_on_cpu_cpus", "CPUs that the job is running on.", "on_cpu_ucpu", UCPU),
	NODE("isobar_wait_cpus", "CPUs that the job's runnable threads wait for.", "wait_ucpu",
	     UCPU),
	NODE("isobar_demand_cpus", "CPUs that the job would use without a limit.", "demand_ucpu",
	     UCPU),
	NODE("isobar_marginal_cost", "Change of the cost with one CPU more; below 0 it gains.",
	     "marginal_cost", 0),
	NODE("isobar_price", "Marginal cost as shown to the neighbours.", "price", 0),
	NODE("isobar_debt_seconds", "CPU time above the share that is to be paid back.",
	     "debt_ns", NS),
	NODE("isobar_throttled_seconds_total", "Time that the job was held back by its quota.",
	     "throttled_ns", NS),
	{ .name = "isobar_meter_ebpf", .help = "1 if the job is measured with eBPF, 0 if less "
	  "well.", .path = "meter", .is = "ebpf" },

	NODE("isobar_lease_valid", "1 if more than the floor may be enforced; none if leases are "
	     "off.", "lease.valid", 0),
	NODE("isobar_lease_remaining_seconds", "Until no more than the floor may be enforced.",
	     "lease.remaining_s", 0),
	{ .name = "isobar_guard_state", .help = "1 for the state that the guard is in, else 0.",
	  .path = "guard.state", .label = "state", .values = guards },
	{ .name = "isobar_guard_watchdog", .help = "1 for the state of the watchdog, else 0.",
	  .path = "guard.watchdog", .label = "state", .values = watchdogs },
	NODE("isobar_guard_restarts_total", "Times that the guard was started again.",
	     "guard.restarts", 0),
	NODE("isobar_guard_auto_burial", "1 if the node may be buried without asking.",
	     "guard.auto_burial", 0),

	NODE("isobar_ticks_total", "Turns of enforcing and trading.", "ticks", 0),
	NODE("isobar_ticks_late_total", "Turns that were due and did not take place in time.",
	     "ticks_late", 0),
	NODE("isobar_sleep_seconds_total", "Time that the machine was suspended.", "slept_s", 0),
	NODE("isobar_journal_writes_total", "Records written to the journal.", "journal_writes",
	     0),
	{ .name = "isobar_journal_failing", .help = "1 while the journal cannot be written, so "
	  "that nothing is traded.", .path = "journal_error", .is_text = true },
	NODE("isobar_quota_writes_total", "Times that the quota was written.", "quota_writes", 0),
	NODE("isobar_messages_sent_total", "Messages sent to neighbours.", "messages.sent", 0),
	NODE("isobar_messages_received_total", "Messages received from neighbours.",
	     "messages.received", 0),
	NODE("isobar_generation", "Life of the node: admitted so many times.", "generation", 0),
	NODE("isobar_incarnation", "Starts of the agent, by its journal.", "incarnation", 0),
	NODE("isobar_last_operation", "Number of the newest operation of an administrator.",
	     "last_op", 0),

	{ .name = "isobar_worker_running", .help = "1 while the node's worker trains; none without "
	  "a worker.", .path = "worker.state", .is = "running" },
	NODE("isobar_worker_threads", "Threads of the node's worker.", "worker.threads", 0),
	NODE("isobar_worker_tasks_total", "Tasks that the worker has finished.", "worker.tasks",
	     0),
	NODE("isobar_worker_restarts_total", "Times that the worker was started again.",
	     "worker.restarts", 0),
	NODE("isobar_training_round", "Round of learning without a coordinator.",
	     "training.round", 0),
	NODE("isobar_training_loss", "Loss of the worker's model.", "training.loss", 0),
	NODE("isobar_training_accuracy_ratio", "Part of the test data that it gets right.",
	     "training.accuracy", 0),
	NODE("isobar_training_spread", "How far the models of the neighbours are from it.",
	     "training.spread", 0),
	NODE("isobar_training_alpha", "Length of the step that it learns with.",
	     "training.alpha", 0),
	NODE("isobar_training_live_neighbours", "Workers of neighbours that take part.",
	     "training.live", 0),
	NODE("isobar_training_neighbours", "Workers of neighbours that are configured.",
	     "training.neighbours", 0),
	NODE("isobar_training_sent_bytes_total", "Bytes that the worker sent to neighbours.",
	     "training.sent_bytes", 0),

	NODE("isobar_agent_cpu_seconds_total", "CPU time that isobard itself has used.",
	     "agent.cpu_ns", NS),
	NODE("isobar_agent_resident_memory_bytes", "Memory that isobard itself has.",
	     "agent.rss_bytes", 0),
	NODE("isobar_agent_seccomp", "1 if isobard makes only the system calls that it needs.",
	     "sandbox.seccomp", 0),
	NODE("isobar_agent_uptime_seconds", "Time since the start of isobard.", "uptime_s", 0),

	{ .name = "isobar_neighbour_up", .scope = METRICS_EDGE,
	  .help = "1 if the neighbour answers.", .path = "state", .is = "up" },
	{ .name = "isobar_neighbour_edge", .scope = METRICS_EDGE,
	  .help = "1 for the state of the edge to the neighbour, else 0.", .path = "edge",
	  .label = "state", .values = edges },
	EDGE("isobar_neighbour_silent_seconds", "Time since the neighbour's last message.",
	     "age_s", 0),
	EDGE("isobar_neighbour_price", "Marginal cost that the neighbour showed last.", "price",
	     0),
	EDGE("isobar_neighbour_sent_cpus_total", "CPUs given to the neighbour, all in all.",
	     "sent_ucpu", UCPU),
	EDGE("isobar_neighbour_received_cpus_total", "CPUs got from the neighbour, all in all.",
	     "received_ucpu", UCPU),
	EDGE("isobar_neighbour_in_flight_cpus", "CPUs given to the neighbour and not confirmed.",
	     "in_flight_ucpu", UCPU),
	EDGE("isobar_neighbour_limit_cpus", "CPUs that may go over the edge in net.",
	     "limit_ucpu", UCPU),
	EDGE("isobar_neighbour_withheld", "1 if the neighbour says that it gave more than that.",
	     "withheld", 0),
	{ 0 },
};
