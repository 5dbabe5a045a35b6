/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_add(struct bench_pairs *pairs, double ours, double reference)
{
	assert(pairs->count < sizeof(pairs->ours) / sizeof(pairs->ours[0]));
	pairs->ours[pairs->count] = ours;
	pairs->reference[pairs->count] = reference;
	pairs->count++;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
	double sorted[64];

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	return sorted[count / 2];
}

void bench_print(const char *name, const char *unit, const struct bench_pairs *pairs,
		 double goal)
{
	double ratios[64];

	assert(pairs->count > 0);
	for (unsigned i = 0; i < pairs->count; i++)
		ratios[i] = pairs->ours[i] / pairs->reference[i];
	printf("{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%.6g,\"reference\":%.6g,\"ratio\":%.4g,",
	       name, unit, median(pairs->ours, pairs->count),
	       median(pairs->reference, pairs->count), median(ratios, pairs->count));
	if (goal < 0)
		printf("\"goal\":null}\n");
	else
		printf("\"goal\":%g}\n", goal);
	fflush(stdout);
}

void bench_skip(const char *name, const char *why)
{
	printf("{\"name\":\"%s\",\"skipped\":\"%s\"}\n", name, why);
	fflush(stdout);
}
