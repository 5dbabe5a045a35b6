/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-checkpoint.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *path(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s/checkpoint", folder);
	return text;
}

static struct checkpoint_worker workers[2] = {
	{ .name = "alder", .ledger = { .started = 9, .used = 7, .discarded_cpu_ns = 1 } },
	{ .name = "birch", .ledger = { .lost = UINT64_MAX } },
};
static uint8_t method_state[7] = "method", strategy_state[3] = "st";
static uint8_t worker_states[10] = "alderbirch";
static struct evaluation_point evaluations[3] = {
	{ 0, 0, 0.1, 2.3 },
	{ 1000, 5, 0.5, 1.0 },
	{ 2000, 9, 0.8, 0.5 },
};

static struct checkpoint example(void)
{
	return (struct checkpoint){
		.term = 3,
		.elapsed_ns = 77,
		.data_checksum = 5,
		.train_loss = 0.25,
		.allocations = 1ull << 40,
		.serial = 0xfedcba9876543210u,
		.tasks_before = { .rounds = 2, .updates = 8, .delay_sum = 12 },
		.results = { .accepted = 3, .not_finite_cpu_ns = 4 },
		.method = 10,
		.strategy = 2,
		.model = 1,
		.features = 4,
		.classes = 1,
		.method_bytes = sizeof(method_state),
		.strategy_bytes = sizeof(strategy_state),
		.worker_bytes = 5,
		.method_state = method_state,
		.strategy_state = strategy_state,
		.worker_states = worker_states,
		.params_count = 5,
		.workers_count = 2,
		.evaluations_count = 3,
		.workers = workers,
		.evaluations = evaluations,
	};
}

START_TEST(reads_what_it_wrote)
{
	struct checkpoint written = example(), read;
	struct error error;

	ck_assert_int_eq(checkpoint_write(folder, &written, &error), 0);
	ck_assert_int_eq(checkpoint_read(folder, &read, &error), 0);
	ck_assert_mem_eq(read.workers, workers, sizeof(workers));
	ck_assert_mem_eq(read.evaluations, evaluations, sizeof(evaluations));
	ck_assert_mem_eq(read.method_state, method_state, sizeof(method_state));
	ck_assert_mem_eq(read.strategy_state, strategy_state, sizeof(strategy_state));
	ck_assert_mem_eq(read.worker_states, worker_states, sizeof(worker_states));
	free(read.workers);
	free(read.evaluations);
	free(read.method_state);
	free(read.strategy_state);
	free(read.worker_states);
	read.method_state = method_state;
	read.strategy_state = strategy_state;
	read.worker_states = worker_states;
	read.workers = workers;
	read.evaluations = evaluations;
	ck_assert_mem_eq(&read, &written, sizeof(read));
}
END_TEST

START_TEST(replaces_the_old_one_whole)
{
	struct checkpoint checkpoint = example();
	struct error error;

	ck_assert_int_eq(checkpoint_write(folder, &checkpoint, &error), 0);
	checkpoint.allocations = 2;
	checkpoint.workers_count = 0;
	checkpoint.evaluations_count = 0;
	ck_assert_int_eq(checkpoint_write(folder, &checkpoint, &error), 0);
	ck_assert_int_eq(checkpoint_read(folder, &checkpoint, &error), 0);
	ck_assert_uint_eq(checkpoint.allocations, 2);
	ck_assert_uint_eq(checkpoint.workers_count, 0);
	checkpoint_free(&checkpoint);
	ck_assert_ptr_null(checkpoint.method_state);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_one)
{
	struct checkpoint checkpoint = example();
	struct error error;
	char blocked[128];

	ck_assert_int_eq(checkpoint_write(folder, &checkpoint, &error), 0);
	snprintf(blocked, sizeof(blocked), "%s/checkpoint.new", folder);
	ck_assert_int_eq(mkdir(blocked, 0700), 0);
	checkpoint.allocations = 2;
	ck_assert_int_eq(checkpoint_write(folder, &checkpoint, &error), -EISDIR);
	ck_assert_ptr_nonnull(strstr(error.text, path()));
	ck_assert_int_eq(checkpoint_read(folder, &checkpoint, &error), 0);
	ck_assert_uint_eq(checkpoint.allocations, 1ull << 40);
	checkpoint_free(&checkpoint);
	ck_assert_int_eq(checkpoint_write("/no/such/folder", &checkpoint, &error), -ENOENT);
}
END_TEST

START_TEST(finds_each_damaged_byte_and_each_missing_one)
{
	struct checkpoint checkpoint = example(), read = { .term = 99 };
	struct error error;
	struct stat stat_file;
	uint8_t byte;

	ck_assert_int_eq(checkpoint_write(folder, &checkpoint, &error), 0);
	ck_assert_int_eq(stat(path(), &stat_file), 0);
	int fd = open(path(), O_RDWR | O_CLOEXEC);
	for (off_t at = 0; at < stat_file.st_size; at++) {
		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		ck_assert_int_eq(checkpoint_read(folder, &read, &error), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(error.text, path()));
		ck_assert_ptr_nonnull(strstr(error.text, "offset "));
		byte ^= 0x10;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	}
	for (off_t size = stat_file.st_size - 1; size >= 0; size--) {
		ck_assert_int_eq(ftruncate(fd, size), 0);
		ck_assert_int_eq(checkpoint_read(folder, &read, &error), -EBADMSG);
	}
	ck_assert_uint_eq(read.term, 99);
	close(fd);
	ck_assert_int_eq(unlink(path()), 0);
	ck_assert_int_eq(checkpoint_read(folder, &read, &error), -ENOENT);
}
END_TEST

START_TEST(what_is_no_file_is_called_so)
{
	struct checkpoint read;
	struct error error;

	ck_assert_int_eq(mkdir(path(), 0700), 0);
	ck_assert_int_eq(checkpoint_read(folder, &read, &error), -EISDIR);
	ck_assert_int_eq(rmdir(path()), 0);
	ck_assert_int_eq(mkfifo(path(), 0600), 0);
	ck_assert_int_eq(checkpoint_read(folder, &read, &error), -EINVAL);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("checkpoint");
	TCase *tcase = tcase_create("file");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, reads_what_it_wrote);
	tcase_add_test(tcase, replaces_the_old_one_whole);
	tcase_add_test(tcase, a_write_that_fails_leaves_the_old_one);
	tcase_add_test(tcase, finds_each_damaged_byte_and_each_missing_one);
	tcase_add_test(tcase, what_is_no_file_is_called_so);
	suite_add_tcase(suite, tcase);
	return suite;
}
