/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/admin/office.h"
#include "agent/control/control.h"
#include "agent/control/printable.h"
#include "agent/ctl/isobarctl.h"

#define PATIENCE_NS 5000000000u

bool ctl_path(const struct ctl *ctl, const char *name, char ret_path[CONTROL_PATH_BYTES])
{
	int n = snprintf(ret_path, CONTROL_PATH_BYTES, "%s/%s/control", ctl->run_directory, name);

	return n > 0 && n < CONTROL_PATH_BYTES;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

void ctl_instances(const struct ctl *ctl, struct ctl_instances *ret_instances)
{
	char path[CONTROL_PATH_BYTES];
	struct dirent *entry;
	struct stat st;

	ret_instances->count = 0;
	DIR *directory = opendir(ctl->run_directory);
	if (directory == NULL)
		return;
	while (ret_instances->count < CTL_INSTANCES_MAX && (entry = readdir(directory)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length >= CTL_NAME_BYTES ||
		    !ctl_path(ctl, entry->d_name, path) || stat(path, &st) < 0 ||
		    !S_ISSOCK(st.st_mode))
			continue;
		memcpy(ret_instances->names[ret_instances->count++], entry->d_name, length + 1);
	}
	closedir(directory);
	qsort(ret_instances->names, ret_instances->count, sizeof(ret_instances->names[0]), by_name);
}

static int choose(const struct ctl *ctl, char ret_path[CONTROL_PATH_BYTES])
{
	static struct ctl_instances instances;

	ctl_instances(ctl, &instances);
	if (instances.count == 0) {
		fprintf(stderr,
			"isobarctl: no isobard has a socket in %s\n"
			"start one: systemctl start isobard@NAME, or isobard -f FILE; "
			"what it lacks: isobarctl check\n",
			ctl->run_directory);
		return CTL_FAILED;
	}
	if (instances.count > 1) {
		fprintf(stderr, "isobarctl: which one? choose with -i:");
		for (unsigned i = 0; i < instances.count; i++)
			fprintf(stderr, " %s", instances.names[i]);
		fputc('\n', stderr);
		return CTL_USAGE;
	}
	(void)ctl_path(ctl, instances.names[0], ret_path);
	return CTL_DONE;
}

int ctl_socket(const struct ctl *ctl, char ret_path[CONTROL_PATH_BYTES])
{
	if (ctl->socket != NULL) {
		if (strlen(ctl->socket) < CONTROL_PATH_BYTES) {
			memcpy(ret_path, ctl->socket, strlen(ctl->socket) + 1);
			return CTL_DONE;
		}
	} else if (ctl->instance == NULL) {
		return choose(ctl, ret_path);
	} else if (ctl_path(ctl, ctl->instance, ret_path)) {
		return CTL_DONE;
	}
	fprintf(stderr, "isobarctl: the socket's path is longer than %d characters\n",
		CONTROL_PATH_BYTES - 1);
	return CTL_USAGE;
}

/* Who should be at DIRECTORY/NAME/control. */
static void print_name(const char *path)
{
	const char *end = strrchr(path, '/'), *begin = end;

	while (begin != NULL && begin > path && begin[-1] != '/')
		begin--;
	fprintf(stderr, "isobard@%.*s", begin == NULL ? 0 : (int)(end - begin), begin);
}

static void advise(const char *path, int r)
{
	if (r == -ENOENT || r == -ECONNREFUSED) {
		fputs("isobard is not running there; its job keeps the limit that the kernel has, "
		      "and is lowered to the floor by the guard when the lease ends\n"
		      "start it: systemctl start ", stderr);
		print_name(path);
		fputs(", or isobard -f FILE; why it has ended: journalctl -u ", stderr);
		print_name(path);
		fputc('\n', stderr);
	}
	if (r == -EACCES)
		fputs("this socket is for root and the control group only\n", stderr);
	if (r == -ETIMEDOUT)
		fputs("it runs and does not answer: see its log\n", stderr);
}

/* Drops a reply that is a refusal, after saying so. */
static int check_reply(const char *whose, json_t **reply)
{
	if (json_is_true(json_object_get(*reply, "ok")))
		return CTL_DONE;

	const char *why = printable(json_object_get(*reply, "error"));
	fprintf(stderr, "isobarctl: '%s': %s\n", whose, why != NULL ? why : "refused");
	json_decref(*reply);
	*reply = NULL;
	return CTL_FAILED;
}

/* From the socket on this machine. */
static int ask_here(const struct ctl *ctl, const json_t *request, json_t **ret_reply)
{
	char path[CONTROL_PATH_BYTES];
	struct error error;
	int r = ctl_socket(ctl, path);

	if (r != CTL_DONE)
		return r;
	r = control_call(path, request, PATIENCE_NS, ret_reply, &error);
	if (r < 0) {
		fprintf(stderr, "isobarctl: %s\n", error.text);
		advise(path, r);
		return CTL_FAILED;
	}
	return check_reply(path, ret_reply);
}

static int ask_node(struct office *office, const char *name, const json_t *request,
		    json_t **ret_reply)
{
	const struct cluster_conf *conf = office_conf(office);
	const struct cluster_conf_node *node = cluster_conf_find_name(conf, name);
	struct error error;

	if (node == NULL) {
		fprintf(stderr, "isobarctl: the configuration of cluster %s has no node '%s'; it "
			"has:", conf->cluster, name);
		for (unsigned i = 0; i < conf->node_count; i++)
			fprintf(stderr, " %s", conf->nodes[i].name);
		fputc('\n', stderr);
		return CTL_USAGE;
	}
	if (office_call(office, node, request, ret_reply, &error) == 0)
		return check_reply(name, ret_reply);
	fprintf(stderr, "isobarctl: node %s: %s\n", name, error.text);
	return CTL_FAILED;
}

/* From a node of the cluster, wherever it is. */
static int ask_there(const struct ctl *ctl, const json_t *request, json_t **ret_reply)
{
	struct office *office = NULL;
	struct error error;

	if (ctl->node == NULL || ctl->socket != NULL || ctl->instance != NULL) {
		fputs("isobarctl: of a cluster one node is asked: --node NAME, and neither "
		      "--instance nor --socket\n", stderr);
		return CTL_USAGE;
	}
	if (office_new(ctl_cluster_file(ctl), NULL, &office, &error) < 0) {
		fprintf(stderr, "isobarctl: %s\n", error.text);
		return CTL_FAILED;
	}
	int r = ask_node(office, ctl->node, request, ret_reply);
	office_free(office);
	return r;
}

int ctl_ask(const struct ctl *ctl, const char *command, json_t **ret_reply)
{
	return ctl_ask_this(ctl, json_pack("{s:s}", "command", command), ret_reply);
}

int ctl_ask_this(const struct ctl *ctl, json_t *request, json_t **ret_reply)
{
	bool is_there = ctl->cluster != NULL || ctl->node != NULL;
	int r = is_there ? ask_there(ctl, request, ret_reply) : ask_here(ctl, request, ret_reply);

	json_decref(request);
	return r;
}

void ctl_print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(12));
	putchar('\n');
}
