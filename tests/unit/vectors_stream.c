/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The payloads of vectors against their frozen vectors, as in vectors.c. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/quant/stream.h"
#include "tests/test.h"
#include "tests/vectorfield.h"
#include "tests/vectorfile.h"

#define N_MAX 600u

static struct vectorfile file;

static double real(const char *key)
{
	return iso_double_of_bits(vectorfile_number(&file, key));
}

/* key.N of those that are not 0. */
static void read_vector(const char *key, uint32_t n, double *ret_vector)
{
	for (uint32_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s.%" PRIu32, key, i);
		ret_vector[i] = vectorfile_find(&file, name) == NULL ? 0 : real(name);
	}
}

static void check_vector(const char *what, const double *vector, const double *expected, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (iso_bits_of_double(vector[i]) != iso_bits_of_double(expected[i]))
			ck_abort_msg("case %s, %s %" PRIu32 ": 0x%016" PRIx64, file.name, what, i,
				     iso_bits_of_double(vector[i]));
}

static struct iso_stream_config read_config(void)
{
	struct iso_stream_config config = {
		.mode = (enum iso_stream_mode)vectorfile_number(&file, "mode"),
		.n = (uint32_t)vectorfile_number(&file, "n"),
		.bits = (unsigned)vectorfile_number(&file, "bits"),
		.coarser = (unsigned)vectorfile_number(&file, "coarser"),
	};

	if (config.mode == ISO_STREAM_UNIFORM)
		config.step = real("parameter");
	else
		config.rho = real("parameter");
	ck_assert_ok(iso_stream_check(&config));
	ck_assert_uint_le(config.n, N_MAX);
	return config;
}

START_TEST(payloads_of_vectors)
{
	static double before[N_MAX], after[N_MAX], values[N_MAX], estimate[N_MAX];

	vectorfile_open("stream.txt", &file);
	while (vectorfile_next(&file)) {
		const struct iso_stream_config config = read_config();
		const size_t bytes = config.n * sizeof(double);
		uint8_t payload[8 * N_MAX + ISO_STREAM_HEAD_BYTES];

		read_vector("before", config.n, before);
		memcpy(estimate, before, bytes);
		enum iso_status status =
		    iso_stream_decode(&config, file.bytes, file.size, estimate);
		vectorfield_status(&file, status);
		if (status != ISO_OK) {
			check_vector("before", estimate, before, config.n);
			continue;
		}
		read_vector("after", config.n, after);
		check_vector("after", estimate, after, config.n);
		read_vector("value", config.n, values);
		memcpy(estimate, before, bytes);
		size_t size = iso_stream_encode(&config, values, estimate, payload);
		vectorfield_bytes(&file, payload, size);
		check_vector("after", estimate, after, config.n);
	}
	ck_assert_uint_eq(file.cases, 15);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("vectors_stream");
	TCase *tcase = tcase_create("vectors");

	tcase_add_test(tcase, payloads_of_vectors);
	suite_add_tcase(suite, tcase);
	return suite;
}
