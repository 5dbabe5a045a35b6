/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 0.01 /* gap */

unsigned sim_ablated;
double sim_curvature = 1;

static void sample(struct world *world, double time_s, double until_s, struct scenario_run *run,
		   unsigned *samples)
{
	double distance, gap = world_gap(world, &distance);

	if (gap < ENOUGH && isinf(run->reached_s))
		run->reached_s = time_s;
	if (time_s <= 0.8 * until_s) {
		run->transfers = world_counts(world)->transfers;
		return;
	}
	run->gap_worst = fmax(run->gap_worst, gap);
	run->gap_mean += gap;
	run->distance_worst = fmax(run->distance_worst, distance);
	(*samples)++;
}

void scenario_run(const struct scenario *scenario, uint64_t seed, struct scenario_run *ret_run)
{
	struct world_setup setup = scenario->setup;
	struct scenario_run run = { .reached_s = INFINITY };
	unsigned samples = 0;
	bool calm = false;

	sim_ablated = scenario->ablated;
	sim_curvature = scenario->curvature;
	setup.seed = seed;

	struct world *world = world_new(&setup);

	if (scenario->events != 0)
		world_run(world, 1e9, scenario->events);
	for (double t = 0.5; scenario->events == 0 && t <= scenario->until_s; t += 0.5) {
		world_run(world, t, UINT64_MAX);
		if (world_violation(world) != NULL)
			break;
		sample(world, t, scenario->until_s, &run, &samples);
		if (scenario->calm_s > 0 && t >= scenario->calm_s && !calm) {
			world_calm(world);
			calm = true;
		}
	}
	run.gap_mean /= samples != 0 ? samples : 1;
	run.gap_end = world_gap(world, NULL);
	run.transfers = world_counts(world)->transfers - run.transfers;
	run.events = world_counts(world)->events;
	run.audits = world_counts(world)->audits;
	run.skewed = world_counts(world)->skewed;
	run.reread = world_counts(world)->reread;
	if (world_violation(world) != NULL)
		snprintf(run.violation, sizeof(run.violation), "%s", world_violation(world));
	world_free(world);
	sim_ablated = 0;
	*ret_run = run;
}

/* Every jobs-th run, into the pipe. */
static void run_share(const struct scenario *scenario, unsigned job, unsigned jobs, int fd)
{
	for (uint32_t n = job; n < scenario->seeds; n += jobs) {
		struct scenario_run run;

		scenario_run(scenario, scenario->seed + n, &run);
		if (write(fd, &run, sizeof(run)) != sizeof(run))
			_exit(1);
	}
	_exit(0);
}

static uint32_t run_all(const struct scenario *scenario, unsigned jobs, struct scenario_run *runs)
{
	uint32_t count = 0;
	int fds[2];

	if (pipe(fds) < 0)
		return 0;
	for (unsigned job = 0; job < jobs; job++)
		if (fork() == 0)
			run_share(scenario, job, jobs, fds[1]);
	close(fds[1]);
	while (count < scenario->seeds &&
	       read(fds[0], &runs[count], sizeof(*runs)) == sizeof(*runs))
		count++;
	close(fds[0]);
	while (wait(NULL) > 0)
		;
	return count;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread {
	double median, most;
};

static struct spread spread_of(const struct scenario_run *runs, uint32_t count,
			       double (*value)(const struct scenario_run *))
{
	double *values = calloc(count, sizeof(*values));
	struct spread spread;

	for (uint32_t n = 0; n < count; n++)
		values[n] = value(&runs[n]);
	qsort(values, count, sizeof(*values), by_value);
	spread = (struct spread){ values[count / 2], values[count - 1] };
	free(values);
	return spread;
}

static double gap_mean(const struct scenario_run *run)
{
	return run->gap_mean;
}

static double gap_worst(const struct scenario_run *run)
{
	return run->gap_worst;
}

static double gap_end(const struct scenario_run *run)
{
	return run->gap_end;
}

static double distance_worst(const struct scenario_run *run)
{
	return run->distance_worst;
}

static double reached(const struct scenario_run *run)
{
	return run->reached_s;
}

static double transfers(const struct scenario_run *run)
{
	return (double)run->transfers;
}

static const char *seconds_text(double seconds, char text[16])
{
	if (isinf(seconds))
		return "never";
	snprintf(text, 16, "%.1f", seconds);
	return text;
}

static void print_row(const struct scenario *scenario, const struct scenario_run *runs,
		      uint32_t count, uint32_t within, FILE *out)
{
	struct spread settled = spread_of(runs, count, reached);
	struct spread moved = spread_of(runs, count, transfers);
	char median[16], most[16];

	if (scenario->events != 0) {
		uint64_t events = 0;

		for (uint32_t n = 0; n < count; n++)
			events += runs[n].events;
		fprintf(out, "%-32s ours       %u runs, %.2e events\n", scenario->name, count,
			(double)events);
	} else if (scenario->calm_s > 0) {
		fprintf(out, "%-32s ours       %3u/%-3u %.1e %.1e        | %.0f\n", scenario->name,
			within, count, spread_of(runs, count, gap_end).median,
			spread_of(runs, count, gap_end).most, moved.most);
	} else {
		fprintf(out, "%-32s ours       %3u/%-3u %.1e %.1e %.1e | %5s %5s | %5.0f %5.0f\n",
			scenario->name, within, count, spread_of(runs, count, gap_mean).median,
			spread_of(runs, count, gap_worst).most,
			spread_of(runs, count, distance_worst).most,
			seconds_text(settled.median, median), seconds_text(settled.most, most),
			moved.median, moved.most);
	}
	if (scenario->published != NULL)
		fprintf(out, "%-32s published  %s\n", "", scenario->published);
}

static bool judge(const struct scenario *scenario, const struct scenario_run *runs, uint32_t count,
		  uint32_t within, FILE *out)
{
	double worst = 0;
	bool good = count == scenario->seeds;

	for (uint32_t n = 0; n < count; n++) {
		worst = fmax(worst, runs[n].gap_worst);
		if (runs[n].violation[0] != '\0') {
			fprintf(out, "WRONG: %s\n", runs[n].violation);
			good = false;
		}
	}
	if (!good)
		return false;
	if (scenario->events != 0)
		return true;
	if (within * 100 < scenario->within_least * count ||
	    within * 100 > scenario->within_most * count) {
		fprintf(out, "WRONG: between %u and %u %% of the runs had to be within 1 %%\n",
			scenario->within_least, scenario->within_most);
		return false;
	}
	if (worst < scenario->worst_least) {
		fprintf(out, "WRONG: the largest gap had to be %.1e at least\n",
			scenario->worst_least);
		return false;
	}
	return true;
}

bool scenario_measure(const struct scenario *scenario, unsigned jobs, FILE *out)
{
	struct scenario_run *runs = calloc(scenario->seeds, sizeof(*runs));
	uint32_t count = run_all(scenario, jobs, runs), within = 0;
	uint64_t audits = 0, skewed = 0, reread = 0;
	bool good;

	for (uint32_t n = 0; n < count; n++) {
		within += (scenario->calm_s > 0 ? runs[n].gap_end : runs[n].gap_worst) <= ENOUGH;
		audits += runs[n].audits;
		skewed += runs[n].skewed;
		reread += runs[n].reread;
	}
	if (count > 0)
		print_row(scenario, runs, count, within, out);
	if (audits > 0)
		fprintf(out,
			"%-32s            %" PRIu64 " audits, %" PRIu64
			" of skewed snapshots, %" PRIu64 " read again\n",
			"", audits, skewed, reread);
	good = judge(scenario, runs, count, within, out);
	fflush(out);
	free(runs);
	return good;
}
