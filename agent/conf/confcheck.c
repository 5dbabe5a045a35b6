/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/cgroup/unit.h"
#include "agent/conf/confcheck.h"
#include "lib/enforce/property.h"
#include "lib/quantity.h"

/*
 * What the values of one configuration mean together.  No file is read and
 * nothing is looked up: what depends on the machine is agent/preflight's.
 */

__attribute__((format(printf, 3, 4))) static void warn(const struct confcheck *check, int line,
						       const char *format, ...)
{
	struct conf *conf = check->conf;
	char what[160];
	va_list ap;

	if (conf->warning_count == CONF_WARNINGS_MAX)
		return;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	char *out = conf->warnings[conf->warning_count++];
	if (line > 0)
		snprintf(out, sizeof(conf->warnings[0]), "line %d: %s", line, what);
	else
		snprintf(out, sizeof(conf->warnings[0]), "%s", what);
}

static int too_small(const struct confcheck *check, const char *name, uint64_t ucpu,
		     const char *why, uint64_t bound_ucpu)
{
	char value[ISO_QUANTITY_BYTES], bound[ISO_QUANTITY_BYTES];

	iso_quantity_cpu_format(ucpu, value);
	iso_quantity_cpu_format(bound_ucpu, bound);
	error_set(check->place.reterr, -EINVAL, "%s: %s is below %s, %s", name, value, why, bound);
	return confplace_at_option(&check->place, "", name);
}

static int too_large(const struct confcheck *check, const char *name, uint64_t ucpu,
		     const char *why, uint64_t bound_ucpu)
{
	char value[ISO_QUANTITY_BYTES], bound[ISO_QUANTITY_BYTES];

	iso_quantity_cpu_format(ucpu, value);
	iso_quantity_cpu_format(bound_ucpu, bound);
	error_set(check->place.reterr, -EINVAL, "%s: %s is above %s, %s", name, value, why, bound);
	return confplace_at_option(&check->place, "", name);
}

/* The smallest share whose quota, rounded down, is still CONF_QUOTA_US_MIN. */
static uint64_t least_ucpu(uint64_t period_ns)
{
	uint64_t us_of_cpu = CONF_QUOTA_US_MIN * (uint64_t)ISO_NS_PER_S;

	return (us_of_cpu + period_ns - 1) / period_ns;
}

static bool is_set(const struct confcheck *check, const char *name)
{
	return confplace_line(&check->place, "", name) != 0;
}

/* Below, the kernel's timers cost much and its slices of the pool eat into the quota. */
#define PERIOD_SHORT_NS 10000000u

static int check_shares(struct confcheck *check)
{
	struct conf *conf = check->conf;
	uint64_t least = least_ucpu(conf->period_ns);

	if (conf->period_ns < PERIOD_SHORT_NS)
		warn(check, confplace_line(&check->place, "", "period"),
		     "period: below 10ms the kernel gives the job much less than its quota, and "
		     "its timers use CPU themselves");
	if (conf->floor_ucpu == 0 && !is_set(check, "floor"))
		conf->floor_ucpu = conf->unit[0] != '\0' && least < ISO_PROPERTY_STEP_UCPU ?
					   ISO_PROPERTY_STEP_UCPU : least;
	conf->has_ceiling = conf->ceiling_ucpu != 0 || is_set(check, "ceiling");
	if (!conf->has_ceiling)
		conf->ceiling_ucpu = conf->budget_ucpu;

	if (conf->floor_ucpu < least)
		return too_small(check, "floor", conf->floor_ucpu,
				 "what the kernel enforces with this period, 1000 us in each",
				 least);
	if (conf->budget_ucpu < conf->floor_ucpu)
		return too_small(check, "budget", conf->budget_ucpu, "the floor", conf->floor_ucpu);
	if (conf->ceiling_ucpu < conf->floor_ucpu)
		return too_small(check, "ceiling", conf->ceiling_ucpu, "the floor",
				 conf->floor_ucpu);
	if (conf->ceiling_ucpu > conf->budget_ucpu)
		return too_large(check, "ceiling", conf->ceiling_ucpu, "the budget",
				 conf->budget_ucpu);
	if (conf->endowment_ucpu > conf->budget_ucpu)
		return too_large(check, "endowment", conf->endowment_ucpu, "the budget",
				 conf->budget_ucpu);
	/* A node that joins later has none. */
	if (conf->endowment_ucpu < conf->floor_ucpu && is_set(check, "endowment"))
		return too_small(check, "endowment", conf->endowment_ucpu, "the floor",
				 conf->floor_ucpu);
	return 0;
}

/* What systemd keeps over a reload has this grain, lib/enforce/property.h. */
static int check_unit(struct confcheck *check)
{
	const struct conf *conf = check->conf;

	if (!unit_name_valid(conf->unit, check->place.reterr)) {
		error_wrap(check->place.reterr, "unit");
		return confplace_at_option(&check->place, "", "unit");
	}
	if (conf->floor_ucpu < ISO_PROPERTY_STEP_UCPU)
		return too_small(check, "floor", conf->floor_ucpu,
				 "the least limit that systemd keeps for a unit",
				 ISO_PROPERTY_STEP_UCPU);
	if (conf->create_cgroup) {
		error_set(check->place.reterr, -EINVAL,
			  "create-cgroup: the group of a unit is made by systemd alone");
		return confplace_at_option(&check->place, "", "create-cgroup");
	}
	return 0;
}

static int check_job(struct confcheck *check)
{
	const struct conf *conf = check->conf;
	bool has_path = conf->cgroup[0] != '\0', has_unit = conf->unit[0] != '\0';
	unsigned count = (unsigned)has_path + has_unit + conf->delegated;

	if (count == 0) {
		error_set(check->place.reterr, -EINVAL,
			  "there is no job: set one of cgroup, unit and delegated");
		return confplace_at_line(&check->place, 0);
	}
	if (count > 1) {
		error_set(check->place.reterr, -EINVAL,
			  "one node limits one job: set only one of cgroup, unit and delegated");
		return confplace_at_option(&check->place, "",
					   has_unit   ? "unit"
					   : has_path ? "cgroup"
						      : "delegated");
	}
	return has_unit ? check_unit(check) : 0;
}

static int check_cgroup(struct confcheck *check)
{
	char *path = check->conf->cgroup;
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	if (strcmp(path, "/") == 0) {
		error_set(check->place.reterr, -EINVAL,
			  "cgroup: the root cannot be limited; name the cgroup of the job");
		return confplace_at_option(&check->place, "", "cgroup");
	}
	if (strcmp(path, "/init.scope") == 0) {
		error_set(check->place.reterr, -EINVAL,
			  "cgroup: init.scope holds the init process; name the cgroup of the job");
		return confplace_at_option(&check->place, "", "cgroup");
	}
	return 0;
}

static bool is_tcp(const char *address)
{
	return strncmp(address, "tcp://", 6) == 0;
}

bool confcheck_is_destination(const char *address)
{
	const char *port = strrchr(address, ':');

	if (!is_tcp(address))
		return true;
	return strncmp(address, "tcp://*", 7) != 0 && strcmp(port, ":*") != 0 &&
	       strcmp(port, ":0") != 0;
}

int confcheck_at_neighbour(const struct confcheck *check, const struct conf_neighbour *neighbour,
			   const char *what)
{
	error_set(check->place.reterr, -EINVAL, "neighbour %s: %s", neighbour->name, what);
	return confplace_at_line(&check->place, neighbour->line);
}

static int check_neighbour(struct confcheck *check, struct conf_neighbour *neighbour)
{
	const struct conf *conf = check->conf;
	char what[CONF_ADDRESS_BYTES + 64];

	if (strcmp(neighbour->name, conf->node) == 0)
		return confcheck_at_neighbour(check, neighbour, "that is this node itself");
	if (!confcheck_is_destination(neighbour->address)) {
		snprintf(what, sizeof(what), "'%s' is no address to connect to",
			 neighbour->address);
		return confcheck_at_neighbour(check, neighbour, what);
	}
	if (strcmp(neighbour->address, conf->listen) == 0) {
		snprintf(what, sizeof(what), "'%s' is where this node listens", neighbour->address);
		return confcheck_at_neighbour(check, neighbour, what);
	}
	if (neighbour->public_key[0] == '\0')
		return confcheck_at_neighbour(check, neighbour,
				       "public-key is not set, and no link goes without");
	if (!confutil_is_numeric(neighbour->address))
		warn(check, neighbour->line,
		     "neighbour %s: '%.60s' is looked up by name, which can block; a number cannot",
		     neighbour->name, neighbour->address);
	neighbour->id = conf_node_id(conf->cluster, neighbour->name);
	if (neighbour->id == conf->id)
		return confcheck_at_neighbour(check, neighbour,
				       "its id collides with ours: rename one of the two");
	return 0;
}

static int check_pair(struct confcheck *check, const struct conf_neighbour *a,
		      const struct conf_neighbour *b)
{
	char what[CONF_NAME_BYTES + 96];

	if (strcmp(a->address, b->address) == 0)
		snprintf(what, sizeof(what), "same address as neighbour %s", a->name);
	else if (a->public_key[0] != '\0' && strcmp(a->public_key, b->public_key) == 0)
		snprintf(what, sizeof(what), "same public-key as neighbour %s", a->name);
	else if (a->id == b->id)
		snprintf(what, sizeof(what),
			 "its id collides with that of neighbour %s: rename one of the two",
			 a->name);
	else
		return 0;
	return confcheck_at_neighbour(check, b, what);
}

static int check_neighbours(struct confcheck *check)
{
	struct conf *conf = check->conf;

	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		int r = check_neighbour(check, &conf->neighbours[i]);

		for (unsigned j = 0; j < i && r == 0; j++)
			r = check_pair(check, &conf->neighbours[j], &conf->neighbours[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_listen(struct confcheck *check)
{
	const struct conf *conf = check->conf;
	int line = confplace_line(&check->place, "", "listen");

	if (conf->neighbour_count > 0 && conf->listen[0] == '\0') {
		error_set(check->place.reterr, -EINVAL,
			  "neighbour %s: listen is not set, it could not answer",
			  conf->neighbours[0].name);
		return confplace_at_line(&check->place, conf->neighbours[0].line);
	}
	if (conf->listen[0] != '\0' && conf->secret_key[0] == '\0') {
		error_set(check->place.reterr, -EINVAL,
			  "secret-key is not set, and no link goes without (isobarctl keygen)");
		return confplace_at_line(&check->place, line);
	}
	if (conf->listen[0] != '\0' && !confutil_is_numeric(conf->listen))
		warn(check, line, "listen: '%.60s' is looked up by name; a number is not",
		     conf->listen);
	return 0;
}

static int administrator_fails(const struct confcheck *check,
			       const struct conf_administrator *administrator, const char *what)
{
	error_set(check->place.reterr, -EINVAL, "administrator %s: %s", administrator->name, what);
	return confplace_at_line(&check->place, administrator->line);
}

static int check_administrators(struct confcheck *check)
{
	const struct conf *conf = check->conf;
	int line = confplace_line(&check->place, "", "admin-listen");

	for (unsigned i = 0; i < conf->administrator_count; i++) {
		const struct conf_administrator *administrator = &conf->administrators[i];
		char what[CONF_NAME_BYTES + 64];

		if (conf->admin_listen[0] == '\0')
			return administrator_fails(
			    check, administrator, "admin-listen is not set, nobody could reach us");
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(conf->administrators[j].public_key, administrator->public_key) !=
			    0)
				continue;
			snprintf(what, sizeof(what), "same public-key as administrator %s",
				 conf->administrators[j].name);
			return administrator_fails(check, administrator, what);
		}
	}
	if (conf->admin_listen[0] == '\0')
		return 0;
	if (!is_tcp(conf->admin_listen))
		error_set(check->place.reterr, -EINVAL,
			  "admin-listen: '%.80s' is not tcp://; on this machine there is the "
			  "control socket",
			  conf->admin_listen);
	else if (conf->secret_key[0] == '\0')
		error_set(check->place.reterr, -EINVAL,
			  "secret-key is not set, and no command goes without (isobarctl keygen)");
	else if (strcmp(conf->admin_listen, conf->listen) == 0)
		error_set(check->place.reterr, -EINVAL,
			  "admin-listen: '%.80s' is where the neighbours' messages go (listen)",
			  conf->admin_listen);
	else {
		if (conf->administrator_count == 0)
			warn(check, line,
			     "admin-listen: no section administrator: everybody is "
			     "turned away");
		return 0;
	}
	return confplace_at_line(&check->place, line);
}

static int check_trading(struct confcheck *check)
{
	const struct conf *conf = check->conf;

	if (conf->trading.fresh_ns >= 2 * conf->trading.tick_ns)
		return 0;
	error_set(
	    check->place.reterr, -EINVAL,
	    "trading.fresh: shorter than two ticks: one late message would take a neighbour down");
	if (confplace_line(&check->place, "trading", "fresh") != 0)
		return confplace_at_option(&check->place, "trading", "fresh");
	return confplace_at_option(&check->place, "trading", "tick");
}

/* Below, a late tick or two lost messages would cost a node its lease. */
#define LEASE_TICKS_MIN 5

/* Clock rates differ by less than one part in so many, and by far. */
#define CLOCK_RATE_PART 20

/* A tick may wait a quarter of a second for systemd, and one that is late costs more. */
#define LEASE_UNIT_NS 2000000000u

/* The guard is up to this early, and never by a large part of the lease. */
#define GUARD_EARLY_NS	 200000000u
#define GUARD_EARLY_PART 8

static int check_lease(struct confcheck *check)
{
	struct conf *conf = check->conf;
	uint64_t lease_ns = conf->trading.lease_ns;
	bool is_set = confplace_line(&check->place, "trading", "lease") != 0;

	conf->trading.promise_ns = conf->trading.guard_ns = 0;
	if (lease_ns == 0)
		return 0;
	if (lease_ns < LEASE_TICKS_MIN * conf->trading.tick_ns) {
		error_set(check->place.reterr, -EINVAL,
			  "trading.lease: shorter than %d ticks: messages that are late would "
			  "take the share away",
			  LEASE_TICKS_MIN);
		return confplace_at_option(&check->place, "trading", is_set ? "lease" : "tick");
	}
	conf->trading.promise_ns =
		lease_ns + lease_ns / CLOCK_RATE_PART + conf->trading.lease_slack_ns;
	conf->trading.guard_ns = GUARD_EARLY_NS;
	if (conf->trading.guard_ns > lease_ns / GUARD_EARLY_PART)
		conf->trading.guard_ns = lease_ns / GUARD_EARLY_PART;
	if (conf->unit[0] != '\0' && lease_ns < LEASE_UNIT_NS)
		warn(check, confplace_line(&check->place, "trading", "lease"),
		     "trading.lease: shorter than 2s: a tick may wait 250ms for systemd, and with "
		     "unit a busy one would cost the lease");
	if (conf->guard.watchdog[0] != '\0' && conf_watchdog_s(conf) == 0)
		warn(check, confplace_line(&check->place, "guard", "watchdog"),
		     "guard.watchdog: no timeout fits into trading.lease-slack; with 1500ms or "
		     "more one does");
	return 0;
}

/* DIRECTORY/NAME, if nothing else is said. */
static void fill_path(char *field, const char *directory, const char *name)
{
	_Static_assert(sizeof(ISO_STATEDIR) + CONF_NAME_BYTES <= CONF_PATH_BYTES, "fits");
	_Static_assert(sizeof(ISO_LIBEXECDIR) + CONF_NAME_BYTES <= CONF_PATH_BYTES, "fits");
	if (field[0] == '\0')
		snprintf(field, CONF_PATH_BYTES, "%s/%s", directory, name);
}

int conf_check(struct conf *conf, const char *name, const struct confutil_lines *lines,
	       struct error *reterr)
{
	struct confcheck check = { conf, { name, conf_schema(), lines, reterr } };
	static int (*const steps[])(struct confcheck *) = {
		check_shares,	  check_job,		check_cgroup,  check_neighbours,
		check_listen,	  check_administrators, check_trading, check_lease,
		confcheck_training, confcheck_limits,
	};

	conf->warning_count = 0;
	conf->cluster_id = conf_cluster_id(conf->cluster);
	conf->id = conf_node_id(conf->cluster, conf->node);
	fill_path(conf->state_directory, ISO_STATEDIR, conf->node);
	fill_path(conf->run_directory, ISO_RUNDIR, conf->node);
	fill_path(conf->training.executable, ISO_LIBEXECDIR, "isobar-worker");
	fill_path(conf->guard.executable, ISO_LIBEXECDIR, "isobar-guard");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](&check);

		if (r < 0)
			return r;
	}
	conf->digest = conf_digest(conf);
	return 0;
}
