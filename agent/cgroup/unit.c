/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/cgroup/unitbus.h"
#include "agent/cgroup/unitdropin.h"
#include "lib/enforce/property.h"

#define WAIT_MS_PATIENT 5000u

struct unit {
	char name[UNIT_NAME_BYTES];
	unsigned wait_ms;
	uint64_t now_ns;   /* of the tick that the last call was made in */
	uint64_t spent_ns; /* waiting, in that tick */
	struct unitbus *bus;
	struct unit_quota found;
	char overridden[PATH_MAX]; /* "": it is not */
	struct iso_property property;
};

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length > end_length && strcmp(name + length - end_length, end) == 0;
}

bool unit_name_valid(const char *name, struct error *reterr)
{
	static const char *const kinds[] = { ".service", ".scope", ".slice" };
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789:-_.\\@";
	const char *at = strchr(name, '@');
	bool is_known = false;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		is_known = is_known || ends_with(name, kinds[i]);
	if (!is_known || name[strspn(name, characters)] != '\0' || name[0] == '@' ||
	    strlen(name) >= UNIT_NAME_BYTES)
		error_set(reterr, -EINVAL,
			  "'%.100s' is no unit that can be limited: name a service, scope or "
			  "slice, such as foo.service", name);
	else if (strcmp(name, "-.slice") == 0)
		error_set(reterr, -EINVAL, "'-.slice' is the whole host: name the unit of one job");
	else if (strcmp(name, "init.scope") == 0)
		error_set(reterr, -EINVAL,
			  "'init.scope' is the init system's: it is never limited");
	else if (at != NULL && at[1] == '.' && strchr(at + 2, '.') == NULL)
		error_set(reterr, -EINVAL,
			  "'%.100s' is a template: name one of its instances, such as %.*s@1%s",
			  name, (int)(at - name), name, at + 1);
	else
		return true;
	return false;
}

static int read_quota(struct unit *unit, struct unit_quota *ret_quota, struct error *reterr)
{
	struct unit_quota quota;
	int r = unitbus_number(unit->bus, "CPUQuotaPerSecUSec", &quota.ucpu, reterr);

	if (r == 0)
		r = unitbus_number(unit->bus, "CPUQuotaPeriodUSec", &quota.period_us, reterr);
	if (r == 0)
		*ret_quota = quota;
	return r;
}

static int find_dropin(struct unit *unit, struct error *reterr)
{
	const char *found = NULL;
	char **paths;
	int r = unitbus_list(unit->bus, "DropInPaths", &paths, reterr);

	if (r < 0)
		return r;
	r = unitdropin_find(paths, &found, reterr);
	if (r == 0)
		snprintf(unit->overridden, sizeof(unit->overridden), "%s",
			 found != NULL ? found : "");
	for (char **path = paths; *path != NULL; path++)
		free(*path);
	free(paths);
	return r;
}

/* A unit that is not running is fine: it will be limited from its start. */
static int find(struct unit *unit, struct error *reterr)
{
	char state[UNITBUS_TEXT_BYTES];
	int r = unitbus_text(unit->bus, UNITBUS_ANY_UNIT, "LoadState", state, reterr);

	if (r < 0)
		return r;
	if (strcmp(state, "not-found") == 0)
		return error_set(reterr, -ENOENT, "systemd knows no such unit");
	if (strcmp(state, "loaded") != 0)
		return error_set(reterr, -ENOENT, "systemd cannot load it: %.100s", state);
	r = read_quota(unit, &unit->found, reterr);
	if (r < 0)
		return r;
	iso_property_confirm(&unit->property, unit->found.ucpu);
	return find_dropin(unit, reterr);
}

int unit_open(const struct unit_config *config, struct unit **ret_unit, struct error *reterr)
{
	struct unit *unit;
	int r;

	if (!unit_name_valid(config->name, reterr))
		return -EINVAL;
	unit = calloc(1, sizeof(*unit));
	if (unit == NULL)
		return error_errno(reterr, -ENOMEM, "unit");
	snprintf(unit->name, sizeof(unit->name), "%s", config->name);
	unit->wait_ms = config->wait_ms != 0 ? config->wait_ms : WAIT_MS_PATIENT;
	iso_property_init(&unit->property);
	r = unitbus_new(unit->name, config->address, &unit->bus, reterr);
	if (r == 0) {
		unitbus_begin(unit->bus, unit->wait_ms);
		r = find(unit, reterr);
		unitbus_end(unit->bus);
	}
	if (r < 0) {
		error_wrap(reterr, "unit %.150s", config->name);
		unit_close(unit);
		return r;
	}
	*ret_unit = unit;
	return 0;
}

struct unit *unit_close(struct unit *unit)
{
	if (unit == NULL)
		return NULL;
	unitbus_free(unit->bus);
	free(unit);
	return NULL;
}

void unit_hurry(struct unit *unit)
{
	if (unit != NULL && unit->wait_ms == WAIT_MS_PATIENT)
		unit->wait_ms = UNIT_WAIT_MS;
}

const char *unit_name(const struct unit *unit)
{
	return unit->name;
}

const struct unit_quota *unit_found(const struct unit *unit)
{
	return &unit->found;
}

const char *unit_overridden(const struct unit *unit)
{
	return unit->overridden[0] != '\0' ? unit->overridden : NULL;
}

uint64_t unit_bound_ucpu(const struct unit *unit)
{
	return unit->property.bound_ucpu;
}

static int failed(const struct unit *unit, int code, struct error *reterr)
{
	error_wrap(reterr, "unit %.150s", unit->name);
	return code;
}

static int silent(struct error *reterr)
{
	return error_set(reterr, -ETIME, "systemd does not answer");
}

/* All calls of a tick together wait so long at most: the tick also renews the lease. */
static int begin(struct unit *unit, uint64_t now_ns, unsigned wait_ms, struct error *reterr)
{
	uint64_t spent_ms;

	if (now_ns != unit->now_ns)
		unit->spent_ns = 0;
	unit->now_ns = now_ns;
	spent_ms = unit->spent_ns / 1000000;
	if (spent_ms >= wait_ms)
		return silent(reterr);
	unitbus_begin(unit->bus, wait_ms - (unsigned)spent_ms);
	return 0;
}

static void end(struct unit *unit, uint64_t began_ns)
{
	unit->spent_ns += clock_now_ns() - began_ns;
	unitbus_end(unit->bus);
}

static int ask_group(struct unit *unit, char ret_path[PATH_MAX], struct error *reterr)
{
	char path[UNITBUS_TEXT_BYTES], state[UNITBUS_TEXT_BYTES];
	int r;

	r = unitbus_text(unit->bus, UNITBUS_THIS_KIND, "ControlGroup", path, reterr);
	if (r < 0)
		return failed(unit, r, reterr);
	if (path[0] == '/') {
		snprintf(ret_path, PATH_MAX, "%s", path);
		return 0;
	}
	r = unitbus_text(unit->bus, UNITBUS_ANY_UNIT, "ActiveState", state, reterr);
	if (r < 0)
		return failed(unit, r, reterr);
	return error_set(reterr, -ENODEV, "unit %.150s is not running (%.40s)", unit->name, state);
}

int unit_group(struct unit *unit, uint64_t now_ns, char ret_path[PATH_MAX], struct error *reterr)
{
	uint64_t began_ns = clock_now_ns();
	int r;

	if (now_ns < unit->property.call_at_ns)
		return failed(unit, silent(reterr), reterr);
	r = begin(unit, now_ns, unit->wait_ms, reterr);
	if (r < 0)
		return failed(unit, r, reterr);
	r = ask_group(unit, ret_path, reterr);
	end(unit, began_ns);
	if (r == -ETIME)
		iso_property_fail(&unit->property, now_ns);
	return r;
}

/*
 * The answer to a question that comes after a change also says that systemd has
 * written the kernel's file: it does so before it takes the next message.
 */
static int change(struct unit *unit, uint64_t now_ns, unsigned wait_ms,
		  const struct unit_quota *quota, struct error *reterr)
{
	struct unit_quota has = { 0 };
	uint64_t began_ns = clock_now_ns();
	int r = begin(unit, now_ns, wait_ms, reterr);

	if (r < 0)
		return failed(unit, r, reterr);
	iso_property_tell(&unit->property, now_ns, quota->ucpu);
	r = unitbus_set_quota(unit->bus, quota->ucpu, quota->period_us, reterr);
	if (r == 0)
		r = read_quota(unit, &has, reterr);
	end(unit, began_ns);
	/* A transient one that has ended: there is nothing that systemd would write. */
	if (r == -ENOENT) {
		iso_property_confirm(&unit->property, ISO_PROPERTY_STEP_UCPU);
		return 0;
	}
	if (r < 0) {
		iso_property_fail(&unit->property, now_ns);
		return failed(unit, r, reterr);
	}
	iso_property_confirm(&unit->property, has.ucpu);
	if (has.ucpu != quota->ucpu)
		return failed(unit, error_set(reterr, -EIO,
					      "its CPUQuotaPerSecUSec was set to %llu us and reads "
					      "%llu us: another writer?",
					      (unsigned long long)quota->ucpu,
					      (unsigned long long)has.ucpu), reterr);
	return 1;
}

int unit_lower(struct unit *unit, uint64_t now_ns, uint64_t share_ucpu, uint64_t period_us,
	       struct error *reterr)
{
	struct unit_quota quota = { iso_property_of(share_ucpu), period_us };

	switch (iso_property_wish(&unit->property, now_ns, share_ucpu)) {
	case ISO_PROPERTY_KEEP:
	case ISO_PROPERTY_RAISE:
		break;
	case ISO_PROPERTY_LOWER:
		return change(unit, now_ns, unit->wait_ms, &quota, reterr);
	case ISO_PROPERTY_WAIT:
		return error_set(reterr, -ETIME,
				 "unit %.150s: systemd does not answer, and may still raise its "
				 "limit to %llu ucpu", unit->name,
				 (unsigned long long)unit->property.bound_ucpu);
	}
	return 0;
}

int unit_raise(struct unit *unit, uint64_t now_ns, uint64_t share_ucpu, uint64_t period_us,
	       struct error *reterr)
{
	struct unit_quota quota = { iso_property_of(share_ucpu), period_us };

	if (iso_property_wish(&unit->property, now_ns, share_ucpu) != ISO_PROPERTY_RAISE)
		return 0;
	return change(unit, now_ns, unit->wait_ms, &quota, reterr);
}

int unit_look(struct unit *unit, uint64_t now_ns, struct error *reterr)
{
	struct unit_quota quota = { 0 };
	uint64_t began_ns = clock_now_ns();
	int r = now_ns < unit->property.call_at_ns ? silent(reterr)
						   : begin(unit, now_ns, unit->wait_ms, reterr);

	if (r == 0) {
		r = read_quota(unit, &quota, reterr);
		/* A file that cannot be read now says nothing new. */
		if (r == 0)
			(void)find_dropin(unit, NULL);
		end(unit, began_ns);
		if (r < 0)
			iso_property_fail(&unit->property, now_ns);
	}
	if (r < 0) {
		iso_property_doubt(&unit->property);
		return failed(unit, r, reterr);
	}
	iso_property_confirm(&unit->property, quota.ucpu);
	return 0;
}

int unit_set(struct unit *unit, const struct unit_quota *quota, struct error *reterr)
{
	int r;

	unit->spent_ns = 0;
	r = change(unit, 0, WAIT_MS_PATIENT, quota, reterr);

	return r < 0 ? r : 0;
}
