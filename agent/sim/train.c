/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/train.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/gnuplot.h"
#include "agent/base/output.h"
#include "agent/sim/option.h"
#include "agent/sim/progress.h"
#include "agent/sim/sim.h"
#include "lib/quantity.h"

#define SETS_MAX  64
#define SEEDS_MAX 1000

enum {
	OPTION_SET = 256,
	OPTION_SEED,
	OPTION_SEEDS,
	OPTION_CSV,
	OPTION_JSON,
	OPTION_PLOT,
	OPTION_TIMING,
};

static const struct option options[] = {
	{ "set", required_argument, NULL, OPTION_SET },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "seeds", required_argument, NULL, OPTION_SEEDS },
	{ "csv", no_argument, NULL, OPTION_CSV },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "timing", no_argument, NULL, OPTION_TIMING },
	{ 0 },
};

struct train_options {
	const char *sets[SETS_MAX];
	size_t set_count;
	bool has_seed;
	uint64_t seed, seeds;
	enum train_format format;
	const char *plot; /* NULL: none */
	bool timing;
};

void sim_train_usage(void)
{
	puts("options of train (after them, scenarios: names or files):\n"
	     "      --set KEY=VALUE    instead of what the scenario says; often\n"
	     "      --seed N           of all that is random; the scenario's\n"
	     "      --seeds N          so many runs, with this seed and the next; 1\n"
	     "      --csv              the points of the curves, for spreadsheets\n"
	     "      --json             the same for machines\n"
	     "      --plot FILE.svg    the curves, drawn by gnuplot; FILE.png as well\n"
	     "      --timing           CPU time and events a second, too");
}

static bool add_set(struct train_options *into, const char *text)
{
	if (into->set_count == SETS_MAX) {
		fprintf(stderr, "isobar-sim: more than %d times --set\n", SETS_MAX);
		return false;
	}
	into->sets[into->set_count++] = text;
	return true;
}

static bool set_option(void *context, int option, const char *text)
{
	struct train_options *into = context;

	switch (option) {
	case OPTION_SET: return add_set(into, text);
	case OPTION_SEED:
		into->has_seed = true;
		return option_number("seed", text, 0, INT64_MAX, &into->seed);
	case OPTION_SEEDS: return option_number("seeds", text, 1, SEEDS_MAX, &into->seeds);
	case OPTION_CSV: into->format = TRAIN_CSV; return true;
	case OPTION_JSON: into->format = TRAIN_JSON; return true;
	case OPTION_PLOT: return option_plot(text, &into->plot);
	case OPTION_TIMING: into->timing = true; return true;
	default: return false;
	}
}

/* A bar for people who wait; none for the first second, and none in a file. */
static void show_progress(void *context, const struct train_stage *stage)
{
	const uint64_t *began_ns = context;
	static const char full[] = "####################";
	int done = (int)(stage->part * (double)(sizeof(full) - 1));

	if (clock_now_ns() - *began_ns < ISO_NS_PER_S)
		return;
	progress_show("%-20s seed %-6ju [%-20.*s] %3d%%%s", stage->curve->name,
		      (uintmax_t)stage->seed, done, full, (int)(100 * stage->part),
		      stage->is_prior ? " of prior-rounds" : "");
}

static int run_seed(const struct scenario *scenario, const struct train_options *opts,
		    uint64_t seed, struct train_result *results, size_t *count,
		    struct error *reterr)
{
	uint64_t began_ns = clock_now_ns();
	const struct train_progress progress = { show_progress, &began_ns };
	struct train_world *world;
	int r = train_open(scenario, seed, &world, reterr);

	if (r < 0)
		return r;
	for (unsigned c = 0; c < scenario->curve_count && r == 0; c++) {
		r = train_run(world, c, isatty(STDERR_FILENO) ? &progress : NULL, &results[*count],
			      reterr);
		progress_clear();
		if (r < 0)
			break;
		if (*count == 0)
			train_print_head(stdout, opts->format, opts->timing, scenario);
		train_print(stdout, opts->format, opts->timing, scenario, &results[*count],
			    *count == 0);
		++*count;
		/* The next curve may take hours: not for nothing. */
		r = output_flush(reterr);
	}
	train_close(world);
	return r;
}

static int run_scenario(const char *name, const struct train_options *opts, struct error *reterr)
{
	struct scenario *scenario;
	size_t count = 0;
	int r = scenario_load(name, opts->sets, opts->set_count, &scenario, reterr);

	if (r == 0 && opts->plot != NULL && gnuplot_try(opts->plot, reterr) < 0) {
		free(scenario);
		return reterr->code;
	}
	if (r < 0)
		return r;
	struct train_result *results =
	    calloc(opts->seeds * scenario->curve_count, sizeof(*results));
	uint64_t first = opts->has_seed ? opts->seed : (uint64_t)scenario->seed;
	if (results == NULL)
		r = error_errno(reterr, -ENOMEM, "%s", name);
	for (uint64_t i = 0; i < opts->seeds && r == 0; i++)
		r = run_seed(scenario, opts, first + i, results, &count, reterr);
	if (count > 0)
		train_print_end(stdout, opts->format);
	if (r == 0 && opts->plot != NULL)
		r = train_plot(opts->plot, scenario, results, count, reterr);
	for (size_t i = 0; i < count; i++)
		train_result_close(&results[i]);
	free(results);
	free(scenario);
	return r;
}

int sim_train(int argc, char **argv)
{
	struct train_options opts = { .seeds = 1 };
	struct error error = { 0 };

	if (!option_read(argc, argv, options, set_option, &opts))
		return SIM_USAGE;
	if (optind == argc) {
		fputs("isobar-sim: which scenario? see 'isobar-sim list'\n", stderr);
		return SIM_USAGE;
	}
	if (opts.plot != NULL && argc - optind > 1) {
		fputs("isobar-sim: --plot draws one scenario\n", stderr);
		return SIM_USAGE;
	}
	for (int i = optind; i < argc; i++) {
		int r = run_scenario(argv[i], &opts, &error);

		if (r < 0) {
			fprintf(stderr, "isobar-sim: %s\n", error.text);
			return SIM_FAILED;
		}
	}
	return SIM_DONE;
}

void sim_list_usage(void)
{
}

static int is_scenario(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sim_list(int argc, char **argv)
{
	struct dirent **entries;
	struct error error = { 0 };
	int status = SIM_DONE;

	if (argc > 1) {
		fprintf(stderr, "isobar-sim: list takes no argument '%s'\n", argv[1]);
		return SIM_USAGE;
	}
	int count = scandir(scenario_folder(), &entries, is_scenario, alphasort);
	if (count < 0) {
		fprintf(stderr, "isobar-sim: %s: %s\n", scenario_folder(), strerror(errno));
		return SIM_FAILED;
	}
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct scenario *scenario;

		int length =
		    snprintf(path, sizeof(path), "%s/%s", scenario_folder(), entries[i]->d_name);
		if (length >= (int)sizeof(path)) {
			fprintf(stderr, "isobar-sim: %s: path is too long\n", entries[i]->d_name);
			status = SIM_FAILED;
		} else if (scenario_load(path, NULL, 0, &scenario, &error) < 0) {
			fprintf(stderr, "isobar-sim: %s\n", error.text);
			status = SIM_FAILED;
		} else {
			printf("%-20s %s\n", entries[i]->d_name, scenario->title);
			free(scenario);
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}
