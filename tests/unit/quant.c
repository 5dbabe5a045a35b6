/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/quant/quant.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "tests/test.h"

static struct iso_quant quant;

static void use(uint32_t rho_q16)
{
	ck_assert_ok(iso_quant_init(rho_q16, &quant));
}

static int64_t q(int64_t value)
{
	int64_t result;

	ck_assert_ok(iso_quant_value(&quant, iso_quant_symbol(&quant, value), &result));
	return result;
}

/* Every magnitude is as likely as any other. */
static int64_t any_value(struct iso_rng *rng)
{
	int64_t value = (int64_t)(iso_rng_next(rng) >> (2 + iso_rng_below(rng, 55)));

	return iso_rng_below(rng, 2) == 0 ? value : -value;
}

static const uint32_t rhos[] = { 2048, 4096, 8192, 16384, 32768, 65536, 131072, 12345 };
#define RHOS (sizeof(rhos) / sizeof(rhos[0]))

START_TEST(levels_follow_the_formula)
{
	for (size_t n = 0; n < RHOS; n++) {
		double rho = rhos[n] / 65536.0;
		uint32_t one = 0;

		use(rhos[n]);
		while (quant.level[one] != ISO_PRICE_ONE)
			ck_assert_uint_lt(one++, quant.levels);
		/* The last level may be cut to the range; the others are e^(rho k) to half a unit.
		 */
		for (uint32_t k = 1; k < quant.levels; k++) {
			double exact = exp(rho * ((double)k - one)) * 0x1p32;
			double half = exp(rho * ((double)k - one + 0.5)) * 0x1p32;

			ck_assert_double_le(fabs((double)quant.level[k] - exact),
					    0.5 + 1e-12 * exact);
			ck_assert_double_le(fabs((double)quant.bound[k + 1] - half),
					    k + 1 < quant.levels ? 0.5 + 1e-12 * half : 1e30);
		}
		ck_assert_int_ge(quant.level[1], 64);
	}
}
END_TEST

START_TEST(stays_in_its_sector)
{
	struct iso_rng rng = { test_seed_base() };

	for (size_t n = 0; n < RHOS; n++) {
		double up = exp(rhos[n] / 131072.0);

		use(rhos[n]);
		for (int i = 0; i < test_runs(20000); i++) {
			int64_t v = any_value(&rng);
			double ratio = (double)q(v) / (double)v;
			/* One unit for the rounding of levels and of bounds. */
			double slack = 1.0 / fabs((double)v) * (1 + up);

			if (v == 0 || q(v) == 0) {
				ck_assert_int_lt(v < 0 ? -v : v, quant.bound[1]);
				continue;
			}
			/* The last level covers a part of a sector only; it is inside of it too. */
			ck_assert_double_le(ratio, up + slack);
			ck_assert_double_ge(ratio, 1 / up - slack);
		}
	}
}
END_TEST

START_TEST(is_odd_and_monotone)
{
	struct iso_rng rng = { test_seed_base() };

	for (size_t n = 0; n < RHOS; n++) {
		use(rhos[n]);
		for (int i = 0; i < test_runs(20000); i++) {
			int64_t a = any_value(&rng), b = any_value(&rng);

			ck_assert_int_eq(q(-a), -q(a));
			ck_assert_int_eq(iso_quant_symbol(&quant, -a),
					 -iso_quant_symbol(&quant, a));
			if (a <= b)
				ck_assert_int_le(q(a), q(b));
			if (a <= b)
				ck_assert_int_le(iso_quant_symbol(&quant, a),
						 iso_quant_symbol(&quant, b));
			/* What is a level already stays. */
			ck_assert_int_eq(q(q(a)), q(a));
		}
	}
}
END_TEST

START_TEST(is_covariant_with_its_scale)
{
	struct iso_rng rng = { test_seed_base() };
	double factor = exp(0.25);

	use(ISO_QUANT_RHO_DEFAULT);
	for (int i = 0; i < test_runs(20000); i++) {
		/* Large enough for rounding not to matter, away from the ends. */
		int64_t v = ((int64_t)1 << 20) + (int64_t)(iso_rng_next(&rng) >> 8);
		int16_t symbol = iso_quant_symbol(&quant, v);
		int16_t scaled = iso_quant_symbol(&quant, (int64_t)((double)v * factor));

		if (v == quant.bound[symbol] || v + 1 == quant.bound[symbol + 1])
			continue;
		ck_assert_int_eq(scaled, symbol + 1);
	}
}
END_TEST

START_TEST(intervals_are_exact)
{
	struct iso_quant_interval interval, previous = { 0, 0 };

	for (size_t n = 0; n < RHOS; n++) {
		use(rhos[n]);
		for (int32_t k = -(int32_t)quant.levels; k <= (int32_t)quant.levels; k++) {
			ck_assert_ok(iso_quant_interval(&quant, (int16_t)k, &interval));
			ck_assert_int_eq(iso_quant_symbol(&quant, interval.low), k);
			ck_assert_int_eq(iso_quant_symbol(&quant, interval.high), k);
			if (k > -(int32_t)quant.levels)
				ck_assert_int_eq(interval.low, previous.high + 1);
			previous = interval;
		}
		ck_assert_int_eq(previous.high, (int64_t)1 << 62);
	}
}
END_TEST

START_TEST(zero_is_reserved)
{
	struct iso_quant_interval interval;
	int64_t value = 5;

	use(ISO_QUANT_RHO_DEFAULT);
	ck_assert_int_eq(iso_quant_symbol(&quant, 0), 0);
	ck_assert_ok(iso_quant_value(&quant, 0, &value));
	ck_assert_int_eq(value, 0);
	ck_assert_ok(iso_quant_interval(&quant, 0, &interval));
	ck_assert_int_eq(interval.low, -interval.high);
	ck_assert_int_eq(iso_quant_symbol(&quant, interval.high + 1), 1);
}
END_TEST

START_TEST(refuses_what_is_out_of_range)
{
	static struct iso_quant untouched, poison;
	struct iso_quant_interval interval = { 1, 2 };
	int64_t value = 5;

	memset(&poison, 0xa5, sizeof(poison));
	untouched = poison;
	ck_assert_int_eq(iso_quant_init(ISO_QUANT_RHO_MIN - 1, &untouched), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_init(ISO_QUANT_RHO_MAX + 1, &untouched), ISO_E_RANGE);
	ck_assert_mem_eq(&untouched, &poison, sizeof(poison));
	use(ISO_QUANT_RHO_DEFAULT);
	ck_assert_int_eq(iso_quant_value(&quant, (int16_t)(quant.levels + 1), &value),
			 ISO_E_UNKNOWN);
	ck_assert_int_eq(iso_quant_value(&quant, INT16_MIN, &value), ISO_E_UNKNOWN);
	ck_assert_int_eq(iso_quant_interval(&quant, INT16_MAX, &interval), ISO_E_UNKNOWN);
	ck_assert_int_eq(value, 5);
	ck_assert_int_eq(interval.low, 1);
}
END_TEST

START_TEST(tables_are_the_same_everywhere)
{
	/* Built from integers, so these digests hold on every machine and for every release. */
	use(ISO_QUANT_RHO_DEFAULT);
	ck_assert_uint_eq(quant.levels, 156);
	ck_assert_int_eq(quant.level[1], 65);
	ck_assert_uint_eq(quant.digest, 0x1ac796b18227a8f0u);
	uint64_t quarter = quant.digest;
	use(ISO_QUANT_RHO_MIN);
	ck_assert_uint_le(quant.levels, ISO_QUANT_LEVELS_MAX);
	ck_assert_uint_eq(quant.digest, 0xa44d4204e898ba98u);
	ck_assert_uint_ne(quant.digest, quarter);
}
END_TEST

START_TEST(dies_of_a_value_beyond_a_difference)
{
	use(ISO_QUANT_RHO_DEFAULT);
	iso_quant_symbol(&quant, ((int64_t)1 << 62) + 1);
}
END_TEST

START_TEST(prices_are_clamped)
{
	ck_assert_int_eq(iso_price_of_real(1), ISO_PRICE_ONE);
	ck_assert_int_eq(iso_price_of_real(-0.5), -ISO_PRICE_ONE / 2);
	ck_assert_int_eq(iso_price_of_real(1e30), ISO_PRICE_MAX);
	ck_assert_int_eq(iso_price_of_real(-INFINITY), -ISO_PRICE_MAX);
	ck_assert_int_eq(iso_price_of_real(NAN), 0);
	ck_assert_int_eq(iso_price_clamp(INT64_MAX), ISO_PRICE_MAX);
	ck_assert_int_eq(iso_price_clamp(INT64_MIN), -ISO_PRICE_MAX);
	ck_assert_int_eq(iso_price_clamp(7), 7);
	ck_assert_double_eq(iso_price_real(3 * ISO_PRICE_ONE), 3);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("quant");
	TCase *tcase = tcase_create("table");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, levels_follow_the_formula);
	tcase_add_test(tcase, stays_in_its_sector);
	tcase_add_test(tcase, is_odd_and_monotone);
	tcase_add_test(tcase, is_covariant_with_its_scale);
	tcase_add_test(tcase, intervals_are_exact);
	tcase_add_test(tcase, zero_is_reserved);
	tcase_add_test(tcase, refuses_what_is_out_of_range);
	tcase_add_test(tcase, tables_are_the_same_everywhere);
	tcase_add_test(tcase, prices_are_clamped);
	tcase_add_test_raise_signal(tcase, dies_of_a_value_beyond_a_difference, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
