/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The promise on the real kernel: while the share changes about once a
 * second, busy processes get at most 1.01 of its integral in any 10 s.  Their
 * CPU time is the kernel's own account of each process; whatever else runs on
 * the host can only lower it.
 */
#include "config.h"

#include "agent/base/clock.h"
#include "agent/cgroup/cgroup.h"
#include "lib/enforce/quota.h"
#include "lib/smaller.h"
#include "tests/fs/group.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BUSY      2
#define PERIOD_US 100000u
#define RECORD_NS 20000000ull
#define WINDOW    (10000000000ull / RECORD_NS)
#define RUN_S     22u
#define RECORDS   (RUN_S * 1000000000ull / RECORD_NS)

struct run {
	struct cgroup *cgroup;
	struct iso_quota *quota;
	struct iso_rng rng;
	clockid_t clocks[BUSY];
	uint64_t start_ns, now_ns, share_ucpu;
	uint64_t change_ns, wake_ns, record_ns;
	double integral_ns;
	unsigned writes, steps;
	double used[RECORDS], entitled[RECORDS];
	size_t records;
};

static uint64_t used_ns(const struct run *run)
{
	uint64_t sum = 0;

	for (int i = 0; i < BUSY; i++) {
		struct timespec time;

		ck_assert_int_eq(clock_gettime(run->clocks[i], &time), 0);
		sum += (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	}
	return sum;
}

/* Moves the clock and the integral on; the share has been the same since the last call. */
static void advance(struct run *run)
{
	uint64_t now_ns = clock_now_ns();

	run->integral_ns += (double)(now_ns - run->now_ns) * (double)run->share_ucpu / 1e6;
	run->now_ns = now_ns;
}

static void step(struct run *run)
{
	struct iso_quota_update update;
	struct cgroup_stat stat;
	struct error error = { 0 };

	ck_assert_int_eq(cgroup_stat(run->cgroup, &stat, &error), 0);
	advance(run);
	struct iso_quota_event event = {
		.now_ns = run->now_ns,
		.entitled_ucpu = run->share_ucpu,
		.has_used = true,
		.used_ns = used_ns(run),
		.has_periods = true,
		.periods = stat.periods,
		.periods_throttled = stat.periods_throttled,
	};
	ck_assert_ok(iso_quota_step(run->quota, &event, &update));
	run->steps++;
	run->wake_ns = update.wake_at_ns;
	if (!update.write)
		return;
	ck_assert_msg(cgroup_write(run->cgroup, update.quota_us, &error) == 0, "%s", error.text);
	iso_quota_wrote(run->quota, clock_now_ns(), update.quota_us);
	run->writes++;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = {
		.tv_sec = (time_t)(at_ns / 1000000000u),
		.tv_nsec = (long)(at_ns % 1000000000u),
	};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void run_once(struct run *run)
{
	sleep_until(iso_smaller_u64(run->record_ns, iso_smaller_u64(run->change_ns, run->wake_ns)));
	advance(run);
	if (run->now_ns >= run->record_ns) {
		run->used[run->records] = (double)used_ns(run);
		run->entitled[run->records++] = run->integral_ns;
		while (run->record_ns <= run->now_ns)
			run->record_ns += RECORD_NS;
	}
	if (run->now_ns >= run->change_ns) {
		run->share_ucpu = 200000 + iso_rng_below(&run->rng, 500001);
		run->change_ns += 700000000 + iso_rng_below(&run->rng, 600000000);
		step(run);
	} else if (run->now_ns >= run->wake_ns) {
		step(run);
	}
}

/* Records are not evenly spaced on a busy host: the window is at least 10 s. */
static double worst_window(const struct run *run)
{
	double worst = 0;

	for (size_t i = 0; i + WINDOW < run->records; i++) {
		double ratio = (run->used[i + WINDOW] - run->used[i]) /
			       (run->entitled[i + WINDOW] - run->entitled[i]);

		if (ratio > worst)
			worst = ratio;
	}
	return worst;
}

START_TEST(busy_processes_stay_within_a_moving_share)
{
	static struct run run;
	struct cgroup_config config = {
		.path = group_path("job"),
		.period_us = PERIOD_US,
		.first_quota_us = 20000,
		.on_exit = CGROUP_REMOVE,
		.create = true,
	};
	struct iso_quota_config policy = {
		.period_us = PERIOD_US,
		.quota_min_us = CGROUP_QUOTA_MIN_US,
		.raise_gap_ns = 200000000,
	};
	void *memory = calloc(1, iso_quota_size());
	struct error error = { 0 };
	pid_t pids[BUSY];
	double mean;

	ck_assert_ok(iso_quota_init(memory, iso_quota_size(), &policy, &run.quota));
	ck_assert_msg(cgroup_open(&config, &run.cgroup, &error) == 0, "%s", error.text);
	iso_quota_wrote(run.quota, clock_now_ns(), config.first_quota_us);
	for (int i = 0; i < BUSY; i++) {
		pids[i] = group_fork_busy(1);
		ck_assert_int_eq(cgroup_attach(run.cgroup, pids[i], &error), 0);
		ck_assert_int_eq(clock_getcpuclockid(pids[i], &run.clocks[i]), 0);
	}
	run.rng.state = test_seed_base();
	run.share_ucpu = 200000;
	run.start_ns = run.now_ns = run.change_ns = run.record_ns = clock_now_ns();
	run.wake_ns = UINT64_MAX;
	while (run.now_ns < run.start_ns + RUN_S * 1000000000ull && run.records < RECORDS)
		run_once(&run);
	mean = (run.used[run.records - 1] - run.used[0]) /
	       (run.entitled[run.records - 1] - run.entitled[0]);
	for (int i = 0; i < BUSY; i++)
		group_kill(pids[i]);
	/* The memory of a killed process may hold its group for a moment. */
	for (int i = 0; i < 200 && cgroup_leave(run.cgroup, &error) != 0; i++)
		usleep(10000);
	cgroup_close(run.cgroup);
	free(memory);
	printf("# used %.4f of the share, worst 10 s %.4f; %.1f writes and %.1f looks a second\n",
	       mean, worst_window(&run), run.writes / (double)RUN_S, run.steps / (double)RUN_S);
	fflush(stdout);
	ck_assert_msg(worst_window(&run) <= 1.01, "ISO_SEED=%llu: worst window %.4f",
		      (unsigned long long)test_seed_base(), worst_window(&run));
	ck_assert_double_ge(mean, 0.02); /* it did run; a busy host takes away the rest */
	ck_assert_uint_ge(run.writes, 10);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("load");
	TCase *tcase = group_case(suite, "moving share", 60, NULL, NULL);

	tcase_add_test(tcase, busy_processes_stay_within_a_moving_share);
	return suite;
}
