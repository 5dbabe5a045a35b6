/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/peer.h"
#include "tests/test.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static struct iso_peer_frame frame_of(struct iso_rng *rng)
{
	enum iso_peer_kind kind = (enum iso_peer_kind)(1 + iso_rng_below(rng, 6));
	struct iso_peer_frame frame = {
		.kind = kind,
		.plan = iso_rng_next(rng),
		.source = iso_rng_next(rng),
		.destination = iso_rng_next(rng),
		.own = { iso_rng_next(rng) | 1, 2 + (uint32_t)iso_rng_below(rng, 1000) },
		.echo = { iso_rng_next(rng) | 1, 1 + (uint32_t)iso_rng_below(rng, 1000) },
		.round = iso_rng_below(rng, ISO_PEER_ROUND_MAX + 1),
		.degree = (uint32_t)iso_rng_below(rng, ISO_PEER_NEIGHBOURS_MAX + 1),
		.params = 1 + (uint32_t)iso_rng_below(rng, ISO_PEER_PARAMS_MAX),
		.age = (uint32_t)iso_rng_below(rng, ISO_PEER_AGE_MAX),
		.alpha = iso_rng_unit(rng),
		.curvature = 100 * iso_rng_unit(rng),
		.loss = iso_rng_below(rng, 8) == 0 ? (double)NAN : iso_rng_unit(rng) - 0.5,
	};

	if (kind != ISO_PEER_HELLO) {
		frame.seq = 2 + iso_rng_below(rng, 1000);
		frame.ack = frame.seq - iso_rng_below(rng, 2);
	} else if (iso_rng_below(rng, 2) == 0) {
		frame.base = frame.echo;
		frame.base_session = frame.own.session - 1;
		frame.settled = iso_rng_next(rng);
	}
	if (kind == ISO_PEER_BYE)
		frame.flags = iso_rng_below(rng, 2) == 0 ? ISO_PEER_DONE : ISO_PEER_LEAVING;
	if (kind == ISO_PEER_ACK)
		frame.flags = (uint32_t)iso_rng_below(rng, 3);
	if (kind == ISO_PEER_SNAPSHOT)
		frame.payload_bytes = 16ull * frame.params, frame.split = 8 * frame.params;
	if (kind == ISO_PEER_INNOVATION)
		frame.split = 12, frame.payload_bytes = 13 + iso_rng_below(rng, 1000);
	if (frame.payload_bytes > 0)
		frame.payload_checksum = iso_rng_next(rng);
	return frame;
}

START_TEST(what_goes_in_comes_out)
{
	struct iso_rng rng = { test_seed_base() };

	for (int i = 0; i < test_runs(2000); i++) {
		struct iso_peer_frame frame = frame_of(&rng), decoded;
		uint8_t head[ISO_PEER_HEAD_BYTES], again[ISO_PEER_HEAD_BYTES];

		iso_peer_frame_encode(&frame, head);
		ck_assert_ok(iso_peer_frame_decode(head, sizeof(head), &decoded));
		ck_assert_uint_eq(decoded.kind, frame.kind);
		ck_assert_uint_eq(decoded.own.boot, frame.own.boot);
		ck_assert_uint_eq(decoded.own.session, frame.own.session);
		ck_assert_uint_eq(decoded.echo.boot, frame.echo.boot);
		ck_assert_uint_eq(decoded.echo.session, frame.echo.session);
		ck_assert_uint_eq(decoded.base.session, frame.base.session);
		ck_assert_uint_eq(decoded.settled, frame.settled);
		ck_assert_uint_eq(decoded.seq, frame.seq);
		ck_assert_uint_eq(decoded.ack, frame.ack);
		ck_assert_uint_eq(decoded.degree, frame.degree);
		ck_assert_uint_eq(decoded.age, frame.age);
		ck_assert_uint_eq(decoded.split, frame.split);
		iso_peer_frame_encode(&decoded, again);
		ck_assert_mem_eq(head, again, sizeof(head));
	}
}
END_TEST

START_TEST(no_flipped_bit_goes_unseen)
{
	struct iso_rng rng = { 3 };
	struct iso_peer_frame frame = frame_of(&rng), decoded = { .seq = 4711 };
	uint8_t head[ISO_PEER_HEAD_BYTES];

	iso_peer_frame_encode(&frame, head);
	for (unsigned bit = 0; bit < 8 * sizeof(head); bit++) {
		head[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_int_ne(iso_peer_frame_decode(head, sizeof(head), &decoded), ISO_OK);
		head[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_int_eq(iso_peer_frame_decode(head, 167, &decoded), ISO_E_SHORT);
	ck_assert_int_eq(iso_peer_frame_decode(head, 169, &decoded), ISO_E_LONG);
	/* Nothing of all that was written. */
	ck_assert_uint_eq(decoded.seq, 4711);
}
END_TEST

START_TEST(a_payload_is_the_one_that_was_announced)
{
	const uint8_t payload[5] = "12345", other[5] = "12346";
	struct iso_peer_frame frame = { .payload_bytes = 5,
					.payload_checksum = iso_checksum(payload, 5) };
	struct iso_peer_frame none = { 0 };

	ck_assert_ok(iso_peer_payload_check(&frame, payload, 5));
	ck_assert_int_eq(iso_peer_payload_check(&frame, other, 5), ISO_E_CHECKSUM);
	ck_assert_int_eq(iso_peer_payload_check(&frame, payload, 4), ISO_E_SHORT);
	ck_assert_int_eq(iso_peer_payload_check(&frame, NULL, 0), ISO_E_SHORT);
	ck_assert_int_eq(iso_peer_payload_check(&none, payload, 5), ISO_E_LONG);
	ck_assert_ok(iso_peer_payload_check(&none, NULL, 0));
}
END_TEST

START_TEST(a_snapshot_has_finite_numbers_only)
{
	double numbers[3] = { 1, -0.0, 0x1p-1070 }, read[3] = { 7, 7, 7 };
	uint8_t scratch[24], copy[24];

	memcpy(copy, iso_peer_snapshot_view(numbers, 3, scratch), 24);
	ck_assert_ok(iso_peer_snapshot_read(copy, 3, read));
	ck_assert_mem_eq(read, numbers, sizeof(numbers));
	numbers[2] = (double)NAN;
	memcpy(copy, iso_peer_snapshot_view(numbers, 3, scratch), 24);
	read[0] = 7;
	ck_assert_int_eq(iso_peer_snapshot_read(copy, 3, read), ISO_E_RANGE);
	ck_assert_double_eq(read[0], 7);
	numbers[2] = -(double)INFINITY;
	memcpy(copy, iso_peer_snapshot_view(numbers, 3, scratch), 24);
	ck_assert_int_eq(iso_peer_snapshot_read(copy, 3, read), ISO_E_RANGE);
}
END_TEST

START_TEST(dies_of_a_frame_nobody_would_accept)
{
	struct iso_rng rng = { 5 };
	struct iso_peer_frame frame = frame_of(&rng);
	uint8_t head[ISO_PEER_HEAD_BYTES];

	frame.own.boot = 0;
	iso_peer_frame_encode(&frame, head);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer_wire");
	TCase *tcase = tcase_create("frame");

	tcase_add_test(tcase, what_goes_in_comes_out);
	tcase_add_test(tcase, no_flipped_bit_goes_unseen);
	tcase_add_test(tcase, a_payload_is_the_one_that_was_announced);
	tcase_add_test(tcase, a_snapshot_has_finite_numbers_only);
	tcase_add_test_raise_signal(tcase, dies_of_a_frame_nobody_would_accept, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
