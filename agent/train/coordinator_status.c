/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_status.h"

#include "lib/ata/strategy.h"

static const char *const strategy_texts[] = {
	[CCONF_STRATEGY_ATA] = "ata",
	[CCONF_STRATEGY_ATA_EMPIRICAL] = "ata-empirical",
	[CCONF_STRATEGY_GTA] = "gta",
	[CCONF_STRATEGY_UTA] = "uta",
};

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

static json_t *real_or_null(bool is_known, double value)
{
	return is_known ? json_real(value) : json_null();
}

/* Steals the value; a value that is NULL for want of memory makes the whole answer NULL. */
static void put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static json_t *evaluations(const struct run *run)
{
	uint32_t count;
	const struct evaluation_point *points = run_evaluations(run, &count);
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		(void)json_array_append_new(
		    array, json_pack("{s:f, s:I, s:f, s:f}", "t_s", (double)points[i].at_ns / 1e9,
				     "round", (json_int_t)points[i].round, "accuracy",
				     points[i].accuracy, "loss", points[i].loss));
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
	return worker->round.present && worker->round.tasks > 0 &&
	       view->round_age_ns > conf->lease.least_ns;
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
	put(object, "tasks_held", json_integer(worker.round.tasks));
	put(object, "tasks_done", integer(worker.tasks_done));
	put(object, "suspect", json_boolean(worker.round.suspect));
	put(object, "mean_on_cpu_ns",
	    real_or_null(worker.mean_on_cpu_ns > 0, worker.mean_on_cpu_ns));
	put(object, "score", real_or_null(worker.score > 0, worker.score));
	put(object, "waiting_for", json_boolean(is_waited_for(conf, &view, &peer, &worker)));
	return object;
}

static json_t *counters(const struct iso_round_totals *totals, const struct net *net)
{
	json_t *object = json_object();

	put(object, "accepted", integer(totals->accepted));
	put(object, "late", integer(totals->late));
	put(object, "old", integer(totals->old));
	put(object, "other_term", integer(totals->other_term));
	put(object, "abandoned", integer(totals->abandoned));
	put(object, "not_finite", integer(totals->not_finite));
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

json_t *coordinator_status(const struct cconf *conf, const struct run *run, const struct net *net,
			   uint64_t now_ns)
{
	struct run_view view = run_view(run, now_ns);
	uint32_t count;
	const struct evaluation_point *points = run_evaluations(run, &count);
	json_t *object = json_object(), *workers = json_array();

	put(object, "run", json_string(conf->run));
	put(object, "term", integer(view.term));
	put(object, "round", integer(view.round));
	put(object, "method", json_string("synchronous"));
	put(object, "allocation", json_string(strategy_texts[conf->allocation.strategy]));
	put(object, "share_normalised", json_boolean(conf->allocation.share_normalised));
	put(object, "exploring", json_boolean(view.exploring));
	put(object, "tasks_per_round", json_integer(conf->training.tasks_per_round));
	put(object, "samples_per_task", json_integer(conf->training.samples_per_task));
	put(object, "started", json_boolean(view.has_started));
	put(object, "elapsed_s", seconds(view.elapsed_ns));
	put(object, "round_age_s", seconds(view.round_age_ns));
	put(object, "test_accuracy",
	    real_or_null(count > 0, count > 0 ? points[count - 1].accuracy : 0));
	put(object, "test_loss", real_or_null(count > 0, count > 0 ? points[count - 1].loss : 0));
	put(object, "train_loss", real_or_null(view.has_train_loss, view.train_loss));
	put(object, "evaluations", evaluations(run));
	put(object, "worker_cpu_ns",
	    integer(view.totals.accepted_cpu_ns + view.totals.discarded_cpu_ns));
	put(object, "greedy_worker_cpu_ns", integer(view.totals.greedy_cpu_ns));
	put(object, "discarded_cpu_ns", integer(view.totals.discarded_cpu_ns));
	put(object, "requeued", integer(view.totals.requeued));
	put(object, "counters", counters(&view.totals, net));
	for (uint32_t i = 0; i < conf->workers_count; i++)
		(void)json_array_append_new(workers, worker_status(conf, run, net, i, now_ns));
	put(object, "workers", workers);
	return object;
}
