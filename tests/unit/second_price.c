/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The other half of the second implementation: identities, digests, prices; see second.c. */
#include "config.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/second.h"
#include "tests/vectorfile.h"

static struct vectorfile file;

/* Prices. */

struct real {
	uint64_t m;
	int e;
};

static uint64_t hi(uint64_t a, uint64_t b)
{
	/* By hand, 32 bits at a time. */
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t left = (a >> 32) * (b & UINT32_MAX), right = (a & UINT32_MAX) * (b >> 32);
	uint64_t middle = (low >> 32) + (left & UINT32_MAX) + (right & UINT32_MAX);

	return (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);
}

static struct real product(struct real a, struct real b)
{
	struct real p = { hi(a.m, b.m), a.e + b.e + 1 };

	if (p.m >> 63 == 0) {
		p.m *= 2;
		p.e--;
	}
	return p;
}

static struct real exponential(uint64_t x, bool is_negative)
{
	uint64_t t = (uint64_t)TWO_62, s = t;
	int e = 1;

	for (uint64_t n = 1; t != 0; n++) {
		t = 2 * hi(t, x) / n;
		s = is_negative && n % 2 == 1 ? s - t : s + t;
	}
	for (; s >> 63 == 0; e--)
		s *= 2;
	return (struct real){ s, e };
}

static int64_t rounded(struct real a)
{
	return (int64_t)((((a.m >> (62 - a.e)) + 1)) / 2);
}

static struct {
	unsigned last; /* K */
	int64_t level[2048], bound[2048];
	uint64_t digest;
} table;

static void build_table(uint64_t r)
{
	struct real up = exponential(r << 46, false), down = exponential(r << 46, true);
	struct real level = { (uint64_t)1 << 63, 32 };

	for (struct real below = level; rounded(below) >= 64;
	     below = product(product(below, down), down))
		level = below;
	table.bound[1] = rounded(product(level, down));
	for (unsigned k = 1;; k++) {
		struct real b = product(level, up);

		ck_assert_uint_lt(k + 1, COUNT(table.level));
		table.level[k] = rounded(level);
		table.last = k;
		if (b.e >= 62)
			break;
		table.bound[k + 1] = rounded(b);
		level = product(b, up);
		if (level.e >= 62)
			level = (struct real){ (uint64_t)1 << 63, 62 };
	}
	table.digest = (r << 32) + table.last;
	for (unsigned k = 1; k <= table.last; k++) {
		uint8_t bytes[24];

		put(bytes, table.digest, 8);
		put(bytes + 8, (uint64_t)table.level[k], 8);
		put(bytes + 16, (uint64_t)table.bound[k], 8);
		table.digest = checksum(bytes, 24);
	}
}

static int symbol_of(int64_t v)
{
	int64_t magnitude = v < 0 ? -v : v;
	unsigned k = table.last;

	while (k > 0 && table.bound[k] > magnitude)
		k--;
	return v < 0 ? -(int)k : (int)k;
}

static int64_t stands_for(int symbol)
{
	if (symbol == 0)
		return 0;
	return symbol < 0 ? -table.level[-symbol] : table.level[symbol];
}

static int64_t largest(int symbol)
{
	if (symbol < 0)
		return -table.bound[-symbol];
	return (unsigned)symbol == table.last ? TWO_62 : table.bound[symbol + 1] - 1;
}

static int64_t clamp(int64_t price)
{
	if (price > TWO_62 / 2)
		return TWO_62 / 2;
	return price < -TWO_62 / 2 ? -TWO_62 / 2 : price;
}

/* 24 significant bits, bit by bit. */
static int64_t shortened(int64_t price)
{
	uint64_t m = (uint64_t)(price < 0 ? -price : price), dropped = 0, half = 0;
	unsigned shift = 0;

	for (; m >= 1u << 24; shift++) {
		dropped |= (m & 1) << shift;
		half = (uint64_t)1 << shift;
		m >>= 1;
	}
	if (dropped > half || (dropped == half && half != 0 && m % 2 == 1))
		m++;
	return price < 0 ? -(int64_t)(m << shift) : (int64_t)(m << shift);
}

static int64_t not_below(int64_t price)
{
	int64_t magnitude = price < 0 ? -price : price;

	if (shortened(price) >= price)
		return shortened(price);
	return clamp(shortened(price + magnitude / 8388608));
}

static int64_t number(const char *key)
{
	return (int64_t)vectorfile_number(&file, key);
}

static void check_price(void)
{
	int64_t price = number("price"), reference = number("reference"), step = number("step");
	int64_t mode = number("mode"), symbol = 0, exact = 0, value, upper;

	if (mode == 1 || mode == 2)
		symbol = symbol_of(price - reference);
	if (mode == 3)
		symbol = (price + (price < 0 ? -(step / 2) : step / 2)) / step;
	if (symbol > 32767 || symbol < -32767)
		symbol = symbol < 0 ? -32767 : 32767;
	if (mode == 4)
		exact = price;
	value = upper = mode == 4 ? exact : symbol * step;
	if (mode == 1 || mode == 2)
		value = upper = reference + stands_for((int)symbol);
	if (mode == 1)
		upper = reference + largest((int)symbol);
	ck_assert_int_eq(symbol, number("symbol"));
	ck_assert_int_eq(exact, number("exact_q32"));
	ck_assert_int_eq(shortened(clamp(value)), number("value"));
	if (mode == 1)
		ck_assert_int_eq(not_below(clamp(upper)), number("upper"));
	else
		ck_assert_int_eq(shortened(clamp(upper)), number("upper"));
}

static void check_table(void)
{
	ck_assert_uint_eq(table.last, vectorfile_number(&file, "levels"));
	ck_assert_uint_eq(table.digest, vectorfile_number(&file, "digest"));
	for (unsigned k = 1; k <= table.last; k++) {
		char level[32], bound[32];

		snprintf(level, sizeof(level), "level.%u", k);
		snprintf(bound, sizeof(bound), "bound.%u", k);
		if (vectorfile_find(&file, level) == NULL)
			continue;
		ck_assert_int_eq(table.level[k], number(level));
		ck_assert_int_eq(table.bound[k], number(bound));
	}
}

START_TEST(quantiser_and_prices)
{
	vectorfile_open("quantiser.txt", &file);
	while (vectorfile_next(&file)) {
		build_table(vectorfile_number(&file, "rho_q16"));
		if (vectorfile_find(&file, "levels") != NULL) {
			check_table();
		} else if (vectorfile_find(&file, "input") != NULL) {
			int symbol = symbol_of(number("input"));

			ck_assert_int_eq(symbol, number("symbol"));
			ck_assert_int_eq(stands_for(symbol), number("level"));
			ck_assert_int_eq(largest(symbol), number("high"));
		} else {
			check_price();
		}
	}
	ck_assert_uint_gt(file.cases, 40);
	vectorfile_close(&file);
}
END_TEST

/* Identities. */

static void check_digest(void)
{
	static const struct row configuration[] = {
		{ 68, 8, "epoch" },
		{ 76, 8, "quantiser" },
		{ 84, 8, "rho" },
		{ 92, 8, "lease_ns" },
		{ 100, 8, "promise_ns" },
	};
	static const struct row rows[] = {
		{ 8, 8, "mode" },
		{ 16, 8, "quantiser_digest" },
		{ 24, 8, "step" },
		{ 32, 8, "configuration" },
	};
	const char *cluster = vectorfile_text(&file, "cluster");
	uint8_t bytes[108] = { 0 };
	double rho;

	put(bytes, 2, 4);
	ck_assert_uint_lt(strlen(cluster), 64);
	memcpy(bytes + 4, cluster, strlen(cluster));
	fill_rows(&file, "", configuration, COUNT(configuration), bytes);
	ck_assert_uint_eq(checksum(bytes, 108), vectorfile_number(&file, "configuration"));
	ck_assert_uint_eq(get(bytes + 76, 8) + 1, vectorfile_number(&file, "mode"));
	uint64_t bits = get(bytes + 84, 8);
	memcpy(&rho, &bits, sizeof(rho));
	build_table((uint64_t)(65536 * rho + 0.5));
	ck_assert_uint_eq(table.digest, vectorfile_number(&file, "quantiser_digest"));
	if (vectorfile_number(&file, "mode") == 3)
		ck_assert_int_eq((int64_t)(rho * 4294967296), number("step"));
	put(bytes, 2, 8);
	fill_rows(&file, "", rows, COUNT(rows), bytes);
	ck_assert_uint_eq(checksum(bytes, 40), vectorfile_number(&file, "digest"));
}

START_TEST(ids_and_digests)
{
	vectorfile_open("ids.txt", &file);
	while (vectorfile_next(&file)) {
		const char *cluster = vectorfile_text(&file, "cluster");
		const char *node = vectorfile_find(&file, "node");
		char text[128];

		if (node == NULL) {
			check_digest();
			continue;
		}
		int length = snprintf(text, sizeof(text), "%s%c%s", cluster, '\0', node);
		ck_assert_uint_eq(checksum(cluster, strlen(cluster)),
				  vectorfile_number(&file, "cluster_id"));
		ck_assert_uint_eq(checksum(text, (size_t)length),
				  vectorfile_number(&file, "node_id"));
	}
	ck_assert_uint_ge(file.cases, 10);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("second_price");
	TCase *tcase = tcase_create("implementation");

	tcase_add_test(tcase, ids_and_digests);
	tcase_add_test(tcase, quantiser_and_prices);
	suite_add_tcase(suite, tcase);
	return suite;
}
