/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * make sim-tables: every scenario with all its runs, ours beside what was
 * published.  Arguments: words of the sections or rows to run; nothing: all.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/scenario.h"

static bool asked_for(const char *title, const char *name, int argc, char **argv)
{
	for (int k = 1; k < argc; k++)
		if (strstr(title, argv[k]) != NULL || strstr(name, argv[k]) != NULL)
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	time_t began = time(NULL);
	unsigned rows = 0, wrong = 0;

	printf("%-32s            within | gap: median, worst; distance | to 1 %%: median, worst s "
	       "| transfers at the end: median, most\n",
	       "");
	for (const struct scenario_section *s = scenario_sections; s->title != NULL; s++) {
		const char *heading = s->title;

		for (const struct scenario *row = s->scenarios; row->name != NULL; row++) {
			if (!asked_for(s->title, row->name, argc, argv))
				continue;
			if (heading != NULL)
				printf("\n%s\n", heading);
			heading = NULL;
			fflush(stdout);
			rows++;
			wrong += !scenario_measure(row, cpus > 0 ? (unsigned)cpus : 1, stdout);
		}
	}
	printf("\n%u rows, %u wrong, %ld s\n", rows, wrong, (long)(time(NULL) - began));
	return wrong != 0 || rows == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
