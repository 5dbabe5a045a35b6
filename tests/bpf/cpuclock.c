/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/cpuclock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/measure.h"
#include "tests/test.h"

static struct test_cgroup job;
static struct meter *meter;
static struct cpuclock_map *map;

static void set_up(void)
{
	struct error error;

	test_cgroup_make(&job, "clock");
	meter = measure_open(&job);
	ck_assert_int_ge(meter_clock_fd(meter), 0);
	ck_assert_int_eq(cpuclock_map_open(meter_clock_fd(meter), &map, &error), 0);
}

static void tear_down(void)
{
	map = cpuclock_map_close(map);
	meter = meter_close(meter);
	test_cgroup_expel(&job, 0);
	test_cgroup_remove(&job);
}

#define WINDOWS 5

struct thread {
	pthread_t handle;
	uint32_t slot;
	unsigned reads, shared_reads;
	double ratio; /* what the clock went by what the kernel's did, in the best window */
	bool went_back;
};

static pthread_barrier_t registered;
static pid_t tids[4];

/* Reads for 200 ms of wall time, and sleeps a little now and then. */
static void read_for_a_while(struct thread *thread)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	struct cpuclock clock;
	uint64_t end_ns, from_ns, to_ns, kernel_from_ns, kernel_to_ns;
	double ratio;

	ck_assert_int_eq(cpuclock_init(&clock, map, thread->slot), 0);
	end_ns = clock_now_ns() + 200000000;
	kernel_from_ns = cpuclock_kernel_ns();
	from_ns = to_ns = cpuclock_read(&clock);
	while (clock_now_ns() < end_ns) {
		uint64_t before_ns = to_ns;

		to_ns = cpuclock_read(&clock);
		thread->went_back |= to_ns < before_ns;
		thread->reads++;
		thread->shared_reads += clock.shared->started_ns != 0;
		if (thread->reads % 20000 == 0)
			nanosleep(&nap, NULL);
	}
	kernel_to_ns = cpuclock_kernel_ns();
	to_ns = cpuclock_read(&clock);
	ratio = (double)(to_ns - from_ns) / (double)(kernel_to_ns - kernel_from_ns);
	if (fabs(ratio - 1) < fabs(thread->ratio - 1))
		thread->ratio = ratio;
}

/*
 * A hypervisor that takes the CPU away makes a window's clocks differ, since the
 * kernel may or may not know of it: hence several, of which the best counts.
 */
static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	tids[thread->slot] = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&registered);
	pthread_barrier_wait(&registered);
	for (int i = 0; i < WINDOWS; i++)
		read_for_a_while(thread);
	return NULL;
}

START_TEST(clocks_agree_with_the_kernels_also_when_throttled)
{
	struct thread threads[4] = { 0 };
	struct error error;
	uint32_t slot;

	test_cgroup_limit(&job, 3000, 10000);
	test_cgroup_add(&job, 0);
	pthread_barrier_init(&registered, NULL, 5);
	for (uint32_t i = 0; i < 4; i++) {
		threads[i].slot = i;
		ck_assert_int_eq(pthread_create(&threads[i].handle, NULL, thread_main, &threads[i]),
				 0);
	}
	pthread_barrier_wait(&registered);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_msg(meter_register_thread(meter, getpid(), tids[i], &slot, &error) == 0,
			      "%s", error.text);
		ck_assert_uint_eq(slot, i);
	}
	pthread_barrier_wait(&registered);
	for (uint32_t i = 0; i < 4; i++) {
		pthread_join(threads[i].handle, NULL);
		ck_assert_msg(fabs(threads[i].ratio - 1) < 0.01, "%.4f of the kernel's",
			      threads[i].ratio);
		ck_assert(!threads[i].went_back);
		/* Nearly all without a system call. */
		ck_assert_uint_gt(threads[i].reads, 1000);
		ck_assert_uint_gt(threads[i].shared_reads, threads[i].reads / 4 * 3);
	}
}
END_TEST

START_TEST(an_unprivileged_process_can_read_and_not_write)
{
	const struct meter_clock forged = { .started_ns = 1 };
	const uint32_t slot = 7;
	int fd = meter_clock_fd(meter), status = -1;
	size_t bytes = METER_CLOCKS_MAX * sizeof(struct meter_clock);
	pid_t pid;

	/* Not even root, not even by system call. */
	ck_assert_int_lt(bpf_map_update_elem(fd, &slot, &forged, BPF_ANY), 0);
	pid = fork();
	if (pid == 0) {
		void *place;

		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(1);
		if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
			_exit(2);
		place = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (place == MAP_FAILED)
			_exit(3);
		if (mprotect(place, bytes, PROT_READ | PROT_WRITE) == 0)
			_exit(4);
		_exit(((const volatile struct meter_clock *)place)[7].started_ns == 0 ? 0 : 5);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* In a namespace of its own, as a container has it; what went wrong, or 0. */
static int clock_of_process_1(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct cpuclock clock;
	struct error error;
	uint32_t slot;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 1;
	if (getpid() != 1 || meter_register_thread(meter, 1, 1, &slot, &error) < 0)
		return 2;
	if (meter_register_thread(meter, 2, 2, &slot, &error) != -ESRCH)
		return 3;
	/* The next time that it is switched to the clock is its own, if it was given to it. */
	if (cpuclock_init(&clock, map, slot) < 0)
		return 4;
	for (int i = 0; clock.shared->started_ns == 0; i++) {
		if (i == 1000)
			return 5;
		nanosleep(&nap, NULL);
	}
	return 0;
}

START_TEST(a_tid_is_that_of_the_agents_pid_namespace)
{
	int status = -1;
	pid_t pid;

	ck_assert_int_eq(unshare(CLONE_NEWPID | CLONE_NEWNS), 0);
	pid = fork();
	if (pid == 0)
		_exit(clock_of_process_1());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(clocks_are_given_and_taken_back)
{
	struct load load = load_start(&job, LOAD_IDLE, 1);
	struct error error = { 0 };
	uint32_t slot = 77;

	/* Another's thread, and nobody's. */
	ck_assert_int_eq(meter_register_thread(meter, getpid(), load.pid, &slot, &error), -ESRCH);
	ck_assert_int_eq(meter_register_thread(meter, 1 << 22, 1 << 22, &slot, NULL), -ESRCH);
	ck_assert_uint_eq(slot, 77);
	for (unsigned i = 0; i < METER_CLOCKS_MAX; i++)
		ck_assert_int_eq(meter_register_thread(meter, load.pid, load.pid, &slot, NULL), 0);
	ck_assert_int_eq(meter_register_thread(meter, load.pid, load.pid, &slot, &error), -ENOSPC);
	pid_t pid = load.pid;
	load_stop(&load);
	ck_assert_int_eq(meter_register_thread(meter, getpid(), getpid(), &slot, &error), -ENOSPC);
	meter_release_process(meter, pid);
	ck_assert_int_eq(meter_register_thread(meter, getpid(), getpid(), &slot, &error), 0);
	ck_assert_uint_lt(slot, METER_CLOCKS_MAX);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("bpf-cpuclock");
	TCase *tcase = tcase_create("cpuclock");
	const char *why = measure_missing();

	if (why != NULL)
		test_skip_all(why);
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, NULL, test_cgroup_sweep);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, clocks_agree_with_the_kernels_also_when_throttled);
	tcase_add_test(tcase, an_unprivileged_process_can_read_and_not_write);
	tcase_add_test(tcase, a_tid_is_that_of_the_agents_pid_namespace);
	tcase_add_test(tcase, clocks_are_given_and_taken_back);
	suite_add_tcase(suite, tcase);
	return suite;
}
