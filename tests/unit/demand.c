/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/demand.h"
#include "tests/test.h"

#define TAU_NS 2000000000u
#define MS     1000000u

static struct iso_demand demand;

static void setup(void)
{
	iso_demand_init(&demand, TAU_NS);
}

static void read_at(uint64_t at_ms, uint64_t epoch, uint64_t on_cpu_ms, uint64_t wait_ms)
{
	struct iso_demand_reading reading = {
		.at_ns = at_ms * MS,
		.epoch = epoch,
		.on_cpu_ns = on_cpu_ms * MS,
		.wait_ns = wait_ms * MS,
	};

	iso_demand_read(&demand, &reading);
}

START_TEST(knows_nothing_before_the_first_interval)
{
	ck_assert(!demand.known);
	read_at(1000, 1, 500, 500);
	ck_assert(!demand.known);
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 2), 0);
}
END_TEST

START_TEST(a_throttled_pair_of_threads_wants_two_cpus)
{
	read_at(1000, 1, 0, 0);
	read_at(1200, 1, 40, 360); /* 0.2 CPU used, 1.8 waiting */
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 2), 2000000);
	ck_assert_uint_eq(iso_demand_on_cpu_ucpu(&demand), 200000);
	ck_assert_uint_eq(iso_demand_wait_ucpu(&demand), 1800000);
}
END_TEST

START_TEST(is_capped_at_the_cpus_it_may_run_on)
{
	read_at(0, 1, 0, 0);
	read_at(1000, 1, 1000, 7000);
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 2), 2000000);
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 16), 8000000);
}
END_TEST

START_TEST(forgets_with_its_time_constant)
{
	read_at(0, 1, 0, 0);
	read_at(1000, 1, 1000, 0);         /* one CPU, then idle for one tau */
	read_at(3000, 1, 1000, 0);
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 4), 367879); /* 1/e */
}
END_TEST

START_TEST(many_short_intervals_equal_one_long)
{
	read_at(0, 1, 0, 0);
	read_at(1000, 1, 1000, 0);
	for (uint64_t t = 1100; t <= 3000; t += 100)
		read_at(t, 1, 1000, 0);
	ck_assert_uint_ge(iso_demand_ucpu(&demand, 4), 367878);
	ck_assert_uint_le(iso_demand_ucpu(&demand, 4), 367880);
}
END_TEST

START_TEST(never_subtracts_across_epochs_or_backwards)
{
	read_at(0, 1, 0, 0);
	read_at(1000, 1, 500, 0);
	read_at(2000, 2, 90000, 90000);    /* a new meter */
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 4), 500000);
	read_at(2000, 2, 91000, 90000);    /* no time has passed */
	read_at(2100, 2, 1, 1);            /* went back */
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 4), 500000);
	read_at(3100, 2, 501, 1);
	ck_assert_uint_eq(iso_demand_ucpu(&demand, 4), 500000);
}
END_TEST

START_TEST(dies_without_a_time_constant)
{
	iso_demand_init(&demand, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("demand");
	TCase *tcase = tcase_create("estimate");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, knows_nothing_before_the_first_interval);
	tcase_add_test(tcase, a_throttled_pair_of_threads_wants_two_cpus);
	tcase_add_test(tcase, is_capped_at_the_cpus_it_may_run_on);
	tcase_add_test(tcase, forgets_with_its_time_constant);
	tcase_add_test(tcase, many_short_intervals_equal_one_long);
	tcase_add_test(tcase, never_subtracts_across_epochs_or_backwards);
	tcase_add_test_raise_signal(tcase, dies_without_a_time_constant, 6 /* SIGABRT */);
	suite_add_tcase(suite, tcase);
	return suite;
}
