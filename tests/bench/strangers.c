/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * What the meters of 64 instances cost a task of the first one's job, to which 63 of
 * them are strangers: CPU time of a context switch with them and without.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/meter/meter.h"
#include "tests/bench/bench.h"
#include "tests/cgroup_fixture.h"
#include "tests/load.h"
#include "tests/switchtime.h"

#define NAME   "switch of a job on a machine with 64 meters / none"
#define METERS 64
#define ROUNDS 2
#define PAIRS  5

static struct test_cgroup jobs[METERS];
static struct load loads[METERS];
static struct meter *meters[METERS];
static double alone_us[PAIRS];

static int open_all(struct error *reterr)
{
	for (int i = 0; i < METERS; i++) {
		struct meter_options options = { .cgroup_fd = jobs[i].fd,
						 .hierarchy = jobs[i].v2 ? METER_V2 : METER_V1,
						 .usage_fd = jobs[i].usage_fd,
						 .choice = METER_EBPF_ONLY };
		int r = meter_open(&options, &meters[i], reterr);

		if (r < 0)
			return r;
	}
	return 0;
}

static void close_all(void)
{
	for (int i = 0; i < METERS; i++)
		meters[i] = meter_close(meters[i]);
}

static int measure(struct bench_pairs *pairs, struct error *reterr)
{
	int r;

	for (int i = 0; i < PAIRS; i++)
		alone_us[i] = switchtime_us();
	r = open_all(reterr);
	/* As in the field: the iterators have run, and nothing is left to be put right. */
	for (int i = 0; i < METERS && r == 0; i++) {
		struct meter_reading reading;

		r = meter_read(meters[i], &reading, reterr);
	}
	for (int i = 0; i < PAIRS && r == 0; i++)
		bench_add(pairs, switchtime_us(), alone_us[i]);
	close_all();
	return r;
}

int main(void)
{
	struct bench_pairs pairs = { 0 };
	const char *why = test_cgroup_missing();
	struct error error = { 0 };

	if (why != NULL) {
		bench_skip(NAME, why);
		return 0;
	}
	for (int i = 0; i < METERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "job%d", i);
		test_cgroup_make(&jobs[i], name);
		loads[i] = load_start(&jobs[i], LOAD_IDLE, 1);
	}
	test_cgroup_add(&jobs[0], 0);
	for (int i = 0; i < ROUNDS && error.code == 0; i++)
		(void)measure(&pairs, &error);
	test_cgroup_expel(&jobs[0], 0);
	for (int i = 0; i < METERS; i++)
		load_stop(&loads[i]);
	test_cgroup_sweep();
	if (error.code != 0)
		bench_skip(NAME, error.text);
	else
		bench_print(NAME, "us", &pairs, -1);
	return 0;
}
