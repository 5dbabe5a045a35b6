/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/audit.h"
#include "tests/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two fake cgroups of v2 and one of v1, in a temporary directory. */
static char root[64];
static char paths[3][96];
static char *directories[3] = { paths[0], paths[1], paths[2] };
static struct audit audit;

static void put(unsigned node, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", paths[node], file);
	FILE *stream = fopen(path, "we");
	ck_assert_ptr_nonnull(stream);
	ck_assert_int_ge(fputs(text, stream), 0);
	ck_assert_int_eq(fclose(stream), 0);
}

static void setup(void)
{
	snprintf(root, sizeof(root), "/tmp/isobar-observer-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	for (unsigned i = 0; i < 3; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/node%u", root, i + 1);
		ck_assert_int_eq(mkdir(paths[i], 0700), 0);
	}
	put(0, "cpu.max", "50000 100000\n");
	put(1, "cpu.max", "40000 100000\n");
	put(2, "cpu.cfs_quota_us", "3000\n");
	put(2, "cpu.cfs_period_us", "10000\n");
}

static void teardown(void)
{
	char path[PATH_MAX];

	audit_close(&audit);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const FILES[] = { "cpu.max", "cpu.cfs_quota_us",
						     "cpu.cfs_period_us" };

		for (unsigned k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "%s/%s", paths[i], FILES[k]);
			(void)unlink(path);
		}
		(void)rmdir(paths[i]);
	}
	(void)rmdir(root);
}

static void start(uint64_t budget_ucpu)
{
	unsigned failed;

	ck_assert_int_eq(audit_open(&audit, directories, 3, budget_ucpu, &failed), 0);
}

START_TEST(adds_up_v1_and_v2)
{
	start(1200000);
	ck_assert(audit_sample(&audit, 1000));
	ck_assert_uint_eq(audit.kept, 1);
	ck_assert_uint_eq(audit.sum_ucpu, 1200000);
	ck_assert_uint_eq(audit.torn, 0);
	ck_assert(audit_held(&audit));
}
END_TEST

START_TEST(catches_one_microsecond_above_the_budget)
{
	start(1200000);
	put(1, "cpu.max", "40001 100000\n");
	ck_assert(!audit_sample(&audit, 77));
	ck_assert_uint_eq(audit.violations, 1);
	ck_assert_uint_eq(audit.first[0].at_ns, 77);
	ck_assert_uint_eq(audit.first[0].sum_ucpu, 1200010);
	ck_assert_int_eq(audit.first[0].quotas[1].quota_us, 40001);
	ck_assert(!audit_held(&audit));

	/* It stays on the record after the sum is right again. */
	put(1, "cpu.max", "40000 100000\n");
	ck_assert(audit_sample(&audit, 78));
	ck_assert(!audit_held(&audit));
	json_t *summary = audit_summary(&audit);
	ck_assert(json_is_false(json_object_get(summary, "held")));
	ck_assert_uint_eq(json_array_size(json_object_get(summary, "first_violations")), 1);
	json_decref(summary);
}
END_TEST

START_TEST(an_unlimited_cgroup_is_a_violation)
{
	start(1200000);
	put(0, "cpu.max", "max 100000\n");
	ck_assert(!audit_sample(&audit, 1));
	put(0, "cpu.max", "50000 100000\n");
	put(2, "cpu.cfs_quota_us", "-1\n");
	ck_assert(!audit_sample(&audit, 2));
	ck_assert_uint_eq(audit.violations, 2);
	ck_assert_uint_eq(audit.first[0].sum_ucpu, UINT64_MAX);
	ck_assert_int_eq(audit.first[1].quotas[2].quota_us, QUOTA_UNLIMITED);
	/* What could not be added up is no maximum. */
	ck_assert_uint_eq(audit.sum_ucpu_max, 0);
}
END_TEST

/*
 * Node 1 gives 10 ms to node 2, in the lawful order, when the observer has
 * read node 1 and not yet node 2: it sees both with what only one had.
 */
static void trade_in_the_middle(struct audit *seen, unsigned index)
{
	if (index != 1)
		return;
	put(0, "cpu.max", "40000 100000\n");
	put(1, "cpu.max", "50000 100000\n");
	seen->before_read = NULL;
}

START_TEST(discards_a_torn_snapshot)
{
	start(1200000);
	audit.before_read = trade_in_the_middle;
	ck_assert(audit_sample(&audit, 1));
	ck_assert_uint_eq(audit.torn, 1);
	ck_assert_uint_eq(audit.kept, 1);
	ck_assert_uint_eq(audit.sum_ucpu, 1200000);
	ck_assert(audit_held(&audit));
}
END_TEST

static void never_still(struct audit *seen, unsigned index)
{
	static bool high;

	(void)seen;
	if (index != 0)
		return;
	high = !high;
	put(0, "cpu.max", high ? "40000 100000\n" : "39000 100000\n");
}

START_TEST(keeps_nothing_that_never_stands_still)
{
	start(1200000);
	audit.before_read = never_still;
	ck_assert(audit_sample(&audit, 1));
	ck_assert_uint_eq(audit.torn, AUDIT_TRIES);
	ck_assert_uint_eq(audit.kept, 0);
	ck_assert_msg(!audit_held(&audit), "an audit that saw nothing proves nothing");
}
END_TEST

START_TEST(what_cannot_be_read_is_not_held)
{
	unsigned failed = 99;
	char path[PATH_MAX];

	start(1200000);
	ck_assert(audit_sample(&audit, 1));
	put(1, "cpu.max", "soon 100000\n");
	ck_assert(audit_sample(&audit, 2));
	ck_assert_uint_eq(audit.unreadable, 1);
	ck_assert_int_eq(audit.error, -EBADMSG);
	ck_assert_uint_eq(audit.error_index, 1);
	ck_assert(!audit_held(&audit));
	audit_close(&audit);

	snprintf(path, sizeof(path), "%s/cpu.max", paths[1]);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(audit_open(&audit, directories, 3, 1, &failed), -ENOENT);
	ck_assert_uint_eq(failed, 1);
}
END_TEST

START_TEST(counts_snapshots_by_the_second_and_the_longest_gap)
{
	const uint64_t s = 1000000000u;

	start(1200000);
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(audit_sample(&audit, 5 * s + i * s / 10));
	ck_assert(audit_sample(&audit, 6 * s + s / 2));
	ck_assert_uint_eq(audit.second_kept_min, 10);
	ck_assert(audit_sample(&audit, 7 * s));
	ck_assert_uint_eq(audit.second_kept_min, 1);
	ck_assert_uint_eq(audit.gap_ns_max, 6 * s / 10);
}
END_TEST

START_TEST(adds_up_what_each_quota_allows)
{
	const uint64_t s = 1000000000u;

	start(1200000);
	ck_assert(audit_sample(&audit, 5 * s));
	ck_assert(audit_sample(&audit, 7 * s));
	put(1, "cpu.max", "20000 100000\n");
	ck_assert(audit_sample(&audit, 8 * s));
	ck_assert(audit_sample(&audit, 10 * s));
	/* 0.5, 0.3 and 0.4 CPU, the last one for three seconds only and then half of it. */
	ck_assert_double_eq_tol(audit.allowed_ns[0], 2.5e9, 1);
	ck_assert_double_eq_tol(audit.allowed_ns[2], 1.5e9, 1);
	ck_assert_double_eq_tol(audit.allowed_ns[1], 1.6e9, 1);
	json_t *progress = audit_progress(&audit);
	json_t *allowed = json_object_get(progress, "allowed_cpu_s");
	ck_assert_double_eq_tol(json_real_value(json_array_get(allowed, 1)), 1.6, 1e-9);
	json_decref(progress);
}
END_TEST

START_TEST(sums_exactly_over_different_periods)
{
	uint64_t ucpu = 7;
	/* 1/3 + 1/7 of 1000 µs have no finite decimals; together 10/21 CPU. */
	struct quota quotas[] = { { 1000, 3000 }, { 1000, 7000 }, { 11000, 21000 } };

	ck_assert_int_eq(quotas_sum(quotas, 2, &ucpu), 0);
	ck_assert_uint_eq(ucpu, 476191);
	/* With 11/21 it is exactly one CPU: not a µCPU more by rounding. */
	ck_assert_int_eq(quotas_sum(quotas, 3, &ucpu), 0);
	ck_assert_uint_eq(ucpu, 1000000);
}
END_TEST

START_TEST(refuses_sums_it_cannot_form)
{
	uint64_t ucpu = 7;
	struct quota unlimited[] = { { 1000, 100000 }, { QUOTA_UNLIMITED, 100000 } };
	/* Primes: their product is above 2^60. */
	struct quota primes[] = { { 1, 999983 }, { 1, 999979 }, { 1, 999961 }, { 1, 999959 } };

	ck_assert_int_eq(quotas_sum(unlimited, 2, &ucpu), -ERANGE);
	ck_assert_int_eq(quotas_sum(primes, 4, &ucpu), -EOVERFLOW);
	ck_assert_uint_eq(ucpu, 7);
}
END_TEST

START_TEST(refuses_text_that_is_no_quota)
{
	static const char *const BAD[] = {
		"",
		"50000\n",
		"50000 0\n",
		"50000 999\n",
		"50000 1000001\n",
		"-1 100000\n",
		"max\n",
		"1x 100000\n",
		"9999999999999999999 1000\n",
	};
	struct quota quota = { 7, 7 };

	start(1200000);
	for (unsigned i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		put(0, "cpu.max", BAD[i]);
		ck_assert_msg(quota_read(&audit.files[0], &quota) == -EBADMSG, "'%s'", BAD[i]);
	}
	ck_assert_int_eq(quota.quota_us, 7);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("observer");
	TCase *tree = tcase_create("tree"), *sum = tcase_create("sum");

	tcase_add_checked_fixture(tree, setup, teardown);
	tcase_add_test(tree, adds_up_v1_and_v2);
	tcase_add_test(tree, catches_one_microsecond_above_the_budget);
	tcase_add_test(tree, an_unlimited_cgroup_is_a_violation);
	tcase_add_test(tree, discards_a_torn_snapshot);
	tcase_add_test(tree, keeps_nothing_that_never_stands_still);
	tcase_add_test(tree, what_cannot_be_read_is_not_held);
	tcase_add_test(tree, counts_snapshots_by_the_second_and_the_longest_gap);
	tcase_add_test(tree, adds_up_what_each_quota_allows);
	tcase_add_test(tree, refuses_text_that_is_no_quota);
	suite_add_tcase(suite, tree);
	tcase_add_test(sum, sums_exactly_over_different_periods);
	tcase_add_test(sum, refuses_sums_it_cannot_form);
	suite_add_tcase(suite, sum);
	return suite;
}
