/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflight.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/mounts.h"
#include "agent/conf/conf.h"
#include "agent/ctl/preflightfiles.h"
#include "agent/ctl/preflightguard.h"
#include "agent/ctl/preflighthost.h"
#include "agent/ctl/preflightjob.h"
#include "agent/ctl/preflightmeter.h"
#include "agent/ctl/preflightnet.h"
#include "agent/ctl/preflightsandbox.h"
#include "agent/ctl/preflightworker.h"
#include "agent/net/curve.h"
#include "agent/node/journal.h"
#include "lib/quantity.h"

const char *preflight_state_text(enum preflight_state state)
{
	switch (state) {
	case PREFLIGHT_OK: return "ok";
	case PREFLIGHT_WARNING: return "warning";
	case PREFLIGHT_MISSING: return "missing";
	case PREFLIGHT_SKIPPED: return "skipped";
	}
	return "unknown";
}

bool preflight_ready(const struct preflight *preflight)
{
	for (unsigned i = 0; i < preflight->count; i++)
		if (preflight->rows[i].state == PREFLIGHT_MISSING)
			return false;
	return true;
}

/* A new row; never NULL.  remedy: NULL or text. */
__attribute__((format(printf, 5, 6))) static struct preflight_row *row(struct preflight *preflight,
								       const char *requirement,
								       enum preflight_state state,
								       const char *remedy,
								       const char *format, ...)
{
	unsigned last = PREFLIGHT_ROWS_MAX - 1;
	struct preflight_row *new = &preflight->rows[preflight->count];
	va_list ap;

	if (preflight->count < last)
		preflight->count++;
	new->requirement = requirement;
	new->state = state;
	snprintf(new->remedy, sizeof(new->remedy), "%s", remedy != NULL ? remedy : "");
	va_start(ap, format);
	vsnprintf(new->detail, sizeof(new->detail), format, ap);
	va_end(ap);
	return new;
}

void preflight_say(struct preflight *preflight, const char *requirement,
		   enum preflight_state state, const char *remedy, const char *format, ...)
{
	char detail[sizeof(preflight->rows[0].detail)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	(void)row(preflight, requirement, state, remedy, "%s", detail);
}

static void check_privileges(struct preflight *preflight)
{
	/* Without the first two eBPF cannot be loaded; the others are for the worker's start. */
	static const unsigned needed[] = { CAP_BPF, CAP_PERFMON, CAP_SETUID, CAP_SETGID };
	char lacking[128] = "";
	size_t used = 0;

	if (capng_get_caps_process() == 0)
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
			if (!capng_have_capability(CAPNG_EFFECTIVE, needed[i]))
				used +=
				    (size_t)snprintf(lacking + used, sizeof(lacking) - used, " %s",
						     capng_capability_to_name(needed[i]));
	if (used == 0)
		row(preflight, "privileges", PREFLIGHT_OK, NULL, "%s",
		    geteuid() == 0 ? "root" : "the capabilities are there");
	else
		row(preflight, "privileges", PREFLIGHT_WARNING,
		    "run as root, or give these capabilities: AmbientCapabilities= of the unit",
		    "user %u lacks%s", (unsigned)geteuid(), lacking);
}

static bool check_controller(struct preflight *preflight)
{
	static struct mounts_controller cpu;
	struct error error;

	if (mounts_find("", "cpu", &cpu, &error) < 0) {
		row(preflight, "cpu controller", PREFLIGHT_MISSING,
		    "mount the hierarchy that holds it; systemd does so on a stock system", "%s",
		    error.text);
		return false;
	}
	row(preflight, "cpu controller", PREFLIGHT_OK, NULL, "cgroup v%u at %.150s", cpu.version,
	    cpu.mount);
	return true;
}

/* There and writable, or its nearest ancestor is. */
static void check_directory(struct preflight *preflight, const char *requirement, const char *path)
{
	char parent[CONF_PATH_BYTES];
	struct statvfs fs;

	snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash; access(parent, F_OK) != 0 && (slash = strrchr(parent, '/')) != NULL;)
		*(slash == parent ? slash + 1 : slash) = '\0';
	bool is_there = strcmp(parent, path) == 0;
	if (access(parent, W_OK | X_OK) < 0) {
		row(preflight, requirement, PREFLIGHT_MISSING,
		    errno == EROFS ? "mount it rw" : "make it, owned by the user isobard runs as",
		    "%.120s: %s", parent, strerror(errno));
		return;
	}
	if (is_there && statvfs(path, &fs) == 0 && fs.f_bavail == 0 && fs.f_blocks != 0) {
		row(preflight, requirement, PREFLIGHT_MISSING, "make room", "%.120s: disk full",
		    path);
		return;
	}
	row(preflight, requirement, PREFLIGHT_OK, NULL, "%.120s%s", path,
	    is_there ? "" : " is not there yet and can be made");
}

static void check_journal(struct preflight *preflight, const struct conf *conf)
{
	struct iso_record record;
	struct journal *journal = NULL;
	struct error error;
	char share[ISO_QUANTITY_BYTES];
	int fd = open(conf->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? error_errno(&error, -errno, "open '%s'", conf->state_directory)
		       : journal_open(fd, conf->state_directory, NULL, conf->cluster_id, conf->id,
				      &journal, &record, &error);

	if (fd >= 0)
		close(fd);
	if (r == 0) {
		iso_quantity_cpu_format((uint64_t)iso_record_holdings(&record), share);
		row(preflight, "journal", PREFLIGHT_OK, NULL, "share %s, generation %u", share,
		    record.gen);
	} else if (r == -EBUSY) {
		row(preflight, "journal", PREFLIGHT_OK, NULL, "in use: isobard is running");
	} else if (r == -ENOENT) {
		row(preflight, "journal", PREFLIGHT_MISSING,
		    "a new node: isobard --init -f FILE, once; any other: its share is lost here",
		    "there is none in %.150s", conf->state_directory);
	} else if (r == -EACCES) {
		row(preflight, "journal", PREFLIGHT_MISSING, "check as the user isobard runs as",
		    "%.180s", error.text);
	} else {
		row(preflight, "journal", PREFLIGHT_MISSING,
		    "it is never replaced by a guess: see isobard(8), DIAGNOSTICS", "%.180s",
		    error.text);
	}
	journal = journal_close(journal);
}

static void check_keys(struct preflight *preflight, const struct conf *conf)
{
	struct curve_keypair keys;
	struct error error;

	if (conf->secret_key[0] == '\0') {
		row(preflight, "keys", PREFLIGHT_SKIPPED, NULL, "none configured, no TCP");
		return;
	}
	if (curve_secret_read(conf->secret_key, &keys, &error) < 0) {
		row(preflight, "keys", PREFLIGHT_MISSING,
		    error.code == -EACCES  ? "check as the user isobard runs as, its owner"
		    : error.code == -EPERM ? "chmod 600, and make a new pair if others could "
					     "read it"
					   : "isobarctl keygen --output PREFIX",
		    "%.180s", error.text);
		return;
	}
	curve_keypair_wipe(&keys);
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		if (strcmp(conf->neighbours[i].public_key, keys.public_key) == 0) {
			row(preflight, "keys", PREFLIGHT_MISSING,
			    "each node has its own pair: isobarctl keygen",
			    "neighbour %s is given this node's own public key",
			    conf->neighbours[i].name);
			return;
		}
	row(preflight, "keys", PREFLIGHT_OK, NULL, "public key %s", keys.public_key);
}

/* What a neighbour can do that lies, isobar(7) has under SECURITY. */
static void check_limits(struct preflight *preflight, const struct conf *conf)
{
	char names[3 * (CONF_NAME_BYTES + 2)] = "";
	unsigned without = 0;

	if (conf->neighbour_count == 0)
		return;
	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		size_t used = strlen(names);

		if (conf_limit_ucpu(conf, conf->neighbours[i].id) != CONF_LIMIT_NONE)
			continue;
		if (without++ < 3)
			snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "",
				 conf->neighbours[i].name);
	}
	if (without == 0)
		row(preflight, "trust", PREFLIGHT_OK, NULL, "each neighbour has a limit");
	else
		row(preflight, "trust", PREFLIGHT_WARNING,
		    "an amount as limit, unless these hosts are as safe as this one; SECURITY in "
		    "isobar(7) says how to choose it",
		    "limit is none for %s%s: a lie of theirs is believed", names,
		    without > 3 ? ", ..." : "");
}

static void check_group(struct preflight *preflight, const struct conf *conf)
{
	if (conf->control_group[0] == '\0')
		row(preflight, "control group", PREFLIGHT_SKIPPED, NULL,
		    "none: only root changes the state");
	else if (getgrnam(conf->control_group) != NULL)
		row(preflight, "control group", PREFLIGHT_OK, NULL, "%s", conf->control_group);
	else
		row(preflight, "control group", PREFLIGHT_MISSING, "groupadd --system NAME",
		    "there is no group '%s'", conf->control_group);
}

static void check_network(struct preflight *preflight, const struct conf *conf)
{
	struct error error;

	if (conf->listen[0] == '\0')
		row(preflight, "listen address", PREFLIGHT_SKIPPED, NULL, "no neighbours");
	else
		preflightnet_check(preflight, conf, "listen address", conf->listen);
	if (conf->admin_listen[0] != '\0')
		preflightnet_check(preflight, conf, "admin address", conf->admin_listen);
	if (conf->training.plan[0] != '\0')
		preflightnet_check(preflight, conf, "worker address", conf->training.listen);
	else if (conf->training.coordinator[0] == '\0')
		row(preflight, "coordinator", PREFLIGHT_SKIPPED, NULL, "this node does not train");
	else if (preflightnet_connect(conf->training.coordinator, &error) == 0)
		row(preflight, "coordinator", PREFLIGHT_OK, NULL, "%.120s listens",
		    conf->training.coordinator);
	else
		row(preflight, "coordinator", PREFLIGHT_WARNING,
		    "start isobar-coordinator; the worker goes on trying", "%.180s", error.text);
}

static bool check_configuration(struct preflight *preflight, const char *file, struct conf *conf)
{
	struct error error;

	if (conf_load(file, conf, &error) < 0) {
		row(preflight, "configuration", PREFLIGHT_MISSING,
		    "see isobard.conf(5); isobard -n -f FILE checks it again", "%.180s",
		    error.text);
		return false;
	}
	row(preflight, "configuration", PREFLIGHT_OK, NULL, "%.120s: node %s of cluster %s", file,
	    conf->node, conf->cluster);
	for (unsigned i = 0; i < conf->warning_count; i++)
		row(preflight, "configuration", PREFLIGHT_WARNING, NULL, "%s", conf->warnings[i]);
	return true;
}

void preflight_run(const char *file, struct preflight *ret_preflight)
{
	static struct conf conf;
	struct preflight *preflight = ret_preflight;

	preflight->count = 0;
	bool is_valid = check_configuration(preflight, file, &conf);
	check_privileges(preflight);
	preflightmeter_check(preflight);
	preflighthost_scheduler(preflight, "");
	bool has_controller = check_controller(preflight);
	if (!is_valid)
		return;
	if (has_controller)
		preflightjob_check(preflight, &conf);
	check_directory(preflight, "state directory", conf.state_directory);
	/* Only where there is certainly none may anybody be told to make one. */
	if (access(conf.state_directory, F_OK) < 0 && errno == ENOENT)
		row(preflight, "journal", PREFLIGHT_MISSING,
		    "a new node: isobard --init -f FILE, once", "no state directory yet");
	else
		check_journal(preflight, &conf);
	check_directory(preflight, "run directory", conf.run_directory);
	check_keys(preflight, &conf);
	preflightfiles_check(preflight, &conf, file);
	check_limits(preflight, &conf);
	check_network(preflight, &conf);
	preflightguard_check(preflight, &conf);
	preflightsandbox_check(preflight, &conf);
	check_group(preflight, &conf);
	preflightworker_check(preflight, &conf);
}
