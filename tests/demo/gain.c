/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/gain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair {
	double frozen_s, traded_s;
};

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

double gain_time(const json_t *report, double accuracy)
{
	const json_t *samples = json_object_get(report, "samples"), *sample;
	double before_s = 0, before = 0;
	size_t i;

	json_array_foreach (samples, i, sample) {
		double at_s = number(sample, "at_s"), now = number(sample, "test_accuracy");

		if (isnan(now) || now == before)
			continue; /* not evaluated since */
		if (now >= accuracy)
			return before_s + (at_s - before_s) * (accuracy - before) / (now - before);
		before_s = at_s;
		before = now;
	}
	return (double)NAN;
}

/* One run; its time, and its report into the array. */
static int measure(const struct options *options, bool is_frozen, compare_fn *fn,
		   json_t *reports, double *ret_time_s)
{
	char path[] = "/tmp/isobar-demo-report-XXXXXX";
	struct options one = *options;
	int fd = mkstemp(path);

	if (fd < 0) {
		fprintf(stderr, "demo: %s: %s\n", path, strerror(errno));
		return 1;
	}
	one.training.is_frozen = is_frozen;
	one.json_path = path;
	one.plot_path = NULL;
	int status = compare_one(&one, fn);
	json_t *report = json_load_file(path, 0, NULL);
	close(fd);
	(void)unlink(path);
	*ret_time_s = gain_time(report, GAIN_ACCURACY);
	(void)json_array_append_new(reports, report);
	return status;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One that was not reached counts as the longest. */
static double median(const double *values, unsigned count)
{
	double sorted[GAIN_PAIRS_MAX];

	for (unsigned i = 0; i < count; i++)
		sorted[i] = isnan(values[i]) ? (double)INFINITY : values[i];
	qsort(sorted, count, sizeof(sorted[0]), by_value);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print(const struct pair *pairs, unsigned count)
{
	double frozen[GAIN_PAIRS_MAX], traded[GAIN_PAIRS_MAX], ratio[GAIN_PAIRS_MAX];

	printf("\nSeconds to a test accuracy of %.2f, the same budget:\n%-6s %14s %14s %8s\n",
	       GAIN_ACCURACY, "pair", "equal shares", "traded shares", "ratio");
	for (unsigned i = 0; i < count; i++) {
		frozen[i] = pairs[i].frozen_s;
		traded[i] = pairs[i].traded_s;
		ratio[i] = traded[i] / frozen[i];
		printf("%-6u %14.1f %14.1f %8.2f\n", i + 1, frozen[i], traded[i], ratio[i]);
	}
	printf("%-6s %14.1f %14.1f %8.2f\n", "median", median(frozen, count),
	       median(traded, count), median(ratio, count));
	fflush(stdout);
}

int gain_run(unsigned count, const struct options *options, compare_fn *fn)
{
	struct pair pairs[GAIN_PAIRS_MAX];
	json_t *reports = json_array();
	int status = 0;

	for (unsigned i = 0; i < count && status < 128; i++)
		/* In turns, the first one too: who comes second may find another machine. */
		for (unsigned k = 0; k < 2 && status < 128; k++) {
			bool is_frozen = (i + k) % 2 == 0;

			printf("%sPair %u of %u: %s\n", i + k > 0 ? "\n" : "", i + 1, count,
			       is_frozen ? "equal shares" : "traded shares");
			fflush(stdout);
			int result = measure(options, is_frozen, fn, reports,
					     is_frozen ? &pairs[i].frozen_s : &pairs[i].traded_s);
			status = result > status ? result : status;
		}
	if (status < 128)
		print(pairs, count);
	if (status < 128 && options->json_path != NULL &&
	    json_dump_file(reports, options->json_path, JSON_INDENT(1)) != 0) {
		fprintf(stderr, "demo: write %s: %s\n", options->json_path, strerror(errno));
		status = 1;
	}
	json_decref(reports);
	return status;
}
