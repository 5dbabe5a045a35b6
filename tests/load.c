/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/load.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "lib/rng.h"

static enum load_kind kind_here;

static void require(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static void work_ns(uint64_t duration_ns)
{
	uint64_t from_ns = clock_now_ns();

	while (clock_now_ns() - from_ns < duration_ns)
		;
}

static void *thread_main(void *ready_fd)
{
	const struct timespec nap = { .tv_nsec = 500000 };
	struct iso_rng rng = { (uint64_t)gettid() };

	require(write(*(int *)ready_fd, "", 1) == 1, "write");
	for (;;) {
		switch (kind_here) {
		case LOAD_IDLE:
			pause();
			break;
		case LOAD_BUSY:
			break;
		case LOAD_PULSES:
			nanosleep(&nap, NULL);
			work_ns(500000);
			break;
		case LOAD_BURSTS:
			load_wait_ms(1u << iso_rng_below(&rng, 12));
			work_ns(1000000ull << iso_rng_below(&rng, 12));
			break;
		}
	}
	return NULL;
}

struct load load_start(const struct test_cgroup *group, enum load_kind kind, int threads)
{
	struct load load;
	int ready[2];
	char byte;

	require(pipe(ready) == 0, "pipe");
	load.pid = fork();
	require(load.pid >= 0, "fork");
	if (load.pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (group != NULL)
			test_cgroup_add(group, 0);
		kind_here = kind;
		for (int i = 1; i < threads; i++)
			if (pthread_create(&thread, NULL, thread_main, &ready[1]) != 0)
				_exit(1);
		thread_main(&ready[1]);
	}
	close(ready[1]);
	for (int i = 0; i < threads; i++)
		require(read(ready[0], &byte, 1) == 1, "start a load");
	close(ready[0]);
	return load;
}

void load_stop(struct load *load)
{
	kill(load->pid, SIGKILL);
	require(waitpid(load->pid, NULL, 0) == load->pid, "waitpid");
	load->pid = 0;
}

void load_hold(const struct load *load)
{
	siginfo_t info;
	uint64_t before_ns, now_ns;

	require(kill(load->pid, SIGSTOP) == 0, "stop a load");
	require(waitid(P_PID, (id_t)load->pid, &info, WSTOPPED) == 0, "waitid");
	/* The last of them says so while it still runs. */
	now_ns = load_cpu_ns(load);
	do {
		before_ns = now_ns;
		load_wait_ms(2);
		now_ns = load_cpu_ns(load);
	} while (now_ns != before_ns);
}

int load_policy(const struct load *load, int policy)
{
	const struct sched_param param = {
		.sched_priority = sched_get_priority_min(policy),
	};

	return sched_setscheduler(load->pid, policy, &param) == 0 ? 0 : -errno;
}

void load_go_on(const struct load *load)
{
	require(kill(load->pid, SIGCONT) == 0, "continue a load");
}

uint64_t load_cpu_ns(const struct load *load)
{
	struct timespec used;
	clockid_t clock;

	require(clock_getcpuclockid(load->pid, &clock) == 0, "clock_getcpuclockid");
	require(clock_gettime(clock, &used) == 0, "clock_gettime");
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

uint64_t load_waited_ns(const struct load *load)
{
	uint64_t sum_ns = 0, ran_ns, waited_ns;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)load->pid);
	DIR *tasks = opendir(path);
	require(tasks != NULL, path);
	while ((entry = readdir(tasks)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", (int)load->pid,
			 entry->d_name);
		FILE *file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) == 2)
			sum_ns += waited_ns;
		fclose(file);
	}
	closedir(tasks);
	return sum_ns;
}

void load_wait_ms(unsigned ms)
{
	struct timespec rest = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&rest, &rest) != 0)
		require(errno == EINTR, "nanosleep");
}
