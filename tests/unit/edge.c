/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/wire/edge.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"

static struct iso_edge_frame frame_of(struct iso_rng *rng)
{
	struct iso_edge_frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.cluster = iso_rng_next(rng);
	frame.epoch = (uint32_t)iso_rng_next(rng);
	frame.digest = iso_rng_next(rng);
	frame.source = iso_rng_next(rng);
	frame.destination = iso_rng_next(rng);
	frame.source_gen = 1 + (uint32_t)iso_rng_below(rng, 9);
	frame.destination_gen = 1 + (uint32_t)iso_rng_below(rng, 9);
	frame.inc = 1 + (uint32_t)iso_rng_below(rng, 9);
	frame.seq = 1 + iso_rng_below(rng, 1000);
	frame.sent = iso_rng_next(rng);
	frame.received = iso_rng_next(rng);
	frame.echo_inc = (uint32_t)iso_rng_below(rng, 2);
	frame.echo_seq = frame.echo_inc * 17;
	frame.base_inc = (uint32_t)iso_rng_below(rng, 2);
	frame.base_seq = frame.base_inc * 19;
	frame.symbol = (int16_t)iso_rng_next(rng);
	frame.exact_q32 = (int64_t)iso_rng_next(rng);
	frame.curvature = iso_rng_unit(rng) * 1000;
	frame.head_ucpu = (int64_t)(iso_rng_next(rng) >> 1);
	frame.budget_ucpu = (int64_t)(1 + (iso_rng_next(rng) >> 2));
	frame.degree = (uint16_t)iso_rng_next(rng);
	frame.flags = (uint16_t)iso_rng_below(rng, 16);
	return frame;
}

/* Encoded, then changed at one place and sealed again. */
static void sealed_fails(unsigned offset, uint64_t value, unsigned size, enum iso_status expected)
{
	struct iso_rng rng = { 5 };
	struct iso_edge_frame frame = frame_of(&rng), poison, decoded;
	uint8_t bytes[ISO_EDGE_BYTES];

	memset(&poison, 0xa5, sizeof(poison));
	decoded = poison;
	iso_edge_encode(&frame, bytes);
	iso_put_le(bytes + offset, value, size);
	iso_put_le(bytes + 144, iso_checksum(bytes, 144), 8);
	ck_assert_int_eq(iso_edge_decode(bytes, sizeof(bytes), &decoded), expected);
	ck_assert_mem_eq(&decoded, &poison, sizeof(poison));
}

START_TEST(what_goes_in_comes_out)
{
	struct iso_rng rng = { test_seed_base() };

	for (int i = 0; i < test_runs(10000); i++) {
		struct iso_edge_frame frame = frame_of(&rng), decoded;
		uint8_t bytes[ISO_EDGE_BYTES], again[ISO_EDGE_BYTES];

		iso_edge_encode(&frame, bytes);
		ck_assert_ok(iso_edge_decode(bytes, sizeof(bytes), &decoded));
		iso_edge_encode(&decoded, again);
		ck_assert_mem_eq(bytes, again, sizeof(bytes));
		ck_assert_uint_eq(decoded.sent, frame.sent);
		ck_assert_int_eq(decoded.symbol, frame.symbol);
		ck_assert_double_eq(decoded.curvature, frame.curvature);
		ck_assert_int_eq(decoded.budget_ucpu, frame.budget_ucpu);
	}
}
END_TEST

START_TEST(bytes_are_where_the_header_says)
{
	const struct iso_edge_frame frame = {
		.cluster = 0x0807060504030201u,
		.epoch = 0x11,
		.digest = 0x22,
		.source = 0x33,
		.destination = 0x44,
		.source_gen = 0x55,
		.destination_gen = 0x66,
		.inc = 0x77,
		.seq = 0x88,
		.sent = 0x99,
		.received = 0xaa,
		.echo_inc = 0xbb,
		.echo_seq = 0xcc,
		.base_inc = 0xdd,
		.base_seq = 0xee,
		.symbol = -2,
		.exact_q32 = -1,
		.curvature = 1,
		.head_ucpu = 0x12,
		.budget_ucpu = 0x14,
		.degree = 0x13,
		.flags = ISO_EDGE_FROZEN,
	};
	static const struct {
		unsigned offset;
		uint8_t byte;
	} at[] = {
		{ 0, 'I' },    { 1, 'S' },    { 2, 'O' },    { 3, 'E' },    { 4, 2 },
		{ 6, 152 },    { 8, 1 },      { 15, 8 },     { 16, 0x11 },  { 20, 2 },
		{ 22, 0x13 },  { 24, 0x22 },  { 32, 0x33 },  { 40, 0x44 },  { 48, 0x55 },
		{ 52, 0x66 },  { 56, 0x77 },  { 60, 0xbb },  { 64, 0xdd },  { 68, 0xfe },
		{ 69, 0xff },  { 70, 0 },     { 72, 0x88 },  { 80, 0x99 },  { 88, 0xaa },
		{ 96, 0xcc },  { 104, 0xee }, { 112, 0xff }, { 127, 0x3f }, { 126, 0xf0 },
		{ 128, 0x12 }, { 136, 0x14 },
	};
	uint8_t bytes[ISO_EDGE_BYTES];

	iso_edge_encode(&frame, bytes);
	for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++)
		ck_assert_msg(bytes[at[k].offset] == at[k].byte, "byte %u is %#x", at[k].offset,
			      bytes[at[k].offset]);
	/* A saved frame: a second implementation must give these bytes. */
	ck_assert_uint_eq(iso_get_le(bytes + 144, 8), iso_checksum(bytes, 144));
	ck_assert_uint_eq(iso_get_le(bytes + 144, 8), 13180301225686895100u);
}
END_TEST

START_TEST(each_fault_has_its_status)
{
	struct iso_rng rng = { 5 };
	struct iso_edge_frame frame = frame_of(&rng), decoded;
	uint8_t bytes[ISO_EDGE_BYTES + 1];

	iso_edge_encode(&frame, bytes);
	for (size_t size = 0; size < ISO_EDGE_BYTES; size++)
		ck_assert_int_eq(iso_edge_decode(bytes, size, &decoded), ISO_E_SHORT);
	ck_assert_int_eq(iso_edge_decode(bytes, ISO_EDGE_BYTES + 1, &decoded), ISO_E_LONG);
	sealed_fails(0, 0x12345678, 4, ISO_E_MALFORMED);
	sealed_fails(4, 1, 2, ISO_E_VERSION);
	sealed_fails(6, 144, 2, ISO_E_MALFORMED);
	sealed_fails(20, 16, 2, ISO_E_MALFORMED);
	sealed_fails(48, 0, 4, ISO_E_MALFORMED);
	sealed_fails(52, 0, 4, ISO_E_MALFORMED);
	sealed_fails(56, 0, 4, ISO_E_MALFORMED);
	sealed_fails(70, 1, 2, ISO_E_MALFORMED);
	sealed_fails(72, 0, 8, ISO_E_MALFORMED);
	sealed_fails(72, (uint64_t)1 << 32, 8, ISO_E_MALFORMED);
	sealed_fails(96, frame.echo_inc == 0, 8, ISO_E_MALFORMED);
	sealed_fails(104, frame.base_inc == 0, 8, ISO_E_MALFORMED);
	sealed_fails(120, iso_bits_of_double(NAN), 8, ISO_E_MALFORMED);
	sealed_fails(120, iso_bits_of_double(-1), 8, ISO_E_MALFORMED);
	sealed_fails(120, iso_bits_of_double(INFINITY), 8, ISO_E_MALFORMED);
	sealed_fails(128, UINT64_MAX, 8, ISO_E_MALFORMED);
	sealed_fails(136, 0, 8, ISO_E_MALFORMED);
	sealed_fails(136, UINT64_MAX, 8, ISO_E_MALFORMED);
}
END_TEST

START_TEST(no_flipped_bit_goes_unseen)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_edge_frame frame = frame_of(&rng), decoded;
	uint8_t bytes[ISO_EDGE_BYTES];

	iso_edge_encode(&frame, bytes);
	for (unsigned bit = 0; bit < 8 * ISO_EDGE_BYTES; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_int_ne(iso_edge_decode(bytes, sizeof(bytes), &decoded), ISO_OK);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_ok(iso_edge_decode(bytes, sizeof(bytes), &decoded));
}
END_TEST

START_TEST(dies_of_a_frame_nobody_would_accept)
{
	struct iso_rng rng = { 5 };
	struct iso_edge_frame frame = frame_of(&rng);
	uint8_t bytes[ISO_EDGE_BYTES];

	frame.seq = 0;
	iso_edge_encode(&frame, bytes);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("edge");
	TCase *tcase = tcase_create("frame");

	tcase_add_test(tcase, what_goes_in_comes_out);
	tcase_add_test(tcase, bytes_are_where_the_header_says);
	tcase_add_test(tcase, each_fault_has_its_status);
	tcase_add_test(tcase, no_flipped_bit_goes_unseen);
	tcase_add_test_raise_signal(tcase, dies_of_a_frame_nobody_would_accept, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
