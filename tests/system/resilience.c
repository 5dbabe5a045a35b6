/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a machine runs out of, one thing at a time in a ring of real agents: each
 * must go on enforcing, say so once, and go on trading when it can.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/ring.h"
#include "tests/test.h"

#define HALF_UCPU (RING_BUDGET_UCPU / 2)
#define TIMEOUT_S 300
#define LEASE_MS  2000u

static bool is_stuck(const struct ring *ring, unsigned node)
{
	json_t *status = ring_status(ring, node);
	bool is = json_is_string(json_object_get(status, "journal_error"));

	json_decref(status);
	return is;
}

static void wait_stuck(const struct ring *ring, unsigned node, bool wanted)
{
	uint64_t from_ns = clock_now_ns();

	while (is_stuck(ring, node) != wanted) {
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			ring_tell(ring, node);
			ck_abort_msg("node %u: journal_error does not become %d", node, wanted);
		}
		stage_pause_ms(20);
	}
}

static void disk_is(const char *file, bool full)
{
	if (full)
		close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	else
		ck_assert_int_eq(unlink(file), 0);
}

/* As long as any lease lasts, and no tick is missing. */
static void outlast_leases(const struct ring *ring, unsigned node)
{
	int64_t ticks = ring_number(ring, node, "ticks");

	stage_pause_ms(2 * LEASE_MS);
	ring_wait_number(ring, node, "ticks", ticks + 10, INT64_MAX);
}

/* Somebody else wants what it has, then it wants what they have: nothing moves. */
static void stays_as_it_is(struct ring *ring, unsigned node)
{
	int64_t share = ring_share(ring, node), writes = ring_number(ring, node, "quota_writes");

	ring_burn(ring, node, false);
	ring_burn(ring, ring_right_of(node), true);
	outlast_leases(ring, node);
	ck_assert_int_eq(ring_share(ring, node), share);
	/* It lives, and holds its lease: more than the floor is enforced. */
	ck_assert_int_eq(ring_up(ring, node), 2);
	ck_assert_int_eq(ring_up(ring, ring_right_of(node)), 2);
	ck_assert_int_gt(ring_quota_ucpu(ring, node), RING_FLOOR_UCPU);
	ck_assert_int_le(ring_quota_ucpu(ring, node), share);
	ck_assert(ring_is(ring, node, "degraded"));
	/* No quota is written to and fro meanwhile: each write gives the job a fresh pool. */
	ck_assert_int_le(ring_number(ring, node, "quota_writes"), writes + 4);
	ck_assert_uint_eq(ring_log_count(ring, node, "nothing is traded until"), 1);
}

/* It comes up with what it owns enforced, and nobody hears of it before the disk is back. */
static void starts_on_a_full_disk(struct ring *ring, unsigned node, const struct ring_start *how)
{
	struct iso_record before, after;
	json_t *status;

	ring_kill(ring, node, SIGKILL);
	ring_check_dead(ring, node);
	ring_record(ring, node, &before);
	ring_start(ring, node, how);
	while ((status = ring_status(ring, node)) == NULL)
		stage_pause_ms(20);
	json_decref(status);
	ck_assert(is_stuck(ring, node));
	outlast_leases(ring, node);
	ring_record(ring, node, &after);
	ck_assert_mem_eq(&after, &before, sizeof(after));
	ck_assert_int_eq(ring_up(ring, node), 0);
	ck_assert_int_eq(ring_up(ring, ring_right_of(node)), 1);
	ck_assert_int_le(ring_quota_ucpu(ring, node), RING_FLOOR_UCPU);
	/* And may be ended like any other. */
	ring_kill(ring, node, SIGTERM);
	ring_start(ring, node, how);
	while ((status = ring_status(ring, node)) == NULL)
		stage_pause_ms(20);
	json_decref(status);
	ck_assert(is_stuck(ring, node));
}

static void fill_disk(struct ring *ring, unsigned node, const char *disk)
{
	char file[DEMO_PATH_BYTES];
	const struct ring_start how = { .disk = disk, .disk_while = file };

	path_join(file, ring->nodes[node].directory, "full");
	ring_kill(ring, node, SIGTERM);
	ring_start(ring, node, &how);
	ring_wait_all_up(ring);
	ring_burn(ring, node, true);
	ring_wait_share(ring, node, HALF_UCPU, RING_BUDGET_UCPU);

	disk_is(file, true);
	wait_stuck(ring, node, true);
	stays_as_it_is(ring, node);
	disk_is(file, false);
	wait_stuck(ring, node, false);
	ck_assert_uint_eq(ring_log_count(ring, node, "can be written again after"), 1);
	ring_prove(ring, ring_right_of(node));

	disk_is(file, true);
	wait_stuck(ring, node, true);
	starts_on_a_full_disk(ring, node, &how);
	disk_is(file, false);
	ring_burn(ring, ring_right_of(node), false);
	ring_burn(ring, node, true);
	ring_prove(ring, node);
	ring_burn(ring, node, false);
	ring_check_edges(ring);
}

START_TEST(a_full_disk_holds_the_trade_until_there_is_room)
{
	static struct ring ring;

	ring_open_lease(&ring, false, LEASE_MS);
	ring_start_all(&ring);
	fill_disk(&ring, 1, "pwrite:1:ENOSPC");
	fill_disk(&ring, 3, "pwrite:1:EROFS");
	ring_close(&ring);
}
END_TEST

/* The number that its next descriptor would get, but for those of a moment. */
static unsigned next_descriptor(pid_t pid)
{
	char path[64], target[PATH_MAX];
	unsigned least = UINT_MAX;

	for (unsigned n = 0; n < 30; n++) {
		ssize_t size = 0;
		unsigned fd;

		for (fd = 0; size >= 0; fd++) {
			snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
			size = readlink(path, target, sizeof(target));
		}
		least = fd - 1 < least ? fd - 1 : least;
		stage_pause_ms(10);
	}
	return least;
}

/* It gets no more than it has; its neighbours come back and want to be let in. */
static bool exhaust(struct ring *ring, unsigned node, int *ret_status)
{
	pid_t pid = ring->nodes[node].agent.pid;
	const struct rlimit none = { next_descriptor(pid), 4096 };
	bool ended = false;

	ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
	stage_pause_ms(500);
	for (unsigned turn = 0; turn < 2 && !ended; turn++) {
		ring_kill(ring, ring_left_of(node), SIGKILL);
		ring_kill(ring, ring_right_of(node), SIGKILL);
		ring_start_and_wait(ring, ring_left_of(node));
		ring_start_and_wait(ring, ring_right_of(node));
		/* Nobody is let in. */
		json_decref(ring_status(ring, node));
		for (unsigned i = 0; i < 20 && !ended; i++) {
			stage_pause_ms(50);
			ended = ring_ended(ring, node, ret_status);
		}
	}
	return ended;
}

START_TEST(without_descriptors_the_limit_stays)
{
	const struct rlimit enough = { 4096, 4096 };
	static struct ring memory;
	struct ring *ring = &memory;
	int status = 0;

	ring_open_lease(ring, false, LEASE_MS);
	ring_start_all(ring);
	ring_burn(ring, 2, true);
	ring_wait_share(ring, 2, HALF_UCPU, RING_BUDGET_UCPU);
	bool ended = exhaust(ring, 2, &status);
	printf("# without descriptors: %s\n",
	       !ended ? "it goes on" : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
							   : "it has ended");
	ck_assert_int_gt(ring_quota_ucpu(ring, 2), 0);
	ring_check_dead(ring, 2); /* no more than it owns, whether it lives or not */
	if (ended) {
		/* libzmq sees no other way, as its last line says: then it starts again. */
		ring_tell(ring, 2);
		ring_start_and_wait(ring, 2);
	} else {
		ck_assert_int_eq(prlimit(ring->nodes[2].agent.pid, RLIMIT_NOFILE, &enough, NULL),
				 0);
		/* States, not attempts: there are ten of those a second. */
		ck_assert_uint_gt(ring_log_count(ring, 2, "Too many open files"), 0);
		ck_assert_uint_le(ring_log_count(ring, 2, "Too many open files"), 20);
	}
	ring_prove(ring, 2);
	ring_close(ring);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("resilience");

	stage_suite_add(suite, "disk", TIMEOUT_S,
			a_full_disk_holds_the_trade_until_there_is_room);
	stage_suite_add(suite, "descriptors", TIMEOUT_S, without_descriptors_the_limit_stays);
	return suite;
}
