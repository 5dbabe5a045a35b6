/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a guard decides, to the nanosecond, on plain files of both hierarchies. */
#include "config.h"

#include "agent/guard/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fs/tree.h"
#include "tests/test.h"

#define FLOOR 20000u /* 2000 us in 100 ms */
#define LEASE 1000u
#define EARLY 100u
#define T0    50000u
#define END   (T0 + LEASE - EARLY)

static struct keeper keeper;
static const char *root;
static int dir_fd;

static unsigned version_of(int i)
{
	return i == 0 ? 1 : 2;
}

static void put(unsigned version, const char *quota, unsigned period_us)
{
	char text[64];

	snprintf(text, sizeof(text), "%u\n", period_us);
	tree_file("/group/cpu.cfs_quota_us", quota);
	tree_file("/group/cpu.cfs_period_us", text);
	snprintf(text, sizeof(text), "%s %u\n",
		 version == 2 && strcmp(quota, "-1") == 0 ? "max" : quota, period_us);
	tree_file("/group/cpu.max", text);
}

/* The quota on file, as a stranger who reads one line sees it; -1: none. */
static long quota(unsigned version)
{
	char text[128];
	long value = -1;

	tree_read(version == 2 ? "/group/cpu.max" : "/group/cpu.cfs_quota_us", text, sizeof(text));
	ck_assert_int_eq(sscanf(strncmp(text, "max", 3) == 0 ? "-1" : text, "%ld", &value), 1);
	return value;
}

static void setup(void)
{
	char path[128];

	root = tree_start();
	put(2, "30000", 100000);
	snprintf(path, sizeof(path), "%s/group", root);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	keeper_init(&keeper);
}

static void teardown(void)
{
	keeper_close(&keeper);
	close(dir_fd);
	tree_end();
}

static int attach(unsigned version, uint64_t now_ns)
{
	struct keeper_lease lease = { FLOOR, LEASE, EARLY };

	return keeper_attach(&keeper, now_ns, dir_fd, version, &lease);
}

static int write_us(uint64_t now_ns, uint64_t quota_us)
{
	struct cgroup_limit wanted = { .quota_us = quota_us, .period_us = 100000 };

	return keeper_write(&keeper, now_ns, &wanted);
}

START_TEST(without_a_lease_a_limit_goes_to_the_floor_at_once)
{
	unsigned version = version_of(_i);

	ck_assert_int_eq(attach(version, T0), 0);
	ck_assert_int_eq(quota(version), 2000);
	ck_assert_uint_eq(keeper.lowered, 1);
	ck_assert(!keeper_above_floor(&keeper));
	ck_assert_int_eq(write_us(T0, 2001), -ETIME);
	ck_assert_int_eq(quota(version), 2000);
	ck_assert_int_eq(write_us(T0, 1500), 0);
	ck_assert_int_eq(quota(version), 1500);
	/* Up to the floor needs no lease. */
	ck_assert_int_eq(write_us(T0, 2000), 0);
	ck_assert_int_eq(quota(version), 2000);
}
END_TEST

START_TEST(no_limit_at_all_is_above_any_floor)
{
	unsigned version = version_of(_i);

	put(version, "-1", 50000);
	ck_assert_int_eq(attach(version, T0), 0);
	/* Of the period that is there. */
	ck_assert_int_eq(quota(version), 1000);
	ck_assert_uint_eq(keeper.lowered, 1);
}
END_TEST

START_TEST(a_lease_holds_until_guard_ns_before_its_deadline)
{
	unsigned version = version_of(_i);

	ck_assert_int_eq(keeper_renew(&keeper, T0, T0), 0);
	ck_assert_int_eq(attach(version, T0), 0);
	ck_assert_int_eq(keeper_renew(&keeper, T0, T0 + LEASE), 0);
	ck_assert_uint_eq(keeper.wake_at_ns, END);
	ck_assert_int_eq(write_us(T0, 40000), 0);
	ck_assert_int_eq(write_us(END - 1, 45000), 0);
	keeper_wake(&keeper, END - 1);
	ck_assert_int_eq(quota(version), 45000);
	ck_assert_uint_eq(keeper.wake_at_ns, END);
	ck_assert(keeper_above_floor(&keeper));

	keeper_wake(&keeper, END);
	ck_assert_int_eq(quota(version), 2000);
	ck_assert(!keeper_above_floor(&keeper));
	ck_assert_int_eq(write_us(END, 45000), -ETIME);
	ck_assert_int_eq(quota(version), 2000);
	/* The next answer of a neighbour. */
	ck_assert_int_eq(keeper_renew(&keeper, END + 1, END + LEASE), 0);
	ck_assert_int_eq(write_us(END + 1, 45000), 0);
	ck_assert_int_eq(quota(version), 45000);
}
END_TEST

START_TEST(a_write_that_comes_late_lowers_before_the_timer_does)
{
	unsigned version = version_of(_i);

	ck_assert_int_eq(attach(version, T0), 0);
	ck_assert_int_eq(keeper_renew(&keeper, T0, T0 + LEASE), 0);
	ck_assert_int_eq(write_us(T0, 40000), 0);
	/* Less than what is there, and still above the floor. */
	ck_assert_int_eq(write_us(END, 30000), -ETIME);
	ck_assert_int_eq(quota(version), 2000);
	ck_assert_uint_eq(keeper.lowered, 2);
}
END_TEST

START_TEST(a_deadline_lies_no_further_away_than_a_lease)
{
	ck_assert_int_eq(attach(2, T0), 0);
	ck_assert_int_eq(keeper_renew(&keeper, T0, T0 + LEASE), 0);
	ck_assert_int_eq(keeper_renew(&keeper, T0, T0 + LEASE + 1), -ERANGE);
	ck_assert_uint_eq(keeper.deadline_ns, T0 + LEASE);
	ck_assert_int_eq(keeper_renew(&keeper, T0, UINT64_MAX - 1), -ERANGE);
	/* A node that no neighbour knows needs none. */
	ck_assert_int_eq(keeper_renew(&keeper, T0, UINT64_MAX), 0);
	ck_assert_uint_eq(keeper.wake_at_ns, UINT64_MAX);
	ck_assert_int_eq(write_us(UINT64_MAX / 2, 40000), 0);
	ck_assert_int_eq(quota(2), 40000);
	/* And to give it up is always allowed. */
	ck_assert_int_eq(keeper_renew(&keeper, UINT64_MAX / 2, 0), 0);
	ck_assert_int_eq(quota(2), 2000);
}
END_TEST

START_TEST(without_a_lease_it_looks_again)
{
	ck_assert_int_eq(attach(_i == 0 ? 1 : 2, T0), 0);
	put(version_of(_i), "70000", 100000);
	ck_assert_uint_ge(keeper.wake_at_ns, T0 + 1);
	keeper_wake(&keeper, keeper.wake_at_ns);
	ck_assert_int_eq(quota(version_of(_i)), 2000);
	ck_assert_uint_eq(keeper.lowered, 2);
}
END_TEST

START_TEST(what_cannot_be_lowered_is_tried_again_soon)
{
	ck_assert_int_eq(attach(2, T0), 0);
	tree_file("/group/cpu.max", "nonsense\n");
	keeper_wake(&keeper, T0 + LEASE);
	ck_assert_int_eq(keeper.error, -EBADMSG);
	ck_assert_uint_le(keeper.wake_at_ns, T0 + LEASE + 20000000);
	ck_assert(keeper_above_floor(&keeper));
	ck_assert_int_eq(keeper_stop(&keeper), -EBADMSG);
	put(2, "30000", 100000);
	keeper_wake(&keeper, T0 + 2 * LEASE);
	ck_assert_int_eq(keeper.error, 0);
	ck_assert_int_eq(quota(2), 2000);
}
END_TEST

START_TEST(another_period_never_allows_more_than_the_two_limits)
{
	struct cgroup_limit wanted = { .quota_us = 500000, .period_us = 1000000 };
	struct cgroup_limit limit;
	unsigned version = version_of(_i);

	ck_assert_int_eq(keeper_renew(&keeper, T0, UINT64_MAX), 0);
	ck_assert_int_eq(attach(version, T0), 0);
	ck_assert_int_eq(keeper_write(&keeper, T0, &wanted), 0);
	ck_assert_int_eq(limit_file_read(&keeper.file, &limit), 0);
	ck_assert_uint_eq(limit.quota_us, 500000);
	ck_assert_uint_eq(limit.period_us, 1000000);
	/* And back, to a text that is shorter than the one before. */
	wanted = (struct cgroup_limit){ .quota_us = 5000, .period_us = 10000 };
	ck_assert_int_eq(keeper_write(&keeper, T0, &wanted), 0);
	ck_assert_int_eq(limit_file_read(&keeper.file, &limit), 0);
	ck_assert_uint_eq(limit.quota_us, 5000);
	ck_assert_uint_eq(limit.period_us, 10000);
	ck_assert_int_eq(quota(version), 5000);
	wanted = (struct cgroup_limit){ .unlimited = true, .period_us = 100000 };
	ck_assert_int_eq(keeper_write(&keeper, T0, &wanted), 0);
	ck_assert_int_eq(quota(version), -1);
	wanted.period_us = 0;
	ck_assert_int_eq(keeper_write(&keeper, T0, &wanted), -EINVAL);
}
END_TEST

START_TEST(a_group_that_cannot_be_opened_leaves_the_one_before)
{
	int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct keeper_lease lease = { 2 * FLOOR, LEASE, EARLY };

	ck_assert_int_eq(attach(2, T0), 0);
	ck_assert_int_eq(keeper_attach(&keeper, T0, tmp_fd, 2, &lease), -ENOENT);
	ck_assert_int_eq(keeper_attach(&keeper, T0, dir_fd, 3, &lease), -EINVAL);
	ck_assert_uint_eq(keeper.floor_ucpu, FLOOR);
	put(2, "30000", 100000);
	keeper_wake(&keeper, T0);
	ck_assert_int_eq(quota(2), 2000);
	close(tmp_fd);
}
END_TEST

START_TEST(without_a_group_there_is_nothing_to_do)
{
	keeper_wake(&keeper, T0);
	ck_assert_uint_eq(keeper.wake_at_ns, UINT64_MAX);
	ck_assert(!keeper_above_floor(&keeper));
	ck_assert_int_eq(keeper_stop(&keeper), 0);
	ck_assert_int_eq(write_us(T0, 1000), -ENODEV);
	ck_assert_int_eq(write_us(T0, 100000), -ENODEV);
}
END_TEST

/* One random call; *quota_us is what must be on file afterwards. */
static void random_step(struct iso_rng *rng, unsigned version, uint64_t now_ns, long *quota_us)
{
	uint64_t early_ns = keeper.deadline_ns == UINT64_MAX ? UINT64_MAX - EARLY :
			    keeper.deadline_ns < EARLY ? 0 : keeper.deadline_ns - EARLY;
	uint64_t deadline_ns = now_ns + iso_rng_below(rng, LEASE + 200);
	uint64_t wanted_us = 1000 + iso_rng_below(rng, 4000);
	bool leased = now_ns < early_ns;
	char text[32];
	int r;

	switch (iso_rng_below(rng, 5)) {
	case 0:
		r = keeper_renew(&keeper, now_ns, deadline_ns);
		ck_assert_int_eq(r, deadline_ns - now_ns > LEASE ? -ERANGE : 0);
		/* A refused one changes nothing, and is no reason to look. */
		if (r < 0)
			return;
		leased = now_ns + EARLY < deadline_ns;
		break;
	case 1:
	case 2:
		r = write_us(now_ns, wanted_us);
		ck_assert_int_eq(r, leased || wanted_us <= 2000 ? 0 : -ETIME);
		if (r == 0)
			*quota_us = (long)wanted_us;
		break;
	case 3:
		snprintf(text, sizeof(text), "%u", (unsigned)wanted_us);
		put(version, text, 100000); /* a stranger; it is put right when somebody looks */
		*quota_us = (long)wanted_us;
		keeper_wake(&keeper, now_ns);
		break;
	default:
		keeper_wake(&keeper, now_ns);
		break;
	}
	if (!leased && *quota_us > 2000)
		*quota_us = 2000;
	ck_assert_int_eq(quota(version), *quota_us);
	ck_assert(leased || !keeper_above_floor(&keeper));
}

START_TEST(whatever_is_asked_no_more_than_the_floor_without_a_lease)
{
	for (int run = 0; run < test_runs(20); run++) {
		uint64_t seed = test_seed_base() + (uint64_t)run, now_ns = T0;
		unsigned version = version_of(run % 2);
		long quota_us = 2000;
		struct iso_rng rng = { seed };

		printf("# seed %ju\n", (uintmax_t)seed);
		keeper_close(&keeper);
		keeper_init(&keeper);
		put(version, "30000", 100000);
		ck_assert_int_eq(attach(version, now_ns), 0);
		for (int i = 0; i < 300; i++) {
			now_ns += iso_rng_below(&rng, LEASE / 4);
			random_step(&rng, version, now_ns, &quota_us);
		}
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("keeper");
	TCase *tcase = tcase_create("rules");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, without_a_lease_a_limit_goes_to_the_floor_at_once, 0, 2);
	tcase_add_loop_test(tcase, no_limit_at_all_is_above_any_floor, 0, 2);
	tcase_add_loop_test(tcase, a_lease_holds_until_guard_ns_before_its_deadline, 0, 2);
	tcase_add_loop_test(tcase, a_write_that_comes_late_lowers_before_the_timer_does, 0, 2);
	tcase_add_test(tcase, a_deadline_lies_no_further_away_than_a_lease);
	tcase_add_loop_test(tcase, without_a_lease_it_looks_again, 0, 2);
	tcase_add_test(tcase, what_cannot_be_lowered_is_tried_again_soon);
	tcase_add_loop_test(tcase, another_period_never_allows_more_than_the_two_limits, 0, 2);
	tcase_add_test(tcase, a_group_that_cannot_be_opened_leaves_the_one_before);
	tcase_add_test(tcase, without_a_group_there_is_nothing_to_do);
	tcase_add_test(tcase, whatever_is_asked_no_more_than_the_floor_without_a_lease);
	suite_add_tcase(suite, tcase);
	return suite;
}
