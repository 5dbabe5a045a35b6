/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A disk that finds out at fdatasync that it has no room, as a network or a thin
 * volume does.  The journal is a file here that stands for the page cache; the disk
 * is beside it, and gets any part of what is written while there is no room.
 */
#include "config.h"

#include "agent/node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

#define CLUSTER 77u
#define NODE	1001u

struct disk {
	struct iso_rng rng;
	int fd;		/* the page cache */
	int code;	/* what fdatasync fails with; 0: nothing */
	bool is_dirty[2]; /* slots that the next fdatasync would write */
	uint8_t bytes[ISO_JOURNAL_BYTES];
};

static char dir_path[64];
static int dir_fd;
static struct disk disk;

static void cache_read(uint8_t bytes[ISO_JOURNAL_BYTES])
{
	ck_assert_int_eq(pread(disk.fd, bytes, ISO_JOURNAL_BYTES, 0), ISO_JOURNAL_BYTES);
}

static void cache_write(const uint8_t bytes[ISO_JOURNAL_BYTES])
{
	ck_assert_int_eq(pwrite(disk.fd, bytes, ISO_JOURNAL_BYTES, 0), ISO_JOURNAL_BYTES);
}

static ssize_t disk_pread(void *context, int fd, void *bytes, size_t size, off_t offset)
{
	(void)context;
	return pread(fd, bytes, size, offset);
}

static ssize_t disk_pwrite(void *context, int fd, const void *bytes, size_t size, off_t offset)
{
	(void)context;
	ck_assert_int_eq(offset / ISO_SLOT_BYTES, (offset + (off_t)size - 1) / ISO_SLOT_BYTES);
	disk.is_dirty[offset / ISO_SLOT_BYTES] = true;
	return pwrite(fd, bytes, size, offset);
}

/* What is dirty: all of it, or any of its sectors. */
static void write_back(bool all)
{
	uint8_t bytes[ISO_JOURNAL_BYTES];

	cache_read(bytes);
	for (size_t k = 0; k < ISO_JOURNAL_BYTES; k += ISO_SECTOR_BYTES)
		if (disk.is_dirty[k / ISO_SLOT_BYTES] && (all || iso_rng_below(&disk.rng, 2) == 0))
			memcpy(disk.bytes + k, bytes + k, ISO_SECTOR_BYTES);
	disk.is_dirty[0] = disk.is_dirty[1] = false;
}

/* After a failure pages are taken for clean; some file systems read them anew. */
static int disk_fdatasync(void *context, int fd)
{
	(void)context;
	(void)fd;
	write_back(disk.code == 0 || iso_rng_below(&disk.rng, 4) == 0);
	if (disk.code == 0)
		return 0;
	if (iso_rng_below(&disk.rng, 2) == 0)
		cache_write(disk.bytes);
	errno = disk.code;
	return -1;
}

static const struct journal_io io = { disk_pread, disk_pwrite, disk_fdatasync, NULL };

/* Tries differ by their incarnation. */
static struct iso_record record_of(uint64_t seq, uint32_t inc)
{
	return (struct iso_record){
		.cluster = CLUSTER,
		.node = NODE,
		.gen = 1,
		.inc = inc,
		.epoch = 1,
		.endowment_ucpu = 1000000,
		.budget_ucpu = 1000000,
		.seq = seq,
	};
}

static struct journal *open_journal(struct iso_record *ret_record)
{
	struct journal *journal = NULL;
	struct error error = { 0 };

	disk.code = 0;
	ck_assert_msg(journal_open(dir_fd, dir_path, &io, CLUSTER, NODE, &journal, ret_record,
				   &error) == 0, "%s", error.text);
	return journal;
}

static void enter(uint64_t seed)
{
	struct iso_record record = record_of(1, 1);

	snprintf(dir_path, sizeof(dir_path), "/tmp/isobar-journal-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_path));
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	ck_assert_int_eq(journal_create(dir_fd, dir_path, NULL, &record, NULL), 0);
	memset(&disk, 0, sizeof(disk));
	disk.rng.state = seed;
	disk.fd = openat(dir_fd, JOURNAL_NAME, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(disk.fd, 0);
	cache_read(disk.bytes);
}

static void leave(void)
{
	close(disk.fd);
	(void)unlinkat(dir_fd, JOURNAL_NAME, 0);
	ck_assert_int_eq(close(dir_fd), 0);
	ck_assert_int_eq(rmdir(dir_path), 0);
}

/* One life of an agent: writes, finds no room now and then, and is killed or loses power. */
static void live(uint64_t *seq, uint32_t *inc)
{
	uint32_t first_inc = *inc + 1, next_inc = first_inc;
	struct iso_record record;
	struct journal *journal = open_journal(&record);

	ck_assert_uint_eq(record.seq, *seq);
	ck_assert_uint_eq(record.inc, *inc);
	for (uint64_t n = iso_rng_below(&disk.rng, 12); n > 0; n--) {
		static const int codes[] = { 0, ENOSPC, EDQUOT };
		bool probes = iso_rng_below(&disk.rng, 3) == 0;

		disk.code = codes[iso_rng_below(&disk.rng, 3)];
		record = record_of(*seq + 1, next_inc);
		int r = probes ? journal_probe(journal, NULL)
			       : journal_write(journal, &record, NULL);
		ck_assert_int_eq(r, -disk.code);
		ck_assert(journal_is_whole(journal));
		if (!probes)
			next_inc++;
		if (r == 0 && !probes) {
			++*seq;
			*inc = next_inc - 1;
			first_inc = next_inc;
		}
	}
	/* The lock goes with the process. */
	journal_close(journal);
	if (iso_rng_below(&disk.rng, 2) == 0)
		return;
	write_back(false);
	cache_write(disk.bytes);
	journal = open_journal(&record);
	journal_close(journal);
	if (record.seq == *seq) {
		ck_assert_uint_eq(record.inc, *inc);
		return;
	}
	/* Nobody has heard of it, but the disk has it whole. */
	ck_assert_uint_eq(record.seq, *seq + 1);
	ck_assert_uint_ge(record.inc, first_inc);
	ck_assert_uint_lt(record.inc, next_inc);
	*seq = record.seq;
	*inc = record.inc;
}

START_TEST(a_record_that_found_no_room_is_as_if_it_had_never_been)
{
	uint64_t seq = 2;
	uint32_t inc = 1;

	enter(test_seed_base() + (uint64_t)_i);
	for (unsigned lives = 0; lives < 30; lives++)
		live(&seq, &inc);
	leave();
}
END_TEST

/* Then what the page cache shows is not what was before, and nobody could tell. */
static ssize_t full_pwrite(void *context, int fd, const void *bytes, size_t size, off_t offset)
{
	if (disk.code == 0 || !disk.is_dirty[offset / ISO_SLOT_BYTES])
		return disk_pwrite(context, fd, bytes, size, offset);
	errno = ENOSPC;
	return -1;
}

static int failing_fdatasync(void *context, int fd)
{
	(void)context;
	if (disk.code == 0)
		return fdatasync(fd);
	errno = disk.code;
	return -1;
}

START_TEST(what_cannot_be_taken_back_is_final)
{
	static const struct {
		int code;
		bool can_take_back, is_whole;
	} ways[] = {
		{ ENOSPC, true, true }, { EDQUOT, true, true },	  { ENOSPC, false, false },
		{ EIO, true, false },	{ EROFS, true, false },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct journal_io failing = { disk_pread,
					      ways[i].can_take_back ? disk_pwrite : full_pwrite,
					      failing_fdatasync, NULL };
		struct iso_record record;
		struct journal *journal = NULL;
		struct error error = { 0 };

		enter(1);
		ck_assert_int_eq(journal_open(dir_fd, dir_path, &failing, CLUSTER, NODE, &journal,
					      &record, NULL), 0);
		record = record_of(3, 2);
		disk.code = ways[i].code;
		ck_assert_int_eq(journal_write(journal, &record, &error), -ways[i].code);
		ck_assert_ptr_nonnull(strstr(error.text, "durable"));
		ck_assert(journal_is_whole(journal) == ways[i].is_whole);
		disk.code = 0;
		ck_assert_int_eq(journal_write(journal, &record, NULL),
				 ways[i].is_whole ? 0 : -EIO);
		journal_close(journal);
		leave();
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("journal_room");
	TCase *tcase = tcase_create("fdatasync");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_record_that_found_no_room_is_as_if_it_had_never_been, 0,
			    test_runs(20));
	tcase_add_test(tcase, what_cannot_be_taken_back_is_final);
	suite_add_tcase(suite, tcase);
	return suite;
}
