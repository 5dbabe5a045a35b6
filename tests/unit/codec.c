/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/quant/codec.h"
#include "lib/quant/pack.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks, rows and a rest that ends within a byte. */
#define LENGTH 1550u

/* What codec_copy.h makes, beside what the machine takes. */
#define COPY(prefix)                                                                               \
	size_t prefix##_codec_encode(const struct iso_codec *codec, const float *in, size_t n,     \
				     int16_t *codes);                                              \
	void prefix##_codec_decode(const struct iso_codec *codec, const int16_t *codes, size_t n,  \
				   float *out);                                                    \
	struct iso_codec_tally prefix##_codec_tally(const struct iso_codec *codec,                 \
						    const int16_t *codes, size_t n);               \
	void prefix##_pack(const int16_t *codes, size_t n, unsigned bits, uint8_t *out);           \
	void prefix##_unpack(const uint8_t *in, size_t n, unsigned bits, int16_t *codes);
COPY(plain)
COPY(avx2)

static const struct copy {
	size_t (*encode)(const struct iso_codec *codec, const float *in, size_t n, int16_t *codes);
	void (*decode)(const struct iso_codec *codec, const int16_t *codes, size_t n, float *out);
	struct iso_codec_tally (*tally)(const struct iso_codec *codec, const int16_t *codes,
					size_t n);
	void (*pack)(const int16_t *codes, size_t n, unsigned bits, uint8_t *out);
	void (*unpack)(const uint8_t *in, size_t n, unsigned bits, int16_t *codes);
} plain = { plain_codec_encode, plain_codec_decode, plain_codec_tally, plain_pack, plain_unpack },
  avx2 = { avx2_codec_encode, avx2_codec_decode, avx2_codec_tally, avx2_pack, avx2_unpack };

/* Those that run here. */
static size_t copies(const struct copy **ret_copies)
{
	ret_copies[0] = &plain;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
		ret_copies[1] = &avx2;
		return 2;
	}
#endif
	(void)avx2;
	return 1;
}

static const float rhos[] = { 1.0f / 1024, 1.0f / 100, 1.0f / 32, 0.125f, 0.25f, 0.7f, 1, 2, 4 };
#define RHOS ((int)(sizeof(rhos) / sizeof(*rhos)))

/* In loops of millions: Check notes each of its own assertions down. */
#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("%s", #condition);                                            \
	} while (0)

#define NEED_LESS(a, b)                                                                            \
	do {                                                                                       \
		double less = (a), more = (b);                                                     \
		if (!(less <= more))                                                               \
			ck_abort_msg("%s = %g, more than %g", #a, less, more);                     \
	} while (0)

/* A level is right to 1e-5. */
#define SLACK 2e-5

static struct iso_codec log_codec(float rho, unsigned bits, float largest)
{
	struct iso_codec codec;

	ck_assert_ok(iso_codec_init_log(rho, bits, iso_codec_index(rho, largest), &codec));
	return codec;
}

START_TEST(codes_come_back_from_their_bits)
{
	const unsigned bits = (unsigned)_i;
	const int32_t half = 1 << (bits - 1);
	const struct copy *others[2];
	const size_t count = copies(others);
	struct iso_rng rng = { test_seed_base() };
	int16_t codes[LENGTH], back[LENGTH];

	for (size_t n = 0; n <= LENGTH; n += 1 + iso_rng_below(&rng, 60)) {
		size_t size = iso_pack_bytes(n, bits);
		uint8_t *packed = malloc(size + 1), *other = malloc(size + 1);

		ck_assert_uint_eq(size, (n * bits + 7) / 8);
		for (size_t i = 0; i < n; i++) {
			int32_t code = (int32_t)iso_rng_below(&rng, 2 * (uint64_t)half) - half;

			codes[i] = (int16_t)(code == -half ? ISO_PACK_ESCAPE : code);
		}
		packed[size] = other[size] = 0x5a;
		iso_pack(codes, n, bits, packed);
		ck_assert(packed[size] == 0x5a);
		ck_assert(iso_pack_is_filled(packed, n, bits));
		iso_unpack(packed, n, bits, back);
		ck_assert_mem_eq(codes, back, n * sizeof(*codes));
		for (size_t c = 0; c < count; c++) {
			others[c]->pack(codes, n, bits, other);
			ck_assert_mem_eq(packed, other, size + 1);
			others[c]->unpack(packed, n, bits, back);
			ck_assert_mem_eq(codes, back, n * sizeof(*codes));
		}
		if (n * bits % 8 != 0) {
			packed[size - 1] |= 0x80;
			ck_assert(!iso_pack_is_filled(packed, n, bits));
		}
		free(packed);
		free(other);
	}
}
END_TEST

START_TEST(the_place_of_a_code_is_that_of_the_format)
{
	const unsigned bits = (unsigned)_i;
	const size_t size = iso_pack_bytes(LENGTH, bits);
	int16_t codes[LENGTH];
	uint8_t *packed = malloc(size);

	for (size_t i = 0; i < LENGTH; i += 7) {
		size_t block = i / 512, row = i % 512 / 16, lane = i % 16;
		/* Bit 0 of the code, counted from bit 0 of the first byte. */
		size_t word = row * bits / 32 * 16 + lane;
		size_t bit = block * 512 * bits + word * 32 + row * bits % 32;

		if (i >= LENGTH / 512 * 512)
			bit = i * bits;
		memset(codes, 0, sizeof(codes));
		codes[i] = 1;
		iso_pack(codes, LENGTH, bits, packed);
		for (size_t b = 0; b < size; b++)
			NEED(packed[b] == (b == bit / 8 ? 1u << bit % 8 : 0));
	}
	free(packed);
}
END_TEST

START_TEST(log_levels_stay_in_their_sector)
{
	const float rho = rhos[_i];
	const double half = exp((double)rho / 2) * (1 + SLACK);
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(20000); run++) {
		unsigned bits = 2 + (unsigned)iso_rng_below(&rng, 15);
		float largest = (float)exp(170 * iso_rng_unit(&rng) - 85);
		const struct iso_codec codec = log_codec(rho, bits, largest);
		const double lowest =
		    exp((double)rho * (codec.index_max - codec.most + codec.lowest));
		float value =
		    largest * (float)exp(-(double)rho * codec.most * 1.2 * iso_rng_unit(&rng));
		int16_t code;
		float level;

		if (fabsf(value) < FLT_MIN)
			continue;
		if (iso_rng_below(&rng, 2) == 0)
			value = -value;
		size_t escapes = iso_codec_encode(&codec, &value, 1, &code);
		iso_codec_decode(&codec, &code, 1, &level);
		if (escapes == 1) {
			/* Below the bound of the lowest level, or where that would be. */
			NEED(code == ISO_PACK_ESCAPE);
			NEED_LESS(fabs((double)value) * half / (1 + SLACK), lowest * (1 + SLACK));
			NEED(level == 0);
			continue;
		}
		double ratio = (double)level / (double)value;
		if (ratio < 1 / half || ratio > half)
			ck_abort_msg("rho %g: %a became %a", (double)rho, (double)value,
				     (double)level);
		/* And it is one of the published levels. */
		double index = log(fabs((double)level)) / (double)rho;
		NEED_LESS(fabs(index - nearbyint(index)) * (double)rho, SLACK);
		/* Levels stay where they are. */
		int16_t again;
		(void)iso_codec_encode(&codec, &level, 1, &again);
		NEED(again == code);
	}
}
END_TEST

START_TEST(scaled_levels_err_by_tanh_of_half_rho_at_most)
{
	const float rho = rhos[_i];
	const double worst = tanh((double)rho / 2) + SLACK;
	struct iso_rng rng = { test_seed_base() };
	double seen = 0;

	for (int run = 0; run < test_runs(20000); run++) {
		unsigned bits = 2 + (unsigned)iso_rng_below(&rng, 15);
		float largest = (float)exp(170 * iso_rng_unit(&rng) - 84);
		struct iso_codec codec;
		float value = largest * (float)exp(-10 * iso_rng_unit(&rng));
		int16_t code;
		float level;

		iso_codec_init_scaled(rho, bits, largest, &codec);
		value = iso_rng_below(&rng, 2) == 0 ? -value : value;
		value = iso_rng_below(&rng, 20) == 0 ? largest : value;
		NEED(iso_codec_encode(&codec, &value, 1, &code) == 0);
		iso_codec_decode(&codec, &code, 1, &level);
		double error = fabs((double)level - (double)value);
		double bottom = (double)largest * exp(-(double)rho * codec.most);
		if (code == 0)
			NEED_LESS(fabs((double)value), bottom * (1 + SLACK));
		else
			NEED_LESS(error, worst * fabs((double)value));
		/* What makes the innovation shrink: everything is within one factor of the largest.
		 */
		NEED_LESS(error,
			  fmax(worst, exp(-(double)rho * codec.most) + SLACK) * (double)largest);
		if (code != 0)
			seen = fmax(seen, error / fabs((double)value));
	}
	/* The bound is reached, so it is not a loose one. */
	ck_assert_double_gt(seen, 0.9 * tanh((double)rho / 2));
}
END_TEST

START_TEST(uniform_levels_are_whole_steps)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(20000); run++) {
		unsigned bits = 2 + (unsigned)iso_rng_below(&rng, 15);
		float step = (float)exp(20 * iso_rng_unit(&rng) - 10);
		float value = step * (float)((iso_rng_unit(&rng) - 0.5) * 2.2 * (1 << (bits - 1)));
		struct iso_codec codec;
		int16_t code;
		float level;

		iso_codec_init_uniform(step, bits, &codec);
		size_t escapes = iso_codec_encode(&codec, &value, 1, &code);
		float exact = nearbyintf(value / step);
		NEED(escapes == (fabsf(exact) > (float)iso_pack_most(bits)));
		iso_codec_decode(&codec, &code, 1, &level);
		if (escapes == 1) {
			NEED(code == ISO_PACK_ESCAPE);
		} else {
			NEED(code == (int)exact);
			NEED(level == exact * step);
		}
	}
}
END_TEST

/* Every exponent, with mantissas at the ends and where levels change; both signs. */
static size_t corners(struct iso_rng *rng, float *ret_values)
{
	size_t n = 0;

	for (uint32_t exponent = 0; exponent < 255; exponent++) {
		uint32_t mantissa = (uint32_t)iso_rng_next(rng) & 0x7fffff;
		const uint32_t mantissas[] = { 0, 1, 0x7fffff, 0x3504f3, mantissa, mantissa + 1 };

		for (size_t k = 0; k < 6 && n < LENGTH; k++) {
			uint32_t sign = (uint32_t)iso_rng_next(rng) & 0x80000000u;

			ret_values[n++] =
			    iso_float_of_bits(sign | exponent << 23 | (mantissas[k] & 0x7fffff));
		}
	}
	return n;
}

static void compare_copy(const struct iso_codec *codec, const struct copy *copy,
			 const float *values, size_t n)
{
	int16_t codes[LENGTH], other[LENGTH];
	float out[LENGTH], other_out[LENGTH];
	struct iso_codec_tally tally, other_tally;
	struct iso_rng rng = { n };

	ck_assert_uint_eq(iso_codec_encode(codec, values, n, codes),
			  copy->encode(codec, values, n, other));
	ck_assert_mem_eq(codes, other, n * sizeof(*codes));
	iso_codec_decode(codec, codes, n, out);
	copy->decode(codec, codes, n, other_out);
	ck_assert_mem_eq(out, other_out, n * sizeof(*out));
	tally = iso_codec_tally(codec, codes, n);
	other_tally = copy->tally(codec, codes, n);
	ck_assert(tally.is_valid);
	ck_assert(other_tally.is_valid);
	ck_assert_uint_eq(tally.escapes, other_tally.escapes);
	/* Codes from outside: any at all. */
	for (size_t i = 0; i < n; i++)
		codes[i] = (int16_t)iso_rng_next(&rng);
	iso_codec_decode(codec, codes, n, out);
	copy->decode(codec, codes, n, other_out);
	ck_assert_mem_eq(out, other_out, n * sizeof(*out));
	tally = iso_codec_tally(codec, codes, n);
	other_tally = copy->tally(codec, codes, n);
	ck_assert(tally.is_valid == other_tally.is_valid);
	ck_assert_uint_eq(tally.escapes, other_tally.escapes);
}

static void compare_paths(const struct iso_codec *codec, const float *values, size_t n)
{
	const struct copy *others[2];
	const size_t count = copies(others);
	int16_t codes[LENGTH];
	float out[LENGTH];

	for (size_t c = 0; c < count; c++)
		compare_copy(codec, others[c], values, n);
	/* One by one: the rest of a vectorised loop is code of its own. */
	(void)iso_codec_encode(codec, values, n, codes);
	iso_codec_decode(codec, codes, n, out);
	for (size_t i = 0; i < n; i++) {
		int16_t code;
		float value;

		(void)iso_codec_encode(codec, values + i, 1, &code);
		iso_codec_decode(codec, &code, 1, &value);
		NEED(code == codes[i]);
		NEED(memcmp(&value, out + i, sizeof(value)) == 0);
	}
}

START_TEST(every_path_gives_the_same_bits)
{
	const float rho = rhos[_i];
	struct iso_rng rng = { test_seed_base() };
	float values[LENGTH];

	for (int run = 0; run < test_runs(20); run++) {
		size_t n = corners(&rng, values) - iso_rng_below(&rng, 40);
		unsigned bits = 2 + (unsigned)iso_rng_below(&rng, 15);
		float largest = iso_float_of_bits((uint32_t)iso_rng_below(&rng, 0x7f800000));
		struct iso_codec codec = log_codec(rho, bits, largest);

		compare_paths(&codec, values, n);
		iso_codec_init_scaled(rho, bits, largest, &codec);
		for (size_t i = 0; i < n; i++)
			values[i] = fabsf(values[i]) <= largest ? values[i] : largest;
		compare_paths(&codec, values, n);
		if (largest < FLT_MIN)
			continue;
		iso_codec_init_uniform(largest, bits, &codec);
		compare_paths(&codec, values, n);
	}
}
END_TEST

START_TEST(it_is_odd_and_monotone_over_all_exponents)
{
	const float rho = rhos[_i];
	const struct iso_codec codec = log_codec(rho, 16, FLT_MAX);
	float before = 0;

	for (uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 0x4321) {
		float value = iso_float_of_bits(bits), minus = -value, level, minus_level;
		int16_t code, minus_code;
		size_t escapes = iso_codec_encode(&codec, &value, 1, &code);

		NEED(iso_codec_encode(&codec, &minus, 1, &minus_code) == escapes);
		if (escapes == 1)
			continue;
		iso_codec_decode(&codec, &code, 1, &level);
		iso_codec_decode(&codec, &minus_code, 1, &minus_level);
		NEED(level == -minus_level);
		NEED(isfinite(level));
		NEED(level >= FLT_MIN);
		NEED(level >= before);
		before = level;
	}
}
END_TEST

START_TEST(corners_do_what_the_header_says)
{
	const float small[] = { 0, -0.0f, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN };
	struct iso_codec codec = log_codec(0.25f, 8, 1);
	int16_t codes[5];
	float out[5];

	ck_assert_uint_eq(iso_codec_encode(&codec, small, 5, codes), 3);
	ck_assert_int_eq(codes[0], 0);
	ck_assert_int_eq(codes[1], 0);
	for (int i = 2; i < 5; i++)
		ck_assert_int_eq(codes[i], ISO_PACK_ESCAPE);
	iso_codec_decode(&codec, codes, 5, out);
	for (int i = 0; i < 5; i++)
		ck_assert(out[i] == 0);
	/* The highest takes in what is above it. */
	const float large = 1.5f;
	ck_assert_uint_eq(iso_codec_encode(&codec, &large, 1, codes), 0);
	ck_assert_int_eq(codes[0], 127);
	iso_codec_decode(&codec, codes, 1, out);
	ck_assert(out[0] == 1);
	/* Nothing is above the largest, and nothing of a vector of nothing. */
	iso_codec_init_scaled(1, 4, 0, &codec);
	ck_assert(codec.to_value == 0);
	ck_assert_uint_eq(iso_codec_encode(&codec, small, 2, codes), 0);
	ck_assert_int_eq(codes[0], 0);
	ck_assert(iso_codec_tally(&codec, codes, 2).is_valid);
	codes[1] = 1;
	ck_assert(!iso_codec_tally(&codec, codes, 2).is_valid);
	/* Too small for a reciprocal: all zero. */
	iso_codec_init_scaled(1, 4, FLT_MIN, &codec);
	ck_assert_uint_eq(iso_codec_encode(&codec, small, 5, codes), 0);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(codes[i], 0);
	/* The lowest index is that of a normal float. */
	ck_assert_int_eq(iso_codec_index(1, FLT_TRUE_MIN), -86);
	ck_assert_int_eq(iso_codec_index(1, FLT_MAX), 88);
	ck_assert_int_eq(iso_codec_index(1, 0), 0);
}
END_TEST

START_TEST(parameters_out_of_range_are_refused)
{
	struct iso_codec codec, before;

	memset(&codec, 0x5a, sizeof(codec));
	before = codec;
	ck_assert_int_eq(iso_codec_init_log(NAN, 8, 0, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_log(0, 8, 0, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_log(4.1f, 8, 0, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_log(1, 8, 89, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_log(1, 8, -87, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_log(1, 8, INT32_MIN, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_scale(5, 8, 1, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_scale(1, 8, -1, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_scale(1, 8, NAN, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_scale(1, 8, INFINITY, &codec), ISO_E_RANGE);
	ck_assert_int_eq(iso_codec_init_scale(1, 8, FLT_MIN / 2, &codec), ISO_E_RANGE);
	ck_assert_mem_eq(&codec, &before, sizeof(codec));
	ck_assert_ok(iso_codec_init_log(1, 8, -86, &codec));
	ck_assert_ok(iso_codec_init_log(1, 8, 88, &codec));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("codec");
	TCase *tcase = tcase_create("codec");

	tcase_add_loop_test(tcase, codes_come_back_from_their_bits, 2, 17);
	tcase_add_loop_test(tcase, the_place_of_a_code_is_that_of_the_format, 2, 17);
	tcase_add_loop_test(tcase, log_levels_stay_in_their_sector, 0, RHOS);
	tcase_add_loop_test(tcase, scaled_levels_err_by_tanh_of_half_rho_at_most, 0, RHOS);
	tcase_add_test(tcase, uniform_levels_are_whole_steps);
	tcase_add_loop_test(tcase, every_path_gives_the_same_bits, 0, RHOS);
	tcase_add_loop_test(tcase, it_is_odd_and_monotone_over_all_exponents, 0, RHOS);
	tcase_add_test(tcase, corners_do_what_the_header_says);
	tcase_add_test(tcase, parameters_out_of_range_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
