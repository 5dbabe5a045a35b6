/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases of real agents in a ring: whoever no neighbour answers, is killed or
 * stands still keeps at most its floor when the lease has ended, gets its share
 * back with the first answer, and nobody's limit dips before.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/ring.h"
#include "tests/test.h"

#define MS	 1000000ull
#define LEASE_NS 5000000000ull /* as ring.c configures it */
#define EARLY_NS 200000000ull
/* What the guard says then. */
#define LOWERED "no lease: the limit is lowered to the floor"

/* An ordinary process on a busy machine sees a limit change so much later. */
#define LATE_NS (100 * MS)

/* What the kernel enforced, as read once a millisecond. */
struct seen {
	int64_t least_ucpu, greatest_ucpu;
	unsigned samples;
};

static struct seen watch_until(const struct ring *ring, unsigned node, uint64_t until_ns)
{
	struct seen seen = { INT64_MAX, INT64_MIN, 0 };

	while (clock_boot_ns() < until_ns) {
		int64_t quota_ucpu = ring_quota_ucpu(ring, node);

		seen.least_ucpu = quota_ucpu < seen.least_ucpu ? quota_ucpu : seen.least_ucpu;
		seen.greatest_ucpu =
			quota_ucpu > seen.greatest_ucpu ? quota_ucpu : seen.greatest_ucpu;
		seen.samples++;
		usleep(1000);
	}
	return seen;
}

static json_int_t guard_number(const struct ring *ring, unsigned node, const char *key)
{
	json_t *status = ring_status(ring, node);
	json_int_t value = -1;

	if (status != NULL)
		value = json_integer_value(json_object_get(json_object_get(status, "guard"), key));
	json_decref(status);
	return value;
}

/* A guard is no child of ours. */
static void wait_gone(pid_t pid, unsigned timeout_ms)
{
	for (unsigned i = 0; test_is_there(pid); i++) {
		ck_assert_msg(i < timeout_ms / 10, "guard %d is still there", (int)pid);
		usleep(10000);
	}
}

/* What is owed is paid back, or a lease has come again: not for long. */
static void wait_above_floor(const struct ring *ring)
{
	uint64_t from_ns = clock_now_ns();

	while (ring_quota_ucpu(ring, 0) <= 2 * RING_FLOOR_UCPU) {
		ck_assert_uint_lt(clock_now_ns() - from_ns, RING_PATIENCE_NS);
		usleep(20000);
	}
}

/* All are up, node 0 is busy and at rest with more than its floor; returns its quota. */
static int64_t at_rest(struct ring *ring)
{
	ring_start_all(ring);
	ring_burn(ring, 0, true);
	ring_wait_share(ring, 0, RING_BUDGET_UCPU / 2, RING_BUDGET_UCPU);
	ring_wait_number(ring, 0, "debt_ns", 0, 0);
	usleep(300000);
	wait_above_floor(ring);
	return ring_quota_ucpu(ring, 0);
}

static void neighbours(const struct ring *ring, int signal)
{
	ck_assert_int_eq(kill(ring->nodes[ring_left_of(0)].agent.pid, signal), 0);
	ck_assert_int_eq(kill(ring->nodes[ring_right_of(0)].agent.pid, signal), 0);
}

START_TEST(a_node_that_nobody_answers_keeps_its_floor_and_its_share)
{
	struct ring ring;
	struct seen seen;

	ring_open(&ring, false);
	at_rest(&ring);
	neighbours(&ring, SIGSTOP);
	uint64_t stopped_ns = clock_boot_ns();
	int64_t share_ucpu = ring_share(&ring, 0);

	/* Nobody can have answered anything sent after that. */
	seen = watch_until(&ring, 0, stopped_ns + LEASE_NS - EARLY_NS - 500 * MS);
	ck_assert_int_gt(seen.least_ucpu, RING_FLOOR_UCPU);
	(void)watch_until(&ring, 0, stopped_ns + LEASE_NS - EARLY_NS + LATE_NS);
	seen = watch_until(&ring, 0, stopped_ns + LEASE_NS + 1000 * MS);
	ck_assert_uint_gt(seen.samples, 100);
	ck_assert_int_le(seen.greatest_ucpu, RING_FLOOR_UCPU);
	/* It is not traded away, and nobody is blamed. */
	ck_assert_int_ge(ring_share(&ring, 0), share_ucpu);
	ck_assert(!ring_is(&ring, 0, "drifted"));
	ck_assert_int_eq(guard_number(&ring, 0, "restarts"), 0);

	neighbours(&ring, SIGCONT);
	for (int i = 0; ring_quota_ucpu(&ring, 0) <= RING_FLOOR_UCPU; i++) {
		ck_assert_int_lt(i, 1000);
		usleep(10000);
	}
	ring_prove(&ring, 0);
	ring_close(&ring);
}
END_TEST

START_TEST(a_killed_agents_limit_stays_until_the_lease_ends)
{
	struct ring ring;
	struct seen seen;

	ring_open(&ring, false);
	int64_t quota_ucpu = at_rest(&ring);
	pid_t guard = (pid_t)guard_number(&ring, 0, "pid");

	ring_kill(&ring, 0, SIGKILL);
	uint64_t killed_ns = clock_boot_ns();
	quota_ucpu = ring_quota_ucpu(&ring, 0);
	/* The lease is from the newest message that was answered: at most some ticks old. */
	seen = watch_until(&ring, 0, killed_ns + LEASE_NS - EARLY_NS - 1500 * MS);
	ck_assert_int_eq(seen.least_ucpu, quota_ucpu);
	ck_assert_int_eq(seen.greatest_ucpu, quota_ucpu);
	(void)watch_until(&ring, 0, killed_ns + LEASE_NS - EARLY_NS + LATE_NS);
	seen = watch_until(&ring, 0, killed_ns + LEASE_NS + 200 * MS);
	ck_assert_int_le(seen.greatest_ucpu, RING_FLOOR_UCPU);
	wait_gone(guard, 1000);

	ring_start_and_wait(&ring, 0);
	ring_prove(&ring, 0);
	ring_close(&ring);
}
END_TEST

START_TEST(an_agent_that_comes_back_in_time_goes_on_without_a_dip)
{
	struct ring ring;
	struct seen seen;

	ring_open(&ring, false);
	at_rest(&ring);
	pid_t guard = (pid_t)guard_number(&ring, 0, "pid");

	/* Three times of at most five: paying back may lower it as far, the guard never does. */
	for (int i = 0, dips = 0; i - dips < 3; i++) {
		ring_kill(&ring, 0, SIGKILL);
		ck_assert_int_gt(ring_quota_ucpu(&ring, 0), RING_FLOOR_UCPU);
		ring_start(&ring, 0, NULL);
		seen = watch_until(&ring, 0, clock_boot_ns() + 1500 * MS);
		dips += seen.least_ucpu <= 2 * RING_FLOOR_UCPU;
		ck_assert_int_le(dips, 2);
		/* With a lease that is whole again: the next start may be a slow one. */
		ring_wait_all_up(&ring);
		usleep(600000);
		wait_above_floor(&ring);
		ck_assert_uint_eq(ring_log_count(&ring, 0, LOWERED), 0);
		ck_assert_int_eq(guard_number(&ring, 0, "pid"), guard);
	}
	ring_prove(&ring, 0);
	ring_close(&ring);
}
END_TEST

START_TEST(an_agent_that_stands_still_is_lowered_and_comes_back)
{
	struct ring ring;
	struct seen seen;

	ring_open(&ring, false);
	at_rest(&ring);
	ck_assert_int_eq(kill(ring.nodes[0].agent.pid, SIGSTOP), 0);
	uint64_t stopped_ns = clock_boot_ns();

	(void)watch_until(&ring, 0, stopped_ns + LEASE_NS - EARLY_NS + LATE_NS);
	seen = watch_until(&ring, 0, stopped_ns + 2 * LEASE_NS);
	ck_assert_uint_gt(seen.samples, 100);
	ck_assert_int_le(seen.greatest_ucpu, RING_FLOOR_UCPU);
	ck_assert_uint_eq(ring_log_count(&ring, 0, LOWERED), 1);
	ck_assert_int_eq(kill(ring.nodes[0].agent.pid, SIGCONT), 0);
	ring_prove(&ring, 0);
	ck_assert(!ring_is(&ring, 0, "drifted"));
	ring_close(&ring);
}
END_TEST

START_TEST(a_guard_that_is_killed_or_hangs_is_replaced)
{
	struct ring ring;

	ring_open(&ring, false);
	at_rest(&ring);
	for (int i = 0; i < 4; i++) {
		pid_t guard = (pid_t)guard_number(&ring, 0, "pid");

		ck_assert_int_gt(guard, 0);
		ck_assert_int_eq(kill(guard, i % 2 == 0 ? SIGKILL : SIGSTOP), 0);
		wait_gone(guard, 5000);
		for (int j = 0; guard_number(&ring, 0, "restarts") != i + 1; j++) {
			ck_assert_int_lt(j, 500);
			usleep(10000);
		}
		for (int j = 0; ring_quota_ucpu(&ring, 0) <= RING_FLOOR_UCPU; j++) {
			ck_assert_int_lt(j, 500);
			usleep(10000);
		}
		ck_assert(!ring_is(&ring, 0, "drifted"));
	}
	ring_prove(&ring, 0);
	ring_close(&ring);
}
END_TEST

/* As agents do that die before they are answered; the line is longer than they are many. */
static void knock(const struct ring *ring, unsigned node, unsigned times)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	ck_assert_int_lt(snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/guard",
				  ring->nodes[node].directory),
			 sizeof(address.sun_path));
	for (unsigned i = 0; i < times; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		close(fd);
	}
}

START_TEST(a_hung_guard_that_many_agents_came_to_is_replaced)
{
	struct ring ring;

	ring_open(&ring, false);
	at_rest(&ring);
	pid_t guard = ring_guard(&ring, 0);

	ck_assert_int_gt(guard, 0);
	ck_assert_int_eq(kill(guard, SIGSTOP), 0);
	ring_kill(&ring, 0, SIGKILL);
	knock(&ring, 0, 100);
	ring_start_and_wait(&ring, 0);
	ck_assert(!test_is_there(guard));
	ring_prove(&ring, 0);
	ring_close(&ring);
}
END_TEST

/* The node's configuration with another on-exit. */
static void write_on_exit(const struct ring *ring, const char *on_exit)
{
	char command[3 * DEMO_PATH_BYTES];

	snprintf(command, sizeof(command),
		 "sed 's/^on-exit = .*/on-exit = %s/' %s/conf >%s/conf-on-exit", on_exit,
		 ring->nodes[0].directory, ring->nodes[0].directory);
	ck_assert_int_eq(system(command), 0);
}

static void check_on_exit(const char *on_exit)
{
	struct ring_start how = { .conf = "conf-on-exit" };
	struct ring ring;
	struct seen seen;

	ring_open(&ring, false);
	/* What was there before: within the budget, so that the observer is content. */
	ring_set_quota(&ring, 0, RING_FLOOR_UCPU + 5000);
	at_rest(&ring);
	ring_kill(&ring, 0, SIGKILL);
	write_on_exit(&ring, on_exit);
	ring_start(&ring, 0, &how);
	for (int i = 0; ring_up(&ring, 0) != 2 || guard_number(&ring, 0, "pid") <= 0; i++) {
		ck_assert_int_lt(i, 1000);
		usleep(10000);
	}
	usleep(500000);
	pid_t guard = (pid_t)guard_number(&ring, 0, "pid");
	int64_t before_ucpu = ring_quota_ucpu(&ring, 0);

	ck_assert_int_gt(before_ucpu, 2 * RING_FLOOR_UCPU);
	ring_kill(&ring, 0, SIGTERM);
	uint64_t ended_ns = clock_boot_ns();
	if (strcmp(on_exit, "keep") == 0) {
		ck_assert_int_gt(ring_quota_ucpu(&ring, 0), 2 * RING_FLOOR_UCPU);
		(void)watch_until(&ring, 0, ended_ns + LEASE_NS - EARLY_NS + LATE_NS);
		seen = watch_until(&ring, 0, ended_ns + LEASE_NS + 300 * MS);
		ck_assert_int_le(seen.greatest_ucpu, RING_FLOOR_UCPU);
	} else {
		/* The group was there before us, so it is not removed but restored. */
		wait_gone(guard, 0);
		ck_assert_int_eq(ring_quota_ucpu(&ring, 0), RING_FLOOR_UCPU + 5000);
	}
	wait_gone(guard, 1000);
	ring_start_and_wait(&ring, 0);
	ring_prove(&ring, 0);
	ring_close(&ring);
}

START_TEST(on_exit_keep_is_until_the_lease_ends)
{
	check_on_exit("keep");
}
END_TEST

START_TEST(on_exit_restore_ends_the_guard_first)
{
	check_on_exit("restore");
}
END_TEST

START_TEST(on_exit_remove_ends_the_guard_first)
{
	check_on_exit("remove");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("lease");

	stage_suite_add(suite, "unheard", 240,
		       a_node_that_nobody_answers_keeps_its_floor_and_its_share);
	stage_suite_add(suite, "killed", 240, a_killed_agents_limit_stays_until_the_lease_ends);
	stage_suite_add(suite, "back", 240, an_agent_that_comes_back_in_time_goes_on_without_a_dip);
	stage_suite_add(suite, "stopped", 240,
			an_agent_that_stands_still_is_lowered_and_comes_back);
	stage_suite_add(suite, "guard", 240, a_guard_that_is_killed_or_hangs_is_replaced);
	stage_suite_add(suite, "knocks", 240, a_hung_guard_that_many_agents_came_to_is_replaced);
	stage_suite_add(suite, "keep", 240, on_exit_keep_is_until_the_lease_ends);
	stage_suite_add(suite, "restore", 240, on_exit_restore_ends_the_guard_first);
	stage_suite_add(suite, "remove", 240, on_exit_remove_ends_the_guard_first);
	return suite;
}
