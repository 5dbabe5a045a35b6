/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manual against the program: each option of a configuration file has one
 * paragraph in its page, in its section, with its type, bounds and default as
 * the parser has them, and the page has no other.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/admin/cluster_conf.h"
#include "agent/conf/conf.h"
#include "agent/conf/confutil.h"
#include "agent/conf/reload.h"
#include "agent/sim/scenario.h"
#include "agent/track/plan.h"
#include "agent/train/coordinator_conf.h"
#include "lib/quantity.h"
#include "tests/test.h"

#define PARAGRAPHS_MAX 128
#define SECTION_MARK   ".Ss Section "
#define OPTION_MARK    ".It Ic "
#define VALUE_MARK     " No = "

struct paragraph {
	char section[32];
	char name[64];
	char value[192]; /* what follows the equals sign, such as "Ar time" */
	char *text;	/* up to the next item or the end of the list */
};

static struct paragraph paragraphs[PARAGRAPHS_MAX];
static size_t paragraph_count;
static char *page;

static void copy(char *out, size_t size, const char *from, size_t length)
{
	ck_assert_msg(length < size, "too long: %.*s", (int)length, from);
	memcpy(out, from, length);
	out[length] = '\0';
}

/* One ".It Ic NAME No = VALUE" line; false for an item that is no option. */
static bool take_item(const char *line, const char *section, struct paragraph *ret_paragraph)
{
	const char *name = line + strlen(OPTION_MARK);
	const char *mark = strstr(line, VALUE_MARK);

	if (strncmp(line, OPTION_MARK, strlen(OPTION_MARK)) != 0 || mark == NULL)
		return false;
	const char *value = mark + strlen(VALUE_MARK);
	copy(ret_paragraph->section, sizeof(ret_paragraph->section), section, strlen(section));
	copy(ret_paragraph->name, sizeof(ret_paragraph->name), name, (size_t)(mark - name));
	copy(ret_paragraph->value, sizeof(ret_paragraph->value), value, strlen(value));
	return true;
}

/* Cuts the page into paragraphs; their texts stay inside of it. */
static void read_page(const char *name)
{
	char path[512], section[32] = "";
	const char *srcdir = getenv("top_srcdir");
	struct paragraph *open = NULL;
	struct error error;

	snprintf(path, sizeof(path), "%s/man/%s", srcdir != NULL ? srcdir : ".", name);
	ck_assert_msg(confutil_read_file(path, &page, &error) == 0, "%s", error.text);
	paragraph_count = 0;
	for (char *line = page, *next; line != NULL; line = next) {
		next = strchr(line, '\n');
		bool heads = strncmp(line, ".Sh ", 4) == 0 || strncmp(line, ".Ss ", 4) == 0;
		bool ends = heads || strncmp(line, ".It ", 4) == 0 || strncmp(line, ".El", 3) == 0;

		if (ends && line > page)
			line[-1] = '\0'; /* of the paragraph before */
		if (next != NULL && ends)
			*next = '\0';
		if (next != NULL)
			next++;
		if (!ends)
			continue;
		open = NULL;
		if (strncmp(line, SECTION_MARK, strlen(SECTION_MARK)) == 0)
			copy(section, sizeof(section), line + strlen(SECTION_MARK),
			     strlen(line) - strlen(SECTION_MARK));
		else if (heads)
			section[0] = '\0';
		ck_assert_uint_lt(paragraph_count, PARAGRAPHS_MAX);
		open = &paragraphs[paragraph_count];
		if (take_item(line, section, open)) {
			ck_assert_ptr_nonnull(next);
			open->text = next;
			paragraph_count++;
		}
	}
}

static const struct paragraph *find(const char *section, const char *name)
{
	const struct paragraph *found = NULL;

	for (size_t i = 0; i < paragraph_count; i++) {
		const struct paragraph *paragraph = &paragraphs[i];

		if (strcmp(paragraph->section, section) != 0 || strcmp(paragraph->name, name) != 0)
			continue;
		ck_assert_msg(found == NULL, "%s.%s has two paragraphs", section, name);
		found = paragraph;
	}
	return found;
}

static void format_duration(uint64_t ns, char out[ISO_QUANTITY_BYTES])
{
	static const struct {
		const char *unit;
		uint64_t scale;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i = 0;

	while (ns % units[i].scale != 0)
		i++;
	snprintf(out, ISO_QUANTITY_BYTES, "%" PRIu64 "%s", ns / units[i].scale, units[i].unit);
}

static void format_bounds(const struct confutil_option *option, char low[ISO_QUANTITY_BYTES],
			  char high[ISO_QUANTITY_BYTES])
{
	low[0] = high[0] = '\0';
	switch (option->type) {
	case CONFUTIL_CPU:
		if (option->least != 0)
			iso_quantity_cpu_format(option->least, low);
		if (option->most != 0)
			iso_quantity_cpu_format(option->most, high);
		break;
	case CONFUTIL_DURATION:
		if (option->least > 1)
			format_duration(option->least, low);
		if (option->most != 0)
			format_duration(option->most, high);
		break;
	case CONFUTIL_NUMBER:
	case CONFUTIL_INTEGER:
		if (option->min == 0.0 && option->max == 0.0)
			break;
		snprintf(low, ISO_QUANTITY_BYTES, "%.10g", option->min);
		snprintf(high, ISO_QUANTITY_BYTES, "%.10g", option->max);
		break;
	case CONFUTIL_BOOL:
	case CONFUTIL_NAME:
	case CONFUTIL_PATH:
	case CONFUTIL_TEXT:
	case CONFUTIL_ADDRESS:
	case CONFUTIL_KEY:
	case CONFUTIL_CHOICE: break;
	}
}

static void says(const struct confutil_option *option, const struct paragraph *paragraph,
		 const char *expected)
{
	ck_assert_msg(strstr(paragraph->text, expected) != NULL,
		      "%s.%s: the paragraph lacks:\n%s\n", option->section, option->name, expected);
}

static void check_type(const struct confutil_option *option, const struct paragraph *paragraph)
{
	static const char *const words[] = {
		[CONFUTIL_CPU] = "Ar cpu",	   [CONFUTIL_DURATION] = "Ar time",
		[CONFUTIL_NUMBER] = "Ar number",   [CONFUTIL_INTEGER] = "Ar integer",
		[CONFUTIL_BOOL] = "Ar boolean",	   [CONFUTIL_NAME] = "Ar name",
		[CONFUTIL_PATH] = "Ar path",	   [CONFUTIL_TEXT] = "Ar text",
		[CONFUTIL_ADDRESS] = "Ar address", [CONFUTIL_KEY] = "Ar key",
	};
	char expected[192] = "Cm ";
	char *out = expected + strlen(expected);

	if (option->type != CONFUTIL_CHOICE) {
		ck_assert_msg(strcmp(paragraph->value, words[option->type]) == 0,
			      "%s.%s is '%s', not '%s'", option->section, option->name,
			      words[option->type], paragraph->value);
		return;
	}
	for (const char *p = option->choices; *p != '\0'; p++) {
		ck_assert_uint_lt((size_t)(out - expected), sizeof(expected) - 4);
		if (*p == '|')
			*out++ = ' ';
		*out++ = *p;
		if (*p == '|')
			*out++ = ' ';
	}
	*out = '\0';
	ck_assert_msg(strcmp(paragraph->value, expected) == 0, "%s.%s is '%s', not '%s'",
		      option->section, option->name, expected, paragraph->value);
}

static void check_bounds(const struct confutil_option *option, const struct paragraph *paragraph)
{
	char low[ISO_QUANTITY_BYTES], high[ISO_QUANTITY_BYTES], expected[128];

	format_bounds(option, low, high);
	if (low[0] != '\0' && high[0] != '\0')
		snprintf(expected, sizeof(expected), "\nFrom\n.Cm %s\nto\n.Cm %s .", low, high);
	else if (low[0] != '\0')
		snprintf(expected, sizeof(expected), "\nAt least\n.Cm %s .", low);
	else if (high[0] != '\0')
		snprintf(expected, sizeof(expected), "\nAt most\n.Cm %s .", high);
	else
		return;
	says(option, paragraph, expected);
}

static void check_default(const struct confutil_option *option, const struct paragraph *paragraph)
{
	char expected[256];

	if ((option->flags & CONFUTIL_REQUIRED) != 0)
		snprintf(expected, sizeof(expected), "\nRequired.");
	else if (option->initial == NULL)
		snprintf(expected, sizeof(expected), "\nDefault:");
	else
		snprintf(expected, sizeof(expected), "\nDefault:\n.%s %s .",
			 option->type == CONFUTIL_PATH ? "Pa" : "Cm", option->initial);
	says(option, paragraph, expected);
}

static void check_page(const char *name, const struct confutil_schema *schema)
{
	read_page(name);
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		const struct paragraph *paragraph = find(option->section, option->name);

		ck_assert_msg(paragraph != NULL, "%s: no paragraph for '%s' in section '%s'", name,
			      option->name, option->section);
		check_type(option, paragraph);
		check_bounds(option, paragraph);
		check_default(option, paragraph);
	}
	for (size_t i = 0; i < paragraph_count; i++) {
		bool known = false;

		for (size_t j = 0; j < schema->option_count && !known; j++)
			known = strcmp(schema->options[j].section, paragraphs[i].section) == 0 &&
				strcmp(schema->options[j].name, paragraphs[i].name) == 0;
		ck_assert_msg(known, "%s: there is no option '%s' in section '%s'", name,
			      paragraphs[i].name, paragraphs[i].section);
	}
	free(page);
}

START_TEST(isobard_conf_has_a_paragraph_for_each_option_and_for_nothing_else)
{
	check_page("isobard.conf.5", conf_schema());
}
END_TEST

START_TEST(coordinator_conf_has_a_paragraph_for_each_option_and_for_nothing_else)
{
	check_page("isobar-coordinator.conf.5", cconf_schema());
}
END_TEST

START_TEST(cluster_conf_has_a_paragraph_for_each_option_and_for_nothing_else)
{
	check_page("isobar-cluster.conf.5", cluster_conf_schema());
}
END_TEST

START_TEST(plan_conf_has_a_paragraph_for_each_option_and_for_nothing_else)
{
	check_page("isobar-plan.conf.5", plan_schema());
}
END_TEST

START_TEST(scenario_has_a_paragraph_for_each_option_and_for_nothing_else)
{
	check_page("isobar-scenario.5", scenario_schema());
}
END_TEST

/* Whether the sentence has the word in bold: ".Ic a , b ,". */
static bool names(const char *sentence, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = sentence; (at = strstr(at, name)) != NULL; at += length) {
		const char *line = at;

		while (line > sentence && line[-1] != '\n')
			line--;
		if (strncmp(line, ".Ic ", 4) == 0 && at[-1] == ' ' &&
		    strchr(" \n", at[length]) != NULL)
			return true;
	}
	return false;
}

/* What "isobarctl reload" takes is what the page says, and nothing else is. */
START_TEST(isobard_conf_names_what_needs_no_restart)
{
	static const char *const begin = ".Ic isobarctl reload\n", *const end = "all else needs";
	const struct confutil_schema *schema = conf_schema();
	char path[512];
	struct error error;

	snprintf(path, sizeof(path), "%s/man/isobard.conf.5", getenv("top_srcdir"));
	ck_assert_msg(confutil_read_file(path, &page, &error) == 0, "%s", error.text);
	char *sentence = strstr(page, begin);
	ck_assert_ptr_nonnull(sentence);
	sentence += strlen(begin);
	ck_assert_ptr_nonnull(strstr(sentence, end));
	*strstr(sentence, end) = '\0';
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		bool is_top = option->section[0] == '\0';
		bool is_of_cost = strcmp(option->section, "cost") == 0;
		/* By its own name, by its section's, or as the limit of one. */
		bool is_named =
		    is_top ? names(sentence, option->name)
			   : names(sentence, option->section) &&
				 (is_of_cost || names(sentence, option->name));

		if (strcmp(option->section, "neighbour") == 0 ||
		    strcmp(option->section, "administrator") == 0 ||
		    strcmp(option->name, "admin-listen") == 0)
			continue; /* of these the sentence says more */
		ck_assert_msg(conf_reloads(option) == is_named, "%s.%s: %s", option->section,
			      option->name, is_named ? "needs a restart" : "is not named");
	}
	free(page);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("man");
	TCase *tcase = tcase_create("configuration");

	tcase_add_test(tcase, isobard_conf_has_a_paragraph_for_each_option_and_for_nothing_else);
	tcase_add_test(tcase, isobard_conf_names_what_needs_no_restart);
	tcase_add_test(tcase,
		       coordinator_conf_has_a_paragraph_for_each_option_and_for_nothing_else);
	tcase_add_test(tcase, cluster_conf_has_a_paragraph_for_each_option_and_for_nothing_else);
	tcase_add_test(tcase, plan_conf_has_a_paragraph_for_each_option_and_for_nothing_else);
	tcase_add_test(tcase, scenario_has_a_paragraph_for_each_option_and_for_nothing_else);
	suite_add_tcase(suite, tcase);
	return suite;
}
