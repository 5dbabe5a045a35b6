/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* One reading of a training thread's clock, against the system call and the vDSO. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "agent/meter/cpuclock.h"
#include "agent/meter/meter.h"
#include "tests/bench/bench.h"
#include "tests/cgroup_fixture.h"
#include "tests/load.h"

#define SYSTEM_CALL "on-CPU clock / CLOCK_THREAD_CPUTIME_ID"
#define VDSO "on-CPU clock / vDSO CLOCK_MONOTONIC"
#define PAIRS 31
#define READS 20000

static volatile uint64_t sink;

static double ours_ns(struct cpuclock *clock)
{
	uint64_t from_ns = clock_now_ns();

	for (int i = 0; i < READS; i++)
		sink = cpuclock_read(clock);
	return (double)(clock_now_ns() - from_ns) / READS;
}

static double system_call_ns(void)
{
	uint64_t from_ns = clock_now_ns();

	for (int i = 0; i < READS; i++)
		sink = cpuclock_kernel_ns();
	return (double)(clock_now_ns() - from_ns) / READS;
}

static double vdso_ns(void)
{
	uint64_t from_ns = clock_now_ns();

	for (int i = 0; i < READS; i++)
		sink = clock_now_ns();
	return (double)(clock_now_ns() - from_ns) / READS;
}

static void skip(const char *why)
{
	bench_skip(SYSTEM_CALL, why);
	bench_skip(VDSO, why);
}

static void measure(struct meter *meter)
{
	struct bench_pairs against_call = { 0 }, against_vdso = { 0 };
	struct cpuclock_map *map;
	struct cpuclock clock;
	struct error error;
	uint32_t slot;

	if (cpuclock_map_open(meter_clock_fd(meter), &map, &error) < 0 ||
	    meter_register_thread(meter, getpid(), getpid(), &slot, &error) < 0) {
		skip(error.text);
		return;
	}
	cpuclock_init(&clock, map, slot);
	/* Switched in once, the clock runs. */
	for (int tries = 0; tries < 100 && clock.shared->started_ns == 0; tries++)
		load_wait_ms(1);
	for (int i = 0; i < PAIRS; i++) {
		bench_add(&against_call, ours_ns(&clock), system_call_ns());
		bench_add(&against_vdso, ours_ns(&clock), vdso_ns());
	}
	bench_print(SYSTEM_CALL, "ns", &against_call, 0.2);
	bench_print(VDSO, "ns", &against_vdso, -1);
	cpuclock_map_close(map);
}

int main(void)
{
	struct meter_options options = { .choice = METER_EBPF_ONLY };
	const char *why = test_cgroup_missing();
	struct test_cgroup job;
	struct meter *meter;
	struct error error;

	if (why != NULL) {
		skip(why);
		return 0;
	}
	test_cgroup_make(&job, "bench");
	options.cgroup_fd = job.fd;
	options.usage_fd = job.usage_fd;
	options.hierarchy = job.v2 ? METER_V2 : METER_V1;
	if (meter_open(&options, &meter, &error) == 0) {
		measure(meter);
		meter_close(meter);
	} else {
		skip(error.text);
	}
	test_cgroup_remove(&job);
	return 0;
}
