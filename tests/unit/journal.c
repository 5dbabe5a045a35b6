/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"

#define CLUSTER 77u
#define NODE	1001u

static char dir_path[64];
static int dir_fd;

static void enter(void)
{
	snprintf(dir_path, sizeof(dir_path), "/tmp/isobar-journal-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir_path));
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
}

static void leave(void)
{
	(void)unlinkat(dir_fd, JOURNAL_NAME, 0);
	ck_assert_int_eq(close(dir_fd), 0);
	ck_assert_msg(rmdir(dir_path) == 0, "files were left behind in %s", dir_path);
}

/* A record whose content depends on seq, so that no two look alike. */
static struct iso_record record_of(uint64_t seq)
{
	struct iso_record record = {
		.cluster = CLUSTER,
		.node = NODE,
		.gen = 1,
		.inc = 3,
		.epoch = 1,
		.endowment_ucpu = 1000000,
		.budget_ucpu = 1000000,
		.seq = seq,
		.edge_count = ISO_DEGREE_MAX,
	};

	for (uint32_t k = 0; k < record.edge_count; k++)
		record.edges[k] = (struct iso_record_edge){ .peer = 2000 + k,
							    .peer_gen = 1,
							    .sent = seq * 7 + k,
							    .received = seq * 7 + 2 * k };
	return record;
}

static void create(void)
{
	struct iso_record record = record_of(1);
	struct error error = { 0 };

	ck_assert_msg(journal_create(dir_fd, dir_path, NULL, &record, &error) == 0, "%s",
		      error.text);
}

static int open_with(const struct journal_io *io, struct journal **ret_journal,
		     struct iso_record *ret_record, struct error *reterr)
{
	return journal_open(dir_fd, dir_path, io, CLUSTER, NODE, ret_journal, ret_record, reterr);
}

/* The seq that a fresh open recovers; the journal is closed again. */
static uint64_t recovered(void)
{
	struct journal *journal = NULL;
	struct iso_record record;
	struct error error = { 0 };

	ck_assert_msg(open_with(NULL, &journal, &record, &error) == 0, "%s", error.text);
	journal = journal_close(journal);
	ck_assert_ptr_null(journal);
	return record.seq;
}

static void write_records(uint64_t from, uint64_t to)
{
	struct journal *journal;
	struct iso_record record;

	ck_assert_int_eq(open_with(NULL, &journal, &record, NULL), 0);
	for (uint64_t seq = from; seq <= to; seq++) {
		record = record_of(seq);
		ck_assert_int_eq(journal_write(journal, &record, NULL), 0);
	}
	journal_close(journal);
}

/* Overwrites bytes of the file as a torn write or a bad disk would. */
static void put(const uint8_t *bytes, size_t size, off_t offset)
{
	int fd = openat(dir_fd, JOURNAL_NAME, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, bytes, size, offset), (ssize_t)size);
	ck_assert_int_eq(close(fd), 0);
}

static void get(uint8_t bytes[ISO_JOURNAL_BYTES])
{
	int fd = openat(dir_fd, JOURNAL_NAME, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, bytes, ISO_JOURNAL_BYTES, 0), ISO_JOURNAL_BYTES);
	ck_assert_int_eq(close(fd), 0);
}

static void open_fails(int code, const char *says)
{
	struct journal *untouched = (struct journal *)dir_path, *journal = untouched;
	struct iso_record record = { .seq = 99 };
	struct error error = { 0 };

	ck_assert_int_eq(open_with(NULL, &journal, &record, &error), code);
	ck_assert_ptr_eq(journal, untouched);
	ck_assert_uint_eq(record.seq, 99);
	ck_assert_int_eq(error.code, code);
	ck_assert_msg(strstr(error.text, says) != NULL, "%s", error.text);
	ck_assert_msg(strstr(error.text, dir_path) != NULL, "%s", error.text);
}

START_TEST(keeps_what_was_written)
{
	struct iso_record record, expected = record_of(5);
	struct journal *journal;

	enter();
	create();
	ck_assert_uint_eq(recovered(), 2);
	write_records(3, 5);
	ck_assert_int_eq(open_with(NULL, &journal, &record, NULL), 0);
	ck_assert_mem_eq(&record, &expected, sizeof(record));
	journal_close(journal);
	ck_assert_ptr_null(journal_close(NULL));
	leave();
}
END_TEST

START_TEST(is_private_and_never_replaced)
{
	struct iso_record record = record_of(1);
	struct error error = { 0 };
	struct stat status;

	enter();
	create();
	write_records(3, 4);
	ck_assert_int_eq(fstatat(dir_fd, JOURNAL_NAME, &status, 0), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(status.st_size, ISO_JOURNAL_BYTES);
	ck_assert_int_eq(journal_create(dir_fd, dir_path, NULL, &record, &error), -EEXIST);
	ck_assert_msg(strstr(error.text, "never replaced") != NULL, "%s", error.text);
	ck_assert_uint_eq(recovered(), 4);
	leave();
}
END_TEST

START_TEST(says_what_is_missing_or_foreign)
{
	struct journal *journal;
	struct iso_record record;
	struct error error = { 0 };

	enter();
	open_fails(-ENOENT, "--init");
	create();
	ck_assert_int_eq(
	    journal_open(dir_fd, dir_path, NULL, CLUSTER + 1, NODE, &journal, &record, &error),
	    -EXDEV);
	ck_assert_msg(strstr(error.text, "another cluster") != NULL, "%s", error.text);
	ck_assert_int_eq(
	    journal_open(dir_fd, dir_path, NULL, CLUSTER, NODE + 1, &journal, &record, &error),
	    -EXDEV);
	ck_assert_msg(strstr(error.text, "another node") != NULL, "%s", error.text);
	put((const uint8_t *)"x", 1, ISO_JOURNAL_BYTES);
	open_fails(-EUCLEAN, "8193 bytes");
	leave();
}
END_TEST

START_TEST(has_one_owner_at_a_time)
{
	struct journal *journal;
	struct iso_record record;

	enter();
	create();
	ck_assert_int_eq(open_with(NULL, &journal, &record, NULL), 0);
	open_fails(-EBUSY, "another isobard");

	/* A child that lives on, such as the worker, does not keep the lock. */
	int gate[2], executed[2];
	ck_assert_int_eq(pipe(gate), 0);
	ck_assert_int_eq(pipe2(executed, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(gate[0], 0);
		close(gate[1]);
		execlp("cat", "cat", (char *)NULL);
		_exit(1);
	}
	/* The write end closes in the child when it executes. */
	char byte;
	close(executed[1]);
	ck_assert_int_eq(read(executed[0], &byte, 1), 0);
	journal_close(journal);
	ck_assert_uint_eq(recovered(), 2);
	close(gate[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(gate[0]);
	close(executed[0]);
	leave();
}
END_TEST

START_TEST(survives_every_torn_write)
{
	static uint8_t before[ISO_JOURNAL_BYTES], after[ISO_JOURNAL_BYTES];

	enter();
	create();
	write_records(3, 7);
	get(before);
	write_records(8, 8);
	get(after);
	/* Any subset of the eight sectors of slot 0 has reached the disk. */
	for (unsigned subset = 0; subset < 256; subset++) {
		put(before, sizeof(before), 0);
		for (unsigned k = 0; k < 8; k++)
			if ((subset >> k & 1) != 0)
				put(after + k * ISO_SECTOR_BYTES, ISO_SECTOR_BYTES,
				    (off_t)(k * ISO_SECTOR_BYTES));
		ck_assert_uint_eq(recovered(), subset == 255 ? 8 : 7);
	}
	leave();
}
END_TEST

START_TEST(survives_or_names_every_damaged_region)
{
	static uint8_t good[ISO_JOURNAL_BYTES];
	uint8_t damage[64];
	struct iso_record record;
	struct journal *journal;
	int refused = 0;

	enter();
	create();
	write_records(3, 8); /* slot 0 is the newer one */
	get(good);
	memset(damage, 0x5a, sizeof(damage));
	for (off_t offset = 0; offset < (off_t)ISO_JOURNAL_BYTES; offset += 61) {
		size_t size = (size_t)((off_t)ISO_JOURNAL_BYTES - offset);
		struct error error = { 0 };

		put(damage, size < sizeof(damage) ? size : sizeof(damage), offset);

		int r = open_with(NULL, &journal, &record, &error);

		/* The newer slot may have been shown to others: going back would spend twice. */
		if (offset < (off_t)ISO_SLOT_BYTES) {
			ck_assert_int_eq(r, -EUCLEAN);
			ck_assert_msg(strstr(error.text, "damaged") != NULL, "%s", error.text);
			ck_assert_msg(strstr(error.text, "(damaged)") == NULL, "%s", error.text);
			refused++;
		} else {
			ck_assert_msg(r == 0, "offset %jd: %s", (intmax_t)offset, error.text);
			ck_assert_uint_eq(record.seq, 8);
			journal_close(journal);
		}
		put(good, sizeof(good), 0);
	}
	ck_assert_int_gt(refused, 60);
	put(damage, sizeof(damage), 100);
	put(damage, sizeof(damage), ISO_SLOT_BYTES + 100);
	open_fails(-EUCLEAN, "never made up");
	leave();
}
END_TEST

START_TEST(refuses_another_version)
{
	static uint8_t journal[ISO_JOURNAL_BYTES];

	enter();
	create();
	get(journal);
	/* The record of a later version, sealed as that version would. */
	journal[4] = 3;
	iso_put_le(journal + 504, iso_checksum(journal, 504), 8);
	put(journal, sizeof(journal), 0);
	open_fails(-EUCLEAN, "another version");
	leave();
}
END_TEST

/* Fails the n-th write or sync; a failing write leaves the first sectors of what it was given. */
struct fault {
	int countdown;
	int calls;
	size_t torn_bytes;
};

static bool due(struct fault *fault)
{
	fault->calls++;
	return --fault->countdown == 0;
}

static ssize_t faulty_pread(void *context, int fd, void *bytes, size_t size, off_t offset)
{
	if (due(context)) {
		errno = EIO;
		return -1;
	}
	return pread(fd, bytes, size, offset);
}

static ssize_t faulty_pwrite(void *context, int fd, const void *bytes, size_t size, off_t offset)
{
	struct fault *fault = context;

	if (due(fault)) {
		if (fault->torn_bytes > 0)
			(void)!pwrite(fd, bytes,
				      size < fault->torn_bytes ? size : fault->torn_bytes, offset);
		/* A disk that breaks, and one that is full and takes nothing. */
		errno = fault->torn_bytes > 0 ? EIO : ENOSPC;
		return -1;
	}
	/* Short writes are legal and must be continued. */
	return pwrite(fd, bytes, size > 1000 ? 1000 : size, offset);
}

static int faulty_fdatasync(void *context, int fd)
{
	if (due(context)) {
		errno = EIO;
		return -1;
	}
	return fdatasync(fd);
}

START_TEST(fails_for_good_at_any_failed_call)
{
	for (size_t torn = 0; torn <= 1000; torn += 500) {
		int r = -1;

		for (int n = 1; r < 0; n++) {
			struct fault fault = { .countdown = n, .torn_bytes = torn };
			struct journal_io io = { faulty_pread, faulty_pwrite, faulty_fdatasync,
						 &fault };
			struct iso_record record = record_of(3);
			struct error error = { 0 };
			struct journal *journal = NULL;

			ck_assert_int_lt(n, 30);
			enter();
			create();
			r = open_with(&io, &journal, &record, &error);
			if (r == 0) {
				record = record_of(3);
				r = journal_write(journal, &record, &error);
				/* A second try could succeed without having written: it is refused.
				 */
				int calls = fault.calls;
				if (r < 0 && !journal_is_whole(journal)) {
					ck_assert_int_eq(journal_write(journal, &record, &error),
							 -EIO);
					ck_assert_int_eq(fault.calls, calls);
				} else if (r < 0) {
					ck_assert_uint_eq(torn, 0);
					ck_assert_int_eq(journal_write(journal, &record, NULL), 0);
				}
			}
			if (r < 0)
				ck_assert_msg(strstr(error.text, dir_path) != NULL, "%s",
					      error.text);
			journal_close(journal);
			uint64_t seq = recovered();
			ck_assert(seq == 2 || seq == 3);
			if (r == 0)
				ck_assert_uint_eq(seq, 3);
			leave();
		}
	}
}
END_TEST

static const struct {
	int code;
	bool is_whole;
} refusals[] = {
	{ ENOSPC, true }, { EDQUOT, true }, { EROFS, true }, { EIO, false }, { ENXIO, false },
};

static ssize_t refusing_pwrite(void *context, int fd, const void *bytes, size_t size,
			       off_t offset)
{
	const int *code = context;

	if (*code == 0)
		return pwrite(fd, bytes, size, offset);
	errno = *code;
	return -1;
}

static int plain_fdatasync(void *context, int fd)
{
	(void)context;
	return fdatasync(fd);
}

static ssize_t plain_pread(void *context, int fd, void *bytes, size_t size, off_t offset)
{
	(void)context;
	return pread(fd, bytes, size, offset);
}

/* A full disk that took nothing changes nothing, however often it is asked. */
START_TEST(waits_for_a_full_disk)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		int code = 0;
		struct journal_io io = { plain_pread, refusing_pwrite, plain_fdatasync, &code };
		struct iso_record record = record_of(3);
		struct error error = { 0 };
		struct journal *journal;

		enter();
		create();
		ck_assert_int_eq(open_with(&io, &journal, &record, NULL), 0);
		record = record_of(3);
		code = refusals[i].code;
		for (unsigned n = 0; n < 3; n++)
			ck_assert_int_lt(n % 2 == 0 ? journal_write(journal, &record, &error)
						    : journal_probe(journal, &error),
					 0);
		ck_assert(journal_is_whole(journal) == refusals[i].is_whole);
		code = 0;
		ck_assert_int_eq(journal_probe(journal, NULL), refusals[i].is_whole ? 0 : -EIO);
		ck_assert_int_eq(journal_write(journal, &record, NULL),
				 refusals[i].is_whole ? 0 : -EIO);
		journal_close(journal);
		ck_assert_uint_eq(recovered(), refusals[i].is_whole ? 3 : 2);
		leave();
	}
}
END_TEST

/* Of the two slots the older one is written, so that the newest record is never in danger. */
START_TEST(a_probe_leaves_the_newest_record_alone)
{
	uint8_t before[ISO_JOURNAL_BYTES], after[ISO_JOURNAL_BYTES];
	struct journal *journal;
	struct iso_record record;

	enter();
	create();
	write_records(3, 4);
	get(before);
	ck_assert_int_eq(open_with(NULL, &journal, &record, NULL), 0);
	/* Whatever is there: it is seen where it was written. */
	put((const uint8_t *)"older", 5, ISO_SLOT_BYTES);
	ck_assert_int_eq(journal_probe(journal, NULL), 0);
	get(after);
	ck_assert_mem_eq(after, before, sizeof(after));
	put((const uint8_t *)"newer", 5, 0);
	ck_assert_int_eq(journal_probe(journal, NULL), 0);
	get(after);
	ck_assert_mem_eq(after, "newer", 5);
	journal_close(journal);
	leave();
}
END_TEST

START_TEST(is_created_whole_or_not_at_all)
{
	int r = -1;

	for (int n = 1; r < 0; n++) {
		struct fault fault = { .countdown = n, .torn_bytes = 700 };
		struct journal_io io = { faulty_pread, faulty_pwrite, faulty_fdatasync, &fault };
		struct iso_record record = record_of(1);
		struct error error = { 0 };

		ck_assert_int_lt(n, 30);
		enter();
		r = journal_create(dir_fd, dir_path, &io, &record, &error);
		if (r < 0) {
			ck_assert_msg(strstr(error.text, dir_path) != NULL, "%s", error.text);
			open_fails(-ENOENT, "no journal");
			create(); /* and it can be tried again */
		}
		ck_assert_uint_eq(recovered(), 2);
		leave();
	}
}
END_TEST

START_TEST(makes_what_it_read_durable_before_it_writes)
{
	/* One read, one sync when opening; then write and sync. */
	struct fault fault = { .countdown = -1 };
	struct journal_io io = { faulty_pread, faulty_pwrite, faulty_fdatasync, &fault };
	struct journal *journal;
	struct iso_record record;

	enter();
	create();
	ck_assert_int_eq(open_with(&io, &journal, &record, NULL), 0);
	ck_assert_int_eq(fault.calls, 2);
	journal_close(journal);
	leave();
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("journal");
	TCase *tcase = tcase_create("file");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, keeps_what_was_written);
	tcase_add_test(tcase, is_private_and_never_replaced);
	tcase_add_test(tcase, says_what_is_missing_or_foreign);
	tcase_add_test(tcase, has_one_owner_at_a_time);
	tcase_add_test(tcase, survives_every_torn_write);
	tcase_add_test(tcase, survives_or_names_every_damaged_region);
	tcase_add_test(tcase, refuses_another_version);
	tcase_add_test(tcase, fails_for_good_at_any_failed_call);
	tcase_add_test(tcase, waits_for_a_full_disk);
	tcase_add_test(tcase, a_probe_leaves_the_newest_record_alone);
	tcase_add_test(tcase, is_created_whole_or_not_at_all);
	tcase_add_test(tcase, makes_what_it_read_durable_before_it_writes);
	suite_add_tcase(suite, tcase);
	return suite;
}
