/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/output.h"
#include "agent/conf/confutil.h"
#include "agent/sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name;
	const char *summary;
	sim_fn *fn;
	void (*usage)(void);
} commands[] = {
	{ "shares", "rounds until many nodes share a budget as well as can be", sim_shares,
	  sim_shares_usage },
	{ "graph", "edges, degrees, diameter and eigenvalues of a graph of neighbours", sim_graph,
	  sim_graph_usage },
	{ "train", "methods and allocations compared, in simulated training", sim_train,
	  sim_train_usage },
	{ "track", "models and shares agreed without a coordinator, compared", sim_track,
	  sim_track_usage },
	{ "list", "the scenarios that are installed", sim_list, sim_list_usage },
};

static int usage(void)
{
	puts("usage: isobar-sim COMMAND [OPTION]...\n\ncommands:");
	for (size_t i = 0; i < COUNT(commands); i++)
		printf("  %-18s %s\n", commands[i].name, commands[i].summary);
	puts("");
	for (size_t i = 0; i < COUNT(commands); i++)
		commands[i].usage();
	puts("\noptions:\n"
	     "  -h, --help             this list\n"
	     "  -V, --version          the version");
	return SIM_DONE;
}

static int unknown(const char *name)
{
	const char *names[COUNT(commands)];

	for (size_t i = 0; i < COUNT(commands); i++)
		names[i] = commands[i].name;
	const char *nearest = confutil_nearest(name, names, COUNT(commands));
	if (nearest != NULL)
		fprintf(stderr, "isobar-sim: no command '%s'; did you mean '%s'?\n", name, nearest);
	else
		fprintf(stderr, "isobar-sim: no command '%s'; see 'isobar-sim --help'\n", name);
	return SIM_USAGE;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		fputs("isobar-sim: which command? see 'isobar-sim --help'\n", stderr);
		return SIM_USAGE;
	}
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return usage();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("isobar-sim " PACKAGE_VERSION);
		return SIM_DONE;
	}
	/* With another number of threads BLAS adds up in another order: that is another run. */
	openblas_set_num_threads(1);
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].fn(argc - 1, argv + 1);
	return unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* A failure has been told already, and says more. */
	if (status == SIM_DONE && !output_finish("isobar-sim"))
		return SIM_FAILED;
	return status;
}
