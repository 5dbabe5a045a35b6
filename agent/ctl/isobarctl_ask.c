/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/control/control.h"
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
			"start one: isobard -f FILE; "
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

static void advise(int r)
{
	if (r == -ENOENT || r == -ECONNREFUSED)
		fputs("isobard is not running there; "
		      "start it: isobard -f FILE\n",
		      stderr);
	if (r == -EACCES)
		fputs("this socket is for root and the control group only\n", stderr);
	if (r == -ETIMEDOUT)
		fputs("it runs and does not answer: see its log\n", stderr);
}

int ctl_ask(const char *path, const char *command, json_t **ret_reply)
{
	return ctl_ask_this(path, json_pack("{s:s}", "command", command), ret_reply);
}

int ctl_ask_this(const char *path, json_t *request, json_t **ret_reply)
{
	struct error error;
	json_t *reply = NULL;
	int r = control_call(path, request, PATIENCE_NS, &reply, &error);

	json_decref(request);
	if (r < 0) {
		fprintf(stderr, "isobarctl: %s\n", error.text);
		advise(r);
		return CTL_FAILED;
	}
	if (!json_is_true(json_object_get(reply, "ok"))) {
		const char *why = json_string_value(json_object_get(reply, "error"));

		fprintf(stderr, "isobarctl: '%s': %s\n", path, why != NULL ? why : "refused");
		json_decref(reply);
		return CTL_FAILED;
	}
	*ret_reply = reply;
	return CTL_DONE;
}

void ctl_print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(12));
	putchar('\n');
}
