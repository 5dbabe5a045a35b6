/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_status.h"

#include <math.h>

static const char *const state_texts[] = {
	[NET_ABSENT] = "absent",
	[NET_JOINED] = "joined",
	[NET_LOST] = "lost",
	[NET_REFUSED] = "refused",
};

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

/* A loss that has diverged is none, too: JSON has no word for infinity. */
static json_t *real_or_null(bool is_known, double value)
{
	return is_known && isfinite(value) ? json_real(value) : json_null();
}

/* Steals the value; one that is NULL, for want of memory, is missing from the answer. */
static void put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static json_t *real(double value)
{
	return real_or_null(true, value);
}

static json_t *evaluations(const struct run *run)
{
	uint32_t count;
	const struct evaluation_point *points = run_evaluations(run, &count);
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		(void)json_array_append_new(
		    array, json_pack("{s:f, s:I, s:o, s:o}", "t_s", (double)points[i].at_ns / 1e9,
				     "round", (json_int_t)points[i].round, "accuracy",
				     real(points[i].accuracy), "loss", real(points[i].loss)));
	return array;
}

/*
 * Whether the round, or the first round, is held up by this worker: it is not
 * here yet, or it has had tasks for longer than the shortest lease.
 */
static bool is_waited_for(const struct cconf *conf, const struct run_view *view,
			  const struct net_worker_view *peer, const struct run_worker_view *worker)
{
	if (!view->has_started)
		return peer->state != NET_JOINED;
	/* Where nobody waits for anybody it can only have been asked for longer than it said. */
	if (!view->plan.traits.by_rounds && !view->plan.caps)
		return worker->dispatch.suspect;
	return worker->dispatch.present && worker->dispatch.tasks > 0 &&
	       view->round_age_ns > conf->lease.least_ns;
}

/* Counts of what became of tasks, by their names in struct checkpoint_ledger. */
static void put_ledger(json_t *object, const struct checkpoint_ledger *ledger)
{
	put(object, "tasks_done", integer(ledger->used + ledger->buffered));
	put(object, "started", integer(ledger->started));
	put(object, "used", integer(ledger->used));
	put(object, "buffered", integer(ledger->buffered));
	put(object, "ignored", integer(ledger->ignored));
	put(object, "stopped", integer(ledger->stopped));
	put(object, "lost", integer(ledger->lost));
	put(object, "late", integer(ledger->late));
	put(object, "abandoned", integer(ledger->abandoned));
	put(object, "not_finite", integer(ledger->not_finite));
	put(object, "cpu_ns", integer(ledger->cpu_ns));
	put(object, "discarded_cpu_ns", integer(ledger->discarded_cpu_ns));
}

static json_t *worker_status(const struct cconf *conf, const struct run *run, const struct net *net,
			     uint32_t index, uint64_t now_ns)
{
	struct run_view view = run_view(run, now_ns);
	struct run_worker_view worker = run_worker_view(run, index);
	struct net_worker_view peer = { .state = NET_ABSENT, .since_ns = now_ns, .reason = "" };
	json_t *object = json_object();

	if (net != NULL)
		peer = net_worker_view(net, index);
	bool is_here = peer.state == NET_JOINED;
	put(object, "name", json_string(conf->workers[index].name));
	put(object, "state", json_string(state_texts[peer.state]));
	put(object, "reason", peer.reason[0] != '\0' ? json_string(peer.reason) : json_null());
	put(object, "since_s", seconds(now_ns - peer.since_ns));
	put(object, "silent_s", is_here ? seconds(now_ns - peer.heard_ns) : json_null());
	put(object, "threads", is_here ? json_integer(worker.speed.threads) : json_null());
	put(object, "share_ucpu", is_here ? integer(worker.speed.share_ucpu) : json_null());
	put(object, "allocation", json_integer(worker.allocation));
	put(object, "tasks_held", json_integer(worker.dispatch.tasks));
	put_ledger(object, &worker.ledger);
	put(object, "suspect", json_boolean(worker.dispatch.suspect));
	put(object, "given_up", json_boolean(worker.is_given_up));
	put(object, "admitted", json_boolean(worker.is_admitted));
	put(object, "drifts", json_integer(worker.drifts));
	put(object, "cluster", json_integer(worker.cluster));
	put(object, "mean_on_cpu_ns",
	    real_or_null(worker.mean_on_cpu_ns > 0, worker.mean_on_cpu_ns));
	put(object, "score", real_or_null(worker.score > 0, worker.score));
	put(object, "waiting_for", json_boolean(is_waited_for(conf, &view, &peer, &worker)));
	return object;
}

/* What became of every task that the method has ordered. */
static json_t *tasks(const struct iso_method_totals *totals)
{
	json_t *object = json_object();

	put(object, "started", integer(totals->started));
	put(object, "used", integer(totals->used));
	put(object, "buffered", integer(totals->buffered));
	put(object, "ignored", integer(totals->ignored));
	put(object, "stopped", integer(totals->stopped));
	put(object, "lost", integer(totals->lost));
	put(object, "in_flight", integer(totals->in_flight));
	put(object, "delay_mean",
	    real_or_null(totals->used > 0,
			 totals->used > 0 ? (double)totals->delay_sum / (double)totals->used : 0));
	put(object, "delay_max", integer(totals->delay_max));
	return object;
}

/* On-CPU time of results in vain, by reason. */
static json_t *discarded(const struct run_view *view)
{
	json_t *object = json_object();

	put(object, "ignored_cpu_ns", integer(view->ignored_cpu_ns));
	put(object, "late_cpu_ns", integer(view->results.late_cpu_ns));
	put(object, "abandoned_cpu_ns", integer(view->results.abandoned_cpu_ns));
	put(object, "not_finite_cpu_ns", integer(view->results.not_finite_cpu_ns));
	return object;
}

static json_t *counters(const struct iso_dispatch_totals *totals, const struct net *net)
{
	json_t *object = json_object();

	put(object, "accepted", integer(totals->accepted));
	put(object, "late", integer(totals->late));
	put(object, "other_term", integer(totals->other_term));
	put(object, "abandoned", integer(totals->abandoned));
	put(object, "not_finite", integer(totals->not_finite));
	put(object, "moved", integer(totals->moved));
	put(object, "resent", integer(totals->resent));
	put(object, "leases_expired", integer(totals->leases_expired));
	if (net != NULL) {
		put(object, "malformed", integer(net_counters(net)->malformed));
		put(object, "foreign", integer(net_counters(net)->foreign));
		put(object, "out_of_turn", integer(net_counters(net)->out_of_turn));
		put(object, "unsent", integer(net_counters(net)->unsent));
		put(object, "keys_accepted", integer(net_zap_counters(net)->accepted));
		put(object, "keys_refused",
		    integer(net_zap_counters(net)->refused_key +
			    net_zap_counters(net)->refused_other));
		put(object, "greetings_refused", integer(net_zap_counters(net)->refused_greeting));
	}
	return object;
}

/* What the run is, and what was chosen for it. */
static void put_plan(json_t *object, const struct cconf *conf, const struct run_view *view)
{
	bool has_delays = view->plan.method == ISO_METHOD_RINGMASTER ||
			  view->plan.method == ISO_METHOD_RINGMASTER_STOPS;

	put(object, "run", json_string(conf->run));
	put(object, "method",
	    json_string(iso_method_text((enum iso_method_kind)(conf->training.method + 1))));
	put(object, "model", json_string(cconf_model_text(conf->training.model)));
	put(object, "allocation", json_string(cconf_strategy_text(conf->allocation.strategy)));
	put(object, "share_normalised", json_boolean(conf->allocation.options.share_normalised));
	put(object, "tasks_per_round", json_integer(view->plan.batch));
	put(object, "samples_per_task", json_integer(conf->training.samples_per_task));
	put(object, "learning_rate", real(view->plan.step));
	put(object, "delay_limit", has_delays ? integer(view->plan.delay_max) : json_null());
}

json_t *coordinator_status(const struct cconf *conf, const struct run *run, const struct net *net,
			   uint64_t now_ns)
{
	struct run_view view = run_view(run, now_ns);
	const struct iso_dispatch_totals *results = &view.results;
	uint64_t in_vain_ns = view.ignored_cpu_ns + results->late_cpu_ns +
			      results->abandoned_cpu_ns + results->not_finite_cpu_ns;
	uint32_t count;
	const struct evaluation_point *points = run_evaluations(run, &count);
	json_t *object = json_object(), *workers = json_array();

	put_plan(object, conf, &view);
	put(object, "term", integer(view.term));
	put(object, "round", integer(view.steps));
	put(object, "rounds", integer(view.rounds));
	put(object, "exploring", json_boolean(view.exploring));
	put(object, "calibrating", json_boolean(view.is_calibrating));
	put(object, "alpha_s", real(view.width.alpha_s));
	put(object, "eta", real(view.width.eta));
	put(object, "started", json_boolean(view.has_started));
	put(object, "elapsed_s", seconds(view.elapsed_ns));
	put(object, "round_age_s", seconds(view.round_age_ns));
	put(object, "test_accuracy",
	    real_or_null(count > 0, count > 0 ? points[count - 1].accuracy : 0));
	put(object, "test_loss", real_or_null(count > 0, count > 0 ? points[count - 1].loss : 0));
	put(object, "train_loss", real_or_null(view.has_train_loss, view.train_loss));
	put(object, "evaluations", evaluations(run));
	const char *state = run_evaluation_state(run);
	put(object, "evaluation_state", state != NULL ? json_string(state) : json_null());
	put(object, "tasks", tasks(&view.tasks));
	put(object, "worker_cpu_ns",
	    integer(results->accepted_cpu_ns + in_vain_ns - view.ignored_cpu_ns));
	put(object, "greedy_worker_cpu_ns", integer(view.greedy_cpu_ns));
	put(object, "discarded_cpu_ns", integer(in_vain_ns));
	put(object, "discarded", discarded(&view));
	put(object, "requeued", integer(results->moved + results->resent));
	put(object, "counters", counters(results, net));
	for (uint32_t i = 0; i < conf->workers_count; i++)
		(void)json_array_append_new(workers, worker_status(conf, run, net, i, now_ns));
	put(object, "workers", workers);
	return object;
}
