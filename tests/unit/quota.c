/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/quota.h"
#include "tests/test.h"

#define MS 1000000ull

_Alignas(16) static unsigned char memory[4096];

static struct iso_quota *make(uint32_t period_us)
{
	struct iso_quota_config config = {
		.period_us = period_us,
		.quota_min_us = 1000,
		.raise_gap_ns = 200 * MS,
	};
	struct iso_quota *quota = NULL;

	ck_assert_ok(iso_quota_init(memory, sizeof(memory), &config, &quota));
	return quota;
}

/* A step without what the kernel counts: the phase stays unknown. */
static struct iso_quota_update step(struct iso_quota *quota, uint64_t now_ns, uint64_t share_ucpu,
				    uint64_t used_ns)
{
	struct iso_quota_event event = {
		.now_ns = now_ns,
		.entitled_ucpu = share_ucpu,
		.has_used = true,
		.used_ns = used_ns,
	};
	struct iso_quota_update update = { 0 };

	ck_assert_ok(iso_quota_step(quota, &event, &update));
	return update;
}

static void apply(struct iso_quota *quota, uint64_t now_ns, const struct iso_quota_update *update)
{
	if (update->write)
		iso_quota_wrote(quota, now_ns, update->quota_us);
}

START_TEST(refuses_what_the_kernel_would_refuse)
{
	struct iso_quota_config config = { .period_us = 999, .quota_min_us = 1000 };
	struct iso_quota *quota = NULL;
	struct iso_quota_event event = { .now_ns = 1, .entitled_ucpu = 9999 };
	struct iso_quota_update update = { .quota_us = 77, .wake_at_ns = 78 };

	ck_assert_int_eq(iso_quota_init(memory, sizeof(memory), &config, &quota), ISO_E_RANGE);
	config.period_us = 1000001;
	ck_assert_int_eq(iso_quota_init(memory, sizeof(memory), &config, &quota), ISO_E_RANGE);
	config.period_us = 100000;
	config.quota_min_us = 999;
	ck_assert_int_eq(iso_quota_init(memory, sizeof(memory), &config, &quota), ISO_E_RANGE);
	config.quota_min_us = 1000;
	ck_assert_int_eq(iso_quota_init(memory, iso_quota_size() - 1, &config, &quota),
			 ISO_E_SHORT);
	ck_assert_ptr_null(quota);
	ck_assert_ok(iso_quota_init(memory, sizeof(memory), &config, &quota));
	ck_assert_int_eq(iso_quota_step(quota, &event, &update), ISO_E_RANGE);
	event.entitled_ucpu = 1000000000001;
	ck_assert_int_eq(iso_quota_step(quota, &event, &update), ISO_E_RANGE);
	ck_assert_uint_eq(update.quota_us, 77);
	ck_assert_uint_eq(update.wake_at_ns, 78);
	event.entitled_ucpu = 10000;
	ck_assert_ok(iso_quota_step(quota, &event, &update));
	ck_assert_uint_eq(update.quota_us, 1000);
}
END_TEST

START_TEST(rounds_down)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update = step(quota, 1, 333339, 0);

	ck_assert(update.write);
	ck_assert_uint_eq(update.quota_us, 33333);
}
END_TEST

START_TEST(never_writes_an_unchanged_value)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update = step(quota, 0, 300000, 0);

	apply(quota, 0, &update);
	for (uint64_t i = 1; i < 100; i++) {
		update = step(quota, i * 200 * MS, 300000, i * 60 * MS);
		ck_assert(!update.write);
		ck_assert_uint_eq(update.quota_us, 30000);
		ck_assert_uint_eq(update.debt_ns, 0);
		ck_assert_uint_eq(update.wake_at_ns, UINT64_MAX);
	}
}
END_TEST

START_TEST(lowers_at_once_by_any_amount)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update = step(quota, 1, 300000, 0);

	apply(quota, 1, &update);
	update = step(quota, 2, 299990, 0);
	ck_assert(update.write);
	ck_assert_uint_eq(update.quota_us, 29999);
}
END_TEST

START_TEST(asks_again_until_the_write_is_reported)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update = step(quota, 1, 300000, 0);

	ck_assert(update.write);
	update = step(quota, 2, 300000, 0);
	ck_assert(update.write);
	iso_quota_wrote(quota, 2, 30000);
	update = step(quota, 3, 300000, 0);
	ck_assert(!update.write);
	iso_quota_wrote(quota, 4, 0); /* another writer lifted the limit */
	update = step(quota, 5, 300000, 0);
	ck_assert(update.write);
}
END_TEST

START_TEST(raises_beyond_the_dead_band_and_not_too_often)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update = step(quota, 1, 300000, 0);

	apply(quota, 1, &update);
	update = step(quota, 2, 301490, 0); /* 0.49 % */
	ck_assert(!update.write);
	ck_assert_uint_eq(update.quota_us, 30000);
	update = step(quota, 3, 303000, 0);
	ck_assert(update.write);
	apply(quota, 3, &update);
	update = step(quota, 4, 400000, 0);
	ck_assert(!update.write); /* one raise a tick */
	ck_assert_uint_le(update.wake_at_ns, 4 + 200 * MS);
	update = step(quota, 4 + 200 * MS, 400000, 0);
	ck_assert(update.write);
	ck_assert_uint_eq(update.quota_us, 40000);
}
END_TEST

START_TEST(pays_back_what_was_used_beyond_the_share)
{
	struct iso_quota *quota = make(10000); /* so short that the phase does not matter */
	struct iso_quota_update update = step(quota, 1, 500000, 0);
	uint64_t now_ns = 1, used_ns = 0, entitled_ns = 0;

	apply(quota, now_ns, &update);
	now_ns += 100 * MS;
	entitled_ns += 50 * MS;
	used_ns = 90 * MS;
	update = step(quota, now_ns, 500000, used_ns);
	ck_assert_uint_eq(update.debt_ns, 40 * MS);
	ck_assert(update.write);
	ck_assert_uint_lt(update.quota_us, 5000);
	ck_assert_uint_ge(update.quota_us, 1000);
	apply(quota, now_ns, &update);
	for (int i = 0; i < 100 && update.wake_at_ns != UINT64_MAX; i++) {
		uint64_t elapsed_ns = update.wake_at_ns - now_ns;

		used_ns += update.quota_us * 1000 * elapsed_ns / (10 * MS);
		entitled_ns += elapsed_ns / 2;
		now_ns = update.wake_at_ns;
		update = step(quota, now_ns, 500000, used_ns);
		ck_assert_uint_le(update.quota_us, 5000);
		apply(quota, now_ns, &update);
	}
	ck_assert_uint_eq(update.quota_us, 5000);
	ck_assert_uint_lt(now_ns, 400 * MS); /* a short horizon */
	ck_assert_uint_le(used_ns, entitled_ns + 10 * MS);
}
END_TEST

START_TEST(underuse_is_not_made_up_for)
{
	struct iso_quota *quota = make(10000);
	struct iso_quota_update update = step(quota, 1, 500000, 0);

	apply(quota, 1, &update);
	update = step(quota, 1 + 10000 * MS, 500000, 0);
	ck_assert(!update.write);
	update = step(quota, 1 + 10100 * MS, 500000, 70 * MS);
	ck_assert_uint_eq(update.debt_ns, 20 * MS);
}
END_TEST

START_TEST(forgets_debt_when_the_meter_begins_anew)
{
	struct iso_quota *quota = make(10000);
	struct iso_quota_update update = step(quota, 1, 500000, 1000 * MS);

	apply(quota, 1, &update);
	update = step(quota, 1 + 10 * MS, 500000, 5 * MS);
	ck_assert_uint_eq(update.debt_ns, 0);
	ck_assert(!update.write);
	update = step(quota, 1 + 7200000 * MS, 500000, 7200000 * MS); /* a suspended host */
	ck_assert_uint_eq(update.debt_ns, 0);
}
END_TEST

/* What a kernel with its boundaries at 37 ms past each 100 ms counts for a throttled job. */
static uint64_t learn(struct iso_quota *quota, uint64_t phase_ns)
{
	struct iso_quota_update update = { 0 };
	uint64_t now_ns = 1000 * MS, used_ns = 0, before_ns = now_ns;

	for (int i = 0; i < 40; i++) {
		uint64_t counted = (now_ns + 100 * MS - phase_ns) / (100 * MS);
		struct iso_quota_event event = {
			.now_ns = now_ns,
			.entitled_ucpu = 300000,
			.has_used = true,
			.used_ns = used_ns,
			.has_periods = true,
			.periods = counted,
			.periods_throttled = counted,
		};

		ck_assert_ok(iso_quota_step(quota, &event, &update));
		apply(quota, now_ns, &update);
		before_ns = now_ns;
		now_ns = update.wake_at_ns != UINT64_MAX ? update.wake_at_ns : now_ns + 200 * MS;
		used_ns += (now_ns - before_ns) * 3 / 10;
	}
	return now_ns;
}

START_TEST(learns_where_the_period_begins)
{
	for (uint64_t phase_ns = 0; phase_ns < 100 * MS; phase_ns += 7 * MS) {
		struct iso_quota *quota = make(100000);
		uint64_t at_ns = iso_quota_align(quota, 123);

		ck_assert_uint_eq(at_ns, 123); /* nothing known yet */
		at_ns = learn(quota, phase_ns);
		for (int i = 0; i < 5; i++) {
			uint64_t aligned_ns = iso_quota_align(quota, at_ns);
			uint64_t ahead_ns = (phase_ns + 10 * 100 * MS * 1000 - aligned_ns) %
					    (100 * MS);

			ck_assert_uint_ge(aligned_ns, at_ns);
			ck_assert_uint_le(aligned_ns, at_ns + 100 * MS);
			ck_assert_uint_ge(ahead_ns, MS / 2); /* before the boundary */
			ck_assert_uint_le(ahead_ns, 4 * MS); /* and close to it */
			at_ns += 31 * MS;
		}
	}
}
END_TEST

/* The timer of an idle group does not count its boundaries, which proves nothing. */
START_TEST(learns_nothing_from_an_idle_job)
{
	struct iso_quota *quota = make(100000);
	struct iso_quota_update update;

	for (uint64_t i = 0; i < 100; i++) {
		struct iso_quota_event event = {
			.now_ns = i * 37 * MS,
			.entitled_ucpu = 300000,
			.has_periods = true,
		};

		ck_assert_ok(iso_quota_step(quota, &event, &update));
		apply(quota, event.now_ns, &update);
		ck_assert_uint_eq(iso_quota_align(quota, event.now_ns + 1), event.now_ns + 1);
	}
	ck_assert_uint_eq(update.wake_at_ns, UINT64_MAX); /* and does not look for ever */
}
END_TEST

START_TEST(lowers_to_the_rest_of_the_period_then_to_the_share)
{
	struct iso_quota *quota = make(100000);
	uint64_t now_ns = learn(quota, 37 * MS);
	struct iso_quota_update update;

	/* 50 ms into a period in which nothing was used, the share falls to 0.2. */
	now_ns += 200 * MS - (now_ns - 37 * MS) % (100 * MS) + 50 * MS;
	update = step(quota, now_ns, 200000, 0);
	ck_assert(update.write);
	ck_assert_uint_ge(update.quota_us, 9000); /* 0.2 of the 50 ms that are left */
	ck_assert_uint_le(update.quota_us, 11000);
	apply(quota, now_ns, &update);
	ck_assert_uint_le(update.wake_at_ns, now_ns + 50 * MS);
	ck_assert_uint_ge(update.wake_at_ns, now_ns + 45 * MS);
	now_ns = update.wake_at_ns;
	update = step(quota, now_ns, 200000, 10 * MS);
	ck_assert(update.write);
	ck_assert_uint_eq(update.quota_us, 20000);
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	struct iso_quota *quota = make(100000);

	(void)step(quota, 10, 300000, 0);
	(void)step(quota, 9, 300000, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("quota");
	TCase *tcase = tcase_create("policy");

	tcase_add_test(tcase, refuses_what_the_kernel_would_refuse);
	tcase_add_test(tcase, rounds_down);
	tcase_add_test(tcase, never_writes_an_unchanged_value);
	tcase_add_test(tcase, lowers_at_once_by_any_amount);
	tcase_add_test(tcase, asks_again_until_the_write_is_reported);
	tcase_add_test(tcase, raises_beyond_the_dead_band_and_not_too_often);
	tcase_add_test(tcase, pays_back_what_was_used_beyond_the_share);
	tcase_add_test(tcase, underuse_is_not_made_up_for);
	tcase_add_test(tcase, forgets_debt_when_the_meter_begins_anew);
	tcase_add_test(tcase, learns_where_the_period_begins);
	tcase_add_test(tcase, learns_nothing_from_an_idle_job);
	tcase_add_test(tcase, lowers_to_the_rest_of_the_period_then_to_the_share);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, 6 /* SIGABRT */);
	suite_add_tcase(suite, tcase);
	return suite;
}
