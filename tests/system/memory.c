/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An agent whose memory is short: one that can hardly keep its pages goes on, and
 * one that the kernel kills for want of memory leaves its limit to the guard.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/cgroup/mounts.h"
#include "tests/system/ring.h"
#include "tests/test.h"

#define NODE	    2u
#define TIMEOUT_S   300
#define LEASE_MS    2000u
#define MIB	    1048576
#define ROOM_BYTES  (48 * MIB)
#define FILE_BYTES  (64 * MIB)
#define GRAIN_BYTES (MIB / 4)

/* A group of the memory controller, and the one that the test was started in. */
static struct {
	char directory[PATH_MAX], home[2 * PATH_MAX];
	pid_t owner;
} group;

static void put(const char *directory, const char *name, const char *text)
{
	char path[2 * PATH_MAX + 64];
	struct error error;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	ck_assert_msg(file_put(path, text, &error) == 0, "%s", error.text);
}

static long long number(const char *name)
{
	char path[PATH_MAX + 64], text[64];

	snprintf(path, sizeof(path), "%s/%s", group.directory, name);
	ck_assert_int_ge(file_get(path, text, sizeof(text)), 0);
	return strtoll(text, NULL, 10);
}

/* Of the test program, whatever becomes of its test: who was left in it goes with it. */
static void sweep(void)
{
	char path[PATH_MAX + 64];
	int pid;

	if (getpid() != group.owner)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group.directory);
	FILE *file = fopen(path, "re");
	while (file != NULL && fscanf(file, "%d", &pid) == 1)
		(void)kill(pid, SIGKILL);
	if (file != NULL)
		fclose(file);
	for (unsigned tries = 0; tries < 200 && rmdir(group.directory) < 0; tries++)
		stage_pause_ms(20);
}

/* NULL, or why there is none. */
static const char *make_group(void)
{
	static struct mounts_controller memory;
	static struct error error;
	char path[PATH_MAX];

	if (mounts_find("", "memory", &memory, &error) < 0)
		return error.text;
	if (memory.version != 1)
		return "needs the memory controller of cgroup v1";
	if (mounts_group_of("", 0, "memory", 1, path, &error) < 0)
		return error.text;
	snprintf(group.home, sizeof(group.home), "%s%s", memory.mount, mounts_below(&memory, path));
	snprintf(group.directory, sizeof(group.directory), "%.4000s/isobar-test-%d", memory.mount,
		 (int)getpid());
	if (mkdir(group.directory, 0755) < 0)
		return "cannot make a group of the memory controller";
	group.owner = getpid();
	atexit(sweep);
	return NULL;
}

/* From its first page on, as its guard. */
static void start_all(struct ring *ring)
{
	for (unsigned i = 0; i < RING_NODES; i++) {
		if (i == NODE)
			put(group.directory, "cgroup.procs", "0");
		ring_start(ring, i, NULL);
		if (i == NODE)
			put(group.home, "cgroup.procs", "0");
	}
	ring_wait_all_up(ring);
}

/* Little more than is in use. */
static void limit(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", number("memory.usage_in_bytes") + ROOM_BYTES);
	put(group.directory, "memory.limit_in_bytes", text);
}

/*
 * Each page that it reads is one that the group has to give up.  A few at a time:
 * where all that could be given up is being read the kernel kills somebody.
 */
static void read_on(const char *path)
{
	static char bytes[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (off_t at = 0;; at = (at + (off_t)sizeof(bytes)) % FILE_BYTES) {
		if (pread(fd, bytes, sizeof(bytes), at) <= 0)
			_exit(1);
		stage_pause_ms(1);
	}
}

/*
 * A grain for each byte, to keep.  In a file, so that it is the group's and not this
 * process's: the kernel must not think that there is most to be had from it.
 */
static void grow_on(int from)
{
	static char bytes[GRAIN_BYTES];
	int fd = memfd_create("memory", MFD_CLOEXEC);
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			_exit(1);
	_exit(0);
}

static pid_t start_hog(const char *path, int from)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	put(group.directory, "cgroup.procs", "0");
	/* Before the guard, after the agent. */
	put("/proc/self", "oom_score_adj", "300");
	if (path != NULL)
		read_on(path);
	grow_on(from);
	_exit(1);
}

static void end_hog(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

static void make_file(const char *path)
{
	static char bytes[MIB];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < FILE_BYTES / MIB; i++)
		ck_assert_int_eq(write(fd, bytes, MIB), MIB);
	/* Out of the cache, so that whoever reads it has to pay for it. */
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

static void squeeze(struct ring *ring)
{
	char path[DEMO_PATH_BYTES];
	int64_t ticks = ring_number(ring, NODE, "ticks");

	path_join(path, ring->directory, "pages");
	make_file(path);
	pid_t hog = start_hog(path, -1);
	ring_wait_number(ring, NODE, "ticks", ticks + 30, INT64_MAX);
	for (unsigned i = 0; i < 3000 && number("memory.failcnt") == 0; i++)
		stage_pause_ms(10);
	ck_assert_int_gt(number("memory.failcnt"), 0);
	ring_wait_number(ring, NODE, "ticks", ring_number(ring, NODE, "ticks") + 30, INT64_MAX);
	/* It has its lease: its job has what it owns.  A moment may be lost to the disk. */
	for (uint64_t from_ns = clock_now_ns();
	     ring_quota_ucpu(ring, NODE) <= RING_FLOOR_UCPU || ring_up(ring, NODE) != 2;) {
		ck_assert(clock_now_ns() - from_ns < RING_PATIENCE_NS);
		stage_pause_ms(20);
	}
	ck_assert_int_eq(waitpid(hog, NULL, WNOHANG), 0); /* it was there all the time */
	end_hog(hog);
}

/* The kernel's first choice, before its guard and whoever takes the memory. */
static void offer(pid_t pid)
{
	char directory[64];

	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	put(directory, "oom_score_adj", "1000");
}

static void starve(struct ring *ring)
{
	int status = 0, pipe_fds[2], unread = 0, taken = 0;
	uint64_t from_ns;

	ck_assert_int_gt(ring_guard(ring, NODE), 0);
	offer(ring->nodes[NODE].agent.pid);
	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid_t hog = start_hog(NULL, pipe_fds[0]);
	for (unsigned i = 0; !ring_ended(ring, NODE, &status); i++) {
		ck_assert_uint_lt(i, 6000);
		/* The next when it has the last, so that it stops when the agent has gone. */
		ck_assert_int_eq(ioctl(pipe_fds[1], FIONREAD, &unread), 0);
		if (unread == 0 && taken++ < 4 * ROOM_BYTES / GRAIN_BYTES)
			ck_assert_int_eq(write(pipe_fds[1], "", 1), 1);
		stage_pause_ms(10);
	}
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	/* The limit is there, and when the lease ends there is no more than the floor. */
	ck_assert_int_gt(ring_quota_ucpu(ring, NODE), 0);
	ring_check_dead(ring, NODE);
	from_ns = clock_now_ns();
	/* Should the kernel want the guard's memory, too, there is nobody to lower it. */
	while (ring_guard(ring, NODE) != 0 && ring_quota_ucpu(ring, NODE) > RING_FLOOR_UCPU) {
		ck_assert(clock_now_ns() - from_ns < RING_PATIENCE_NS);
		stage_pause_ms(20);
	}
	end_hog(hog);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

START_TEST(want_of_memory_lifts_no_limit)
{
	static struct ring ring;

	ring_open_lease(&ring, false, LEASE_MS);
	start_all(&ring);
	ring_burn(&ring, NODE, true);
	ring_wait_share(&ring, NODE, RING_BUDGET_UCPU / 2, RING_BUDGET_UCPU);
	limit();
	squeeze(&ring);
	starve(&ring);
	ring_start_and_wait(&ring, NODE);
	ring_prove(&ring, NODE);
	ring_close(&ring);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("memory");
	const char *why = make_group();

	if (why != NULL)
		test_skip_all(why);
	stage_suite_add(suite, "memory", TIMEOUT_S, want_of_memory_lifts_no_limit);
	return suite;
}
