/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/admin/office.h"
#include "agent/control/control.h"
#include "agent/control/status.h"
#include "agent/ctl/isobarctl.h"

/* A node that does not answer must not stop the table of the others for long. */
#define PATIENCE_NS 1000000000u

int ctl_status(const struct ctl *ctl, int argc, char **argv)
{
	json_t *reply;
	int r = ctl_ask(ctl, "status", &reply);

	(void)argc;
	(void)argv;
	if (r != CTL_DONE)
		return r;
	/* A coordinator has no node to show: its status is JSON in any case. */
	if (ctl->json || json_object_get(reply, "node") == NULL)
		ctl_print_json(reply);
	else
		status_print(stdout, reply);
	json_decref(reply);
	return CTL_DONE;
}

int ctl_ledger(const struct ctl *ctl, int argc, char **argv)
{
	json_t *reply;
	int r = ctl_ask(ctl, "ledger", &reply);

	(void)argc;
	(void)argv;
	if (r != CTL_DONE)
		return r;
	ctl_print_json(reply);
	json_decref(reply);
	return CTL_DONE;
}

/* {"ok": false, "node": NAME, "error": WHY} in place of a status. */
static json_t *silent(const char *name, const struct error *error)
{
	return json_pack("{s:b, s:s, s:s, s:s}", "ok", 0, "node", name, "state", "silent", "error",
			 error->text);
}

static json_t *ask_quietly(const char *path, const char *name)
{
	struct error error;
	json_t *request = json_pack("{s:s}", "command", "status"), *reply = NULL;
	int r = control_call(path, request, PATIENCE_NS, &reply, &error);

	json_decref(request);
	return r == 0 ? reply : silent(name, &error);
}

/* All nodes of this machine. */
static void collect_here(const struct ctl *ctl, json_t *all)
{
	static struct ctl_instances instances;
	char path[CONTROL_PATH_BYTES];

	if (ctl->socket != NULL || ctl->instance != NULL) {
		if (ctl_socket(ctl, path) == CTL_DONE)
			(void)json_array_append_new(all, ask_quietly(path, ctl->instance));
		return;
	}
	ctl_instances(ctl, &instances);
	for (unsigned i = 0; i < instances.count; i++)
		if (ctl_path(ctl, instances.names[i], path))
			(void)json_array_append_new(all, ask_quietly(path, instances.names[i]));
}

/* All nodes that the cluster's configuration names. */
static void collect_there(struct office *office, json_t *all)
{
	const struct cluster_conf *conf = office_conf(office);
	json_t *request = json_pack("{s:s}", "command", "status");

	for (unsigned i = 0; i < conf->node_count; i++) {
		struct error error;
		json_t *reply = NULL;

		if (office_call(office, &conf->nodes[i], request, &reply, &error) < 0)
			reply = silent(conf->nodes[i].name, &error);
		(void)json_array_append_new(all, reply);
	}
	json_decref(request);
}

/* Sums over the nodes that answer; what leaves a donor and has not arrived yet is in flight. */
static void print_sum(const json_t *all)
{
	double share = 0, in_flight = 0;
	size_t answered = 0;

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *status = json_array_get(all, i);
		const json_t *neighbours = json_object_get(status, "neighbours");

		answered += json_object_get(status, "share_ucpu") != NULL;
		share += json_number_value(json_object_get(status, "share_ucpu"));
		for (size_t k = 0; k < json_array_size(neighbours); k++)
			in_flight += json_number_value(
			    json_object_get(json_array_get(neighbours, k), "in_flight_ucpu"));
	}
	printf("shares %.6f + in flight %.6f = %.6f CPU on %zu of %zu nodes\n",
	       share / 1e6, in_flight / 1e6, (share + in_flight) / 1e6, answered,
	       json_array_size(all));
}

static void print_table(const json_t *all)
{
	status_print_row(stdout, NULL, true);
	for (size_t i = 0; i < json_array_size(all); i++)
		status_print_row(stdout, json_array_get(all, i), false);
	print_sum(all);
}

/* One look at all nodes, shown.  Nobody there: says why, and returns the exit status. */
static int look(const struct ctl *ctl, struct office *office, bool is_screen)
{
	char path[CONTROL_PATH_BYTES];
	json_t *all = json_array();

	if (office != NULL)
		collect_there(office, all);
	else
		collect_here(ctl, all);
	if (json_array_size(all) == 0) {
		json_decref(all);
		/* It says why; a socket that came up in between is for the next try. */
		int r = ctl_socket(ctl, path);
		return r != CTL_DONE ? r : CTL_FAILED;
	}
	if (is_screen)
		fputs("\033[H\033[J", stdout);
	if (ctl->json)
		ctl_print_json(all);
	else
		print_table(all);
	json_decref(all);
	return CTL_DONE;
}

static int repeat(const struct ctl *ctl, struct office *office)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ctl->interval_ns / 1000000000),
		.tv_nsec = (long)(ctl->interval_ns % 1000000000),
	};
	bool is_screen = isatty(STDOUT_FILENO) && !ctl->json;
	/* Into a pipe once, unless told otherwise. */
	uint64_t count = ctl->count != 0 ? ctl->count : is_screen ? UINT64_MAX : 1;
	int r = look(ctl, office, is_screen);

	for (uint64_t i = 1; i < count && r == CTL_DONE; i++) {
		if (!is_screen && !ctl->json)
			putchar('\n');
		fflush(stdout);
		nanosleep(&pause, NULL);
		r = look(ctl, office, is_screen);
	}
	return r;
}

int ctl_top(const struct ctl *ctl, int argc, char **argv)
{
	struct office *office = NULL;
	struct error error;

	(void)argc;
	(void)argv;
	if (ctl->cluster == NULL)
		return repeat(ctl, NULL);
	if (ctl->socket != NULL || ctl->instance != NULL) {
		fputs("isobarctl: top of a cluster takes neither --instance nor --socket\n",
		      stderr);
		return CTL_USAGE;
	}
	if (office_new(ctl->cluster, NULL, &office, &error) < 0) {
		fprintf(stderr, "isobarctl: %s\n", error.text);
		return CTL_FAILED;
	}
	office_set_patience(office, PATIENCE_NS);
	int r = repeat(ctl, office);
	office_free(office);
	return r;
}
