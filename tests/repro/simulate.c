/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/simulate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void simulation_set(struct simulation *simulation, const char *format, ...)
{
	char *text = simulation->sets[simulation->set_count];
	va_list ap;

	if (simulation->set_count == SIMULATION_SETS)
		repro_die("more than %u settings", SIMULATION_SETS);
	va_start(ap, format);
	int length = vsnprintf(text, sizeof(simulation->sets[0]), format, ap);
	va_end(ap);
	if (length < 0 || (size_t)length >= sizeof(simulation->sets[0]))
		repro_die("a setting is too long: %s", text);
	simulation->set_count++;
}

/* The file of the source tree, not one that may be installed, nor whatever is called so here. */
static void path_of(const struct simulation *simulation, char *path, size_t size)
{
	const char *top = getenv("top_srcdir");

	if (top != NULL)
		snprintf(path, size, "%s/etc/scenarios/%s", top, simulation->scenario);
	else
		snprintf(path, size, "%s", simulation->scenario);
}

/* The file, and what the experiment has to add. */
static void read_text(const struct simulation *simulation, const char *path, char *text,
		      size_t size)
{
	FILE *in = fopen(path, "re");
	size_t length = in != NULL ? fread(text, 1, size - 1, in) : 0;

	if (in == NULL || ferror(in) || !feof(in))
		repro_die("%s: not read", path);
	fclose(in);
	snprintf(text + length, size - length, "\n%s", simulation->more);
}

static struct scenario *load(const struct simulation *simulation)
{
	const char *sets[SIMULATION_SETS];
	struct scenario *scenario;
	struct error error;
	char path[512], text[16384];
	int rc;

	for (unsigned i = 0; i < simulation->set_count; i++)
		sets[i] = simulation->sets[i];
	path_of(simulation, path, sizeof(path));
	if (simulation->more == NULL) {
		rc = scenario_load(path, sets, simulation->set_count, &scenario, &error);
	} else {
		read_text(simulation, path, text, sizeof(text));
		rc = scenario_parse(path, text, sets, simulation->set_count, &scenario, &error);
	}
	if (rc < 0)
		repro_die("%s", error.text);
	return scenario;
}

static unsigned curve_of(const struct scenario *scenario, const struct simulation *simulation)
{
	for (unsigned i = 0; i < scenario->curve_count; i++)
		if (strcmp(scenario->curves[i].name, simulation->curve) == 0)
			return i;
	repro_die("%s has no curve %s", simulation->scenario, simulation->curve);
}

static void run(const void *part, void *of_result)
{
	const struct simulation *simulation = part;
	struct simulated *simulated = of_result;
	struct scenario *scenario = load(simulation);
	struct train_world *world;
	struct train_result result;
	struct error error;

	if (train_open(scenario, simulation->seed, &world, &error) < 0 ||
	    train_run(world, curve_of(scenario, simulation), NULL, &result, &error) < 0)
		repro_die("%s", error.text);
	if (result.count > SIMULATED_SAMPLES)
		repro_die("%s: %zu samples are too many", simulation->scenario, result.count);
	memcpy(simulated->samples, result.samples, result.count * sizeof(result.samples[0]));
	simulated->count = (uint32_t)result.count;
	simulated->end = result.end.totals;
	train_result_close(&result);
	train_close(world);
	free(scenario);
}

void simulate(struct repro *repro, const struct simulation *simulations, size_t count,
	      struct simulated *results)
{
	repro_each(repro, run, simulations, sizeof(*simulations), count, results, sizeof(*results));
}

bool simulate_has_data(struct repro *repro)
{
	static const char folder[] = "/usr/share/datasets/fashion-mnist";

	if (access(folder, R_OK) == 0)
		return true;
	repro_note(repro, "left out: no %s (package dataset-fashion-mnist)", folder);
	return false;
}

double simulated_round_time(const struct simulated *result)
{
	return result->end.time_s / (double)result->end.rounds;
}

double simulated_worker_time(const struct simulated *result)
{
	return result->end.worker_s / (double)result->end.rounds;
}

const struct train_sample *simulated_at(const struct simulated *result, double time_s)
{
	uint32_t at = 0;

	while (at + 1 < result->count &&
	       result->samples[at + 1].totals.time_s <= time_s * (1 + 1e-9))
		at++;
	return &result->samples[at];
}
