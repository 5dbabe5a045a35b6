/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Payloads of vectors decoded a second time, as isobar-protocol(7) says and with
 * nothing of the library's: bit by bit, one number at a time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/quant/stream.h"
#include "tests/test.h"

#define N_MAX 1100u

static uint32_t u32_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static float f32_at(const uint8_t *at)
{
	uint32_t bits = u32_at(at);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bit_at(const uint8_t *bytes, size_t bit)
{
	return bytes[bit / 8] >> bit % 8 & 1;
}

/* Code number i of n, of b bits, sign and magnitude. */
static uint32_t code_at(const uint8_t *bytes, size_t n, unsigned b, size_t i)
{
	size_t block = i / 512, r = i % 512 / 16, l = i % 16;
	uint32_t code = 0;

	for (unsigned k = 0; k < b; k++) {
		size_t p = r * b + k;
		size_t across = 64 * b * block * 8 + (16 * (p / 32) + l) * 32 + p % 32;

		code |= bit_at(bytes, block < n / 512 ? across : i * b + k) << k;
	}
	return code;
}

/* E(i) of the page, for a rho; volatile, so that each operation is one of its own. */
static float e_of(int32_t i, float rho)
{
	volatile float a = (float)((double)rho / 0.69314718055994531);
	volatile float x = (float)i * a;
	volatile float w = x + 12582912.0f;
	volatile float f, p;

	w = w - 12582912.0f;
	f = x - w;
	p = f * 0.00133813025f;
	p = 0.00966636852f + p;
	p = f * p;
	p = 0.0555038101f + p;
	p = f * p;
	p = 0.24022349f + p;
	p = f * p;
	p = 0.693147181f + p;
	p = f * p;
	p = 1 + p;
	return ldexpf(p, (int)w);
}

/* Moves the estimate; the payload is a right one.  Returns its bytes. */
static size_t decode(const uint8_t *payload, size_t n, double *estimate)
{
	const uint8_t mode = payload[0], b = payload[1];
	const uint8_t *body = payload + 12;
	const uint8_t *escaped = body + (n * b + 7) / 8;
	const float parameter = f32_at(payload + 4);
	const int32_t most = (1 << (b - 1)) - 1;

	for (size_t i = 0; i < n; i++) {
		uint32_t code = code_at(body, n, b, i);
		int32_t c = (int32_t)code & most;
		volatile float value = 0;

		if (c == 0 && code != 0) {
			value = f32_at(escaped);
			escaped += 4;
		} else if (c != 0 && mode == 3) {
			value = (float)c * parameter;
		} else if (c != 0 && mode == 4) {
			value = e_of(c - most + (int32_t)u32_at(payload + 8), parameter);
		} else if (c != 0) {
			value = e_of(c - most, parameter) * f32_at(payload + 8);
		}
		if (c != 0 && code != (uint32_t)c)
			value = -value;
		estimate[i] = (double)value + (mode == 5 ? estimate[i] : 0);
	}
	return (size_t)(escaped - payload);
}

START_TEST(the_page_alone_yields_the_same_bits)
{
	static double values[N_MAX], estimate[N_MAX], second[N_MAX];
	struct iso_rng rng = { test_seed_base() + (uint64_t)_i };
	struct iso_stream_config config = {
		.mode = ISO_STREAM_UNIFORM + iso_rng_below(&rng, 3),
		.n = 1 + (uint32_t)iso_rng_below(&rng, N_MAX),
		.bits = 2 + (unsigned)iso_rng_below(&rng, 15),
		.rho = exp(-6.9 + 8 * iso_rng_unit(&rng)),
		.step = exp(-8 * iso_rng_unit(&rng)),
	};
	uint8_t *payload;

	while (config.coarser < config.bits - 2 && ldexp(config.rho, (int)config.coarser + 1) <= 4)
		config.coarser++;
	ck_assert_ok(iso_stream_check(&config));
	payload = malloc(iso_stream_bytes_max(&config));
	memset(estimate, 0, sizeof(estimate));
	for (int round = 0; round < 4; round++) {
		double moved = exp(-3 * round);

		memcpy(second, estimate, sizeof(second));
		for (uint32_t i = 0; i < config.n; i++)
			values[i] +=
			    moved * (iso_rng_unit(&rng) - 0.5) * exp(-20 * iso_rng_unit(&rng));
		size_t size = iso_stream_encode(&config, values, estimate, payload);
		ck_assert_uint_eq(decode(payload, config.n, second), size);
		ck_assert_mem_eq(estimate, second, config.n * sizeof(double));
	}
	free(payload);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("second_stream");
	TCase *tcase = tcase_create("second decoder");

	tcase_add_loop_test(tcase, the_page_alone_yields_the_same_bits, 0, test_runs(60));
	suite_add_tcase(suite, tcase);
	return suite;
}
