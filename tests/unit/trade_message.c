/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What messages say, how their prices are coded, and which of them count. */
#include "config.h"

#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"
#include "tests/unit/trade_pair.h"

START_TEST(nothing_is_heard_before_the_incarnation_is_durable)
{
	pair_set_up();
	pair_tick(&left);
	ck_assert_int_eq(pair_hear(&right, left.message), ISO_E_UNKNOWN);
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_CLOSED], 1);
	pair_tick(&right);
	ck_assert_ok(pair_hear(&right, left.message));
}
END_TEST

/* Changes a genuine message, seals it again and expects it to be dropped for this reason. */
static void dropped(unsigned offset, uint64_t value, unsigned size, enum iso_status status,
		    enum iso_trade_drop drop)
{
	uint8_t bytes[ISO_EDGE_BYTES];
	struct iso_trade_edge before, after;
	uint64_t count = pair_status(&right).drops[drop];

	before = pair_edge(&right);
	memcpy(bytes, left.message, sizeof(bytes));
	iso_put_le(bytes + offset, value, size);
	iso_put_le(bytes + 144, iso_checksum(bytes, 144), 8);
	ck_assert_int_eq(pair_hear(&right, bytes), status);
	ck_assert_uint_eq(pair_status(&right).drops[drop], count + 1);
	after = pair_edge(&right);
	if (status != ISO_OK)
		ck_assert_uint_eq(before.last_ns, after.last_ns);
	ck_assert_uint_eq(before.heard.at_ns, after.heard.at_ns);
}

START_TEST(every_drop_has_its_reason)
{
	uint8_t bytes[ISO_EDGE_BYTES];

	pair_set_up();
	pair_exchange();
	pair_exchange();
	pair_tick(&left);
	dropped(8, 78, 8, ISO_E_FOREIGN, ISO_DROP_CLUSTER);
	dropped(16, 4, 4, ISO_E_CONFIG, ISO_DROP_CONFIG);
	dropped(24, 4, 8, ISO_E_CONFIG, ISO_DROP_CONFIG);
	dropped(32, 1003, 8, ISO_E_FOREIGN, ISO_DROP_SENDER);
	dropped(40, 1003, 8, ISO_E_FOREIGN, ISO_DROP_ADDRESS);
	dropped(48, 2, 4, ISO_E_FOREIGN, ISO_DROP_GENERATION);
	dropped(52, 2, 4, ISO_E_FOREIGN, ISO_DROP_GENERATION);
	dropped(4, 1, 2, ISO_E_VERSION, ISO_DROP_VERSION);
	dropped(70, 1, 2, ISO_E_MALFORMED, ISO_DROP_FORM);
	/* The ledger's part is used, the price is not. */
	dropped(72, 1, 8, ISO_OK, ISO_DROP_STALE);
	dropped(104, 1000, 8, ISO_OK, ISO_DROP_REFERENCE);
	pair_tick(&left);
	dropped(64, 9, 4, ISO_OK, ISO_DROP_REFERENCE);
	pair_tick(&left);
	dropped(68, 30000, 2, ISO_OK, ISO_DROP_REFERENCE);
	ck_assert_int_eq(iso_trade_receive(right.trade, right.now_ns, 1001, left.message, 10),
			 ISO_E_SHORT);
	ck_assert_int_eq(iso_trade_receive(right.trade, right.now_ns, 1001, left.message, 153),
			 ISO_E_LONG);
	memcpy(bytes, left.message, sizeof(bytes));
	bytes[80] ^= 1;
	ck_assert_int_eq(pair_hear(&right, bytes), ISO_E_CHECKSUM);
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_CHECKSUM], 1);
	/* Genuine, but not from whom the link says, or from no neighbour. */
	ck_assert_int_eq(
	    iso_trade_receive(right.trade, right.now_ns, 1009, left.message, ISO_EDGE_BYTES),
	    ISO_E_FOREIGN);
	ck_assert_ok(pair_hear(&right, left.message));
	for (int a = 0; a < ISO_DROP_COUNT; a++)
		for (int b = 0; b < a; b++)
			ck_assert_str_ne(iso_trade_drop_text((enum iso_trade_drop)a),
					 iso_trade_drop_text((enum iso_trade_drop)b));
}
END_TEST

START_TEST(a_long_silence_heals_by_itself)
{
	pair_set_up();
	pair_exchange();
	pair_exchange();
	/* A long partition: both send into the void. */
	for (int i = 0; i < 100; i++) {
		pair_tick(&left);
		pair_tick(&right);
	}
	/* The references have aged: absolute symbols again, which anyone can decode. */
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 0);
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_REFERENCE], 0);
	/* Each has heard that the other has let go of the old ones, and shows a new one. */
	pair_exchange();
	pair_exchange();
	ck_assert_uint_ne(pair_frame(left.message).base_seq, 0);
}
END_TEST

START_TEST(what_is_named_is_kept_until_another_is)
{
	uint8_t named_2[ISO_EDGE_BYTES], named_1[ISO_EDGE_BYTES];

	pair_set_up();
	pair_exchange();
	pair_exchange();
	memcpy(named_1, left.message, sizeof(named_1));
	ck_assert_uint_eq(pair_frame(named_1).base_seq, 1);
	pair_tick(&left); /* coded against right's message 2 */
	memcpy(named_2, left.message, sizeof(named_2));
	ck_assert_uint_eq(pair_frame(named_2).base_seq, 2);
	/* However many of right's messages are lost meanwhile. */
	for (int n = 0; n < 200; n++)
		pair_tick(&right);
	ck_assert_ok(pair_hear(&right, named_2));
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_REFERENCE], 0);
	/* Message 1 can only be named by a forger now. */
	iso_put_le(named_1 + 72, 50, 8);
	iso_put_le(named_1 + 144, iso_checksum(named_1, 144), 8);
	ck_assert_ok(pair_hear(&right, named_1));
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_REFERENCE], 1);
}
END_TEST

START_TEST(only_what_is_kept_may_become_a_reference)
{
	pair_set_up();
	pair_exchange();
	pair_exchange();
	ck_assert_uint_eq(pair_frame(right.message).flags, ISO_EDGE_REFERABLE);
	/* One is named, one was lost: there is no place for more until left is heard again. */
	pair_tick(&right);
	pair_tick(&right);
	ck_assert_uint_eq(pair_frame(right.message).flags, 0);
	ck_assert_ok(pair_hear(&left, right.message));
	pair_tick(&left);
	ck_assert_uint_eq(pair_frame(left.message).echo_seq, 4);
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 1);
	ck_assert_ok(pair_hear(&right, left.message));
	pair_tick(&right);
	ck_assert_uint_eq(pair_frame(right.message).flags, ISO_EDGE_REFERABLE);
	ck_assert_ok(pair_hear(&left, right.message));
	pair_tick(&left);
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 5);
}
END_TEST

/* Its first message comes between our commit and our message. */
START_TEST(a_peer_that_started_again_is_told_an_absolute_price)
{
	uint64_t peer;

	pair_set_up();
	pair_exchange();
	pair_exchange();
	iso_trade_close(right.trade);
	ck_assert_ok(iso_trade_open(right.trade, &right.disk));
	pair_tick(&right);
	pair_tick(&left);
	ck_assert_uint_ne(pair_frame(left.message).base_seq, 0);
	ck_assert_ok(pair_hear(&left, right.message));
	ck_assert_ok(iso_trade_message(left.trade, 0, &peer, left.message));
	ck_assert_uint_eq(pair_frame(left.message).base_seq, 0);
	ck_assert_uint_eq(pair_frame(left.message).echo_seq, 0);
	ck_assert_ok(pair_hear(&right, left.message));
	ck_assert_uint_eq(pair_status(&right).drops[ISO_DROP_REFERENCE], 0);
	ck_assert_double_eq_tol(iso_price_real(pair_edge(&right).heard.price.value_q32),
				iso_price_real(pair_status(&left).price_q32), 0.1);
}
END_TEST

START_TEST(refers_to_what_it_could_decode_and_echoes_what_came)
{
	uint8_t bytes[ISO_EDGE_BYTES];

	pair_set_up();
	pair_exchange();
	pair_exchange();
	pair_tick(&right);
	pair_tick(&left);
	memcpy(bytes, left.message, sizeof(bytes));
	iso_put_le(bytes + 104, 1000, 8); /* a base that nobody sent */
	iso_put_le(bytes + 144, iso_checksum(bytes, 144), 8);
	ck_assert_ok(pair_hear(&right, bytes));
	pair_tick(&right);
	ck_assert_uint_eq(pair_frame(right.message).base_seq, 2);
	ck_assert_uint_eq(pair_frame(right.message).echo_seq, 3);
}
END_TEST

START_TEST(other_prices_are_another_configuration)
{
	uint64_t digest;

	pair_set_up();
	digest = pair_status(&left).digest;
	ck_assert_uint_eq(pair_status(&right).digest, digest);
	right.config.shared_digest = 5;
	ck_assert_ok(
	    iso_trade_init(right.memory, sizeof(right.memory), &right.config, &right.trade));
	ck_assert_uint_ne(pair_status(&right).digest, digest);
	right.config.shared_digest = 0;
	right.config.share.mode = ISO_SHARE_LOG;
	ck_assert_ok(
	    iso_trade_init(right.memory, sizeof(right.memory), &right.config, &right.trade));
	ck_assert_uint_ne(pair_status(&right).digest, digest);
	ck_assert_ok(iso_trade_open(right.trade, &right.disk));
	pair_tick(&right);
	pair_tick(&left);
	ck_assert_int_eq(pair_hear(&right, left.message), ISO_E_CONFIG);
	ck_assert_int_eq(pair_hear(&left, right.message), ISO_E_CONFIG);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade_message");
	TCase *tcase = tcase_create("messages");

	tcase_add_test(tcase, nothing_is_heard_before_the_incarnation_is_durable);
	tcase_add_test(tcase, every_drop_has_its_reason);
	tcase_add_test(tcase, a_long_silence_heals_by_itself);
	tcase_add_test(tcase, what_is_named_is_kept_until_another_is);
	tcase_add_test(tcase, only_what_is_kept_may_become_a_reference);
	tcase_add_test(tcase, a_peer_that_started_again_is_told_an_absolute_price);
	tcase_add_test(tcase, refers_to_what_it_could_decode_and_echoes_what_came);
	tcase_add_test(tcase, other_prices_are_another_configuration);
	suite_add_tcase(suite, tcase);
	return suite;
}
