/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/quant/stream.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More than two blocks, and a rest. */
#define N_MAX 1300u

static const struct iso_stream_config configs[] = {
	{ .mode = ISO_STREAM_NONE, .n = N_MAX },
	{ .mode = ISO_STREAM_SINGLE, .n = 7 },
	{ .mode = ISO_STREAM_UNIFORM, .n = N_MAX, .bits = 8, .step = 0.05 },
	{ .mode = ISO_STREAM_UNIFORM, .n = 513, .bits = 16, .step = 1e-3 },
	{ .mode = ISO_STREAM_UNIFORM, .n = 1, .bits = 2, .step = 1 },
	{ .mode = ISO_STREAM_LOG, .n = N_MAX, .bits = 8, .rho = 0.125 },
	{ .mode = ISO_STREAM_LOG, .n = 511, .bits = 12, .rho = 1.0 / 32, .coarser = 5 },
	{ .mode = ISO_STREAM_LOG, .n = 1024, .bits = 2, .rho = 2 },
	{ .mode = ISO_STREAM_LOG, .n = 17, .bits = 16, .rho = 1.0 / 1024 },
	{ .mode = ISO_STREAM_INNOVATION, .n = N_MAX, .bits = 4, .rho = 0.5 },
	{ .mode = ISO_STREAM_INNOVATION, .n = 785, .bits = 5, .rho = 0.25, .coarser = 2 },
	{ .mode = ISO_STREAM_INNOVATION, .n = 512, .bits = 2, .rho = 0.875 },
	{ .mode = ISO_STREAM_INNOVATION, .n = 3, .bits = 16, .rho = 1.0 / 1024 },
};
#define CONFIGS ((int)(sizeof(configs) / sizeof(*configs)))

/* Values of both signs over some decades, with zeros among them. */
static void draw(struct iso_rng *rng, size_t n, double decades, double *ret_values)
{
	for (size_t i = 0; i < n; i++) {
		double size = exp(-2.302585 * decades * iso_rng_unit(rng));

		ret_values[i] = (iso_rng_unit(rng) - 0.5) * size;
		if (iso_rng_below(rng, 20) == 0)
			ret_values[i] = 0;
	}
}

START_TEST(both_ends_and_the_short_cut_hold_the_same_bits)
{
	const struct iso_stream_config *config = &configs[_i];
	const size_t bytes = config->n * sizeof(double);
	static double values[N_MAX], sender[N_MAX], receiver[N_MAX], simulated[N_MAX];
	struct iso_rng rng = { test_seed_base() };

	ck_assert_ok(iso_stream_check(config));
	for (int run = 0; run < test_runs(20); run++) {
		memset(sender, 0, sizeof(sender));
		memset(receiver, 0, sizeof(receiver));
		memset(simulated, 0, sizeof(simulated));
		for (int round = 0; round < 5; round++) {
			uint8_t *payload = malloc(iso_stream_bytes_max(config));
			double decades = (double)iso_rng_below(&rng, 12);

			draw(&rng, config->n, decades, values);
			size_t size = iso_stream_encode(config, values, sender, payload);
			ck_assert_uint_ge(size, ISO_STREAM_HEAD_BYTES);
			/* At its exact size, so that a sanitizer sees who reads further. */
			payload = realloc(payload, size);
			ck_assert_ok(iso_stream_decode(config, payload, size, receiver));
			ck_assert_mem_eq(sender, receiver, bytes);
			ck_assert_uint_eq(iso_stream_apply(config, values, simulated), 8 * size);
			ck_assert_mem_eq(sender, simulated, bytes);
			free(payload);
		}
	}
}
END_TEST

/* How far any component of the estimate is from its value, against the largest value. */
static double worst_error(const double *values, const double *estimate, size_t n)
{
	double worst = 0, largest = 0;

	for (size_t i = 0; i < n; i++) {
		worst = fmax(worst, fabs(values[i] - estimate[i]));
		largest = fmax(largest, fabs(values[i]));
	}
	return worst / largest;
}

START_TEST(errors_are_those_of_the_mode)
{
	const struct iso_stream_config *config = &configs[_i];
	static double values[N_MAX], estimate[N_MAX];
	const double half = exp(config->rho * (1u << config->coarser) / 2) * (1 + 2e-5);
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(20); run++) {
		draw(&rng, config->n, 3, values);
		draw(&rng, config->n, 3, estimate);
		if (config->mode == ISO_STREAM_INNOVATION)
			continue;
		ck_assert_uint_gt(iso_stream_apply(config, values, estimate), 0);
		for (size_t i = 0; i < config->n; i++) {
			double v = values[i], q = estimate[i];
			bool is_right = false;

			switch (config->mode) {
			case ISO_STREAM_NONE: is_right = q == v; break;
			case ISO_STREAM_SINGLE: is_right = q == (double)(float)v; break;
			case ISO_STREAM_UNIFORM:
				is_right = fabs(q - v) <= config->step / 2 * (1 + 1e-5);
				break;
			case ISO_STREAM_LOG:
			case ISO_STREAM_INNOVATION:
				is_right = v == 0 ? q == 0 : q / v <= half && q / v >= 1 / half;
				break;
			}
			if (!is_right)
				ck_abort_msg("%a became %a", v, q);
		}
	}
}
END_TEST

START_TEST(innovations_shrink_by_what_the_header_says)
{
	const struct iso_stream_config *config = &configs[_i];
	static double values[N_MAX], estimate[N_MAX];
	struct iso_rng rng = { test_seed_base() };

	if (config->mode != ISO_STREAM_INNOVATION || config->coarser > 0)
		return;
	const double levels = (1u << (config->bits - 1)) - 1;
	const double factor = fmax(tanh(config->rho / 2), exp(-config->rho * levels)) + 2e-5;
	for (int run = 0; run < test_runs(20); run++) {
		draw(&rng, config->n, 6, values);
		memset(estimate, 0, sizeof(estimate));
		double before = 1;
		/* To the last bits of a double, where values stand still. */
		for (int round = 0; before > 1e-14; round++) {
			ck_assert_int_lt(round, 300);
			(void)iso_stream_apply(config, values, estimate);
			double after = worst_error(values, estimate, config->n);
			ck_assert_double_le(after, factor * before + 1e-15);
			before = after;
		}
	}
}
END_TEST

START_TEST(rho_is_coarse_while_values_move_and_fine_when_they_rest)
{
	const struct iso_stream_config config = {
		.mode = ISO_STREAM_LOG, .n = 100, .bits = 10, .rho = 1.0 / 64, .coarser = 5
	};
	static double values[N_MAX], estimate[N_MAX];
	struct iso_rng rng = { test_seed_base() };
	uint8_t payload[2000];
	unsigned bits = 0;

	ck_assert_ok(iso_stream_check(&config));
	memset(estimate, 0, sizeof(estimate));
	for (int round = 0; round < 12; round++) {
		if (round < 3)
			draw(&rng, config.n, 2, values);
		size_t size = iso_stream_encode(&config, values, estimate, payload);
		float rho;
		memcpy(&rho, payload + 4, sizeof(rho));
		/* Doubling rho takes a bit away, so that the range of the levels stays. */
		ck_assert_uint_le(payload[1], 10);
		ck_assert(rho == (float)(1u << (10 - payload[1])) / 64);
		ck_assert_uint_ge(size, ISO_STREAM_HEAD_BYTES + (100u * payload[1] + 7) / 8);
		if (round < 3)
			ck_assert_uint_eq(payload[1], 5);
		else
			ck_assert_uint_ge(payload[1], bits);
		bits = payload[1];
	}
	ck_assert_uint_eq(bits, 10);
	ck_assert_double_le(worst_error(values, estimate, config.n), exp(1.0 / 128) - 1 + 1e-5);
}
END_TEST

START_TEST(escapes_are_exact_and_cost_a_float)
{
	const struct iso_stream_config uniform = {
		.mode = ISO_STREAM_UNIFORM, .n = 5, .bits = 4, .step = 0.5
	};
	const struct iso_stream_config log_mode = {
		.mode = ISO_STREAM_LOG, .n = 5, .bits = 4, .rho = 1
	};
	const double values[5] = { 3.5, 1000.25, -4, 0, -3.7 };
	const double wide[5] = { 1000, 1e-3, -1000 * 0x1p-9, 0, -5e-5 };
	double estimate[5] = { 0 };
	uint8_t out[64];

	/* Levels end at 7 steps; -3.7 rounds to them, -4 does not. */
	ck_assert_uint_eq(iso_stream_encode(&uniform, values, estimate, out), 12 + 3 + 2 * 4);
	const double expected[5] = { 3.5, 1000.25, -4, 0, -3.5 };
	ck_assert_mem_eq(estimate, expected, sizeof(expected));
	/* Seven levels: e^7 to e^1.  What is below e^0.5 escapes, or is nothing beside e^7. */
	ck_assert_uint_eq(iso_stream_encode(&log_mode, wide, estimate, out), 12 + 3 + 4);
	ck_assert_double_eq_tol(estimate[0], exp(7), 1e-2);
	ck_assert(estimate[1] == (double)1e-3f);
	ck_assert_double_eq_tol(estimate[2], -exp(1), 1e-4);
	ck_assert(estimate[3] == 0);
	ck_assert(estimate[4] == 0);
}
END_TEST

START_TEST(what_is_not_finite_changes_nothing)
{
	struct iso_stream_config config = configs[_i];
	const bool is_double = config.mode == ISO_STREAM_NONE;
	const double bad[] = { NAN, INFINITY, -INFINITY, is_double ? (double)NAN : 1e300 };
	static double values[N_MAX], estimate[N_MAX], before[N_MAX];
	uint8_t *out = malloc(iso_stream_bytes_max(&config));
	struct iso_rng rng = { test_seed_base() };

	draw(&rng, config.n, 3, estimate);
	for (size_t i = 0; i < 4; i++) {
		draw(&rng, config.n, 3, values);
		values[iso_rng_below(&rng, config.n)] = bad[i];
		memcpy(before, estimate, sizeof(before));
		ck_assert_uint_eq(iso_stream_encode(&config, values, estimate, out), 0);
		ck_assert_uint_eq(iso_stream_apply(&config, values, estimate), 0);
		ck_assert_mem_eq(estimate, before, sizeof(before));
	}
	free(out);
}
END_TEST

START_TEST(a_vector_of_zeros_is_zeros)
{
	const struct iso_stream_config *config = &configs[_i];
	static double values[N_MAX], estimate[N_MAX], receiver[N_MAX];
	uint8_t *out = malloc(iso_stream_bytes_max(config));

	memset(values, 0, sizeof(values));
	memset(estimate, 0, sizeof(estimate));
	memset(receiver, 0, sizeof(receiver));
	size_t size = iso_stream_encode(config, values, estimate, out);
	ck_assert_ok(iso_stream_decode(config, out, size, receiver));
	ck_assert_mem_eq(values, estimate, sizeof(values));
	ck_assert_mem_eq(values, receiver, sizeof(values));
	free(out);
}
END_TEST

START_TEST(damage_is_named_and_moves_nothing)
{
	const struct iso_stream_config *config = &configs[_i];
	static double values[N_MAX], estimate[N_MAX], receiver[N_MAX], before[N_MAX];
	struct iso_rng rng = { test_seed_base() };
	uint8_t *good = malloc(iso_stream_bytes_max(config) + 1);
	uint8_t *bad = malloc(iso_stream_bytes_max(config) + 1);

	draw(&rng, config->n, 2, values);
	memset(estimate, 0, sizeof(estimate));
	draw(&rng, config->n, 2, receiver);
	memcpy(before, receiver, sizeof(before));
	size_t size = iso_stream_encode(config, values, estimate, good);
	for (size_t cut = 0; cut < size; cut += 1 + cut / 20)
		ck_assert_int_eq(iso_stream_decode(config, good, cut, receiver), ISO_E_SHORT);
	good[size] = 0;
	ck_assert_int_eq(iso_stream_decode(config, good, size + 1, receiver), ISO_E_LONG);
#define DAMAGED(offset, value, status)                                                             \
	do {                                                                                       \
		memcpy(bad, good, size);                                                           \
		bad[offset] = (uint8_t)(value);                                                    \
		ck_assert_int_eq(iso_stream_decode(config, bad, size, receiver), status);          \
	} while (0)
	DAMAGED(0, config->mode % 5 + 1, ISO_E_CONFIG);
	DAMAGED(0, 0, ISO_E_CONFIG);
	DAMAGED(1, good[1] + 1, ISO_E_CONFIG);
	DAMAGED(1, 0, ISO_E_CONFIG);
	DAMAGED(2, 1, ISO_E_MALFORMED);
	DAMAGED(3, 1, ISO_E_MALFORMED);
	DAMAGED(4, good[4] + 1, ISO_E_CONFIG);
	if (config->mode <= ISO_STREAM_UNIFORM)
		DAMAGED(8, 1, ISO_E_MALFORMED);
	else
		DAMAGED(11, 0xfe, ISO_E_RANGE);
	/* All ones: not finite, or not a level. */
	if (config->mode <= ISO_STREAM_SINGLE) {
		memset(good + 12, 0xff, 8);
		ck_assert_int_eq(iso_stream_decode(config, good, size, receiver), ISO_E_RANGE);
	}
	ck_assert_mem_eq(receiver, before, sizeof(before));
	free(good);
	free(bad);
}
END_TEST

START_TEST(codes_that_no_sender_writes_are_refused)
{
	const struct iso_stream_config innovation = {
		.mode = ISO_STREAM_INNOVATION, .n = 3, .bits = 4, .rho = 1
	};
	const struct iso_stream_config log_mode = {
		.mode = ISO_STREAM_LOG, .n = 3, .bits = 8, .rho = 4
	};
	double values[3] = { 1, -0.5, 0 }, estimate[3] = { 0 }, before[3] = { 0 };
	uint8_t payload[32];
	size_t size = iso_stream_encode(&innovation, values, before, payload);

	memcpy(before, estimate, sizeof(before));
	ck_assert_uint_eq(size, 14);
	payload[13] |= 0x10; /* behind the last code */
	ck_assert_int_eq(iso_stream_decode(&innovation, payload, size, estimate), ISO_E_MALFORMED);
	payload[13] = 0x08; /* an escape */
	ck_assert_int_eq(iso_stream_decode(&innovation, payload, size, estimate), ISO_E_MALFORMED);
	payload[13] = 0;
	memset(payload + 8, 0, 4); /* no scale, but levels */
	ck_assert_int_eq(iso_stream_decode(&innovation, payload, size, estimate), ISO_E_MALFORMED);
	/* Of 127 levels only 22 are floats. */
	values[1] = 0;
	size = iso_stream_encode(&log_mode, values, before, payload);
	memcpy(before, estimate, sizeof(before));
	ck_assert_uint_eq(size, 15);
	ck_assert_uint_eq(payload[12], 127);
	payload[12] = 127 - 22;
	ck_assert_int_eq(iso_stream_decode(&log_mode, payload, size, estimate), ISO_E_MALFORMED);
	payload[12] = 127 - 21;
	payload[13] = 0x80; /* an escape whose float is missing */
	ck_assert_int_eq(iso_stream_decode(&log_mode, payload, size, estimate), ISO_E_SHORT);
	memcpy(payload + size, "\0\0\x80\x7f", 4); /* infinite */
	ck_assert_int_eq(iso_stream_decode(&log_mode, payload, size + 4, estimate), ISO_E_RANGE);
	ck_assert_mem_eq(estimate, before, sizeof(before));
	payload[size + 3] = 0x3f;
	ck_assert_ok(iso_stream_decode(&log_mode, payload, size + 4, estimate));
	ck_assert(estimate[1] == 1);
}
END_TEST

START_TEST(configurations_that_make_no_sense_are_refused)
{
	const struct iso_stream_config bad[] = {
		{ .mode = 0, .n = 1 },
		{ .mode = ISO_STREAM_INNOVATION + 1, .n = 1 },
		{ .mode = ISO_STREAM_NONE },
		{ .mode = ISO_STREAM_LOG, .n = 1, .bits = 1, .rho = 1 },
		{ .mode = ISO_STREAM_LOG, .n = 1, .bits = 17, .rho = 1 },
		{ .mode = ISO_STREAM_LOG, .n = 1, .bits = 8, .rho = NAN },
		{ .mode = ISO_STREAM_LOG, .n = 1, .bits = 8, .rho = 1e-4 },
		{ .mode = ISO_STREAM_INNOVATION, .n = 1, .bits = 8, .rho = 4.5 },
		{ .mode = ISO_STREAM_INNOVATION, .n = 1, .bits = 8, .rho = 1, .coarser = 3 },
		{ .mode = ISO_STREAM_INNOVATION, .n = 1, .bits = 8, .rho = 0.01, .coarser = 7 },
		{ .mode = ISO_STREAM_UNIFORM, .n = 1, .bits = 8, .step = 0 },
		{ .mode = ISO_STREAM_UNIFORM, .n = 1, .bits = 8, .step = INFINITY },
		{ .mode = ISO_STREAM_UNIFORM, .n = 1, .bits = 8, .step = 1e-39 },
		{ .mode = ISO_STREAM_UNIFORM, .n = 1, .bits = 0, .step = 1 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(iso_stream_check(&bad[i]) == ISO_E_RANGE, "number %zu", i);
	for (int i = 0; i < CONFIGS; i++)
		ck_assert_ok(iso_stream_check(&configs[i]));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("stream");
	TCase *tcase = tcase_create("stream");

	tcase_add_loop_test(tcase, both_ends_and_the_short_cut_hold_the_same_bits, 0, CONFIGS);
	tcase_add_loop_test(tcase, errors_are_those_of_the_mode, 0, CONFIGS);
	tcase_add_loop_test(tcase, innovations_shrink_by_what_the_header_says, 0, CONFIGS);
	tcase_add_test(tcase, rho_is_coarse_while_values_move_and_fine_when_they_rest);
	tcase_add_test(tcase, escapes_are_exact_and_cost_a_float);
	tcase_add_loop_test(tcase, what_is_not_finite_changes_nothing, 0, CONFIGS);
	tcase_add_loop_test(tcase, a_vector_of_zeros_is_zeros, 0, CONFIGS);
	tcase_add_loop_test(tcase, damage_is_named_and_moves_nothing, 0, CONFIGS);
	tcase_add_test(tcase, codes_that_no_sender_writes_are_refused);
	tcase_add_test(tcase, configurations_that_make_no_sense_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
