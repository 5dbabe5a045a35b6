/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/reload.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_name(char names[CONF_NAMES_BYTES], const char *section, const char *name)
{
	size_t used = strlen(names);

	if (used >= CONF_NAMES_BYTES - 80) {
		if (strcmp(names + used - 3, "...") != 0)
			snprintf(names + used, CONF_NAMES_BYTES - used, ", ...");
		return;
	}
	snprintf(names + used, CONF_NAMES_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "", section,
		 section[0] != '\0' ? "." : "", name);
}

static bool is_in(const char *section, const struct confutil_schema *schema)
{
	for (size_t i = 0; i < schema->repeated_count; i++)
		if (strcmp(section, schema->repeated[i].section) == 0)
			return true;
	return false;
}

bool conf_reloads(const struct confutil_option *option)
{
	static const char *const names[] = { "log-level", "ceiling", "release-after" };

	if (strcmp(option->section, "cost") == 0 ||
	    (strcmp(option->section, "trading") == 0 && strcmp(option->name, "limit") == 0))
		return true;
	for (size_t i = 0; i < COUNT(names); i++)
		if (option->section[0] == '\0' && strcmp(option->name, names[i]) == 0)
			return true;
	return false;
}

static bool is_text(enum confutil_type type)
{
	return type == CONFUTIL_NAME || type == CONFUTIL_PATH || type == CONFUTIL_TEXT ||
	       type == CONFUTIL_ADDRESS || type == CONFUTIL_KEY;
}

static bool is_same(const struct confutil_option *option, const struct conf *a,
		    const struct conf *b)
{
	const char *at = (const char *)a + option->offset, *bt = (const char *)b + option->offset;

	return is_text(option->type) ? strncmp(at, bt, option->size) == 0
				     : memcmp(at, bt, option->size) == 0;
}

static bool is_default_ceiling(const struct confutil_option *option, const struct conf *a,
			       const struct conf *b)
{
	return option->offset == offsetof(struct conf, ceiling_ucpu) && !a->has_ceiling &&
	       !b->has_ceiling;
}

static void take_options(struct conf *conf, const struct conf *fresh,
			 struct conf_changes *changes)
{
	const struct confutil_schema *schema = conf_schema();

	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];

		/* Those of repeated sections are elsewhere. */
		if (is_in(option->section, schema) || is_same(option, conf, fresh) ||
		    is_default_ceiling(option, conf, fresh))
			continue;
		if (!conf_reloads(option)) {
			add_name(changes->restart, option->section, option->name);
			continue;
		}
		add_name(changes->taken, option->section, option->name);
		memcpy((char *)conf + option->offset, (const char *)fresh + option->offset,
		       option->size);
	}
	/* Without one it is the budget in force, whatever the file now says of that. */
	if (!fresh->has_ceiling)
		conf->ceiling_ucpu = conf->budget_ucpu;
}

/* In any order of theirs: each of one has its like in the other. */
static bool are_same_neighbours(const struct conf *a, const struct conf *b)
{
	if (a->neighbour_count != b->neighbour_count)
		return false;
	for (unsigned i = 0; i < a->neighbour_count; i++) {
		bool found = false;

		for (unsigned k = 0; k < b->neighbour_count; k++) {
			struct conf_neighbour x = a->neighbours[i], y = b->neighbours[k];

			x.line = y.line = 0;
			x.limit_ucpu = y.limit_ucpu = 0; /* see take_limits() */
			found = found || memcmp(&x, &y, sizeof(x)) == 0;
		}
		if (!found)
			return false;
	}
	return true;
}

static const struct conf_neighbour *find(const struct conf *conf, const char *name)
{
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		if (strcmp(conf->neighbours[i].name, name) == 0)
			return &conf->neighbours[i];
	return NULL;
}

/* old: as it was before the section trading was taken. */
static void take_limits(struct conf *conf, const struct conf *old, const struct conf *fresh,
			struct conf_changes *changes)
{
	bool is_taken = false;

	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		struct conf_neighbour *to = &conf->neighbours[i];
		const struct conf_neighbour *from = find(fresh, to->name);
		uint64_t limit_ucpu = from != NULL ? from->limit_ucpu : to->limit_ucpu;

		/* One that stays until the restart is trusted as before, if nothing is said now. */
		if (from == NULL && limit_ucpu == 0 && fresh->trading.limit_ucpu == 0)
			limit_ucpu = old->trading.limit_ucpu;
		is_taken = is_taken || (from != NULL && to->limit_ucpu != limit_ucpu);
		to->limit_ucpu = limit_ucpu;
	}
	if (is_taken)
		add_name(changes->taken, "neighbour", "limit");
}

static bool are_same_administrators(const struct conf *a, const struct conf *b)
{
	if (a->administrator_count != b->administrator_count)
		return false;
	for (unsigned i = 0; i < a->administrator_count; i++)
		if (strcmp(a->administrators[i].name, b->administrators[i].name) != 0 ||
		    strcmp(a->administrators[i].public_key, b->administrators[i].public_key) != 0)
			return false;
	return true;
}

static void take_administrators(struct conf *conf, const struct conf *fresh,
				struct conf_changes *changes)
{
	if (are_same_administrators(conf, fresh))
		return;
	if (conf->admin_listen[0] == '\0') {
		add_name(changes->restart, "", "administrator");
		return;
	}
	add_name(changes->taken, "", "administrator");
	conf->administrator_count = fresh->administrator_count;
	memcpy(conf->administrators, fresh->administrators, sizeof(conf->administrators));
}

int conf_take(struct conf *conf, const struct conf *fresh, struct conf_changes *ret_changes,
	      struct error *reterr)
{
	struct conf_changes changes = { 0 };
	struct conf *merged = malloc(sizeof(*merged));
	int r;

	if (merged == NULL)
		return error_errno(reterr, -ENOMEM, "configuration");
	*merged = *conf;
	take_options(merged, fresh, &changes);
	take_administrators(merged, fresh, &changes);
	take_limits(merged, conf, fresh, &changes);
	if (!are_same_neighbours(conf, fresh))
		add_name(changes.restart, "", "neighbour");
	merged->warning_count = 0;
	r = conf_check(merged, "with what only a restart changes", NULL, reterr);
	if (r == 0) {
		merged->has_ceiling = fresh->has_ceiling;
		*conf = *merged;
		*ret_changes = changes;
	}
	free(merged);
	return r;
}
