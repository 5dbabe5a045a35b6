/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * What the meter's programs cost a context switch, against runqlat of
 * libbpf-tools, which watches the same three tracepoints.  Both by the kernel's
 * own stop watch (bpf_stats), under the same load: two processes of the job that
 * pass a byte to and fro on one CPU, the dearest case for the meter, since every
 * switch and every wakeup is the job's.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/meter/meter.h"
#include "tests/bench/bench.h"
#include "tests/cgroup_fixture.h"
#include "tests/load.h"

#define NAME "eBPF per context switch / runqlat"
#define PAIRS 7
#define WINDOW_MS 250
#define PROGRAMS_MAX 4096

static const char *const runqlat = "/usr/sbin/runqlat";

struct programs {
	uint32_t ids[PROGRAMS_MAX];
	unsigned count;
};

struct cost {
	uint64_t run_ns, switches;
};

static void list_programs(struct programs *ret_programs)
{
	uint32_t id = 0;

	ret_programs->count = 0;
	while (ret_programs->count < PROGRAMS_MAX && bpf_prog_get_next_id(id, &id) == 0)
		ret_programs->ids[ret_programs->count++] = id;
}

static bool contains(const struct programs *programs, uint32_t id)
{
	for (unsigned i = 0; i < programs->count; i++)
		if (programs->ids[i] == id)
			return true;
	return false;
}

/* Of all programs that were loaded since; how often they switched is how often the busiest
 * of those named after sched_switch ran. */
static struct cost cost_since(const struct programs *before)
{
	struct programs now;
	struct cost cost = { 0 };

	list_programs(&now);
	for (unsigned i = 0; i < now.count; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t length = sizeof(info);
		int fd;

		if (contains(before, now.ids[i]))
			continue;
		fd = bpf_prog_get_fd_by_id(now.ids[i]);
		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0) {
			cost.run_ns += info.run_time_ns;
			if (strstr(info.name, "switch") != NULL && info.run_cnt > cost.switches)
				cost.switches = info.run_cnt;
		}
		close(fd);
	}
	return cost;
}

static double ns_per_switch(const struct programs *before)
{
	struct cost a = cost_since(before), b;

	load_wait_ms(WINDOW_MS);
	b = cost_since(before);
	return (double)(b.run_ns - a.run_ns) / (double)(b.switches - a.switches);
}

static double measure_ours(const struct test_cgroup *job)
{
	struct meter_options options = { .cgroup_fd = job->fd,
					 .hierarchy = job->v2 ? METER_V2 : METER_V1,
					 .usage_fd = job->usage_fd,
					 .choice = METER_EBPF_ONLY };
	struct programs before;
	struct meter *meter;
	struct error error;
	double ns;

	list_programs(&before);
	if (meter_open(&options, &meter, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return -1;
	}
	load_wait_ms(50);
	ns = ns_per_switch(&before);
	meter_close(meter);
	return ns;
}

static double measure_runqlat(void)
{
	struct programs before;
	double ns = -1;
	pid_t pid;

	list_programs(&before);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (freopen("/dev/null", "w", stdout) != NULL)
			execl(runqlat, runqlat, "3600", "1", (char *)NULL);
		_exit(127);
	}
	for (int tries = 0; tries < 200 && cost_since(&before).switches == 0; tries++)
		load_wait_ms(20);
	load_wait_ms(50);
	if (cost_since(&before).switches != 0)
		ns = ns_per_switch(&before);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Its programs go when the last reference does, a little later. */
	for (int tries = 0; tries < 200 && cost_since(&before).switches != 0; tries++)
		load_wait_ms(20);
	return ns;
}

static void pass_bytes(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

static void ping_pong(const struct test_cgroup *job)
{
	int there[2], back[2];
	cpu_set_t cpu;

	if (pipe(there) != 0 || pipe(back) != 0)
		abort();
	for (int i = 0; i < 2; i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_cgroup_add(job, 0);
		CPU_ZERO(&cpu);
		CPU_SET(0, &cpu);
		sched_setaffinity(0, sizeof(cpu), &cpu);
		pass_bytes(i == 0 ? there[0] : back[0], i == 0 ? back[1] : there[1]);
	}
	if (write(there[1], "", 1) != 1)
		abort();
}

int main(void)
{
	struct bench_pairs pairs = { 0 };
	struct test_cgroup job;
	const char *why = test_cgroup_missing();
	int stats_fd;

	if (why == NULL && access(runqlat, X_OK) != 0)
		why = "needs runqlat of libbpf-tools";
	if (why != NULL) {
		bench_skip(NAME, why);
		return 0;
	}
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats_fd < 0) {
		bench_skip(NAME, "the kernel keeps no bpf_stats");
		return 0;
	}
	test_cgroup_make(&job, "bench");
	ping_pong(&job);
	for (int i = 0; i < PAIRS; i++) {
		double ours = measure_ours(&job), reference = measure_runqlat();

		if (ours > 0 && reference > 0)
			bench_add(&pairs, ours, reference);
	}
	test_cgroup_sweep();
	close(stats_fd);
	if (pairs.count == 0)
		bench_skip(NAME, "one of the two could not be loaded");
	else
		bench_print(NAME, "ns", &pairs, 0.5);
	return 0;
}
