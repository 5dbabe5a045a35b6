/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/status.h"

#include <math.h>
#include <string.h>

/* Jansson takes NULL for a value as a failure and remembers nothing: the object is checked last. */
static void put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static json_t *text(const char *value)
{
	json_t *json = value != NULL ? json_string(value) : NULL;

	/* Null also for what is not UTF-8: a name from elsewhere must not cost the whole answer. */
	return json != NULL ? json : json_null();
}

static json_t *number(int64_t value)
{
	return value != STATUS_UNKNOWN ? json_integer(value) : json_null();
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

void status_init(struct status *ret_status)
{
	struct status status;

	memset(&status, 0, sizeof(status));
	/* In the order of the struct. */
	status.share_ucpu = status.enforced_ucpu = STATUS_UNKNOWN;
	status.quota_us = status.period_us = status.readback_us = STATUS_UNKNOWN;
	status.effective_ucpu = status.cpus = status.limit_changes = STATUS_UNKNOWN;
	status.reserve_ucpu = status.floor_ucpu = status.endowment_ucpu = STATUS_UNKNOWN;
	status.ceiling_ucpu = status.budget_ucpu = STATUS_UNKNOWN;
	status.on_cpu_ucpu = status.wait_ucpu = status.demand_ucpu = STATUS_UNKNOWN;
	status.marginal_cost = status.price = (double)NAN;
	status.debt_ns = status.throttled_ns = STATUS_UNKNOWN;
	status.unbound.realtime_threads = status.unbound.realtime_ucpu = STATUS_UNKNOWN;
	status.ratios.use = status.ratios.throttled_use = (double)NAN;
	status.ratios.meter = (double)NAN;
	status.ratios.stolen = status.ratios.interrupts = (double)NAN;
	status.generation = status.incarnation = STATUS_UNKNOWN;
	status.last_op = status.last_op_ucpu = STATUS_UNKNOWN;
	status.uptime_s = status.slept_s = (double)NAN;
	status.ticks = status.ticks_late = status.sleeps = STATUS_UNKNOWN;
	status.journal_writes = status.quota_writes = STATUS_UNKNOWN;
	status.messages_sent = status.messages_received = STATUS_UNKNOWN;
	status.lease.remaining_s = (double)NAN;
	status.worker.pid = status.worker.restarts = STATUS_UNKNOWN;
	status.worker.threads = status.worker.tasks = STATUS_UNKNOWN;
	status.training.round = status.training.live = STATUS_UNKNOWN;
	status.training.neighbours = status.training.sent_bytes = STATUS_UNKNOWN;
	status.training.loss = status.training.accuracy = (double)NAN;
	status.training.spread = status.training.alpha = (double)NAN;
	status.guard.pid = status.guard.restarts = STATUS_UNKNOWN;
	status.guard.lease_s = (double)NAN;
	status.agent.cpu_ns = status.agent.rss_bytes = STATUS_UNKNOWN;
	*ret_status = status;
}

static json_t *neighbour_json(const struct status_neighbour *neighbour)
{
	json_t *json = json_object();

	put(json, "name", text(neighbour->name));
	put(json, "address", text(neighbour->address));
	put(json, "state", text(neighbour->state));
	put(json, "age_s", real(neighbour->age_s));
	put(json, "price", real(neighbour->price));
	put(json, "sent_ucpu", number(neighbour->sent_ucpu));
	put(json, "received_ucpu", number(neighbour->received_ucpu));
	put(json, "in_flight_ucpu", number(neighbour->in_flight_ucpu));
	put(json, "remainder", real(neighbour->remainder));
	put(json, "generation", number(neighbour->generation));
	put(json, "edge", text(neighbour->edge));
	put(json, "decision", text(neighbour->decision));
	put(json, "limit_ucpu", number(neighbour->limit_ucpu));
	put(json, "withheld", json_boolean(neighbour->is_withheld));
	put(json, "close_in_ms", number(neighbour->close_in_ms));
	return json;
}

static json_t *neighbours_json(const struct status *status)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < status->neighbour_count; i++)
		(void)json_array_append_new(array, neighbour_json(&status->neighbours[i]));
	return array;
}

static json_t *messages_json(const struct status *status)
{
	json_t *json = json_object(), *dropped = json_object();

	for (unsigned i = 0; i < status->drop_count; i++)
		put(dropped, status->drops[i].reason, number(status->drops[i].count));
	put(json, "sent", number(status->messages_sent));
	put(json, "received", number(status->messages_received));
	put(json, "dropped", dropped);
	return json;
}

static json_t *lease_json(const struct status *status)
{
	if (!status->has_lease)
		return json_null();

	json_t *json = json_object();
	put(json, "valid", json_boolean(status->lease.valid));
	put(json, "remaining_s", real(status->lease.remaining_s));
	return json;
}

static json_t *worker_json(const struct status *status)
{
	if (!status->has_worker)
		return json_null();

	json_t *json = json_object();
	put(json, "state", text(status->worker.state));
	put(json, "pid", number(status->worker.pid));
	put(json, "restarts", number(status->worker.restarts));
	put(json, "threads", number(status->worker.threads));
	put(json, "tasks", number(status->worker.tasks));
	return json;
}

static json_t *training_json(const struct status *status)
{
	if (!status->has_training)
		return json_null();

	json_t *json = json_object();
	put(json, "round", number(status->training.round));
	put(json, "loss", real(status->training.loss));
	put(json, "accuracy", real(status->training.accuracy));
	put(json, "spread", real(status->training.spread));
	put(json, "alpha", real(status->training.alpha));
	put(json, "live", number(status->training.live));
	put(json, "neighbours", number(status->training.neighbours));
	put(json, "sent_bytes", number(status->training.sent_bytes));
	return json;
}

static json_t *guard_json(const struct status *status)
{
	bool off = status->guard.state == NULL;
	json_t *json = json_object();

	put(json, "state", text(off ? "off" : status->guard.state));
	put(json, "reason", text(status->guard.reason));
	put(json, "pid", number(status->guard.pid));
	put(json, "restarts", number(status->guard.restarts));
	put(json, "watchdog", text(status->guard.watchdog));
	put(json, "auto_burial", json_boolean(status->guard.auto_burial));
	put(json, "lease_s", real(status->guard.lease_s));
	return json;
}

static json_t *unbound_json(const struct status *status)
{
	json_t *json = json_object();

	put(json, "realtime_threads", number(status->unbound.realtime_threads));
	put(json, "realtime_ucpu", number(status->unbound.realtime_ucpu));
	put(json, "sched_ext", text(status->unbound.sched_ext));
	return json;
}

static json_t *ratios_json(const struct status *status)
{
	json_t *json = json_object();

	put(json, "use", real(status->ratios.use));
	put(json, "throttled_use", real(status->ratios.throttled_use));
	put(json, "meter", real(status->ratios.meter));
	put(json, "stolen", real(status->ratios.stolen));
	put(json, "interrupts", real(status->ratios.interrupts));
	return json;
}

static json_t *notes_json(const struct status *status)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < status->note_count; i++)
		(void)json_array_append_new(array, text(status->notes[i]));
	return array;
}

static json_t *sandbox_json(const struct status *status)
{
	json_t *json = json_object(), *names = json_array();

	for (unsigned i = 0; i < 64; i++)
		if ((status->sandbox.capabilities >> i & 1) != 0)
			(void)json_array_append_new(names, text(sandbox_capability_name(i)));
	put(json, "capabilities", names);
	put(json, "no_new_privileges", json_boolean(status->sandbox.has_no_new_privileges));
	put(json, "seccomp", json_boolean(status->sandbox.has_filter));
	return json;
}

static void put_limits(json_t *json, const struct status *status)
{
	put(json, "budget_ucpu", number(status->budget_ucpu));
	put(json, "ceiling_ucpu", number(status->ceiling_ucpu));
	put(json, "cpus", number(status->cpus));
	put(json, "effective_by", text(status->effective_by));
	put(json, "effective_ucpu", number(status->effective_ucpu));
	put(json, "enforced_ucpu", number(status->enforced_ucpu));
	put(json, "endowment_ucpu", number(status->endowment_ucpu));
	put(json, "floor_ucpu", number(status->floor_ucpu));
	put(json, "limit_changes", number(status->limit_changes));
	put(json, "period_us", number(status->period_us));
	put(json, "quota_us", number(status->quota_us));
	put(json, "readback_us", number(status->readback_us));
	put(json, "reserve_ucpu", number(status->reserve_ucpu));
	put(json, "share_ucpu", number(status->share_ucpu));
}

static void put_measured(json_t *json, const struct status *status)
{
	put(json, "debt_ns", number(status->debt_ns));
	put(json, "demand_ucpu", number(status->demand_ucpu));
	put(json, "marginal_cost", real(status->marginal_cost));
	put(json, "meter", text(status->meter));
	put(json, "meter_reason", text(status->meter_reason));
	put(json, "on_cpu_ucpu", number(status->on_cpu_ucpu));
	put(json, "presence", text(status->presence));
	put(json, "price", real(status->price));
	put(json, "released", json_boolean(status->is_released));
	put(json, "throttled_ns", number(status->throttled_ns));
	put(json, "unbound", unbound_json(status));
	put(json, "ratios", ratios_json(status));
	put(json, "wait_ucpu", number(status->wait_ucpu));
}

static void put_identity(json_t *json, const struct status *status)
{
	put(json, "cgroup", text(status->cgroup));
	put(json, "cluster", text(status->cluster));
	put(json, "admin", text(status->admin));
	put(json, "dry_run", json_boolean(status->is_dry_run));
	put(json, "draining", json_boolean(status->is_draining));
	put(json, "frozen", json_boolean(status->is_frozen));
	put(json, "generation", number(status->generation));
	put(json, "halt", text(status->halt));
	put(json, "last_op", number(status->last_op));
	put(json, "last_op_ucpu", number(status->last_op_ucpu));
	put(json, "leaving", json_boolean(status->is_leaving));
	put(json, "incarnation", number(status->incarnation));
	put(json, "instance", text(status->instance));
	put(json, "node", text(status->node));
	put(json, "reason", text(status->reason));
	put(json, "state", text(status->state));
	put(json, "unit", text(status->unit));
	put(json, "version", text(status->version));
}

json_t *status_json(const struct status *status)
{
	json_t *json = json_object(), *agent = json_object();

	if (json == NULL)
		return NULL;
	put(json, "ok", json_true());
	put_identity(json, status);
	put_limits(json, status);
	put_measured(json, status);
	put(json, "journal_error", text(status->journal_error));
	put(json, "journal_writes", number(status->journal_writes));
	put(json, "last_decision", text(status->last_decision));
	put(json, "notes", notes_json(status));
	put(json, "reload", text(status->reload));
	put(json, "quota_writes", number(status->quota_writes));
	put(json, "sleeps", number(status->sleeps));
	put(json, "slept_s", real(status->slept_s));
	put(json, "ticks", number(status->ticks));
	put(json, "ticks_late", number(status->ticks_late));
	put(json, "uptime_s", real(status->uptime_s));
	put(agent, "cpu_ns", number(status->agent.cpu_ns));
	put(agent, "rss_bytes", number(status->agent.rss_bytes));
	put(json, "agent", agent);
	put(json, "sandbox", sandbox_json(status));
	put(json, "messages", messages_json(status));
	put(json, "neighbours", neighbours_json(status));
	put(json, "guard", guard_json(status));
	put(json, "lease", lease_json(status));
	put(json, "worker", worker_json(status));
	put(json, "training", training_json(status));
	return json;
}
