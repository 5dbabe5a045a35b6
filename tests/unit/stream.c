/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/quant/stream.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
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

Suite *test_suite(void)
{
	Suite *suite = suite_create("stream");
	TCase *tcase = tcase_create("stream");

	tcase_add_loop_test(tcase, both_ends_and_the_short_cut_hold_the_same_bits, 0, CONFIGS);
	suite_add_tcase(suite, tcase);
	return suite;
}
