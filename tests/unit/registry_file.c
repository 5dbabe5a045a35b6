/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/registry_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/admin/entry.h"
#include "tests/test.h"

static char directory[64], path[128];
static struct iso_registry registry, other;
static char whole[1 << 16];
static size_t whole_size;

static const struct iso_registry_entry founding[] = {
	{ .kind = ISO_REGISTRY_CREATE, .seq = 1, .op = 1, .node = 77, .amount_ucpu = 300 },
	{ .kind = ISO_REGISTRY_MEMBER,
	  .seq = 2,
	  .node = 1,
	  .gen = 1,
	  .amount_ucpu = 100,
	  .floor_ucpu = 10,
	  .name = "a" },
	{ .kind = ISO_REGISTRY_MEMBER,
	  .seq = 3,
	  .node = 2,
	  .gen = 1,
	  .amount_ucpu = 200,
	  .floor_ucpu = 10,
	  .name = "b",
	  .flags = ISO_REGISTRY_GUARDED },
	{ .kind = ISO_REGISTRY_EDGE, .seq = 4, .node = 1, .peer = 2 },
	{ .kind = ISO_REGISTRY_READY, .seq = 5 },
};
#define FOUNDING (sizeof(founding) / sizeof(founding[0]))

static void open_ok(struct registry_file **ret_file)
{
	struct error error = { 0 };

	ck_assert_msg(registry_file_open(directory, false, NULL, &registry, ret_file, &error) == 0,
		      "%s", error.text);
}

/* A change that can be repeated: the budget wanted. */
static struct iso_registry_entry wanted(int64_t amount_ucpu)
{
	return (struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET,
					    .seq = registry.seq + 1,
					    .amount_ucpu = amount_ucpu };
}

static void append(struct registry_file *file, const struct iso_registry_entry *entry)
{
	struct error error = { 0 };

	ck_assert_msg(registry_file_append(file, entry, &error) == 0, "%s", error.text);
	ck_assert_ok(iso_registry_apply(&registry, entry));
}

static void read_whole(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, whole, sizeof(whole));

	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, (ssize_t)sizeof(whole));
	whole_size = (size_t)n;
	close(fd);
}

static void write_whole(const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

/* A registry with a few entries behind the founding ones. */
static void set_up(void)
{
	struct registry_file *file;
	struct error error = { 0 };

	snprintf(directory, sizeof(directory), "/tmp/isobar-registry.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" REGISTRY_FILE_NAME, directory);
	ck_assert_msg(registry_file_create(directory, NULL, founding, FOUNDING, &error) == 0, "%s",
		      error.text);
	open_ok(&file);
	for (int i = 0; i < 3; i++) {
		struct iso_registry_entry entry = wanted(400 + i);

		append(file, &entry);
	}
	ck_assert_ptr_null(registry_file_close(file));
	read_whole();
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(what_was_written_is_read_again)
{
	struct registry_file *file;

	open_ok(&file);
	ck_assert_uint_eq(registry.seq, FOUNDING + 3);
	ck_assert_int_eq(registry.target_ucpu, 402);
	ck_assert_str_eq(registry.members[1].name, "b");
	ck_assert_uint_eq(registry.members[1].flags, ISO_REGISTRY_GUARDED);
	ck_assert(!registry_file_torn(file));
	registry_file_close(file);
}
END_TEST

START_TEST(a_line_cut_off_anywhere_was_never_acted_on)
{
	struct registry_file *file;
	size_t last = whole_size - 1;

	while (whole[last - 1] != '\n')
		last--;
	for (size_t size = last; size <= whole_size; size++) {
		write_whole(whole, size);
		open_ok(&file);
		/* Without its newline it is whole all the same: the seal says so. */
		bool is_whole = size >= whole_size - 1;
		ck_assert_int_eq(registry.target_ucpu, is_whole ? 402 : 401);
		ck_assert(registry_file_torn(file) == (!is_whole && size > last));
		struct iso_registry_entry entry = wanted(500);
		append(file, &entry);
		registry_file_close(file);
		/* And what follows stands on a line of its own. */
		open_ok(&file);
		ck_assert_int_eq(registry.target_ucpu, 500);
		ck_assert(!registry_file_torn(file));
		registry_file_close(file);
	}
}
END_TEST

START_TEST(a_cut_before_the_last_line_is_not_made_up_for)
{
	struct registry_file *file;
	struct error error;

	/* Cut in the founding: never complete. */
	for (size_t size = 0; size < whole_size; size += 7) {
		size_t lines = 0;

		for (size_t i = 0; i < size; i++)
			lines += whole[i] == '\n' ? 1 : 0;
		if (lines + 1 >= FOUNDING)
			break;
		write_whole(whole, size);
		ck_assert_int_eq(registry_file_open(directory, false, NULL, &other, &file, &error),
				 -EUCLEAN);
	}
}
END_TEST

START_TEST(a_flipped_bit_refuses_the_file)
{
	struct registry_file *file;
	struct error error;
	char *copy = malloc(whole_size);

	for (size_t i = 0; i < whole_size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(copy, whole, whole_size);
			copy[i] = (char)(copy[i] ^ 1 << bit);
			write_whole(copy, whole_size);
			int r = registry_file_open(directory, true, NULL, &other, &file, &error);
			if (r == 0)
				ck_abort_msg("byte %zu bit %d is not noticed", i, bit);
			ck_assert_int_eq(r, -EUCLEAN);
			ck_assert_ptr_nonnull(strstr(error.text, "is damaged"));
		}
	}
	free(copy);
}
END_TEST

static size_t line_at(unsigned number, size_t *ret_size)
{
	size_t at = 0;

	for (unsigned i = 0; i < number; i++)
		at += strcspn(whole + at, "\n") + 1;
	*ret_size = strcspn(whole + at, "\n") + 1;
	return at;
}

START_TEST(lines_have_their_order_and_their_number)
{
	struct registry_file *file;
	struct error error;
	char copy[1 << 12];
	size_t size_a, size_b, a, b;

	whole[whole_size] = '\0';
	for (unsigned i = 0; i + 1 < FOUNDING + 3; i++) {
		a = line_at(i, &size_a);
		b = line_at(i + 1, &size_b);
		/* Exchanged. */
		memcpy(copy, whole, whole_size);
		memcpy(copy + a, whole + b, size_b);
		memcpy(copy + a + size_b, whole + a, size_a);
		write_whole(copy, whole_size);
		ck_assert_int_eq(registry_file_open(directory, true, NULL, &other, &file, &error),
				 -EUCLEAN);
		/* Missing; twice. */
		memcpy(copy + a, whole + b, whole_size - b);
		write_whole(copy, whole_size - size_a);
		ck_assert_int_eq(registry_file_open(directory, true, NULL, &other, &file, &error),
				 -EUCLEAN);
		memcpy(copy, whole, b);
		memcpy(copy + b, whole + a, whole_size - a);
		write_whole(copy, whole_size + size_a);
		ck_assert_int_eq(registry_file_open(directory, true, NULL, &other, &file, &error),
				 -EUCLEAN);
	}
}
END_TEST

START_TEST(one_administrator_at_a_time)
{
	struct registry_file *file, *second = NULL;
	struct error error;
	char pid[32];

	open_ok(&file);
	ck_assert_int_eq(registry_file_open(directory, false, NULL, &other, &second, &error),
			 -EBUSY);
	snprintf(pid, sizeof(pid), "by process %d", getpid());
	ck_assert_ptr_nonnull(strstr(error.text, pid));
	ck_assert_ptr_null(second);
	/* Who only looks may. */
	ck_assert_int_eq(registry_file_open(directory, true, NULL, &other, &second, &error), 0);
	struct iso_registry_entry entry = wanted(1);
	ck_assert_int_eq(registry_file_append(second, &entry, &error), -EROFS);
	registry_file_close(second);
	registry_file_close(file);
	open_ok(&file);
	registry_file_close(file);
}
END_TEST

START_TEST(a_registry_is_never_replaced)
{
	struct error error;

	ck_assert_int_eq(registry_file_create(directory, NULL, founding, FOUNDING, &error),
			 -EEXIST);
	ck_assert_ptr_nonnull(strstr(error.text, "never replaced"));
	read_whole();
	struct registry_file *file;
	open_ok(&file);
	ck_assert_int_eq(registry.target_ucpu, 402);
	registry_file_close(file);
}
END_TEST

START_TEST(there_may_be_none)
{
	struct registry_file *file;
	struct error error;

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(registry_file_open(directory, false, NULL, &other, &file, &error),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "isobarctl registry create"));
}
END_TEST

/* A disk with room for so many bytes, and one whose fdatasync fails at its n-th call. */
struct disk {
	size_t room;
	int syncs;
};

static ssize_t disk_write(void *context, int fd, const void *bytes, size_t size)
{
	struct disk *disk = context;

	if (disk->room == 0) {
		errno = ENOSPC;
		return -1;
	}
	ssize_t n = write(fd, bytes, size < disk->room ? size : disk->room);
	disk->room -= (size_t)n;
	return n;
}

static int disk_sync(void *context, int fd)
{
	struct disk *disk = context;

	if (disk->syncs-- > 0)
		return fdatasync(fd);
	errno = EIO;
	return -1;
}

START_TEST(a_full_disk_loses_nothing_and_is_gone_on_with)
{
	for (size_t room = 0; room < 100; room += 3) {
		struct disk disk = { .room = room, .syncs = 1000 };
		const struct registry_io io = { disk_write, disk_sync, &disk };
		struct registry_file *file;
		struct error error = { 0 };

		ck_assert_int_eq(
		    registry_file_open(directory, false, &io, &registry, &file, &error), 0);
		struct iso_registry_entry entry = wanted(1000);
		ck_assert_int_eq(registry_file_append(file, &entry, &error), -ENOSPC);
		ck_assert_ptr_nonnull(strstr(error.text, "isobarctl resume"));
		/* After an error nothing more, even with room. */
		disk.room = 1 << 20;
		ck_assert_int_eq(registry_file_append(file, &entry, &error), -EROFS);
		registry_file_close(file);
		open_ok(&file);
		ck_assert_int_eq(registry.target_ucpu, 402);
		registry_file_close(file);
	}
}
END_TEST

START_TEST(a_failed_fdatasync_ends_it)
{
	struct disk disk = { .room = 1 << 20, .syncs = 1 };
	const struct registry_io io = { disk_write, disk_sync, &disk };
	struct registry_file *file;
	struct error error = { 0 };

	ck_assert_int_eq(registry_file_open(directory, false, &io, &registry, &file, &error), 0);
	struct iso_registry_entry entry = wanted(1000);
	ck_assert_int_eq(registry_file_append(file, &entry, &error), -EIO);
	disk.syncs = 1000;
	ck_assert_int_eq(registry_file_append(file, &entry, &error), -EROFS);
	registry_file_close(file);
	/* What was read must be durable before it is acted on. */
	disk.syncs = 0;
	ck_assert_int_eq(registry_file_open(directory, false, &io, &registry, &file, &error), -EIO);
	/* The line that could not be made durable is there, or not: here it is. */
	open_ok(&file);
	ck_assert_int_eq(registry.target_ucpu, 1000);
	registry_file_close(file);
}
END_TEST

START_TEST(each_entry_is_read_as_it_was_written)
{
	struct iso_rng rng = { test_seed_base() };

	for (int run = 0; run < test_runs(2000); run++) {
		struct iso_registry_entry entry = { 0 }, again;
		char line[ENTRY_LINE_BYTES];
		struct error error = { 0 };
		size_t size = 0;

		entry.kind = (enum iso_registry_kind)(1 + iso_rng_below(&rng, ISO_REGISTRY_END));
		entry.seq = 1 + iso_rng_below(&rng, INT64_MAX);
		entry.begins = (enum iso_registry_procedure_kind)iso_rng_below(&rng, 5);
		entry.op_kind = (int)iso_rng_below(&rng, 10);
		if (iso_rng_below(&rng, 10) == 0)
			entry.op_kind = ISO_REGISTRY_ADMIT;
		entry.procedure = iso_rng_below(&rng, INT64_MAX);
		entry.op = iso_rng_below(&rng, INT64_MAX);
		entry.node = iso_rng_next(&rng);
		entry.peer = iso_rng_below(&rng, 2) * iso_rng_next(&rng);
		entry.gen = (uint32_t)iso_rng_next(&rng);
		entry.peer_gen = (uint32_t)iso_rng_next(&rng);
		entry.amount_ucpu = (int64_t)iso_rng_next(&rng);
		entry.budget_ucpu = (int64_t)iso_rng_below(&rng, INT64_MAX);
		entry.floor_ucpu = (int64_t)iso_rng_below(&rng, INT64_MAX);
		entry.sent = iso_rng_below(&rng, INT64_MAX);
		entry.received = iso_rng_below(&rng, INT64_MAX);
		entry.flags = (uint32_t)iso_rng_below(&rng, 16);
		entry.list_count = (uint32_t)iso_rng_below(&rng, ISO_REGISTRY_LIST_MAX + 1);
		for (uint32_t i = 0; i < entry.list_count; i++)
			entry.list[i] = iso_rng_next(&rng);
		for (uint64_t i = 0, n = iso_rng_below(&rng, ISO_REGISTRY_NAME_BYTES); i < n; i++)
			entry.name[i] = (char)('a' + iso_rng_below(&rng, 26));
		ck_assert_msg(entry_write(&entry, 1700000000, line, &size, &error) == 0, "%s",
			      error.text);
		ck_assert_int_eq(line[size - 1], '\n');
		ck_assert_msg(entry_read(line, size - 1, &again, &error) == 0, "%s: %s", error.text,
			      line);
		ck_assert_int_eq(memcmp(&entry, &again, sizeof(entry)), 0);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("registry_file");
	TCase *tcase = tcase_create("file");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, what_was_written_is_read_again);
	tcase_add_test(tcase, a_line_cut_off_anywhere_was_never_acted_on);
	tcase_add_test(tcase, a_cut_before_the_last_line_is_not_made_up_for);
	tcase_add_test(tcase, a_flipped_bit_refuses_the_file);
	tcase_add_test(tcase, lines_have_their_order_and_their_number);
	tcase_add_test(tcase, one_administrator_at_a_time);
	tcase_add_test(tcase, a_registry_is_never_replaced);
	tcase_add_test(tcase, there_may_be_none);
	tcase_add_test(tcase, a_full_disk_loses_nothing_and_is_gone_on_with);
	tcase_add_test(tcase, a_failed_fdatasync_ends_it);
	tcase_add_test(tcase, each_entry_is_read_as_it_was_written);
	suite_add_tcase(suite, tcase);
	return suite;
}
