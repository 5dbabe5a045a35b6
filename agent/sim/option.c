/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/gnuplot.h"

bool option_refuse(const char *option, const char *text, const char *want)
{
	fprintf(stderr, "isobar-sim: --%s: '%s' is no %s\n", option, text, want);
	return false;
}

/* The place of text in a list of names, from 0; -1: it is none of them. */
static int find(const char *text, const char *const names[], int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

bool option_name(const char *option, const char *text, const char *const names[], int count,
		 int *ret_index)
{
	*ret_index = find(text, names, count);
	if (*ret_index >= 0)
		return true;
	fprintf(stderr, "isobar-sim: --%s: '%s' is none of", option, text);
	for (int i = 0; i < count; i++)
		fprintf(stderr, "%s %s", i > 0 ? "," : "", names[i]);
	fputc('\n', stderr);
	return false;
}

bool option_real(const char *option, const char *text, double low, double high, double *ret)
{
	char *end, want[64];
	double value = strtod(text, &end);

	if (text[0] != '\0' && *end == '\0' && value >= low && value <= high) {
		*ret = value;
		return true;
	}
	snprintf(want, sizeof(want), "number from %g to %g", low, high);
	return option_refuse(option, text, want);
}

bool option_number(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *ret)
{
	char *end, want[80];
	uint64_t value = strtoull(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && value >= low && value <= high) {
		*ret = value;
		return true;
	}
	snprintf(want, sizeof(want), "whole number from %ju to %ju", (uintmax_t)low,
		 (uintmax_t)high);
	return option_refuse(option, text, want);
}

bool option_small(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *ret)
{
	uint64_t value;

	if (!option_number(option, text, low, high, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool option_plot(const char *text, const char **ret)
{
	*ret = text;
	if (gnuplot_is_drawing(text))
		return true;
	fprintf(stderr, "isobar-sim: --plot: '%s' ends neither in .svg nor in .png\n", text);
	return false;
}

bool option_parts(const char *option, const char *text, option_part_fn *fn, void *context)
{
	while (true) {
		char part[32];
		size_t length = strcspn(text, ",");

		if (length >= sizeof(part))
			return option_refuse(option, text, "list");
		memcpy(part, text, length);
		part[length] = '\0';
		if (!fn(context, part))
			return false;
		if (text[length] == '\0')
			return true;
		text += length + 1;
	}
}

bool option_read(int argc, char **argv, const struct option *options, option_fn *fn, void *context)
{
	static char program[] = "isobar-sim";
	int option;

	argv[0] = program; /* where getopt expects it */
	optind = 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!fn(context, option, optarg))
			return false;
	return true;
}

bool option_read_all(int argc, char **argv, const struct option *options, option_fn *fn,
		     void *context)
{
	const char *command = argv[0];

	if (!option_read(argc, argv, options, fn, context))
		return false;
	if (optind == argc)
		return true;
	fprintf(stderr, "isobar-sim: %s takes no argument '%s'\n", command, argv[optind]);
	return false;
}
