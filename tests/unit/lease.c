/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ledger/lease.h"

#include <signal.h>

#include "tests/test.h"

/* The unit that times are kept in, so that seconds below are exact. */
#define MS	((uint64_t)1 << 20)
#define S	(1000 * MS)

static const struct iso_lease_params params = { .lease_ns = 30 * S,
						.promise_ns = 32 * S,
						.guard_ns = S };
static const struct iso_lease_params none;
static struct iso_lease lease;

START_TEST(counts_from_when_the_message_was_sent)
{
	iso_lease_init(&params, 7, &lease);
	ck_assert_uint_eq(iso_lease_deadline(&lease), 0);
	ck_assert(!iso_lease_valid(&lease, 0));
	iso_lease_sent(&lease, 1, 100 * S);
	iso_lease_sent(&lease, 2, 110 * S);
	/* The answer came at an unknown time, long after. */
	ck_assert(iso_lease_heard(&lease, 7, 1));
	ck_assert_uint_eq(iso_lease_deadline(&lease), 130 * S);
	ck_assert(iso_lease_valid(&lease, 129 * S - 1));
	ck_assert(!iso_lease_valid(&lease, 129 * S));
	ck_assert(iso_lease_heard(&lease, 7, 2));
	/* An older answer takes nothing back. */
	ck_assert(!iso_lease_heard(&lease, 7, 1));
	ck_assert(!iso_lease_heard(&lease, 7, 2));
	ck_assert_uint_eq(iso_lease_deadline(&lease), 140 * S);
}
END_TEST

START_TEST(an_answer_to_nothing_renews_nothing)
{
	iso_lease_init(&params, 7, &lease);
	for (uint32_t seq = 1; seq <= 100; seq++)
		iso_lease_sent(&lease, seq, seq * S);
	ck_assert(!iso_lease_heard(&lease, 6, 100));
	ck_assert(!iso_lease_heard(&lease, 8, 100));
	ck_assert(!iso_lease_heard(&lease, 7, 0));
	ck_assert(!iso_lease_heard(&lease, 7, 101));
	/* Where message 68 was, 100 is now. */
	ck_assert(!iso_lease_heard(&lease, 7, 68));
	ck_assert(iso_lease_heard(&lease, 7, 69));
	ck_assert_uint_eq(iso_lease_deadline(&lease), 99 * S);
}
END_TEST

START_TEST(a_time_is_rounded_to_the_safe_side)
{
	iso_lease_init(&params, 7, &lease);
	iso_lease_sent(&lease, 1, 100 * S + MS - 1);
	iso_lease_sent(&lease, 2, 101 * S + 5);
	ck_assert(iso_lease_heard(&lease, 7, 1));
	ck_assert_uint_eq(iso_lease_deadline(&lease), 130 * S);
	ck_assert(iso_lease_heard(&lease, 7, 2));
	ck_assert_uint_eq(iso_lease_deadline(&lease), 131 * S);
	/* Where the short form of the time begins again. */
	iso_lease_sent(&lease, 3, (((uint64_t)5 << 32) - 1) * MS);
	iso_lease_sent(&lease, 4, (((uint64_t)5 << 32) + 3) * MS + 7);
	ck_assert(iso_lease_heard(&lease, 7, 3));
	ck_assert_uint_eq(iso_lease_deadline(&lease), (((uint64_t)5 << 32) - 1) * MS + 30 * S);
	ck_assert(iso_lease_heard(&lease, 7, 4));
	ck_assert_uint_eq(iso_lease_deadline(&lease), (((uint64_t)5 << 32) + 3) * MS + 30 * S);
}
END_TEST

START_TEST(a_deadline_outlives_the_agent_but_no_start_invents_one)
{
	iso_lease_init(&params, 8, &lease);
	iso_lease_resume(&lease, 50 * S);
	ck_assert_uint_eq(iso_lease_deadline(&lease), 50 * S);
	iso_lease_resume(&lease, 40 * S);
	ck_assert_uint_eq(iso_lease_deadline(&lease), 50 * S);
	/* That none was needed then says nothing about now. */
	iso_lease_resume(&lease, UINT64_MAX);
	ck_assert_uint_eq(iso_lease_deadline(&lease), 50 * S);
	iso_lease_init(&params, 9, &lease);
	ck_assert_uint_eq(iso_lease_deadline(&lease), 0);
}
END_TEST

START_TEST(closes_when_every_promise_has_passed)
{
	/* The last message taken in, or the start, whichever is later. */
	ck_assert_uint_eq(iso_lease_close_at(&params, 100 * S, 20 * S), 132 * S);
	ck_assert_uint_eq(iso_lease_close_at(&params, 100 * S, 200 * S), 232 * S);
	ck_assert_uint_eq(iso_lease_close_at(&params, 0, 20 * S), 52 * S);
	ck_assert(!iso_lease_may_close(&params, 100 * S, 20 * S, 132 * S - 1));
	ck_assert(iso_lease_may_close(&params, 100 * S, 20 * S, 132 * S));
	ck_assert(!iso_lease_may_close(&params, 0, 20 * S, 52 * S - 1));
	ck_assert(iso_lease_may_close(&params, 0, 20 * S, 52 * S));
	ck_assert_uint_eq(iso_lease_close_at(&params, UINT64_MAX - 1, 0), UINT64_MAX);
}
END_TEST

START_TEST(without_leases_all_is_enforced_and_nothing_closed)
{
	iso_lease_init(&none, 7, &lease);
	ck_assert(iso_lease_valid(&lease, UINT64_MAX));
	ck_assert_uint_eq(iso_lease_deadline(&lease), UINT64_MAX);
	iso_lease_sent(&lease, 1, 1);
	ck_assert(!iso_lease_heard(&lease, 7, 1));
	iso_lease_resume(&lease, 5);
	ck_assert_uint_eq(iso_lease_deadline(&lease), UINT64_MAX);
	ck_assert_uint_eq(iso_lease_close_at(&none, 0, 0), UINT64_MAX);
	ck_assert(!iso_lease_may_close(&none, 0, 0, UINT64_MAX));
}
END_TEST

START_TEST(a_promise_must_outlast_its_lease)
{
	struct iso_lease_params bad = params;

	ck_assert_ok(iso_lease_check(&params));
	ck_assert_ok(iso_lease_check(&none));
	bad.promise_ns = bad.lease_ns;
	ck_assert_int_eq(iso_lease_check(&bad), ISO_E_RANGE);
	bad.promise_ns = UINT64_MAX;
	ck_assert_int_eq(iso_lease_check(&bad), ISO_E_RANGE);
	bad = params;
	bad.guard_ns = bad.lease_ns;
	ck_assert_int_eq(iso_lease_check(&bad), ISO_E_RANGE);
}
END_TEST

/*
 * Holder and granter with clocks of their own, rates within the margin of the
 * promise, messages lost and delayed: whenever the edge is closed, the lease is over.
 */
START_TEST(no_lease_outlives_the_close)
{
	for (int run = 0; run < test_runs(300); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		double rate = 0.98 + 0.04 * iso_rng_unit(&rng);
		double other = 0.98 + 0.04 * iso_rng_unit(&rng);
		double offset = 1e6 * iso_rng_unit(&rng), heard = other + offset;
		bool is_closed = false;
		const struct iso_lease_params tight = { .lease_ns = 10 * S,
							.promise_ns = 10 * S * 50 / 48 + S / 1000,
							.guard_ns = 0 };
		uint32_t seq = 0, echo = 0;

		iso_lease_init(&tight, 1, &lease);
		for (double now = 1; now < 60; now += 0.1) {
			uint64_t holder_ns = (uint64_t)(now * rate * 1e9);
			uint64_t granter_ns = (uint64_t)((now * other + offset) * 1e9);

			iso_lease_sent(&lease, ++seq, holder_ns);
			/* Before the 30th second some messages arrive, some of them late. */
			if (now < 30 && iso_rng_below(&rng, 10) == 0 && seq > 5) {
				echo = seq - (uint32_t)iso_rng_below(&rng, 5);
				heard = now * other + offset;
			}
			/* The newest answer, at any time later. */
			if (iso_rng_below(&rng, 10) == 0)
				(void)iso_lease_heard(&lease, 1, echo);
			is_closed |= now > 30 &&
				     iso_lease_may_close(&tight, (uint64_t)(heard * 1e9),
							 (uint64_t)((other + offset) * 1e9),
							 granter_ns);
			if (is_closed)
				ck_assert_msg(!iso_lease_valid(&lease, holder_ns),
					      "run %d at %.1f", run, now);
		}
		ck_assert(is_closed);
	}
}
END_TEST

START_TEST(dies_when_a_number_is_sent_twice)
{
	iso_lease_init(&params, 1, &lease);
	iso_lease_sent(&lease, 1, 1);
	iso_lease_sent(&lease, 1, 2);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("lease");
	TCase *tcase = tcase_create("both-ends");

	tcase_add_test(tcase, counts_from_when_the_message_was_sent);
	tcase_add_test(tcase, an_answer_to_nothing_renews_nothing);
	tcase_add_test(tcase, a_time_is_rounded_to_the_safe_side);
	tcase_add_test(tcase, a_deadline_outlives_the_agent_but_no_start_invents_one);
	tcase_add_test(tcase, closes_when_every_promise_has_passed);
	tcase_add_test(tcase, without_leases_all_is_enforced_and_nothing_closed);
	tcase_add_test(tcase, a_promise_must_outlast_its_lease);
	tcase_add_test(tcase, no_lease_outlives_the_close);
	tcase_add_test_raise_signal(tcase, dies_when_a_number_is_sent_twice, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
