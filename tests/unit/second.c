/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A second implementation, from isobar-protocol(7) and nothing else: it uses
 * no header of the library, so what it needs to know must be in the page.  It
 * is held to the same files as the first one, in both directions.
 */
#include "config.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/second.h"
#include "tests/vectorfile.h"

static struct vectorfile file;

/* The EDGE message. */

static const struct row edge_rows[] = {
	{ 8, 8, "cluster" },	   { 16, 4, "epoch" },	    { 20, 2, "flags" },
	{ 22, 2, "degree" },	   { 24, 8, "digest" },	    { 32, 8, "source" },
	{ 40, 8, "destination" },  { 48, 4, "source_gen" }, { 52, 4, "destination_gen" },
	{ 56, 4, "inc" },	   { 60, 4, "echo_inc" },   { 64, 4, "base_inc" },
	{ 68, 2, "symbol" },	   { 72, 8, "seq" },	    { 80, 8, "sent" },
	{ 88, 8, "received" },	   { 96, 8, "echo_seq" },   { 104, 8, "base_seq" },
	{ 112, 8, "exact_q32" },   { 120, 8, "curvature" }, { 128, 8, "head_ucpu" },
	{ 136, 8, "budget_ucpu" },
};

/* Not negative, not above 2^60, a number: by its bits; -0 is 0. */
static bool is_curvature(uint64_t bits)
{
	return bits == (uint64_t)1 << 63 || bits <= (uint64_t)(1023 + 60) << 52;
}

static const char *edge_status(const uint8_t *in, size_t size)
{
	if (size != 152)
		return size < 152 ? "SHORT" : "LONG";
	if (get(in, 4) != 0x454f5349)
		return "MALFORMED";
	if (get(in + 4, 2) != 2)
		return "VERSION";
	if (get(in + 144, 8) != checksum(in, 144))
		return "CHECKSUM";
	if (get(in + 6, 2) != 152 || get(in + 70, 2) != 0)
		return "MALFORMED";
	if (get(in + 48, 4) == 0 || get(in + 52, 4) == 0 || get(in + 56, 4) == 0 ||
	    get(in + 72, 8) == 0)
		return "MALFORMED";
	if ((get(in + 60, 4) == 0) != (get(in + 96, 8) == 0) ||
	    (get(in + 64, 4) == 0) != (get(in + 104, 8) == 0))
		return "MALFORMED";
	if (get(in + 76, 4) != 0 || get(in + 100, 4) != 0 || get(in + 108, 4) != 0)
		return "MALFORMED";
	if (get(in + 20, 2) > 15 || !is_curvature(get(in + 120, 8)) || get(in + 128, 8) >> 63 != 0)
		return "MALFORMED";
	if (get(in + 136, 8) == 0 || get(in + 136, 8) >> 63 != 0)
		return "MALFORMED";
	return "OK";
}

START_TEST(edge_messages)
{
	vectorfile_open("edge.txt", &file);
	while (vectorfile_next(&file)) {
		uint8_t bytes[152] = { 0 };

		ck_assert_str_eq(edge_status(file.bytes, file.size),
				 vectorfile_text(&file, "status"));
		if (vectorfile_find(&file, "seq") == NULL)
			continue;
		check_rows(&file, "", edge_rows, COUNT(edge_rows), file.bytes);
		put(bytes, 0x454f5349, 4);
		put(bytes + 4, 2, 2);
		put(bytes + 6, 152, 2);
		fill_rows(&file, "", edge_rows, COUNT(edge_rows), bytes);
		put(bytes + 144, checksum(bytes, 144), 8);
		ck_assert_mem_eq(bytes, file.bytes, 152);
	}
	ck_assert_uint_gt(file.cases, 30);
	vectorfile_close(&file);
}
END_TEST

/* The journal. */

static const struct row record_rows[] = {
	{ 6, 2, "edge_count" },	   { 12, 4, "epoch" },	    { 16, 8, "cluster" },
	{ 24, 8, "node" },	   { 32, 4, "gen" },	    { 36, 4, "inc" },
	{ 40, 4, "halt" },	   { 44, 4, "flags" },	    { 48, 8, "endowment_ucpu" },
	{ 56, 8, "last_op" },	   { 64, 8, "seq" },	    { 72, 8, "budget_ucpu" },
	{ 80, 8, "last_op_ucpu" }, { 88, 8, "floor_ucpu" },
};
static const struct row record_edge_rows[] = {
	{ 0, 8, "peer" },  { 8, 4, "peer_gen" },  { 12, 4, "flags" },
	{ 16, 8, "sent" }, { 24, 8, "received" },
};

static bool is_intact(const uint8_t *slot, unsigned k)
{
	const uint8_t *sector = slot + 512 * k;

	return get(sector + 504, 8) == checksum(sector, 504) && get(sector + 496, 8) % 8 == k;
}

static uint64_t number_of(const uint8_t *slot, unsigned k)
{
	return get(slot + 512 * k + 496, 8) / 8;
}

static bool is_amount(int64_t value, int64_t least)
{
	return value >= least && value <= TWO_62;
}

static bool fields_possible(const uint8_t *payload, uint64_t n)
{
	uint64_t gen = get(payload + 32, 4), halt = get(payload + 40, 4);
	uint64_t flags = get(payload + 44, 4), seq = get(payload + 64, 8);
	int64_t endowment = (int64_t)get(payload + 48, 8), budget = (int64_t)get(payload + 72, 8);
	int64_t floor = (int64_t)get(payload + 88, 8);

	if (halt > 4 || flags > 3 || seq < 1 || seq > (uint64_t)1 << 59)
		return false;
	if (!is_amount(endowment, -TWO_62) || !is_amount(floor, 0) ||
	    get(payload + 56, 8) > (uint64_t)TWO_62 ||
	    !is_amount((int64_t)get(payload + 80, 8), -TWO_62))
		return false;
	if (gen != 0)
		return is_amount(budget, 1);
	return n == 0 && endowment == 0 && budget == 0 && floor == 0 && halt == 0 && flags == 0;
}

static bool values_possible(const uint8_t *payload, uint64_t n)
{
	uint64_t x = get(payload + 48, 8);

	if (!fields_possible(payload, n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *edge = payload + 96 + 32 * i;
		uint64_t sent = get(edge + 16, 8), received = get(edge + 24, 8);

		if (get(edge, 8) == get(payload + 24, 8) || get(edge + 8, 4) == 0 ||
		    get(edge + 12, 4) > 4 || sent > (uint64_t)TWO_62 || received > (uint64_t)TWO_62)
			return false;
		if (get(edge + 12, 4) == 4 && (sent != 0 || received != 0))
			return false;
		for (uint64_t j = 0; j < i; j++)
			if (get(payload + 96 + 32 * j, 8) == get(edge, 8))
				return false;
		x += received - sent;
	}
	return x <= (get(payload + 40, 4) == 4 ? 0 : (uint64_t)TWO_62);
}

static const char *slot_status(const uint8_t *slot, uint8_t payload[3968])
{
	for (unsigned k = 0; k < 8; k++)
		if (!is_intact(slot, k) || number_of(slot, k) != number_of(slot, 0))
			return "CHECKSUM";
	for (unsigned k = 0; k < 8; k++)
		memcpy(payload + 496 * k, slot + 512 * k, 496);

	uint64_t n = get(payload + 6, 2), length = get(payload + 8, 4);

	if (get(payload, 4) != 0x4a4f5349)
		return "MALFORMED";
	if (get(payload + 4, 2) != 2)
		return "VERSION";
	if (n > 64 || length != 104 + 32 * n)
		return "MALFORMED";
	if (get(payload + 96 + 32 * n, 8) != checksum(payload, 96 + 32 * n))
		return "CHECKSUM";
	for (uint64_t i = length; i < 3968; i++)
		if (payload[i] != 0)
			return "CHECKSUM";
	if (!values_possible(payload, n) || get(payload + 64, 8) != number_of(slot, 0))
		return "MALFORMED";
	return "OK";
}

/* The slot that the fields of the file give; compares its edges with those decoded. */
static void encode_slot(const uint8_t decoded[3968], uint8_t slot[4096])
{
	uint8_t payload[3968] = { 0 };

	put(payload, 0x4a4f5349, 4);
	put(payload + 4, 2, 2);
	fill_rows(&file, "", record_rows, COUNT(record_rows), payload);
	uint64_t n = get(payload + 6, 2);
	ck_assert_uint_le(n, 64);
	put(payload + 8, 104 + 32 * n, 4);
	for (uint64_t i = 0; i < n; i++) {
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "edge.%u.", (unsigned)i);
		check_rows(&file, prefix, record_edge_rows, COUNT(record_edge_rows),
			   decoded + 96 + 32 * i);
		fill_rows(&file, prefix, record_edge_rows, COUNT(record_edge_rows),
			  payload + 96 + 32 * i);
	}
	put(payload + 96 + 32 * n, checksum(payload, 96 + 32 * n), 8);
	for (unsigned k = 0; k < 8; k++) {
		uint8_t *sector = slot + 512 * k;

		memcpy(sector, payload + 496 * k, 496);
		put(sector + 496, 8 * get(payload + 64, 8) + k, 8);
		put(sector + 504, checksum(sector, 504), 8);
	}
}

START_TEST(journal_slots)
{
	vectorfile_open("record.txt", &file);
	while (vectorfile_next(&file)) {
		uint8_t payload[3968], slot[4096];

		ck_assert_uint_eq(file.size, 4096);
		ck_assert_msg(
		    strcmp(slot_status(file.bytes, payload), vectorfile_text(&file, "status")) == 0,
		    "%s: %s", file.name, slot_status(file.bytes, payload));
		if (vectorfile_find(&file, "seq") == NULL)
			continue;
		check_rows(&file, "", record_rows, COUNT(record_rows), payload);
		encode_slot(payload, slot);
		ck_assert_mem_eq(slot, file.bytes, 4096);
	}
	ck_assert_uint_gt(file.cases, 30);
	vectorfile_close(&file);
}
END_TEST

/* Whether a slot that is not valid may be passed over beside a record number s. */
static bool never_ended(const uint8_t *slot, uint64_t s)
{
	unsigned intact = 0, next = 0;
	bool has_older = false;

	for (unsigned k = 0; k < 8; k++) {
		if (!is_intact(slot, k))
			continue;
		intact++;
		next += number_of(slot, k) == s + 1;
		has_older |= number_of(slot, k) < s;
	}
	return has_older || (intact == 8 && next == 8);
}

static const char *recover(const uint8_t *journal, size_t size, uint64_t *ret_seq)
{
	uint8_t payload[2][3968];
	const char *status[2];
	bool valid[2];

	if (size != 8192)
		return "DAMAGED";
	for (unsigned i = 0; i < 2; i++) {
		status[i] = slot_status(journal + 4096 * i, payload[i]);
		valid[i] = strcmp(status[i], "OK") == 0;
		if (!valid[i] && strcmp(status[i], "CHECKSUM") != 0)
			return status[i];
		if (valid[i] && get(payload[i] + 64, 8) % 2 != i)
			return "MALFORMED";
	}
	if (!valid[0] && !valid[1])
		return "DAMAGED";
	if (valid[0] && valid[1]) {
		uint64_t a = get(payload[0] + 64, 8), b = get(payload[1] + 64, 8);

		*ret_seq = a > b ? a : b;
		return memcmp(payload[0] + 16, payload[1] + 16, 16) == 0 ? "OK" : "MALFORMED";
	}
	*ret_seq = get(payload[valid[1]] + 64, 8);
	return never_ended(journal + 4096 * !valid[1], *ret_seq) ? "OK" : "DAMAGED";
}

START_TEST(journals)
{
	vectorfile_open("recovery.txt", &file);
	while (vectorfile_next(&file)) {
		uint64_t seq = 0;
		const char *status = recover(file.bytes, file.size, &seq);

		ck_assert_msg(strcmp(status, vectorfile_text(&file, "status")) == 0, "%s: %s",
			      file.name, status);
		if (strcmp(status, "OK") == 0)
			ck_assert_uint_eq(seq, vectorfile_number(&file, "seq"));
	}
	ck_assert_uint_gt(file.cases, 15);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("second");
	TCase *tcase = tcase_create("implementation");

	tcase_add_test(tcase, edge_messages);
	tcase_add_test(tcase, journal_slots);
	tcase_add_test(tcase, journals);
	suite_add_tcase(suite, tcase);
	return suite;
}
