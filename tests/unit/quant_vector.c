/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/quant/quant_vector.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float rhos[] = { 1.0f / 1024, 1.0f / 128, 1.0f / 32, 0.1f, 0.25f, 1, 3, 8 };
#define RHOS (sizeof(rhos) / sizeof(*rhos))

/* The whole range, or as much as there are codes. */
static struct iso_quant_vector make(float rho)
{
	struct iso_quant_vector quant;

	ck_assert_ok(iso_quant_vector_init(rho, 0, 0, &quant));
	return quant;
}

static float one(const struct iso_quant_vector *quant, float value)
{
	float out;

	(void)iso_quant_vector_apply(quant, &value, 1, &out);
	return out;
}

/* A float of any finite bit pattern, or with a given exponent. */
static float random_float(struct iso_rng *rng, int exponent)
{
	uint32_t bits = (uint32_t)iso_rng_next(rng);
	float value;

	bits = (bits & 0x807fffffu) | (uint32_t)exponent << 23;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

START_TEST(every_exponent_stays_in_its_sector)
{
	const struct iso_quant_vector quant = make(rhos[_i]);
	const double rho = (double)rhos[_i];
	const double bottom = exp(rho * (quant.index_min - 0.5));
	const double top = exp(rho * (quant.index_max + 0.5));
	/* The rounded quotient is right to 2/16384, the value to a few units in its last place. */
	const double slack = 1 + rho * 2 / 16384 + 1e-6;
	struct iso_rng rng = { test_seed_base() };
	int inside = 0;

	for (int exponent = 0; exponent < 255; exponent++) {
		for (int k = 0; k < 60; k++) {
			float value = random_float(&rng, exponent), q = one(&quant, value);
			double ratio = (double)q / (double)value;

			if (value == 0)
				continue;
			if (fabs((double)value) < bottom / slack) {
				ck_assert_msg(q == 0, "%a became %a", (double)value, (double)q);
			} else if (fabs((double)value) > top) {
				ck_assert_msg(ratio > 0 && ratio < 1, "%a became %a", (double)value,
					      (double)q);
			} else if (fabs((double)value) > bottom * slack) {
				inside++;
				ck_assert_msg(ratio <= exp(rho / 2) * slack &&
						      ratio >= exp(-rho / 2) / slack,
					      "%a became %a", (double)value, (double)q);
			}
		}
	}
	ck_assert_int_gt(inside, 1000);
}
END_TEST

START_TEST(indices_are_those_of_the_definition)
{
	const struct iso_quant_vector quant = make(rhos[_i]);
	const double rho = (double)rhos[_i];
	struct iso_rng rng = { test_seed_base() };

	for (int k = 0; k < 6000; k++) {
		float value = (float)exp(rho * quant.index_max * (2 * iso_rng_unit(&rng) - 1));
		double exact = log((double)value) / rho;
		int16_t code;

		(void)iso_quant_vector_encode(&quant, &value, 1, &code);
		double index = code + quant.index_min - 1;
		ck_assert_double_le(fabs(exact - index), 0.5 + 2.0 / 16384);
		float out;
		iso_quant_vector_decode(&quant, &code, 1, &out);
		ck_assert_double_le(fabs((double)out / exp(rho * index) - 1), 3e-7);
	}
}
END_TEST

/* Long enough for every width of register and its remainder. */
#define LENGTH 1037

/* The same source for the machine's plainest registers, see quant_plain.c. */
size_t plain_quant_vector_apply(const struct iso_quant_vector *quant, const float *in, size_t n,
				float *out);

START_TEST(every_path_gives_the_same_bits)
{
	const struct iso_quant_vector quant = make(rhos[_i]);
	struct iso_rng rng = { test_seed_base() };
	static float in[LENGTH], together[LENGTH], single[LENGTH], decoded[LENGTH];
	static int16_t codes[LENGTH];
	size_t strange = 0;

	for (int run = 0; run < 40; run++) {
		for (int i = 0; i < LENGTH; i++) {
			in[i] = random_float(&rng, (int)iso_rng_below(&rng, 256));
			strange += isfinite(in[i]) ? 0 : 1;
		}
		size_t counted = iso_quant_vector_apply(&quant, in, LENGTH, together);
		size_t again = 0;
		for (int i = 0; i < LENGTH; i++)
			again += iso_quant_vector_apply(&quant, in + i, 1, single + i);
		ck_assert_mem_eq(together, single, sizeof(together));
		ck_assert_uint_eq(plain_quant_vector_apply(&quant, in, LENGTH, single), counted);
		ck_assert_mem_eq(together, single, sizeof(together));
		ck_assert_uint_eq(counted, again);
		strange -= counted;
		ck_assert_uint_eq(iso_quant_vector_encode(&quant, in, LENGTH, codes), counted);
		iso_quant_vector_decode(&quant, codes, LENGTH, decoded);
		ck_assert_mem_eq(together, decoded, sizeof(together));
		/* In place, and from an odd address. */
		(void)iso_quant_vector_apply(&quant, in + 1, LENGTH - 1, in + 1);
		ck_assert_mem_eq(in + 1, together + 1, sizeof(in) - sizeof(in[0]));
	}
	ck_assert_uint_eq(strange, 0);
}
END_TEST

START_TEST(it_is_odd_monotone_and_changes_nothing_twice)
{
	const struct iso_quant_vector quant = make(rhos[_i]);
	struct iso_rng rng = { test_seed_base() };

	for (int k = 0; k < 4000; k++) {
		float a = random_float(&rng, (int)iso_rng_below(&rng, 255));
		float b = random_float(&rng, (int)iso_rng_below(&rng, 255));

		ck_assert(one(&quant, -a) == -one(&quant, a));
		if (a < b)
			ck_assert(one(&quant, a) <= one(&quant, b));
		ck_assert(one(&quant, one(&quant, a)) == one(&quant, a));
	}
	/* Neighbouring floats around 1, across all the mantissas' corners. */
	float before = one(&quant, 0.4f);
	for (float v = 0.4f; v < 2.5f; v = nextafterf(v * 1.0001f, INFINITY)) {
		ck_assert(one(&quant, v) >= before);
		before = one(&quant, v);
	}
}
END_TEST

START_TEST(corners_do_what_the_header_says)
{
	struct iso_quant_vector quant;
	const float strange[] = { NAN, INFINITY, -INFINITY, -NAN };
	const float small[] = { 0, -0.0f, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN / 2 };
	float out[5];
	int16_t codes[5];

	ck_assert_ok(iso_quant_vector_init(0.25f, -20, 30, &quant));
	ck_assert_uint_eq(iso_quant_vector_apply(&quant, strange, 4, out), 4);
	ck_assert(out[0] == 0);
	ck_assert(out[1] == one(&quant, FLT_MAX));
	ck_assert(out[2] == one(&quant, -FLT_MAX));
	ck_assert_double_eq_tol((double)out[1], exp(7.5), exp(7.5) * 3e-7);
	ck_assert_uint_eq(iso_quant_vector_encode(&quant, strange, 4, codes), 4);
	ck_assert_int_eq(codes[0], 0);
	ck_assert_int_eq(codes[1], 51);
	ck_assert_int_eq(codes[2], -51);
	ck_assert_uint_eq(iso_quant_vector_apply(&quant, small, 5, out), 0);
	for (int i = 0; i < 5; i++)
		ck_assert(out[i] == 0);
	/* Just below and above the lowest bin, whose middle is exp(-5). */
	ck_assert(one(&quant, (float)exp(-5.13)) == 0);
	ck_assert_double_eq_tol((double)one(&quant, (float)exp(-5.12)), exp(-5), 1e-8);
	/* Codes from outside. */
	const int16_t foreign[5] = { 52, -32768, 32767, 1, 0 };
	iso_quant_vector_decode(&quant, foreign, 5, out);
	ck_assert(out[0] == one(&quant, FLT_MAX));
	ck_assert(out[1] == -out[0]);
	ck_assert(out[2] == out[0]);
	ck_assert_double_eq_tol((double)out[3], exp(-5), 1e-8);
	ck_assert(out[4] == 0);
}
END_TEST

/* The bottom of the range is the smallest normal float: some denormals round up into it. */
START_TEST(denormals_that_round_up_are_kept)
{
	struct iso_quant_vector quant;

	ck_assert_ok(iso_quant_vector_init(1, -87, 88, &quant));
	/* exp(-87) is 1.4 FLT_MIN, and its bin reaches down to 0.85 FLT_MIN. */
	ck_assert_double_eq_tol((double)one(&quant, 0.9f * FLT_MIN) / exp(-87), 1, 3e-7);
	ck_assert_double_eq_tol((double)one(&quant, -0.9f * FLT_MIN) / exp(-87), -1, 3e-7);
	ck_assert(one(&quant, 0.8f * FLT_MIN) == 0);
	ck_assert(isfinite(one(&quant, FLT_MAX)));
}
END_TEST

START_TEST(ranges_that_make_no_sense_are_refused)
{
	struct iso_quant_vector quant, before;

	memset(&quant, 0x5a, sizeof(quant));
	before = quant;
	ck_assert_int_eq(iso_quant_vector_init(NAN, 0, 0, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(0, 0, 0, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(9, 0, 0, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(1, 5, 5, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(1, -88, 10, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(1, -10, 89, &quant), ISO_E_RANGE);
	ck_assert_int_eq(iso_quant_vector_init(1.0f / 1024, -20000, 20000, &quant), ISO_E_RANGE);
	ck_assert_mem_eq(&quant, &before, sizeof(quant));
	ck_assert_ok(iso_quant_vector_init(1.0f / 1024, -16383, 16383, &quant));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("quant_vector");
	TCase *tcase = tcase_create("log quantiser");

	tcase_add_loop_test(tcase, every_exponent_stays_in_its_sector, 0, (int)RHOS);
	tcase_add_loop_test(tcase, indices_are_those_of_the_definition, 0, (int)RHOS);
	tcase_add_loop_test(tcase, every_path_gives_the_same_bits, 0, (int)RHOS);
	tcase_add_loop_test(tcase, it_is_odd_monotone_and_changes_nothing_twice, 0, (int)RHOS);
	tcase_add_test(tcase, corners_do_what_the_header_says);
	tcase_add_test(tcase, denormals_that_round_up_are_kept);
	tcase_add_test(tcase, ranges_that_make_no_sense_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
