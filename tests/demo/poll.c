/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/poll.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "lib/quantity.h"
#include "tests/demo/ledger.h"
#include "tests/demo/together.h"

#define ANSWER_NS 1000000000u
#define UNKNOWN	  ((double)NAN)

/* The reply to a command without arguments, a new reference; NULL: no good answer. */
static json_t *ask(const char *socket, const char *command)
{
	json_t *request = json_pack("{s:s}", "command", command), *reply = NULL;

	if (control_call(socket, request, ANSWER_NS, &reply, NULL) != 0)
		reply = NULL;
	json_decref(request);
	if (reply != NULL && !json_is_true(json_object_get(reply, "ok"))) {
		json_decref(reply);
		reply = NULL;
	}
	return reply;
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : UNKNOWN;
}

static double cpus(const json_t *object, const char *key)
{
	return number(object, key) / ISO_UCPU_PER_CPU;
}

static int64_t count(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* Returns the whole answer, a new reference; NULL: none. */
static json_t *poll_node(struct node *node, struct node_sample *ret_sample)
{
	struct quota quota;
	json_t *reply = ask(node->socket, "status");
	const char *state = json_string_value(json_object_get(reply, "state"));

	*ret_sample = (struct node_sample){
		.share = cpus(reply, "share_ucpu"),
		.on_cpu = cpus(reply, "on_cpu_ucpu"),
		.demand = cpus(reply, "demand_ucpu"),
		.marginal_cost = number(reply, "marginal_cost"),
		.quota = UNKNOWN,
		.tasks = -1,
		.restarts = count(json_object_get(reply, "worker"), "restarts"),
	};
	snprintf(ret_sample->state, sizeof(ret_sample->state), "%s", state != NULL ? state : "-");
	if (node->group[0] != '\0')
		usage_update(&node->usage, node->group);
	ret_sample->used_s = (double)node->usage.used_ns / ISO_NS_PER_S;
	if (node->quota.quota_fd >= 0 && quota_read(&node->quota, &quota) == 0) {
		ret_sample->quota_us = quota.quota_us;
		ret_sample->period_us = quota.period_us;
		if (quota.quota_us >= 0)
			ret_sample->quota = (double)quota.quota_us / (double)quota.period_us;
	}
	return reply;
}

/* As of the observer's newest line, and at the quota of now since then. */
static void poll_observer(const struct demo *demo, struct sample *sample)
{
	const json_t *allowed = json_object_get(demo->observed, "allowed_cpu_s");
	double since_s = (double)clock_now_ns() / ISO_NS_PER_S -
			 number(demo->observed, "kept_ns") / ISO_NS_PER_S;

	for (unsigned i = 0; i < demo->options.nodes; i++) {
		const json_t *quota_s = json_array_get(allowed, i);

		sample->nodes[i].quota_s =
		    json_is_number(quota_s)
			? json_number_value(quota_s) + since_s * sample->nodes[i].quota
			: UNKNOWN;
	}
}

static void poll_training(struct demo *demo, struct sample *sample)
{
	json_t *reply = ask(demo->coordinator_socket, "status"), *worker;
	size_t index;

	sample->training = json_is_true(json_object_get(reply, "started"));
	sample->round = count(reply, "round");
	sample->accuracy = number(reply, "test_accuracy");
	sample->worker_cpu_s = number(reply, "worker_cpu_ns") / ISO_NS_PER_S;
	sample->greedy_cpu_s = number(reply, "greedy_worker_cpu_ns") / ISO_NS_PER_S;
	json_array_foreach (json_object_get(reply, "workers"), index, worker) {
		const char *name = json_string_value(json_object_get(worker, "name"));

		for (unsigned i = 0; name != NULL && i < demo->options.nodes; i++)
			if (strcmp(name, demo->nodes[i].name) == 0)
				sample->nodes[i].tasks = count(worker, "tasks_done");
	}
	if (reply != NULL) {
		json_decref(demo->training);
		demo->training = reply;
	}
}

static int fetch_ledger(void *context, unsigned node, json_t **ret_ledger)
{
	const struct demo *demo = context;

	*ret_ledger = ask(demo->nodes[node].socket, "ledger");
	return *ret_ledger != NULL ? 0 : -ENODATA;
}

static void poll_ledgers(struct demo *demo, struct sample *sample)
{
	struct ledger_record *record = &demo->ledger;
	struct ledger_sum sum;
	struct error error;
	int r = ledger_audit(demo->options.nodes, demo->options.budget_ucpu, fetch_ledger, demo,
			     &sum, &error);

	if (r == -EAGAIN) {
		record->unanswered++;
		return;
	}
	if (r != 0) {
		if (record->failures++ == 0)
			snprintf(record->first_failure, sizeof(record->first_failure), "%.255s",
				 error.text);
		return;
	}
	record->audits++;
	record->rereads += sum.rereads;
	sample->ledger_known = true;
	sample->shares_ucpu = sum.shares_ucpu;
	sample->in_flight_ucpu = sum.in_flight_ucpu;
}

void poll_everybody(struct demo *demo, struct sample *ret_sample)
{
	json_t *statuses[HISTORY_NODES_MAX];

	*ret_sample = (struct sample){ 0 };
	for (unsigned i = 0; i < demo->options.nodes; i++)
		statuses[i] = poll_node(&demo->nodes[i], &ret_sample->nodes[i]);
	/* One that was started again answers: it is there. */
	if (demo->nodes[demo->killed].isobard.pid != 0 && statuses[demo->killed] != NULL)
		demo->is_down = false;
	poll_observer(demo, ret_sample);
	if (demo->options.training.is_decentralised)
		together_poll(statuses, demo, ret_sample);
	else
		poll_training(demo, ret_sample);
	if (!demo->is_down)
		poll_ledgers(demo, ret_sample);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		json_decref(statuses[i]);
}

bool poll_ready(const struct demo *demo, const struct sample *sample, char ret_who[64])
{
	for (unsigned i = 0; i < demo->options.nodes; i++) {
		const struct node_sample *node = &sample->nodes[i];
		bool works = demo->options.dry_run || (node->quota > 0 && !isnan(node->demand));

		/* Isolated: its neighbours are not up yet. */
		if (isnan(node->share) || !works || strcmp(node->state, "isolated") == 0) {
			snprintf(ret_who, 64, "%s", demo->nodes[i].name);
			return false;
		}
	}
	if (!sample->training) {
		snprintf(ret_who, 64, "the training");
		return false;
	}
	return true;
}
