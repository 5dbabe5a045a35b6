/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/conf/confcheck.h"
#include "agent/train/dataset_spec.h"

/*
 * A node trains with a coordinator, with its neighbours by a plan, or not at all.
 */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int line_of(const struct confcheck *check, const char *option)
{
	return confplace_line(&check->place, "training", option);
}

static int fails(const struct confcheck *check, const char *option, const char *what)
{
	error_set(check->place.reterr, -EINVAL, "training.%s%s", option, what);
	return confplace_at_line(&check->place, line_of(check, option));
}

/* Something of the section is said, so that the rest of it is missed. */
static int is_missing(const struct confcheck *check, const char *option, int line)
{
	error_set(check->place.reterr, -EINVAL, "training.%s is not set", option);
	return confplace_at_line(&check->place, line);
}

static bool is_tcp(const char *address)
{
	return strncmp(address, "tcp://", 6) == 0;
}

/* The options of only one of the two ways that are set though it is the other; or NULL. */
static const char *find_stray(const struct confcheck *check, const char *const *options,
			      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (line_of(check, options[i]) != 0)
			return options[i];
	return NULL;
}

static int check_coordinator(const struct confcheck *check)
{
	static const char *const plans[] = { "listen", "state-directory" };
	const struct conf *conf = check->conf;
	int line = line_of(check, "coordinator");
	const char *stray = find_stray(check, plans, COUNT(plans));
	char what[CONF_ADDRESS_BYTES + 64];

	if (stray != NULL)
		return fails(check, stray, ": only with a plan; here is a coordinator");
	if (conf->training.data[0] == '\0')
		return is_missing(check, "data", line);
	if (is_tcp(conf->training.coordinator) && conf->training.coordinator_key[0] == '\0')
		return is_missing(check, "coordinator-key", line);
	if (is_tcp(conf->training.coordinator) && conf->training.worker_key[0] == '\0')
		return is_missing(check, "worker-key", line);
	if (confcheck_is_destination(conf->training.coordinator))
		return 0;
	snprintf(what, sizeof(what), ": '%s' is no address to connect to",
		 conf->training.coordinator);
	return fails(check, "coordinator", what);
}

static int check_plan(const struct confcheck *check)
{
	static const char *const coordinators[] = { "coordinator-key", "task", "task-limit" };
	const struct conf *conf = check->conf;
	int line = line_of(check, "plan");
	const char *stray = find_stray(check, coordinators, COUNT(coordinators));

	if (stray != NULL)
		return fails(check, stray, ": only with a coordinator; here is a plan");
	if (conf->training.data[0] == '\0')
		return is_missing(check, "data", line);
	if (conf->training.listen[0] == '\0')
		return is_missing(check, "listen", line);
	if (conf->training.worker_key[0] == '\0')
		return is_missing(check, "worker-key", line);
	if (!is_tcp(conf->training.listen) || !confutil_is_numeric(conf->training.listen) ||
	    !confcheck_is_destination(conf->training.listen))
		return fails(check, "listen",
			     ": expected tcp:// with a numeric address and a port");
	if (strcmp(conf->training.listen, conf->listen) == 0)
		return fails(check, "listen", " is where the agent itself listens");
	if (strcmp(conf->training.listen, conf->admin_listen) == 0)
		return fails(check, "listen",
			     " is where the agent listens for administrators (admin-listen)");
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		if (conf->neighbours[i].worker_address[0] != '\0')
			return 0;
	return fails(check, "plan",
		     ": no neighbour has a worker-address, so there is nobody to learn with");
}

static int check_workers_pair(const struct confcheck *check, const struct conf_neighbour *a,
			      const struct conf_neighbour *b)
{
	char what[CONF_NAME_BYTES + 64];

	if (strcmp(a->worker_address, b->worker_address) == 0)
		snprintf(what, sizeof(what), "same worker-address as neighbour %s", a->name);
	else if (strcmp(a->worker_public_key, b->worker_public_key) == 0)
		snprintf(what, sizeof(what), "same worker-public-key as neighbour %s", a->name);
	else
		return 0;
	return confcheck_at_neighbour(check, b, what);
}

static int check_worker(const struct confcheck *check, const struct conf_neighbour *neighbour)
{
	const struct conf *conf = check->conf;

	if (neighbour->worker_address[0] == '\0' && neighbour->worker_public_key[0] == '\0')
		return 0;
	if (conf->training.plan[0] == '\0')
		return confcheck_at_neighbour(check, neighbour,
					      "worker-address and worker-public-key are for "
					      "training.plan, which is not set");
	if (neighbour->worker_address[0] == '\0')
		return confcheck_at_neighbour(check, neighbour, "worker-address is not set");
	if (neighbour->worker_public_key[0] == '\0')
		return confcheck_at_neighbour(check, neighbour, "worker-public-key is not set");
	if (!is_tcp(neighbour->worker_address) ||
	    !confutil_is_numeric(neighbour->worker_address) ||
	    !confcheck_is_destination(neighbour->worker_address))
		return confcheck_at_neighbour(
		    check, neighbour,
		    "worker-address: expected tcp:// with a numeric address and a port");
	if (strcmp(neighbour->worker_address, conf->training.listen) == 0)
		return confcheck_at_neighbour(check, neighbour,
					      "worker-address is where our own worker listens");
	if (strcmp(neighbour->worker_address, neighbour->address) == 0)
		return confcheck_at_neighbour(
		    check, neighbour, "worker-address is the agent's own address");
	if (strcmp(neighbour->worker_public_key, neighbour->public_key) == 0)
		return confcheck_at_neighbour(check, neighbour,
					      "worker-public-key is the agent's own public-key");
	return 0;
}

static int check_workers(const struct confcheck *check)
{
	const struct conf *conf = check->conf;

	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		const struct conf_neighbour *neighbour = &conf->neighbours[i];
		int r = check_worker(check, neighbour);

		for (unsigned j = 0; j < i && r == 0; j++)
			if (neighbour->worker_address[0] != '\0' &&
			    conf->neighbours[j].worker_address[0] != '\0')
				r = check_workers_pair(check, &conf->neighbours[j], neighbour);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Nobody to train with: then nothing else of the section may be said either. */
static int check_neither(const struct confcheck *check)
{
	static const char *const others[] = { "coordinator-key", "listen", "state-directory",
					      "worker-key",	 "user",   "data",
					      "threads",	 "task",   "task-limit",
					      "executable" };
	const char *stray = find_stray(check, others, COUNT(others));

	if (stray == NULL)
		return 0;
	error_set(check->place.reterr, -EINVAL,
		  "training.coordinator is not set, nor is training.plan");
	return confplace_at_line(&check->place, line_of(check, stray));
}

int confcheck_training(struct confcheck *check)
{
	const struct conf *conf = check->conf;
	bool has_coordinator = conf->training.coordinator[0] != '\0';
	bool has_plan = conf->training.plan[0] != '\0';
	int r;

	if (has_coordinator && has_plan)
		return fails(check, "plan", ": there is a coordinator, too; only one of them");
	if (!has_coordinator && !has_plan)
		r = check_neither(check);
	else
		r = has_plan ? check_plan(check) : check_coordinator(check);
	if (r == 0)
		r = check_workers(check);
	/* Its user must own it, and must not be able to speak for the agent. */
	if (r == 0 && conf_trains(conf) && conf->training.worker_key[0] != '\0' &&
	    strcmp(conf->training.worker_key, conf->secret_key) == 0)
		return fails(check, "worker-key", " is the agent's own secret-key");
	if (r < 0 || !conf_trains(conf) ||
	    dataset_spec_check(conf->training.data, check->place.reterr) == 0)
		return r;
	error_wrap(check->place.reterr, "training");
	return confplace_at_option(&check->place, "training", "data");
}
