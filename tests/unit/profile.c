/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char folder[64], path[128];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-profile.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/profile", folder);
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static struct profile_worker workers[3] = {
	{ .name = "alder", .samples = { 5120, 67.0 / 3, 0.125 } },
	{ .name = "birch", .samples = { 0, 0, 0 } },
	{ .name = "cedar \"2\"", .samples = { 0.75, 3, 0 } },
};
static const struct profile example = {
	.kind = { .task = "softmax 784x10, 64 samples" },
	.count = 3,
	.workers = workers,
};

static void put(const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(what_is_written_is_read_again)
{
	struct error error = { 0 };
	struct profile read = { 0 };

	ck_assert_int_eq(profile_write(path, &example, &error), 0);
	ck_assert_int_eq(profile_read(path, &read, &error), 0);
	ck_assert_str_eq(read.kind.task, example.kind.task);
	ck_assert(!read.kind.is_wall);
	ck_assert(!read.kind.per_cost);
	/* Of birch nothing was known. */
	ck_assert_uint_eq(read.count, 2);
	ck_assert_ptr_null(profile_find(&read, "birch"));
	for (int i = 0; i < 3; i += 2) {
		const struct profile_worker *worker = profile_find(&read, workers[i].name);

		ck_assert_ptr_nonnull(worker);
		ck_assert_double_eq(worker->samples.count, workers[i].samples.count);
		ck_assert_double_eq_tol(worker->samples.sum_s / workers[i].samples.sum_s, 1, 1e-14);
		ck_assert_double_eq_tol(worker->samples.squares_s2, workers[i].samples.squares_s2,
					1e-14);
	}
	profile_free(&read);
	profile_free(&read);
	/* No other file is left, and the next one takes its place. */
	struct profile other = { .kind = { .task = "x", .is_wall = true, .per_cost = true } };
	ck_assert_int_eq(profile_write(path, &other, &error), 0);
	ck_assert_int_eq(profile_read(path, &read, &error), 0);
	ck_assert_uint_eq(read.count, 0);
	ck_assert(read.kind.is_wall);
	ck_assert(read.kind.per_cost);
	profile_free(&read);
	char fresh[160];
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	ck_assert_int_lt(access(fresh, F_OK), 0);
}
END_TEST

/* By hand, with what may be missing missing. */
START_TEST(a_person_may_write_one)
{
	struct error error = { 0 };
	struct profile read = { 0 };

	put("{\"isobar-profile\": 1, \"task\": \"mine\", \"time\": \"wall\",\n"
	    " \"workers\": [{\"name\": \"a\", \"tasks\": 10, \"mean_s\": 2}]}");
	ck_assert_int_eq(profile_read(path, &read, &error), 0);
	ck_assert_uint_eq(read.count, 1);
	ck_assert_double_eq(read.workers[0].samples.sum_s, 20);
	ck_assert_double_eq(read.workers[0].samples.squares_s2, 0);
	profile_free(&read);
}
END_TEST

static const struct {
	const char *text, *why;
} bad[] = {
#define HEAD  "{\"isobar-profile\": 1, \"task\": \"t\", \"time\": \"on-cpu\", \"workers\": "
#define ALDER "{\"name\": \"alder\", \"tasks\": 5, \"mean_s\": 1}"
	{ "", "line 1: " },
	{ "{\n\"isobar-profile\": 1,\n oops}", "line 3: " },
	{ HEAD "[], \"task\": \"u\"}", "duplicate" },
	{ "[1]", "no isobar-profile of version 1" },
	{ "{\"isobar-profile\": 2}", "no isobar-profile of version 1" },
	{ "{\"isobar-profile\": 1}", "task: not a text" },
	{ "{\"isobar-profile\": 1, \"task\": \"\"}", "task: not of 1 to 127 characters" },
	{ "{\"isobar-profile\": 1, \"task\": \"a\"}", "time: not a text" },
	{ "{\"isobar-profile\": 1, \"task\": \"a\", \"time\": \"cpu\"}",
	  "time: neither 'on-cpu' nor 'wall'" },
	{ "{\"isobar-profile\": 1, \"task\": \"a\", \"time\": \"wall\", \"per-cost\": 1}",
	  "per-cost: neither true nor false" },
	{ HEAD "{}}", "workers: not a list" },
	{ HEAD "[7]}", "worker 1: name: not a text" },
	{ HEAD "[" ALDER ", " ALDER "]}", "worker 2: 'alder' is there twice" },
	{ HEAD "[{\"name\": \"a\", \"tasks\": 0, \"mean_s\": 1}]}",
	  "worker 1: tasks: 0 is not positive" },
	{ HEAD "[{\"name\": \"a\", \"tasks\": 1, \"mean_s\": -2}]}",
	  "worker 1: mean_s: -2 is not positive" },
	{ HEAD "[{\"name\": \"a\", \"tasks\": 1, \"mean_s\": \"x\"}]}",
	  "worker 1: mean_s: not a number" },
	{ HEAD "[{\"name\": \"a\", \"tasks\": 2, \"mean_s\": 1, \"deviation_s\": -1}]}",
	  "worker 1: deviation_s: -1 is not 0 or more" },
	{ HEAD "[{\"name\": \"a\", \"tasks\": 1e200, \"mean_s\": 1e200}]}",
	  "worker 1: 1e+200 tasks of 1e+200 s, deviation 0 s: cannot be" },
};

START_TEST(what_is_no_profile_is_refused_with_file_and_reason)
{
	struct profile read = { .count = 77 };
	struct error error = { 0 };

	put(bad[_i].text);
	ck_assert_int_eq(profile_read(path, &read, &error), -EINVAL);
	ck_assert_uint_eq(read.count, 77);
	ck_assert_int_eq(strncmp(error.text, "'", 1), 0);
	ck_assert_ptr_nonnull(strstr(error.text, path));
	ck_assert_msg(strstr(error.text, bad[_i].why) != NULL, "%s", error.text);
}
END_TEST

START_TEST(what_cannot_be_read_or_written_says_why)
{
	struct profile read = { .count = 77 };
	struct error error = { 0 };
	char text[200];

	ck_assert_int_eq(profile_read(path, &read, &error), -ENOENT);
	snprintf(text, sizeof(text), "read '%s': No such file or directory", path);
	ck_assert_str_eq(error.text, text);
	ck_assert_int_eq(profile_read(folder, &read, &error), -EISDIR);
	/* A pipe that nobody writes to is no reason to wait. */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(profile_read(path, &read, &error), -EINVAL);
	ck_assert_int_eq(unlink(path), 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	ck_assert_int_eq(profile_read(path, &read, &error), -EFBIG);
	ck_assert_uint_eq(read.count, 77);
	snprintf(text, sizeof(text), "%s/none/profile", folder);
	ck_assert_int_eq(profile_write(text, &example, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "none/profile': No such file"));
	/* The name is taken by a folder: what was written goes again. */
	snprintf(text, sizeof(text), "%s/profile.d", folder);
	ck_assert_int_eq(mkdir(text, 0700), 0);
	ck_assert_int_eq(profile_write(text, &example, &error), -EISDIR);
	snprintf(text, sizeof(text), "%s/profile.d.new", folder);
	ck_assert_int_lt(access(text, F_OK), 0);
}
END_TEST

START_TEST(times_of_something_else_are_refused)
{
	struct profile_kind kind = example.kind;
	struct error error = { 0 };

	ck_assert_int_eq(profile_check(&example, &kind, "FILE", &error), 0);
	kind.is_wall = true;
	ck_assert_int_eq(profile_check(&example, &kind, "FILE", &error), -EINVAL);
	ck_assert_str_eq(error.text,
			 "'FILE' has on-CPU times of 'softmax 784x10, 64 samples', this run has "
			 "wall times of 'softmax 784x10, 64 samples'");
	kind = example.kind;
	kind.per_cost = true;
	ck_assert_int_eq(profile_check(&example, &kind, "FILE", &error), -EINVAL);
	kind = example.kind;
	kind.task[0] = 'S';
	ck_assert_int_eq(profile_check(&example, &kind, "FILE", &error), -EINVAL);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("profile");
	TCase *tcase = tcase_create("file");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, what_is_written_is_read_again);
	tcase_add_test(tcase, a_person_may_write_one);
	tcase_add_loop_test(tcase, what_is_no_profile_is_refused_with_file_and_reason, 0,
			    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tcase, what_cannot_be_read_or_written_says_why);
	tcase_add_test(tcase, times_of_something_else_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
