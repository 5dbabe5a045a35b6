/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/speeds.h"

#include <math.h>
#include <stdlib.h>

#include "tests/test.h"

static struct iso_speeds *make(const struct iso_speeds_config *config)
{
	size_t bytes = iso_speeds_size(config);
	void *memory = malloc(bytes);
	struct iso_speeds *speeds;

	ck_assert_uint_gt(bytes, 0);
	ck_assert_ptr_nonnull(memory);
	ck_assert_int_eq(iso_speeds_init(memory, bytes - 1, config, &speeds), ISO_E_SHORT);
	ck_assert_ok(iso_speeds_init(memory, bytes, config, &speeds));
	return speeds;
}

START_TEST(changes_come_in_their_order)
{
	static const struct iso_speed_change changes[] = {
		{ ISO_SPEED_SPEED, 2, 1, 2, 0.125 },
		{ ISO_SPEED_JOIN, 3, 3, 3, 0 },
		{ ISO_SPEED_LEAVE, 3, 0, 0, 0 },
		{ ISO_SPEED_SHARE, 7, 0, 0, 2 },
		{ ISO_SPEED_LEAVE, 8, 3, 3, 0 },
	};
	struct iso_speeds *speeds = make(&(struct iso_speeds_config){
	    .workers = 4, .share = 1, .changes = changes, .change_count = 5 });

	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(iso_speeds_of(speeds, i).present, i != 3);
	ck_assert_double_eq(iso_speeds_next_s(speeds), 2);
	ck_assert_uint_eq(iso_speeds_step(speeds), 1);
	ck_assert_double_eq(iso_speeds_of(speeds, 1).speed, 0.125);
	ck_assert_double_eq(iso_speeds_of(speeds, 2).speed, 1);
	ck_assert_double_eq(iso_speeds_next_s(speeds), 2);
	ck_assert_uint_eq(iso_speeds_step(speeds), 2);
	ck_assert_double_eq(iso_speeds_next_s(speeds), 3);
	ck_assert_uint_eq(iso_speeds_step(speeds), 3);
	ck_assert(iso_speeds_of(speeds, 3).present);
	ck_assert_uint_eq(iso_speeds_step(speeds), 0);
	ck_assert(!iso_speeds_of(speeds, 0).present);
	ck_assert_double_eq(iso_speeds_next_s(speeds), 7);
	ck_assert_uint_eq(iso_speeds_step(speeds), 0);
	ck_assert_double_eq(iso_speeds_of(speeds, 0).share, 2);
	ck_assert_uint_eq(iso_speeds_step(speeds), 3);
	ck_assert(iso_speeds_next_s(speeds) == HUGE_VAL);
	free(speeds);
}
END_TEST

START_TEST(moving_shares_keep_their_sum_and_their_bounds)
{
	struct iso_speeds_config config = { .workers = 7,
					    .share = 1,
					    .every_s = 5,
					    .share_least = 0.25,
					    .share_most = 3,
					    .seed = test_seed_base() };
	struct iso_speeds *speeds = make(&config);
	double least = 1, most = 1;

	for (uint32_t move = 1; move <= 200; move++) {
		unsigned seen = 0;
		double sum = 0;

		for (uint32_t i = 0; i < 7; i++) {
			ck_assert_double_eq(iso_speeds_next_s(speeds), 5.0 * move);
			seen |= 1u << iso_speeds_step(speeds);
		}
		ck_assert_uint_eq(seen, 0x7f);
		for (uint32_t i = 0; i < 7; i++) {
			double share = iso_speeds_of(speeds, i).share;

			ck_assert(share >= 0.25 && share <= 3);
			least = fmin(least, share);
			most = fmax(most, share);
			sum += share;
		}
		ck_assert_double_eq_tol(sum, 7, 1e-9);
	}
	ck_assert_double_lt(least, 0.4);
	ck_assert_double_gt(most, 1.9);
	free(speeds);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	struct iso_speed_change changes[2] = { { ISO_SPEED_SPEED, 2, 0, 0, 1 },
					       { ISO_SPEED_SPEED, 3, 0, 0, 1 } };
	const struct iso_speeds_config good = { .workers = 2,
						.share = 1,
						.changes = changes,
						.change_count = 2,
						.every_s = 1,
						.share_least = 0.5,
						.share_most = 2 };
	struct iso_speeds_config bad = good;

	ck_assert_uint_gt(iso_speeds_size(&bad), 0);
	bad.workers = 0;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	bad = good;
	bad.share = 3;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	bad = good;
	bad.share_least = 0;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	bad = good;
	bad.every_s = -1;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	bad = good;
	changes[1].at_s = 1;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	changes[1].at_s = 3;
	changes[1].last = 2;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	changes[1].last = 0;
	changes[1].value = -1;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
	changes[1].value = 0; /* a worker may stand still, but no share is 0 */
	ck_assert_uint_gt(iso_speeds_size(&bad), 0);
	changes[1].kind = ISO_SPEED_SHARE;
	ck_assert_uint_eq(iso_speeds_size(&bad), 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("speeds");
	TCase *tcase = tcase_create("changes");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, changes_come_in_their_order);
	tcase_add_test(tcase, moving_shares_keep_their_sum_and_their_bounds);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
