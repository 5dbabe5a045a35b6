/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ledger/record.h"

#include <signal.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"

static struct iso_record record_of(uint64_t seq, uint32_t edge_count)
{
	struct iso_record record;

	memset(&record, 0, sizeof(record));
	record.cluster = 77;
	record.node = 1001;
	record.gen = 2;
	record.inc = 3;
	record.epoch = 4;
	record.flags = ISO_NODE_DRAINING;
	record.endowment_ucpu = 5000000;
	record.budget_ucpu = 8000000;
	record.floor_ucpu = 90000;
	record.last_op = 6;
	record.last_op_ucpu = -70;
	record.seq = seq;
	record.edge_count = edge_count;
	for (uint32_t k = 0; k < edge_count; k++)
		record.edges[k] = (struct iso_record_edge){ .peer = 2000 + k,
							    .peer_gen = 1 + k,
							    .flags = k % 4,
							    .sent = seq + k,
							    .received = 2 * seq + k };
	return record;
}

/* Two slots as the agent writes them: seq and the one before. */
static void fill(uint8_t journal[ISO_JOURNAL_BYTES], uint64_t seq)
{
	for (uint64_t s = seq - 1; s <= seq; s++) {
		struct iso_record record = record_of(s, 5);

		iso_record_encode(&record, journal + s % 2 * ISO_SLOT_BYTES);
	}
}

static uint64_t recovered(const uint8_t journal[ISO_JOURNAL_BYTES])
{
	struct iso_record record;

	ck_assert_ok(iso_record_recover(journal, &record));
	return record.seq;
}

static void recover_fails(const uint8_t journal[ISO_JOURNAL_BYTES], enum iso_status expected)
{
	struct iso_record record, poison;

	memset(&poison, 0xa5, sizeof(poison));
	record = poison;
	ck_assert_int_eq(iso_record_recover(journal, &record), expected);
	ck_assert_mem_eq(&record, &poison, sizeof(poison));
}

static void reseal(uint8_t *sector)
{
	iso_put_le(sector + 504, iso_checksum(sector, 504), 8);
}

START_TEST(what_goes_in_comes_out)
{
	for (uint32_t edges = 0; edges <= ISO_DEGREE_MAX; edges++) {
		struct iso_record record = record_of(edges + 1, edges), decoded;
		uint8_t slot[ISO_SLOT_BYTES];

		ck_assert_ok(iso_record_check(&record));
		record.halt = edges % 2 == 0 ? ISO_HALT_NONE : ISO_HALT_AMNESIA;
		iso_record_encode(&record, slot);
		ck_assert_ok(iso_record_decode(slot, &decoded));
		ck_assert_mem_eq(&record, &decoded, sizeof(record));
	}
}
END_TEST

START_TEST(bytes_are_where_the_header_says)
{
	struct iso_record record = record_of(9, 20);
	uint8_t slot[ISO_SLOT_BYTES];

	iso_record_encode(&record, slot);
	ck_assert_mem_eq(slot, "ISOJ", 4);
	ck_assert_uint_eq(iso_get_le(slot + 4, 2), 2);
	ck_assert_uint_eq(iso_get_le(slot + 6, 2), 20);
	ck_assert_uint_eq(iso_get_le(slot + 8, 4), 96 + 20 * 32 + 8);
	ck_assert_uint_eq(iso_get_le(slot + 12, 4), 4);
	ck_assert_uint_eq(iso_get_le(slot + 16, 8), 77);
	ck_assert_uint_eq(iso_get_le(slot + 24, 8), 1001);
	ck_assert_uint_eq(iso_get_le(slot + 32, 4), 2);
	ck_assert_uint_eq(iso_get_le(slot + 36, 4), 3);
	ck_assert_uint_eq(iso_get_le(slot + 44, 4), ISO_NODE_DRAINING);
	ck_assert_uint_eq(iso_get_le(slot + 48, 8), 5000000);
	ck_assert_uint_eq(iso_get_le(slot + 56, 8), 6);
	ck_assert_uint_eq(iso_get_le(slot + 64, 8), 9);
	ck_assert_uint_eq(iso_get_le(slot + 72, 8), 8000000);
	ck_assert_uint_eq(iso_get_le(slot + 80, 8), (uint64_t)-70);
	ck_assert_uint_eq(iso_get_le(slot + 88, 8), 90000);
	/* Edge 1; and edge 14, which lies in the second sector. */
	ck_assert_uint_eq(iso_get_le(slot + 96 + 32, 8), 2001);
	ck_assert_uint_eq(iso_get_le(slot + 96 + 32 + 8, 4), 2);
	ck_assert_uint_eq(iso_get_le(slot + 96 + 32 + 12, 4), 1);
	ck_assert_uint_eq(iso_get_le(slot + 96 + 32 + 16, 8), 10);
	ck_assert_uint_eq(iso_get_le(slot + 96 + 32 + 24, 8), 19);
	ck_assert_uint_eq(iso_get_le(slot + 512 + 96 + 14 * 32 - 496, 8), 2014);
	for (unsigned k = 0; k < 8; k++) {
		ck_assert_uint_eq(iso_get_le(slot + 512 * k + 496, 8), 9 * 8 + k);
		ck_assert_uint_eq(iso_get_le(slot + 512 * k + 504, 8),
				  iso_checksum(slot + 512 * k, 504));
	}
	/* A saved record: later releases must read and write these bytes. */
	ck_assert_uint_eq(iso_checksum(slot, sizeof(slot)), 11036202976232069103u);
}
END_TEST

START_TEST(impossible_records_are_refused)
{
	struct iso_record good = record_of(9, 3), bad;

	ck_assert_ok(iso_record_check(&good));
#define refused(field, value)                                                                      \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.field = (value);                                                               \
		ck_assert_int_eq(iso_record_check(&bad), ISO_E_MALFORMED);                         \
	} while (0)
	refused(edge_count, ISO_DEGREE_MAX + 1);
	refused(gen, 0);
	refused(seq, 0);
	refused(seq, UINT64_MAX);
	refused(halt, (enum iso_halt)9);
	refused(endowment_ucpu, ISO_UNITS_MAX + 1);
	refused(endowment_ucpu, -6000000);
	refused(edges[1].peer, good.edges[0].peer);
	refused(edges[1].peer, good.node);
	refused(edges[1].peer_gen, 0);
	refused(edges[1].flags, 8);
	/* A tombstone with something in it, or that is closed as well. */
	refused(edges[1].flags, ISO_EDGE_STATE_FOLDED);
	refused(edges[1].flags, ISO_EDGE_STATE_FOLDED | ISO_EDGE_STATE_CLOSED);
	refused(flags, 4);
	refused(budget_ucpu, 0);
	refused(floor_ucpu, -1);
	refused(floor_ucpu, ISO_UNITS_MAX + 1);
	refused(budget_ucpu, ISO_UNITS_MAX + 1);
	refused(last_op, (uint64_t)ISO_UNITS_MAX + 1);
	refused(last_op_ucpu, ISO_UNITS_MAX + 1);
	refused(last_op_ucpu, -ISO_UNITS_MAX - 1);
	/* It owns something, and has left. */
	refused(halt, ISO_HALT_LEFT);
	refused(edges[1].sent, (uint64_t)ISO_UNITS_MAX + 1);
	refused(edges[1].received, UINT64_MAX);
	/* It would own less than nothing. */
	refused(edges[2].sent, 5000000 + 1000);
#undef refused
	ck_assert_int_eq(iso_record_holdings(&good), 5000000 + 27);
}
END_TEST

START_TEST(the_newer_slot_wins)
{
	uint8_t journal[ISO_JOURNAL_BYTES];

	for (uint64_t seq = 2; seq < 6; seq++) {
		fill(journal, seq);
		ck_assert_uint_eq(recovered(journal), seq);
	}
	/* A lost write in between: the newer one still counts. */
	struct iso_record record = record_of(9, 5);
	iso_record_encode(&record, journal + ISO_SLOT_BYTES);
	ck_assert_uint_eq(recovered(journal), 9);
}
END_TEST

START_TEST(a_torn_write_leaves_the_state_before)
{
	uint8_t journal[ISO_JOURNAL_BYTES], next[ISO_SLOT_BYTES];
	struct iso_record record = record_of(8, 9);

	iso_record_encode(&record, next);
	for (unsigned subset = 0; subset < 256; subset++) {
		fill(journal, 7);
		for (unsigned k = 0; k < 8; k++)
			if ((subset >> k & 1) != 0)
				memcpy(journal + k * 512, next + k * 512, 512);
		ck_assert_uint_eq(recovered(journal), subset == 255 ? 8 : 7);
		/* A sector that was being written may be neither old nor new. */
		for (unsigned k = 0; k < 8; k++) {
			if (subset == 255 || (subset | 1u << k) == 255)
				continue;
			uint8_t kept[512];

			memcpy(kept, journal + k * 512, 512);
			memset(journal + k * 512 + 100, 0x77, 50);
			ck_assert_uint_eq(recovered(journal), 7);
			memcpy(journal + k * 512, kept, 512);
		}
	}
}
END_TEST

START_TEST(two_torn_attempts_at_one_record_leave_the_state_before)
{
	/* The second fits into the first sector: all of its own bytes may be there. */
	static const uint32_t edges[] = { 60, 5 };
	uint8_t journal[ISO_JOURNAL_BYTES], first[ISO_SLOT_BYTES], second[ISO_SLOT_BYTES];
	struct iso_record record = record_of(8, 64);

	iso_record_encode(&record, first);
	record = record_of(8, edges[_i]);
	record.inc++;
	iso_record_encode(&record, second);
	/* Every sector is of seq 8, but not of one record. */
	for (unsigned subset = 1; subset < 31; subset++) {
		fill(journal, 7);
		for (unsigned k = 0; k < 8; k++)
			memcpy(journal + k * 512,
			       (subset >> k & 1) != 0 ? first + k * 512 : second + k * 512, 512);
		if (memcmp(journal, first, 4096) == 0 || memcmp(journal, second, 4096) == 0)
			continue;
		ck_assert_uint_eq(recovered(journal), 7);
	}
}
END_TEST

START_TEST(damage_to_the_newer_slot_is_never_passed_over)
{
	uint8_t journal[ISO_JOURNAL_BYTES], good[ISO_JOURNAL_BYTES];

	fill(good, 8); /* 8 in slot 0 */
	for (unsigned offset = 0; offset < ISO_JOURNAL_BYTES; offset += 7) {
		memcpy(journal, good, sizeof(journal));
		journal[offset] ^= 0x10;
		/* Going back to 7 could spend twice what 8 gave away. */
		if (offset < ISO_SLOT_BYTES)
			recover_fails(journal, ISO_E_DAMAGED);
		else
			ck_assert_uint_eq(recovered(journal), 8);
	}
	memcpy(journal, good, sizeof(journal));
	memset(journal, 0, ISO_SLOT_BYTES);
	recover_fails(journal, ISO_E_DAMAGED);
	memset(journal, 0xff, sizeof(journal));
	recover_fails(journal, ISO_E_DAMAGED);
}
END_TEST

/*
 * A failed sync that nobody noticed: the page cache had 8 in slot 0 but the
 * disk kept 6, and the next write, 9 over 7 in slot 1, was torn.  6 is valid, yet
 * 7 was durable once: 6 must not come back.
 */
START_TEST(a_lost_write_and_a_torn_one_do_not_bring_back_the_past)
{
	uint8_t journal[ISO_JOURNAL_BYTES], next[ISO_SLOT_BYTES];
	struct iso_record record = record_of(9, 5);

	fill(journal, 7);
	iso_record_encode(&record, next);
	memcpy(journal + ISO_SLOT_BYTES, next, 1024);
	recover_fails(journal, ISO_E_DAMAGED);
}
END_TEST

START_TEST(what_is_no_journal_is_said_so)
{
	uint8_t journal[ISO_JOURNAL_BYTES], other[ISO_JOURNAL_BYTES];
	struct iso_record record;

	fill(journal, 8);
	journal[0] = 'X';
	reseal(journal);
	recover_fails(journal, ISO_E_MALFORMED);
	fill(journal, 8);
	journal[4] = 1;
	reseal(journal);
	recover_fails(journal, ISO_E_VERSION);
	/* An older slot of another version: a downgrade must not start from the other. */
	fill(journal, 8);
	journal[ISO_SLOT_BYTES + 4] = 9;
	reseal(journal + ISO_SLOT_BYTES);
	recover_fails(journal, ISO_E_VERSION);
	/* Slots in each other's place. */
	fill(journal, 8);
	memcpy(other, journal + ISO_SLOT_BYTES, ISO_SLOT_BYTES);
	memcpy(other + ISO_SLOT_BYTES, journal, ISO_SLOT_BYTES);
	recover_fails(other, ISO_E_MALFORMED);
	/* Slots of two nodes. */
	record = record_of(7, 5);
	record.node++;
	iso_record_encode(&record, journal + ISO_SLOT_BYTES);
	recover_fails(journal, ISO_E_MALFORMED);
}
END_TEST

START_TEST(sealed_nonsense_is_malformed)
{
	static const struct {
		unsigned offset, size;
		uint64_t value;
	} changes[] = {
		{ 6, 2, 65 },  /* edges */
		{ 8, 4, 80 },  /* length */
		{ 44, 4, 4 },  /* flags */
		{ 72, 8, 0 },  /* budget */
		{ 32, 4, 0 },  /* gen */
		{ 64, 8, 10 }, /* seq that is not the stamp's */
	};
	struct iso_record record = record_of(8, 2), decoded;
	uint8_t slot[ISO_SLOT_BYTES];
	unsigned length = 96 + 2 * 32 + 8;

	for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
		iso_record_encode(&record, slot);
		iso_put_le(slot + changes[k].offset, changes[k].value, changes[k].size);
		iso_put_le(slot + length - 8, iso_checksum(slot, length - 8), 8);
		reseal(slot);
		ck_assert_msg(iso_record_decode(slot, &decoded) == ISO_E_MALFORMED, "change %zu",
			      k);
	}
	/* Behind the record: of another attempt at it. */
	iso_record_encode(&record, slot);
	slot[300] = 1;
	reseal(slot);
	ck_assert_int_eq(iso_record_decode(slot, &decoded), ISO_E_CHECKSUM);
	/* A sector in another one's place. */
	iso_record_encode(&record, slot);
	memcpy(slot + 6 * 512, slot + 7 * 512, 512);
	ck_assert_int_eq(iso_record_decode(slot, &decoded), ISO_E_CHECKSUM);
}
END_TEST

START_TEST(halts_are_told_apart)
{
	ck_assert_str_ne(iso_halt_text(ISO_HALT_NONE), iso_halt_text(ISO_HALT_AMNESIA));
	ck_assert_str_ne(iso_halt_text(ISO_HALT_OVERDRAFT), iso_halt_text(ISO_HALT_AMNESIA));
}
END_TEST

START_TEST(dies_of_an_impossible_record)
{
	struct iso_record record = record_of(0, 0);
	uint8_t slot[ISO_SLOT_BYTES];

	iso_record_encode(&record, slot);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("slots");

	tcase_add_test(tcase, what_goes_in_comes_out);
	tcase_add_test(tcase, bytes_are_where_the_header_says);
	tcase_add_test(tcase, impossible_records_are_refused);
	tcase_add_test(tcase, the_newer_slot_wins);
	tcase_add_test(tcase, a_torn_write_leaves_the_state_before);
	tcase_add_loop_test(tcase, two_torn_attempts_at_one_record_leave_the_state_before, 0, 2);
	tcase_add_test(tcase, damage_to_the_newer_slot_is_never_passed_over);
	tcase_add_test(tcase, a_lost_write_and_a_torn_one_do_not_bring_back_the_past);
	tcase_add_test(tcase, what_is_no_journal_is_said_so);
	tcase_add_test(tcase, sealed_nonsense_is_malformed);
	tcase_add_test(tcase, halts_are_told_apart);
	tcase_add_test_raise_signal(tcase, dies_of_an_impossible_record, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
