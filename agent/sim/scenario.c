/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/scenario.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/conf/confvalue.h"
#include "lib/ata/strategy.h"
#include "lib/sgd/method.h"
#include "lib/sgd/pair.h"

const char *scenario_folder(void)
{
	const char *folder = getenv("ISOBAR_SCENARIOS");

	return folder != NULL && folder[0] != '\0' ? folder : ISO_SCENARIODIR;
}

int scenario_range(const char *text, int64_t workers, uint32_t *ret_first, uint32_t *ret_last,
		   struct error *reterr)
{
	unsigned long first, last;
	char *end;

	errno = 0;
	first = last = strtoul(text, &end, 10);
	if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
		return error_set(reterr, -EINVAL, "'%s' are no workers; write '3' or '3-17'", text);
	if (first < 1 || first > last || last > (unsigned long)workers)
		return error_set(reterr, -EINVAL, "'%s' are no workers of 1 to %jd", text,
				 (intmax_t)workers);
	*ret_first = (uint32_t)(first - 1);
	*ret_last = (uint32_t)(last - 1);
	return 0;
}

/* Each element of a repeated section that is meant gets the value; all if name is empty. */
static int set_repeated(const struct confutil_repeated *repeated,
			const struct confutil_option *option, const char *name, size_t name_size,
			const char *value, struct scenario *scenario, struct error *reterr)
{
	unsigned count, found = 0;

	memcpy(&count, (char *)scenario + repeated->count_offset, sizeof(count));
	for (unsigned i = 0; i < count; i++) {
		char *element = (char *)scenario + repeated->offset + i * repeated->stride;
		const char *title = element + repeated->title_offset;

		if (name_size > 0 &&
		    (strlen(title) != name_size || memcmp(title, name, name_size) != 0))
			continue;
		if (confvalue_set(option, value, element, reterr) < 0)
			return -EINVAL;
		found++;
	}
	if (found > 0)
		return 0;
	return error_set(reterr, -EINVAL, "there is no %s '%.*s'", repeated->section,
			 (int)name_size, name);
}

static const struct confutil_option *find_option(const char *section, size_t section_size,
						 const char *key, size_t key_size)
{
	const struct confutil_schema *schema = scenario_schema();

	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];

		if (strlen(option->section) == section_size && strlen(option->name) == key_size &&
		    memcmp(option->section, section, section_size) == 0 &&
		    memcmp(option->name, key, key_size) == 0)
			return option;
	}
	return NULL;
}

/* "SECTION.NAME.KEY=VALUE"; a name may have dots itself. */
static int set_one(const char *text, struct scenario *scenario, struct error *reterr)
{
	const struct confutil_schema *schema = scenario_schema();
	size_t size = strcspn(text, "=");
	const char *value = text + size + 1, *key = text + size, *dot = memchr(text, '.', size);
	size_t section_size = dot != NULL ? (size_t)(dot - text) : 0;

	if (text[size] == '\0')
		return error_set(reterr, -EINVAL, "write KEY=VALUE");
	while (key > text && key[-1] != '.')
		key--;
	const struct confutil_option *option =
	    find_option(text, section_size, key, (size_t)(text + size - key));
	if (option == NULL)
		return error_set(reterr, -EINVAL, "there is no option '%.*s'", (int)size, text);
	const char *name = dot != NULL ? dot + 1 : text;
	size_t name_size = key > name ? (size_t)(key - name) - 1 : 0;
	for (size_t i = 0; i < schema->repeated_count; i++)
		if (strcmp(schema->repeated[i].section, option->section) == 0)
			return set_repeated(&schema->repeated[i], option, name, name_size, value,
					    scenario, reterr);
	if (name_size > 0)
		return error_set(reterr, -EINVAL, "there is only one section %s", option->section);
	return confvalue_set(option, value, scenario, reterr);
}

/* Where an option of an element is set, else where the element is. */
static int line_in(const char *section, const char *option, const struct confutil_lines *lines,
		   int element)
{
	int line = confutil_line(scenario_schema(), lines, section, option);

	return line > 0 ? line : element;
}

static int line_of(const struct scenario_curve *curve, const char *option)
{
	return line_in("curve", option, &curve->lines, curve->line);
}

static int check_laws(const struct scenario *scenario, const struct confutil_lines *lines,
		      struct error *reterr)
{
	const struct confutil_schema *schema = scenario_schema();
	uint32_t first, last;

	if ((scenario->times.law == SCENARIO_TRACE) != (scenario->times.trace[0] != '\0'))
		return error_set(reterr, -EINVAL, "line %d: law trace and a file go together",
				 confutil_line(schema, lines, "times", "law"));
	if (scenario->size.law == SCENARIO_TRACE)
		return error_set(reterr, -EINVAL, "line %d: sizes have no trace",
				 confutil_line(schema, lines, "size", "law"));
	for (unsigned i = 0; i < scenario->group_count; i++) {
		const struct scenario_group *group = &scenario->groups[i];

		if (scenario_range(group->range, scenario->workers, &first, &last, reterr) < 0)
			return error_wrap(reterr, "line %d: group", group->line);
		if ((group->law == SCENARIO_TRACE) != (group->trace[0] != '\0'))
			return error_set(reterr, -EINVAL,
					 "line %d: law trace and a file go together",
					 line_in("group", "law", &group->lines, group->line));
	}
	return 0;
}

static int check_events(const struct scenario *scenario, struct error *reterr)
{
	uint32_t first, last;

	for (unsigned i = 0; i < scenario->event_count; i++) {
		const struct scenario_event *event = &scenario->events[i];

		if (scenario_range(event->workers, scenario->workers, &first, &last, reterr) < 0)
			return error_wrap(reterr, "line %d: event %s",
					  line_in("event", "workers", &event->lines, event->line),
					  event->name);
		if (event->what == SCENARIO_SHARE && event->value == 0)
			return error_set(reterr, -EINVAL, "line %d: event %s: a share is above 0",
					 line_in("event", "value", &event->lines, event->line),
					 event->name);
	}
	return 0;
}

static int check_pair(const struct scenario_curve *curve, struct error *reterr)
{
	enum iso_method_kind kind = (enum iso_method_kind)(curve->method + 1);
	const char *method = iso_method_text(kind);

	switch (iso_pair_check(kind, (enum iso_strategy_kind)curve->allocation)) {
	case ISO_PAIR_FITS: return 0;
	case ISO_PAIR_NEEDS_ALLOCATION:
		return error_set(reterr, -EINVAL, "line %d: curve %s: %s needs an allocation",
				 line_of(curve, "method"), curve->name, method);
	case ISO_PAIR_TAKES_NONE:
		return error_set(reterr, -EINVAL, "line %d: curve %s: %s takes no allocation",
				 line_of(curve, "allocation"), curve->name, method);
	case ISO_PAIR_GREEDY: break;
	}
	return error_set(reterr, -EINVAL,
			 "line %d: curve %s: gta goes with method minibatch only, not with %s",
			 line_of(curve, "allocation"), curve->name, method);
}

static int check_curve(const struct scenario *scenario, const struct scenario_curve *curve,
		       struct error *reterr)
{
	enum iso_method_kind kind = (enum iso_method_kind)(curve->method + 1);
	struct iso_method_traits traits = iso_method_traits(kind);
	const char *option;

	if (check_pair(curve, reterr) < 0)
		return -EINVAL;
	if (allocation_check(&curve->options, &option, reterr) < 0)
		return error_wrap(reterr, "line %d: curve %s", line_of(curve, option), curve->name);
	bool has_rounds =
	    traits.by_rounds || kind == ISO_METHOD_RINGLEADER || curve->allocation != 0;
	if (!has_rounds && scenario->time == 0 && scenario->updates == 0)
		return error_set(
		    reterr, -EINVAL,
		    "line %d: curve %s: %s has no rounds to end by; set time or updates",
		    line_of(curve, "method"), curve->name, iso_method_text(kind));
	if (curve->prior_rounds > 0 && curve->allocation == 0)
		return error_set(reterr, -EINVAL,
				 "line %d: curve %s: prior-rounds without an allocation",
				 line_of(curve, "prior-rounds"), curve->name);
	if (curve->by_theory && scenario->theory.target == 0)
		return error_set(reterr, -EINVAL,
				 "line %d: curve %s: by-theory needs the target of section theory",
				 line_of(curve, "by-theory"), curve->name);
	if (curve->fastest > scenario->workers)
		return error_set(reterr, -EINVAL, "line %d: curve %s: there are only %jd workers",
				 line_of(curve, "fastest"), curve->name,
				 (intmax_t)scenario->workers);
	return 0;
}

static int check(const struct scenario *scenario, const struct confutil_lines *lines,
		 struct error *reterr)
{
	const struct confutil_schema *schema = scenario_schema();
	int r;

	if (scenario->curve_count == 0)
		return error_set(reterr, -EINVAL, "no section curve: nothing to simulate");
	if (scenario->time == 0 && scenario->rounds == 0 && scenario->updates == 0)
		return error_set(reterr, -EINVAL, "no end: set time, rounds or updates");
	if (scenario->shares.every > 0 && (scenario->shares.least > scenario->shares.start ||
					   scenario->shares.start > scenario->shares.most))
		return error_set(reterr, -EINVAL, "line %d: shares: least <= start <= most",
				 confutil_line(schema, lines, "shares", "every"));
	bool measured = scenario->problem.kind == SCENARIO_DATA
			    ? scenario->problem.measure != SCENARIO_GAP
			    : scenario->problem.measure <= SCENARIO_GAP;
	if (scenario->problem.kind != SCENARIO_NO_PROBLEM && !measured)
		return error_set(reterr, -EINVAL, "line %d: this problem has no such measure",
				 confutil_line(schema, lines, "problem", "measure"));
	r = check_laws(scenario, lines, reterr);
	if (r == 0)
		r = check_events(scenario, reterr);
	for (unsigned i = 0; i < scenario->curve_count && r == 0; i++)
		r = check_curve(scenario, &scenario->curves[i], reterr);
	return r;
}

int scenario_parse(const char *name, const char *text, const char *const *sets, size_t set_count,
		   struct scenario **ret_scenario, struct error *reterr)
{
	struct scenario *scenario = calloc(1, sizeof(*scenario));
	struct confutil_lines lines;
	int r;

	if (scenario == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	if (strlen(name) >= sizeof(scenario->path)) {
		free(scenario);
		return error_set(reterr, -ENAMETOOLONG, "%s: path is too long", name);
	}
	r = confutil_parse(scenario_schema(), name, text, sizeof(*scenario), scenario, &lines,
			   reterr);
	for (size_t i = 0; i < set_count && r == 0; i++) {
		r = set_one(sets[i], scenario, reterr);
		if (r < 0)
			error_wrap(reterr, "--set %s", sets[i]);
	}
	if (r == 0) {
		snprintf(scenario->path, sizeof(scenario->path), "%s", name);
		r = check(scenario, &lines, reterr);
		if (r < 0)
			error_wrap(reterr, "%s", name);
	}
	if (r < 0) {
		free(scenario);
		return r;
	}
	*ret_scenario = scenario;
	return 0;
}

/* A folder does not hide a scenario that is installed. */
static bool is_file(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

int scenario_load(const char *name, const char *const *sets, size_t set_count,
		  struct scenario **ret_scenario, struct error *reterr)
{
	char installed[PATH_MAX];
	const char *path = name;
	char *text;

	if (strchr(name, '/') == NULL && !is_file(name)) {
		int length =
		    snprintf(installed, sizeof(installed), "%s/%s", scenario_folder(), name);

		if (length >= (int)sizeof(installed))
			return error_set(reterr, -ENAMETOOLONG, "%s/%s: path is too long",
					 scenario_folder(), name);
		if (!is_file(installed))
			return error_set(reterr, -ENOENT,
					 "no scenario '%s', neither here nor in %s", name,
					 scenario_folder());
		path = installed;
	}
	int r = confutil_read_file(path, &text, reterr);
	if (r < 0)
		return r;
	r = scenario_parse(path, text, sets, set_count, ret_scenario, reterr);
	free(text);
	return r;
}
