/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/host_arguments.h"

#include <assert.h>
#include <stdio.h>

static void add(struct host_arguments *arguments, const char *option, const char *value)
{
	assert(arguments->count + 2 < HOST_ARGUMENTS_MAX);
	arguments->argv[arguments->count++] = option;
	arguments->argv[arguments->count++] = value;
}

static void add_plan(const struct conf *conf, struct host_arguments *arguments)
{
	add(arguments, "--plan", conf->training.plan);
	add(arguments, "--listen", conf->training.listen);
	if (conf->training.state_directory[0] != '\0')
		add(arguments, "--state-directory", conf->training.state_directory);
	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		const struct conf_neighbour *neighbour = &conf->neighbours[i];

		if (neighbour->worker_address[0] == '\0')
			continue;
		snprintf(arguments->neighbours[i], sizeof(arguments->neighbours[i]), "%s,%s,%s",
			 neighbour->name, neighbour->worker_address, neighbour->worker_public_key);
		add(arguments, "--neighbour", arguments->neighbours[i]);
	}
}

static void add_task(const struct conf *conf, struct host_arguments *arguments)
{
	snprintf(arguments->task_limit, sizeof(arguments->task_limit), "%llums",
		 (unsigned long long)(conf->training.task_limit_ns / 1000000));
	add(arguments, "--task", conf->training.task);
	add(arguments, "--task-limit", arguments->task_limit);
}

void host_arguments_make(const struct conf *conf, struct host_arguments *ret_arguments)
{
	struct host_arguments *arguments = ret_arguments;

	assert(conf_trains(conf));
	arguments->count = 0;
	arguments->argv[arguments->count++] = "isobar-worker";
	if (conf->training.plan[0] != '\0') {
		add_plan(conf, arguments);
	} else {
		add(arguments, "--coordinator", conf->training.coordinator);
		add(arguments, "--coordinator-key", conf->training.coordinator_key);
	}
	add(arguments, "--key", conf->training.worker_key);
	add(arguments, "--name", conf->node);
	add(arguments, "--data", conf->training.data);
	snprintf(arguments->threads, sizeof(arguments->threads), "%lld",
		 (long long)conf->training.threads);
	add(arguments, "--threads", arguments->threads);
	if (conf->training.task[0] != '\0')
		add_task(conf, arguments);
	if (!conf->sandbox)
		arguments->argv[arguments->count++] = "--no-sandbox";
	arguments->argv[arguments->count] = NULL;
}
