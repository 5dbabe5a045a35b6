/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightworker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/curve.h"
#include "agent/track/plan.h"
#include "agent/train/dataset_spec.h"
#include "agent/train/spawn.h"
#include "agent/train/usertask.h"

/* A user's task, as far as it can be judged without running it; false: *reterr says why. */
static bool is_task_fine(const struct conf *conf, uid_t uid, struct error *reterr)
{
	uint64_t checksum;

	if (conf->training.task[0] == '\0')
		return true;
	int fd = usertask_examine(conf->training.task, uid, &checksum, reterr);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Where the data are: a folder to look into, or a file. */
static bool has_data(const struct conf *conf, struct error *reterr)
{
	static struct dataset_spec spec;
	struct stat status;

	if (dataset_spec_parse(conf->training.data, &spec, reterr) < 0)
		return false;
	if (stat(spec.path, &status) == 0 &&
	    access(spec.path, S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK) == 0)
		return true;
	error_errno(reterr, -errno, "'%.120s'", spec.path);
	return false;
}

/* Copied to another file: what has the same path is refused where it is read. */
static bool is_key_of_agent(const struct conf *conf, const struct curve_keypair *worker)
{
	struct curve_keypair agent;
	struct error error; /* of that key the row of the keys speaks */

	if (conf->secret_key[0] == '\0' || curve_secret_read(conf->secret_key, &agent, &error) < 0)
		return false;
	bool is_same = strcmp(agent.public_key, worker->public_key) == 0;
	curve_keypair_wipe(&agent);
	return is_same;
}

/* NULL: all is there; else what to do about what *reterr says. */
static const char *find_lack(const struct conf *conf, struct error *reterr)
{
	struct spawn_user user = { .uid = geteuid() };
	struct curve_keypair keys;
	bool has_user = conf->training.user[0] != '\0';

	if (access(conf->training.executable, X_OK) < 0) {
		error_errno(reterr, -errno, "'%.120s'", conf->training.executable);
		return "install it, or set training.executable";
	}
	if (!has_data(conf, reterr))
		return "install the data set, or set training.data";
	if (!has_user && geteuid() == 0) {
		error_set(reterr, -EPERM, "training.user is not set");
		return "name an unprivileged user: a worker never runs as root";
	}
	if (has_user && spawn_user_find(conf->training.user, &user, reterr) < 0)
		return "useradd --system NAME";
	if (conf->training.worker_key[0] != '\0') {
		if (curve_secret_read(conf->training.worker_key, &keys, reterr) < 0)
			return "isobarctl keygen, owned by the worker's user, mode 600";
		bool is_agents = is_key_of_agent(conf, &keys);
		curve_keypair_wipe(&keys);
		if (is_agents) {
			error_set(reterr, -EINVAL, "'%.120s' holds the agent's own secret-key",
				  conf->training.worker_key);
			return "a pair of its own: isobarctl keygen";
		}
	}
	if (!is_task_fine(conf, user.uid, reterr))
		return "install it for root, mode 644, or mend training.task";
	return NULL;
}

/* Whether node and neighbours are in the plan by the names that they have here. */
static bool knows_all(const struct plan *plan, const struct conf *conf, struct error *reterr)
{
	const char *missing = plan_find(plan, conf->node) < 0 ? conf->node : NULL;

	for (unsigned i = 0; i < conf->neighbour_count; i++)
		if (conf->neighbours[i].worker_address[0] != '\0' &&
		    plan_find(plan, conf->neighbours[i].name) < 0)
			missing = conf->neighbours[i].name;
	if (missing != NULL)
		error_set(reterr, -ENOENT, "'%.100s' has no node %s", conf->training.plan, missing);
	return missing == NULL;
}

static void check_plan(struct preflight *preflight, const struct conf *conf)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct error error = { 0 };

	if (plan == NULL)
		return;
	if (plan_load(conf->training.plan, plan, &error) < 0)
		preflight_say(preflight, "plan", PREFLIGHT_MISSING,
			      "the same file on all nodes, see isobar-plan.conf(5)", "%.180s",
			      error.text);
	else if (!knows_all(plan, conf, &error))
		preflight_say(preflight, "plan", PREFLIGHT_MISSING,
			      "a section node NAME { } for it, in the file of all nodes", "%.180s",
			      error.text);
	else
		preflight_say(preflight, "plan", PREFLIGHT_OK, NULL, "%.100s: %s, of %u nodes",
			      conf->training.plan, plan->name, plan->nodes_count);
	free(plan);
}

void preflightworker_check(struct preflight *preflight, const struct conf *conf)
{
	struct error error = { 0 };

	if (!conf_trains(conf)) {
		preflight_say(preflight, "worker", PREFLIGHT_SKIPPED, NULL,
			      "this node does not train");
		return;
	}
	const char *remedy = find_lack(conf, &error);
	if (remedy != NULL)
		preflight_say(preflight, "worker", PREFLIGHT_MISSING, remedy, "%.180s", error.text);
	else
		preflight_say(preflight, "worker", PREFLIGHT_OK, NULL, "%.120s",
			      conf->training.executable);
	if (conf->training.plan[0] != '\0')
		check_plan(preflight, conf);
}
