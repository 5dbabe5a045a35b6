/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/promise.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/node/job.h"
#include "lib/rng.h"

#define SAMPLE_NS     10000000u
#define SAMPLES_MAX   (600u * 100u)
#define SHARE_LEAST   100000 /* ucpu: the least quota at a period of 10 ms */
#define SETTLE_NS     3000000000u /* the phase of a period of 1 s is learnt by then */
#define SETTLED	      (SETTLE_NS / SAMPLE_NS) /* the first sample that counts */
#define STAT_BYTES    4096
#define STATE_PREFIX  "/tmp/isobar-promise-"

/* What kept the job from the CPU, since it began. */
struct obstacles {
	double waited_ns;       /* ready to run, all threads together */
	double throttled_ns;    /* of it, by the quota; all CPUs together */
	double periods, periods_throttled;
};

struct runner {
	const struct promise_job *kind;
	struct conf *conf;
	struct job *job;
	struct test_cgroup group;
	struct load load;
	int64_t share_ucpu;
	uint64_t tick_at_ns;
	uint64_t due_ns;        /* tick or wake-up, whichever is next */
	uint64_t since_ns;      /* the integral is up to here */
	double entitled_ns;
	struct obstacles settled, ended;
	struct promise_result result;
	double used[SAMPLES_MAX], entitled[SAMPLES_MAX]; /* ns, cumulative */
};

struct run {
	struct runner *runners;
	unsigned count;
	int64_t spare_ucpu;     /* of the budget; in flight, so to speak */
	struct iso_rng rng;
};

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

const char *promise_missing(void)
{
	const char *why = test_cgroup_missing();
	struct test_cgroup group;

	if (why != NULL)
		return why;
	test_cgroup_make(&group, "usage");
	if (!group.v2 && group.usage_fd < 0)
		why = "no cpuacct hierarchy: the kernel's accounting cannot be read";
	test_cgroup_remove(&group);
	return why;
}

static void read_file(int dir_fd, const char *name, char ret_text[STAT_BYTES])
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, ret_text, STAT_BYTES - 1);

	require(size > 0, name);
	close(fd);
	ret_text[size] = '\0';
}

static double field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	require(at != NULL, name);
	return strtod(at + strlen(name), NULL);
}

/* The kernel's account of the group. */
static double used_ns(const struct test_cgroup *group)
{
	char text[STAT_BYTES];

	read_file(group->v2 ? group->fd : group->usage_fd,
		  group->v2 ? "cpu.stat" : "cpuacct.usage", text);
	return group->v2 ? field(text, "usage_usec ") * 1000 : strtod(text, NULL);
}

static struct obstacles obstacles_of(const struct runner *runner)
{
	char text[STAT_BYTES];

	read_file(runner->group.fd, "cpu.stat", text);
	return (struct obstacles){
		.waited_ns = (double)load_waited_ns(&runner->load),
		.throttled_ns = runner->group.v2 ? field(text, "throttled_usec ") * 1000
						 : field(text, "throttled_time "),
		.periods = field(text, "nr_periods "),
		.periods_throttled = field(text, "nr_throttled "),
	};
}

static void open_job(struct runner *runner, uint64_t tick_ns)
{
	struct conf *conf = calloc(1, sizeof(*conf));
	struct error error = { 0 };

	require(conf != NULL, "memory");
	snprintf(conf->cgroup, sizeof(conf->cgroup), "%s", strrchr(runner->group.path, '/'));
	snprintf(conf->state_directory, sizeof(conf->state_directory), STATE_PREFIX "XXXXXX");
	require(mkdtemp(conf->state_directory) != NULL, conf->state_directory);
	conf->period_ns = runner->kind->period_ms * 1000000;
	conf->floor_ucpu = SHARE_LEAST;
	conf->ceiling_ucpu = 64000000;
	conf->on_exit = CONF_ON_EXIT_KEEP;
	conf->trading.tick_ns = tick_ns;
	runner->conf = conf;
	if (job_open(conf, SHARE_LEAST, &runner->job, &error) == 0)
		return;
	fprintf(stderr, "job: %s\n", error.text);
	exit(EXIT_FAILURE);
}

static void start(struct runner *runner, const struct promise_job *kind, int64_t share_ucpu)
{
	char name[32];

	runner->kind = kind;
	runner->share_ucpu = share_ucpu;
	snprintf(name, sizeof(name), "promise-%d%s", (int)kind->period_ms,
		 kind->naive ? "-naive" : "");
	test_cgroup_make(&runner->group, name);
	test_cgroup_limit(&runner->group,
			  (long)(share_ucpu * (int64_t)kind->period_ms / 1000),
			  (long)kind->period_ms * 1000);
	if (!kind->naive)
		open_job(runner, kind->tick_ns);
	runner->load = load_start(&runner->group, kind->load, kind->threads);
	runner->since_ns = clock_now_ns();
	runner->tick_at_ns = runner->since_ns + kind->tick_ns;
}

static void stop(struct runner *runner)
{
	char path[PATH_MAX];

	load_stop(&runner->load);
	runner->job = job_close(runner->job);
	test_cgroup_remove(&runner->group);
	if (runner->conf == NULL)
		return;
	snprintf(path, sizeof(path), "%s/limit-before", runner->conf->state_directory);
	(void)unlink(path);
	require(rmdir(runner->conf->state_directory) == 0, runner->conf->state_directory);
	free(runner->conf);
}

static void integrate(struct runner *runner, uint64_t now_ns)
{
	runner->entitled_ns += (double)(now_ns - runner->since_ns) *
			       (double)runner->share_ucpu / 1e6;
	runner->since_ns = now_ns;
}

static void enforce(struct runner *runner, uint64_t now_ns, int64_t share_ucpu)
{
	struct error error = { 0 };

	if (runner->kind->naive) {
		test_cgroup_limit(&runner->group,
				  (long)(share_ucpu * (int64_t)runner->kind->period_ms / 1000),
				  (long)runner->kind->period_ms * 1000);
		return;
	}
	job_observe(runner->job, now_ns);
	require(job_limit(runner->job, now_ns, share_ucpu, &error) == 0, error.text);
}

/* Gives a part of the share, or takes one of what the others gave. */
static void tick(struct run *run, struct runner *runner, uint64_t now_ns)
{
	int64_t room_ucpu = runner->share_ucpu - SHARE_LEAST;
	int64_t change_ucpu;

	if (iso_rng_below(&run->rng, 2) == 0)
		change_ucpu = -(int64_t)iso_rng_below(&run->rng, (uint64_t)room_ucpu + 1);
	else
		change_ucpu = (int64_t)iso_rng_below(&run->rng, (uint64_t)run->spare_ucpu + 1);
	run->spare_ucpu -= change_ucpu;
	enforce(runner, now_ns, runner->share_ucpu + change_ucpu);
	runner->share_ucpu += change_ucpu;
	runner->result.changes += change_ucpu != 0;
	runner->tick_at_ns = now_ns + runner->kind->tick_ns;
	if (!runner->kind->naive)
		runner->tick_at_ns = job_align(runner->job, runner->tick_at_ns);
}

static uint64_t step(struct run *run, struct runner *runner, uint64_t now_ns)
{
	uint64_t wake_ns = UINT64_MAX, due_ns = runner->due_ns;

	if (due_ns != 0 && now_ns > due_ns && now_ns - due_ns > runner->result.late_ns)
		runner->result.late_ns = now_ns - due_ns;
	integrate(runner, now_ns);
	if (now_ns >= runner->tick_at_ns)
		tick(run, runner, now_ns);
	else if (!runner->kind->naive && now_ns >= job_wake_at_ns(runner->job))
		enforce(runner, now_ns, runner->share_ucpu);
	if (!runner->kind->naive)
		wake_ns = job_wake_at_ns(runner->job);
	runner->due_ns = wake_ns < runner->tick_at_ns ? wake_ns : runner->tick_at_ns;
	return runner->due_ns;
}

static void sample(struct runner *runner, unsigned index)
{
	integrate(runner, clock_now_ns());
	runner->used[index] = used_ns(&runner->group);
	runner->entitled[index] = runner->entitled_ns;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000u),
			       .tv_nsec = (long)(at_ns % 1000000000u) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static unsigned drive(struct run *run, unsigned seconds)
{
	uint64_t now_ns = clock_now_ns(), sample_at_ns = now_ns;
	uint64_t end_ns = now_ns + (uint64_t)seconds * 1000000000u;
	unsigned samples = 0;

	while (now_ns < end_ns) {
		uint64_t next_ns = sample_at_ns;

		for (unsigned i = 0; i < run->count; i++) {
			uint64_t wake_ns = step(run, &run->runners[i], clock_now_ns());

			next_ns = wake_ns < next_ns ? wake_ns : next_ns;
		}
		if (now_ns >= sample_at_ns && samples < SAMPLES_MAX) {
			for (unsigned i = 0; i < run->count; i++) {
				sample(&run->runners[i], samples);
				if (samples == SETTLED)
					run->runners[i].settled = obstacles_of(&run->runners[i]);
			}
			samples++;
			sample_at_ns += SAMPLE_NS;
			continue;
		}
		sleep_until(next_ns);
		now_ns = clock_now_ns();
	}
	return samples;
}

/*
 * What the job would have used at most on a host that is free.  A thread that was
 * ready and did not run was kept by the quota or by others; the quota's part
 * is taken off as if all threads had been on the CPU that it stopped, so that the
 * quota is never excused.  And where it bound the job in some periods the
 * others cannot have been worth more than those.
 */
static double possible_ns(const struct runner *runner, double used_ns)
{
	const struct obstacles *from = &runner->settled, *to = &runner->ended;
	double starved_ns = to->waited_ns - from->waited_ns -
			    runner->kind->threads * (to->throttled_ns - from->throttled_ns);
	double throttled = to->periods_throttled - from->periods_throttled;
	double possible_ns = used_ns + fmax(starved_ns, 0);

	if (throttled > 0)
		possible_ns =
		    fmin(possible_ns, used_ns * (to->periods - from->periods) / throttled);
	return fmax(possible_ns, used_ns);
}

static void judge(const struct run *run, unsigned samples, uint64_t budget_ucpu,
		  struct promise_result *ret_results, double *ret_worst_sum)
{
	unsigned window = PROMISE_WINDOW_NS / SAMPLE_NS, first = SETTLED;
	double budget_ns = (double)budget_ucpu / 1e6 * PROMISE_WINDOW_NS;

	require(samples > first + window, "too few samples");
	*ret_worst_sum = 0;
	for (unsigned k = first; k + window < samples; k++) {
		double sum_ns = 0;

		for (unsigned i = 0; i < run->count; i++) {
			struct runner *runner = &run->runners[i];
			double used = runner->used[k + window] - runner->used[k];
			double ratio = used / (runner->entitled[k + window] - runner->entitled[k]);

			sum_ns += used;
			if (ratio > runner->result.worst)
				runner->result.worst = ratio;
		}
		if (sum_ns / budget_ns > *ret_worst_sum)
			*ret_worst_sum = sum_ns / budget_ns;
	}
	for (unsigned i = 0; i < run->count; i++) {
		struct runner *runner = &run->runners[i];
		double used = runner->used[samples - 1] - runner->used[first];
		double entitled = runner->entitled[samples - 1] - runner->entitled[first];

		runner->result.mean = used / entitled;
		runner->result.possible = possible_ns(runner, used) / entitled;
		ret_results[i] = runner->result;
	}
}

void promise_run(const struct promise_job *jobs, unsigned count, unsigned seconds,
		 uint64_t budget_ucpu, uint64_t seed, struct promise_result *ret_results,
		 double *ret_worst_sum)
{
	struct run run = { .count = count, .rng = { seed } };
	unsigned samples;

	require(count <= PROMISE_JOBS_MAX, "too many jobs");
	run.runners = calloc(count, sizeof(*run.runners));
	require(run.runners != NULL, "memory");
	for (unsigned i = 0; i < count; i++)
		start(&run.runners[i], &jobs[i], (int64_t)budget_ucpu / count);
	samples = drive(&run, seconds);
	for (unsigned i = 0; i < count; i++)
		run.runners[i].ended = obstacles_of(&run.runners[i]);
	for (unsigned i = 0; i < count; i++)
		stop(&run.runners[i]);
	judge(&run, samples, budget_ucpu, ret_results, ret_worst_sum);
	free(run.runners);
}
