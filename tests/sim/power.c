/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power loss, block by block: agent/node/journal.c on a disk that keeps any
 * subset of the 512-byte sectors written since the last fdatasync, in any of the
 * versions they had.  After each call that touches the disk every possible
 * outcome of a power cut is tried: what is recovered must be a state that was
 * written, and never older than the newest one that the journal said is
 * durable.  Processes are killed in between, fdatasync fails with its pages
 * kept or dropped (Linux may do either), pages are written back and evicted at
 * any time.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/node/journal.h"
#include "tests/test.h"

#define CLUSTER      77u
#define NODE	     1001u
#define SECTORS	     (ISO_JOURNAL_BYTES / ISO_SECTOR_BYTES)
#define SLOT_SECTORS (ISO_SLOT_BYTES / ISO_SECTOR_BYTES)
#define VERSIONS_MAX 3u
#define RECORDS_MAX  512u
#define STEPS	     40u
#define OUTCOMES_MAX 7000u /* 3^8 and some; beyond, outcomes are drawn */

enum sync_fate { SYNC_DONE, SYNC_FAILS_DIRTY, SYNC_FAILS_DROPPED };

struct disk {
	uint8_t cache[ISO_JOURNAL_BYTES];
	uint8_t durable[ISO_JOURNAL_BYTES];
	/* What each sector was since it was last known to be on the disk. */
	uint8_t pending[SECTORS][VERSIONS_MAX][ISO_SECTOR_BYTES];
	unsigned versions[SECTORS];
	bool dirty[SECTORS];
	enum sync_fate next_sync;
	size_t write_limit;     /* bytes until the process is killed in a write */
	struct iso_rng rng;
	uint64_t outcomes;
};

/* What was written, told apart by its endowment; and what was said to be durable. */
struct history {
	uint64_t seq_of[RECORDS_MAX];
	unsigned count;
	uint64_t shown_seq;
	int64_t shown_mark;
	bool sync_failed;       /* with pages dropped: only then may recovery refuse */
};

static struct disk disk;
static struct history history;
static char dir_path[64];
static int dir_fd;

static void judge(const uint8_t image[ISO_JOURNAL_BYTES])
{
	struct iso_record record;
	enum iso_status status = iso_record_recover(image, &record);

	disk.outcomes++;
	if (status != ISO_OK) {
		ck_assert_msg(history.sync_failed, "refused (%s) without a failed sync",
			      iso_status_text(status));
		ck_assert_int_eq(status, ISO_E_DAMAGED);
		return;
	}
	ck_assert_uint_ge(record.seq, history.shown_seq);
	ck_assert_int_ge(record.endowment_ucpu, 0);
	ck_assert_int_lt(record.endowment_ucpu, history.count);
	ck_assert_uint_eq(history.seq_of[record.endowment_ucpu], record.seq);
	if (record.seq == history.shown_seq)
		ck_assert_int_eq(record.endowment_ucpu, history.shown_mark);
}

/* The n-th outcome of a cut now, counting in base (versions + 1) over the sectors. */
static void outcome(uint64_t n, bool drawn, uint8_t ret_image[ISO_JOURNAL_BYTES])
{
	for (unsigned i = 0; i < SECTORS; i++) {
		unsigned choices = disk.dirty[i] ? disk.versions[i] + 1 : 1;
		uint64_t choice = drawn ? iso_rng_below(&disk.rng, choices) : n % choices;

		n /= choices;
		memcpy(ret_image + i * ISO_SECTOR_BYTES,
		       choice == 0 ? disk.durable + i * ISO_SECTOR_BYTES
				   : disk.pending[i][choice - 1],
		       ISO_SECTOR_BYTES);
	}
}

static void cut_everywhere(void)
{
	static uint8_t image[ISO_JOURNAL_BYTES];
	uint64_t outcomes = 1;

	for (unsigned i = 0; i < SECTORS; i++)
		if (disk.dirty[i] && outcomes <= OUTCOMES_MAX)
			outcomes *= disk.versions[i] + 1;
	for (uint64_t n = 0; n < outcomes && n < OUTCOMES_MAX; n++) {
		outcome(n, outcomes > OUTCOMES_MAX, image);
		judge(image);
	}
}

static void flushed(unsigned sector, const uint8_t bytes[ISO_SECTOR_BYTES])
{
	memcpy(disk.durable + sector * ISO_SECTOR_BYTES, bytes, ISO_SECTOR_BYTES);
	disk.versions[sector] = 0;
	disk.dirty[sector] = false;
}

static void put_sector(unsigned sector, const uint8_t *bytes)
{
	memcpy(disk.cache + sector * ISO_SECTOR_BYTES, bytes, ISO_SECTOR_BYTES);
	/* Too many to remember: the oldest can have been written back, say. */
	if (disk.versions[sector] == VERSIONS_MAX)
		flushed(sector, disk.pending[sector][0]);
	memcpy(disk.pending[sector][disk.versions[sector]++], bytes, ISO_SECTOR_BYTES);
	disk.dirty[sector] = true;
}

static ssize_t disk_pread(void *context, int fd, void *bytes, size_t size, off_t offset)
{
	(void)context, (void)fd;
	memcpy(bytes, disk.cache + offset, size);
	return (ssize_t)size;
}

/* Sector by sector; a kill in between leaves the rest unwritten. */
static ssize_t disk_pwrite(void *context, int fd, const void *bytes, size_t size, off_t offset)
{
	const uint8_t *from = bytes;
	size_t done = 0;

	(void)context, (void)fd;
	while (done < size && disk.write_limit > 0) {
		put_sector((unsigned)((size_t)offset + done) / ISO_SECTOR_BYTES, from + done);
		done += ISO_SECTOR_BYTES;
		disk.write_limit -= ISO_SECTOR_BYTES;
	}
	cut_everywhere();
	if (done == 0)
		errno = EIO;
	return done == 0 ? -1 : (ssize_t)done;
}

static int disk_fdatasync(void *context, int fd)
{
	enum sync_fate fate = disk.next_sync;

	(void)context, (void)fd;
	cut_everywhere();
	disk.next_sync = SYNC_DONE;
	for (unsigned i = 0; i < SECTORS; i++) {
		/* A failure can have written a part. */
		bool reached = fate == SYNC_DONE || iso_rng_below(&disk.rng, 2) == 0;

		if (disk.dirty[i] && reached) {
			flushed(i, disk.cache + i * ISO_SECTOR_BYTES);
		} else if (fate == SYNC_FAILS_DROPPED) {
			disk.dirty[i] = false;
			disk.versions[i] = 0;
		}
	}
	history.sync_failed = history.sync_failed || fate == SYNC_FAILS_DROPPED;
	cut_everywhere();
	errno = EIO;
	return fate == SYNC_DONE ? 0 : -1;
}

static const struct journal_io disk_io = { disk_pread, disk_pwrite, disk_fdatasync, NULL };

/* A power cut: one of the outcomes becomes the truth. */
static void cut(void)
{
	static uint8_t image[ISO_JOURNAL_BYTES];

	outcome(0, true, image);
	memcpy(disk.durable, image, sizeof(image));
	memcpy(disk.cache, image, sizeof(image));
	memset(disk.dirty, 0, sizeof(disk.dirty));
	memset(disk.versions, 0, sizeof(disk.versions));
}

/* The kernel writes back what it likes, and forgets clean pages. */
static void settle_some(void)
{
	for (unsigned i = 0; i < SECTORS; i++)
		if (disk.dirty[i] && iso_rng_below(&disk.rng, 4) == 0)
			flushed(i, disk.cache + i * ISO_SECTOR_BYTES);
	for (unsigned slot = 0; slot < 2; slot++) {
		bool clean = true;

		for (unsigned i = 0; i < SLOT_SECTORS; i++)
			clean = clean && !disk.dirty[slot * SLOT_SECTORS + i];
		if (clean && iso_rng_below(&disk.rng, 4) == 0)
			memcpy(disk.cache + slot * ISO_SLOT_BYTES,
			       disk.durable + slot * ISO_SLOT_BYTES, ISO_SLOT_BYTES);
	}
}

static struct iso_record next_record(uint64_t seq)
{
	struct iso_record record = { .cluster = CLUSTER,
				     .node = NODE,
				     .gen = 1,
				     .inc = 1,
				     .epoch = 1,
				     .endowment_ucpu = history.count,
				     .budget_ucpu = RECORDS_MAX,
				     .seq = seq };

	ck_assert_uint_lt(history.count, RECORDS_MAX);
	history.seq_of[history.count++] = seq;
	return record;
}

static void start_disk(uint64_t seed)
{
	struct iso_record record;

	memset(&disk, 0, sizeof(disk));
	memset(&history, 0, sizeof(history));
	disk.rng = (struct iso_rng){ seed };
	for (uint64_t seq = 1; seq <= 2; seq++) {
		record = next_record(seq);
		iso_record_encode(&record, disk.cache + seq % 2 * ISO_SLOT_BYTES);
	}
	memcpy(disk.durable, disk.cache, sizeof(disk.cache));
	history.shown_seq = 2;
	history.shown_mark = 1;
}

static void show(const struct iso_record *record)
{
	history.shown_seq = record->seq;
	history.shown_mark = record->endowment_ucpu;
}

/* One life of an agent: takes up the journal and writes until something ends it. */
static bool live(void)
{
	struct journal *journal;
	struct iso_record record;
	struct error error = { 0 };
	uint64_t writes = iso_rng_below(&disk.rng, 6);
	int r;

	disk.next_sync = SYNC_DONE;
	disk.write_limit = SIZE_MAX;
	if (iso_rng_below(&disk.rng, 8) == 0)
		disk.next_sync = SYNC_FAILS_DIRTY + (enum sync_fate)iso_rng_below(&disk.rng, 2);
	r = journal_open(dir_fd, dir_path, &disk_io, CLUSTER, NODE, &journal, &record, &error);
	if (r == -EUCLEAN) {
		ck_assert_msg(history.sync_failed, "%s", error.text);
		return false; /* to be buried: nothing was made up */
	}
	if (r < 0)
		return true;
	ck_assert_uint_ge(record.seq, history.shown_seq);
	for (uint64_t i = 0; i <= writes; i++) {
		uint64_t what = iso_rng_below(&disk.rng, 8);

		if (i == writes && what < 4)
			disk.write_limit =
			    iso_rng_below(&disk.rng, SLOT_SECTORS) * ISO_SECTOR_BYTES;
		else if (i == writes && what < 7)
			disk.next_sync = what < 6 ? SYNC_FAILS_DIRTY : SYNC_FAILS_DROPPED;
		record = next_record(record.seq + 1);
		if (journal_write(journal, &record, &error) < 0)
			break;
		show(&record);
		cut_everywhere();
		settle_some();
	}
	journal_close(journal);
	return true;
}

static void enter(void)
{
	int fd;

	snprintf(dir_path, sizeof(dir_path), "/tmp/isobar-power-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_path));
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir_fd, JOURNAL_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, ISO_JOURNAL_BYTES), 0);
	close(fd);
}

static void leave(void)
{
	ck_assert_int_eq(unlinkat(dir_fd, JOURNAL_NAME, 0), 0);
	close(dir_fd);
	ck_assert_int_eq(rmdir(dir_path), 0);
}

START_TEST(no_cut_brings_back_the_past)
{
	int runs = test_runs(20);
	uint64_t outcomes = 0, refused = 0, records = 0;

	enter();
	for (int i = 0; i < runs; i++) {
		bool alive = true;

		start_disk(test_seed_base() + (uint64_t)i);
		for (unsigned step = 0; step < STEPS && alive; step++) {
			alive = live();
			settle_some();
			if (iso_rng_below(&disk.rng, 3) == 0)
				cut();
		}
		refused += !alive;
		outcomes += disk.outcomes;
		records += history.count;
	}
	leave();
	printf("# %llu outcomes of power cuts, %llu records, %llu journals refused after a "
	       "failed sync\n",
	       (unsigned long long)outcomes, (unsigned long long)records,
	       (unsigned long long)refused);
	/* The disk must really lose things, or nothing was shown. */
	ck_assert_uint_ge(outcomes / (uint64_t)runs, 10000);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("power");
	TCase *tcase = tcase_create("journal");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, no_cut_brings_back_the_past);
	suite_add_tcase(suite, tcase);
	return suite;
}
