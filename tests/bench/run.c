/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * usage: run OUTPUT.json PROGRAM...
 * Runs the benchmarks one after the other, prints a table and writes OUTPUT.json:
 * an array of {name, unit, ours, reference, ratio, goal, met}, or {name, skipped}.
 * Fails if a program fails or prints what it should not, not if a goal is missed.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_row(const char *name, json_t *entry)
{
	double ours = json_number_value(json_object_get(entry, "ours"));
	double reference = json_number_value(json_object_get(entry, "reference"));
	double ratio = json_number_value(json_object_get(entry, "ratio"));
	const char *unit = json_string_value(json_object_get(entry, "unit"));
	json_t *goal = json_object_get(entry, "goal");

	printf("%-74s %12.6g %12.6g %-6s %8.4g", name, ours, reference, unit ? unit : "",
	       ratio);
	if (json_is_number(goal))
		printf(" %8.4g  %s\n", json_number_value(goal),
		       ratio <= json_number_value(goal) ? "yes" : "NO");
	else
		printf(" %8s\n", "-");
}

/* Completes what the program printed, and takes it into the results. */
static int take(json_t *results, const char *line)
{
	json_t *entry = json_loads(line, 0, NULL), *ours, *reference, *goal;
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *why = json_string_value(json_object_get(entry, "skipped"));
	double ratio;

	if (name == NULL) {
		fprintf(stderr, "not a result: %s\n", line);
		json_decref(entry);
		return -1;
	}
	if (why != NULL) {
		printf("%-74s skipped: %s\n", name, why);
		return json_array_append_new(results, entry);
	}
	ours = json_object_get(entry, "ours");
	reference = json_object_get(entry, "reference");
	goal = json_object_get(entry, "goal");
	if (!json_is_number(ours) || !json_is_number(reference) ||
	    json_number_value(reference) <= 0) {
		fprintf(stderr, "no figures: %s\n", line);
		json_decref(entry);
		return -1;
	}
	/* A median of ratios is better than the ratio of medians, where the program has one. */
	if (!json_is_number(json_object_get(entry, "ratio")))
		json_object_set_new(entry, "ratio",
				    json_real(json_number_value(ours) /
					      json_number_value(reference)));
	ratio = json_number_value(json_object_get(entry, "ratio"));
	if (!json_is_number(goal))
		json_object_set_new(entry, "goal", json_null());
	json_object_set_new(entry, "met",
			    json_is_number(goal) ? json_boolean(ratio <= json_number_value(goal)) :
						   json_null());
	print_row(name, entry);
	return json_array_append_new(results, entry);
}

static int run(json_t *results, const char *program)
{
	FILE *output = popen(program, "re");
	char line[4096];
	int failed = 0;

	if (output == NULL) {
		perror(program);
		return -1;
	}
	while (fgets(line, sizeof(line), output) != NULL) {
		if (take(results, line) < 0)
			failed = -1;
		fflush(stdout);
	}
	if (pclose(output) != 0) {
		fprintf(stderr, "%s failed\n", program);
		failed = -1;
	}
	return failed;
}

int main(int argc, char **argv)
{
	json_t *results = json_array();
	int failed = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: run OUTPUT.json PROGRAM...\n");
		return 2;
	}
	printf("%-74s %12s %12s %-6s %8s %8s  %s\n", "", "ours", "reference", "unit", "ratio",
	       "goal", "met");
	for (int i = 2; i < argc; i++)
		if (run(results, argv[i]) < 0)
			failed = 1;
	if (json_dump_file(results, argv[1], JSON_INDENT(2)) < 0) {
		perror(argv[1]);
		failed = 1;
	}
	json_decref(results);
	return failed;
}
