/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * isobar-protocol(7) against the code: each table of the page lays out a
 * format without gaps, its constants are those of the code, it has each field
 * that a comment in the library names, and in the frozen bytes of the test
 * vectors each field lies where the page says.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/net/link.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/ledger/record.h"
#include "lib/quant/quant.h"
#include "lib/quant/stream.h"
#include "lib/wire/edge.h"
#include "lib/wire/peer.h"
#include "lib/wire/train.h"
#include "lib/wire/worker.h"
#include "tests/pagetable.h"
#include "tests/test.h"
#include "tests/vectorfile.h"

/* From one offset to another, each byte once. */
static void check_layout(const struct table *table, unsigned from, unsigned to)
{
	for (unsigned i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];

		ck_assert_msg(row->offset == from, "%s is at %u, not %u", row->name, row->offset,
			      from);
		ck_assert_msg(row->size > 0, "%s has type %s", row->name, row->type);
		from += row->size;
	}
	ck_assert_uint_eq(from, to);
}

/* The meaning begins with this number, written so. */
static void says(const struct table *table, const char *name, const char *number)
{
	const char *meaning = pagetable_row(table, name)->meaning;
	size_t length = strlen(number);

	ck_assert_msg(strncmp(meaning, number, length) == 0 &&
			  strchr(",;", meaning[length]) != NULL,
		      "%s is %s, not %s", name, meaning, number);
}

static void says_magic(const struct table *table, uint32_t magic)
{
	char number[32];

	snprintf(number, sizeof(number), "%#" PRIx32, magic);
	says(table, "magic", number);
}

static void says_decimal(const struct table *table, const char *name, uint32_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu32, value);
	says(table, name, number);
}

static const struct {
	const char *table;
	unsigned from, to;
} layouts[] = {
	{ "configuration", 0, 108 },
	{ "digest", 0, 40 },
	{ "edge", 0, ISO_EDGE_BYTES },
	{ "sector", 0, ISO_SECTOR_BYTES },
	{ "record", 0, 96 },
	{ "record_edge", 0, 32 },
	{ "stream", 0, ISO_STREAM_HEAD_BYTES },
	{ "train", 0, 24 },
	{ "train_task", 0, 24 },
	{ "worker", 0, ISO_WORKER_RECORD_BYTES },
	{ "peer", 0, ISO_PEER_HEAD_BYTES },
	{ "train 1", 24, 24 + ISO_TRAIN_NAME_BYTES + 52 },
	{ "train 2", 24, 24 + 84 },
	{ "train 3", 24, 24 + 28 },
	{ "train 4", 24, 24 + 76 },
	{ "train 5", 24, 24 + 20 },
	{ "train 6", 24, 24 + 28 },
	{ "train 7", 24, 24 + 28 },
	{ "train 8", 24, 24 + 12 + ISO_TRAIN_TEXT_BYTES },
};

START_TEST(each_table_covers_its_bytes_once)
{
	struct table table;

	pagetable_read(layouts[_i].table, &table);
	check_layout(&table, layouts[_i].from, layouts[_i].to);
}
END_TEST

__attribute__((format(printf, 2, 3))) static void page_has(const char *page, const char *format,
							   ...)
{
	char expected[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(expected, sizeof(expected), format, ap);
	va_end(ap);
	ck_assert_msg(strstr(page, expected) != NULL, "the page lacks: %s", expected);
}

START_TEST(constants_are_those_of_the_code)
{
	char *page = pagetable_source("man/isobar-protocol.7");
	struct table table;

	pagetable_read("edge", &table);
	says_magic(&table, ISO_EDGE_MAGIC);
	says_decimal(&table, "version", ISO_EDGE_VERSION);
	says_decimal(&table, "length", ISO_EDGE_BYTES);
	says_decimal(&table, "zero", 0);
	pagetable_read("record", &table);
	says_magic(&table, ISO_RECORD_MAGIC);
	says_decimal(&table, "version", ISO_RECORD_VERSION);
	ck_assert_str_eq(pagetable_row(&table, "edge_count")->meaning, "n, at most 64");
	ck_assert_uint_eq(ISO_DEGREE_MAX, 64);
	ck_assert_uint_eq(ISO_UNITS_MAX, (int64_t)1 << 62);
	pagetable_read("train", &table);
	says_decimal(&table, "version", ISO_TRAIN_VERSION);
	page_has(page, "More than %u: LONG.", ISO_TRAIN_HEAD_MAX);
	pagetable_read("peer", &table);
	says_magic(&table, ISO_PEER_MAGIC);
	says_decimal(&table, "version", ISO_PEER_VERSION);
	page_has(page, "of %u bytes, and with SNAPSHOT", ISO_PEER_HEAD_BYTES);
	page_has(page, "frame seq, at most %u\n", ISO_PEER_NEIGHBOURS_MAX);
	page_has(page, "said so, at most %u\n", ISO_PEER_AGE_MAX - 1);
	page_has(page, "and in z, from 1 to %u\n", ISO_PEER_PARAMS_MAX);
	page_has(page, "tasks that follow, at most %u\n", ISO_TRAIN_TASKS_MAX);
	page_has(page, "from 1 to %u", ISO_TRAIN_PARAMS_MAX);
	page_has(page, "has at most %u +", ISO_TRAIN_FIXED_MAX + 64);
	page_has(page, "or %u for the kernel's own clock", ISO_WORKER_NO_SLOT);
	page_has(page, "exactly %u bytes: two", ISO_JOURNAL_BYTES);
	page_has(page, "slots of %u bytes", ISO_SLOT_BYTES);
	page_has(page, "is from %u to", ISO_QUANT_RHO_MIN);
	page_has(page, "to %u.\nA\n.Em real", ISO_QUANT_RHO_MAX);
	page_has(page, "more than %u\nbytes is dropped unread", LINK_MESSAGE_BYTES_MAX);
	page_has(page, "%u are taken before other work", LINK_DRAIN_MAX);
	free(page);
}
END_TEST

START_TEST(the_default_table_is_the_one_of_the_page)
{
	static struct iso_quant quant;
	char *page = pagetable_source("man/isobar-protocol.7");

	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	page_has(page, "K is %" PRIu32 " and", quant.levels);
	page_has(page, "the digest %#" PRIx64 ".", quant.digest);
	free(page);
}
END_TEST

static const struct {
	const char *header, *table;
	unsigned fields; /* with an offset in the comment */
} comments[] = {
	{ "lib/wire/edge.h", "edge", 27 },
	{ "lib/ledger/record.h", "record", 17 },
	{ "lib/wire/train.h", "train", 6 },
	{ "lib/wire/worker.h", "worker", 5 },
	{ "lib/quant/stream.h", "stream", 5 },
	{ "lib/wire/peer.h", "peer", 28 },
};

/* Every "OFFSET TYPE" in the comments of a header is a row of the page's table. */
START_TEST(fields_of_the_librarys_comments_are_in_the_page)
{
	char *text = pagetable_source(comments[_i].header), *save = text, *word;
	unsigned seen = 0;
	struct table table;
	const char *last = "";

	pagetable_read(comments[_i].table, &table);
	while ((word = strsep(&save, " \t\n")) != NULL) {
		bool is_type = (word[0] == 'u' || word[0] == 'i' || word[0] == 'f') &&
			       strspn(word + 1, "0123456789") == strlen(word + 1) &&
			       word[1] != '\0';
		bool is_found = false;

		if (word[0] == '\0')
			continue;
		if (is_type && last[0] != '\0' && strspn(last, "0123456789") == strlen(last)) {
			for (unsigned i = 0; i < table.count; i++)
				is_found |= table.rows[i].offset == strtoul(last, NULL, 10) &&
					    strcmp(table.rows[i].type, word) == 0;
			ck_assert_msg(is_found, "%s: %s %s is not in the page", comments[_i].header,
				      last, word);
			seen++;
		}
		last = word;
	}
	free(text);
	ck_assert_uint_eq(seen, comments[_i].fields);
}
END_TEST

static struct vectorfile file;

/* What the file says of a field stands at the field's place. */
static void check_row(const struct row *row, const char *key, const uint8_t *at)
{
	const char *text = vectorfile_find(&file, key);

	if (text == NULL) {
		/* A constant, or something computed that the unit tests of the format check. */
		bool is_constant = row->meaning[0] >= '0' && row->meaning[0] <= '9' &&
				   strcmp(row->name, "length") != 0;

		if (is_constant || strcmp(row->meaning, "152") == 0)
			ck_assert_msg(iso_get_le(at, row->size) == strtoull(row->meaning, NULL, 0),
				      "%s: %s", file.name, row->name);
		else
			ck_assert_msg(strcmp(row->name, "checksum") == 0 ||
					  strcmp(row->name, "length") == 0 ||
					  strcmp(row->name, "size") == 0,
				      "%s: no '%s' in the file", file.name, row->name);
		return;
	}
	if (row->type[0] == 'c') {
		char padded[128] = { 0 };

		ck_assert_uint_lt(strlen(text), row->size);
		memcpy(padded, text, strlen(text));
		ck_assert_mem_eq(at, padded, row->size);
		return;
	}
	uint64_t wide = vectorfile_number(&file, key);
	uint64_t number = row->size == 8 ? wide : wide & (((uint64_t)1 << 8 * row->size) - 1);

	ck_assert_msg(iso_get_le(at, row->size) == number, "%s: %s", file.name, key);
}

static void check_rows(const struct table *table, const char *prefix, const uint8_t *bytes)
{
	for (unsigned i = 0; i < table->count; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s", prefix, table->rows[i].name);
		check_row(&table->rows[i], key, bytes + table->rows[i].offset);
	}
}

static bool next_good(void)
{
	while (vectorfile_next(&file))
		if (strcmp(vectorfile_text(&file, "status"), "OK") == 0)
			return true;
	return false;
}

START_TEST(edge_messages_are_laid_out_as_the_page_says)
{
	struct table table;
	unsigned good = 0;

	pagetable_read("edge", &table);
	vectorfile_open("edge.txt", &file);
	for (; next_good(); good++)
		check_rows(&table, "", file.bytes);
	ck_assert_uint_ge(good, 8);
	vectorfile_close(&file);
}
END_TEST

START_TEST(journal_slots_are_laid_out_as_the_page_says)
{
	struct table sector, record, edge;
	unsigned good = 0;

	pagetable_read("sector", &sector);
	pagetable_read("record", &record);
	pagetable_read("record_edge", &edge);
	vectorfile_open("record.txt", &file);
	for (; next_good(); good++) {
		unsigned part = pagetable_row(&sector, "payload")->size;
		uint8_t payload[8 * ISO_SECTOR_BYTES];

		for (unsigned k = 0; k < 8; k++) {
			const uint8_t *at = file.bytes + k * ISO_SECTOR_BYTES;

			memcpy(payload + k * part, at, part);
			ck_assert_uint_eq(
			    iso_get_le(at + pagetable_row(&sector, "stamp")->offset, 8),
			    8 * vectorfile_number(&file, "seq") + k);
		}
		check_rows(&record, "", payload);
		for (unsigned k = 0; k < vectorfile_number(&file, "edge_count"); k++) {
			char prefix[32];

			snprintf(prefix, sizeof(prefix), "edge.%u.", k);
			check_rows(&edge, prefix, payload + 96 + 32 * k);
		}
	}
	ck_assert_uint_ge(good, 7);
	vectorfile_close(&file);
}
END_TEST

START_TEST(peer_messages_are_laid_out_as_the_page_says)
{
	struct table table;
	unsigned good = 0;

	pagetable_read("peer", &table);
	vectorfile_open("peer.txt", &file);
	for (; next_good(); good++)
		check_rows(&table, "", file.bytes);
	ck_assert_uint_ge(good, 13);
	vectorfile_close(&file);
}
END_TEST

START_TEST(training_messages_are_laid_out_as_the_page_says)
{
	struct table head, fields, task;
	unsigned good = 0;

	pagetable_read("train", &head);
	pagetable_read("train_task", &task);
	vectorfile_open("train.txt", &file);
	for (; next_good(); good++) {
		char name[32], prefix[32];

		snprintf(name, sizeof(name), "train %" PRIu64, vectorfile_number(&file, "type"));
		pagetable_read(name, &fields);
		check_rows(&head, "", file.bytes);
		check_rows(&fields, "", file.bytes);
		const struct row *last = &fields.rows[fields.count - 1];
		uint8_t *at = file.bytes + last->offset + last->size;
		for (unsigned k = 0; at + 24 < file.bytes + file.size; k++, at += 24) {
			snprintf(prefix, sizeof(prefix), "task.%u.", k);
			check_rows(&task, prefix, at);
		}
		ck_assert_ptr_eq(at + 8, file.bytes + file.size);
		ck_assert_uint_eq(iso_get_le(at, 8), iso_checksum(file.bytes, file.size - 8));
		(void)vectorfile_find(&file, "block");
	}
	ck_assert_uint_ge(good, 14);
	vectorfile_close(&file);
}
END_TEST

START_TEST(worker_records_are_laid_out_as_the_page_says)
{
	struct table table;
	unsigned good = 0;

	pagetable_read("worker", &table);
	vectorfile_open("worker.txt", &file);
	for (; next_good(); good++)
		check_rows(&table, "", file.bytes);
	ck_assert_uint_ge(good, 5);
	vectorfile_close(&file);
}
END_TEST

/* The checksum of what a table lays out, from the fields of the file. */
static uint64_t checksum_of(const struct table *table)
{
	uint8_t bytes[128] = { 0 };
	unsigned size = 0;

	for (unsigned i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];
		uint8_t *at = bytes + row->offset;

		if (row->type[0] == 'c')
			memcpy(at, vectorfile_text(&file, row->name),
			       strlen(vectorfile_text(&file, row->name)));
		else if (strcmp(row->name, "version") == 0)
			iso_put_le(at, strtoull(row->meaning, NULL, 10), row->size);
		else
			iso_put_le(at, vectorfile_number(&file, row->name), row->size);
		size = row->offset + row->size;
	}
	return iso_checksum(bytes, size);
}

START_TEST(digests_are_of_the_bytes_that_the_page_says)
{
	struct table configuration, digest;
	unsigned seen = 0;

	pagetable_read("configuration", &configuration);
	pagetable_read("digest", &digest);
	vectorfile_open("ids.txt", &file);
	while (vectorfile_next(&file)) {
		if (vectorfile_find(&file, "node") != NULL) {
			(void)vectorfile_find(&file, "cluster");
			(void)vectorfile_find(&file, "cluster_id");
			(void)vectorfile_find(&file, "node_id");
			continue;
		}
		ck_assert_uint_eq(checksum_of(&configuration),
				  vectorfile_number(&file, "configuration"));
		ck_assert_uint_eq(checksum_of(&digest), vectorfile_number(&file, "digest"));
		seen++;
	}
	ck_assert_uint_ge(seen, 5);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("page");
	TCase *tcase = tcase_create("protocol");

	tcase_add_loop_test(tcase, each_table_covers_its_bytes_once, 0,
			    sizeof(layouts) / sizeof(layouts[0]));
	tcase_add_test(tcase, constants_are_those_of_the_code);
	tcase_add_test(tcase, the_default_table_is_the_one_of_the_page);
	tcase_add_loop_test(tcase, fields_of_the_librarys_comments_are_in_the_page, 0,
			    sizeof(comments) / sizeof(comments[0]));
	tcase_add_test(tcase, edge_messages_are_laid_out_as_the_page_says);
	tcase_add_test(tcase, journal_slots_are_laid_out_as_the_page_says);
	tcase_add_test(tcase, peer_messages_are_laid_out_as_the_page_says);
	tcase_add_test(tcase, training_messages_are_laid_out_as_the_page_says);
	tcase_add_test(tcase, digests_are_of_the_bytes_that_the_page_says);
	tcase_add_test(tcase, worker_records_are_laid_out_as_the_page_says);
	suite_add_tcase(suite, tcase);
	return suite;
}
