/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/test.h"

static char base[64], steps[256];
static int folder;
static unsigned syncs, sync_fails; /* sync_fails: which one, from 1; 0: none */

static void note(const char *step)
{
	size_t length = strlen(steps);

	snprintf(steps + length, sizeof(steps) - length, "%s%s", length > 0 ? ", " : "", step);
}

static const char *content(const char *name)
{
	static char text[128];
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return "none";
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	ck_assert_int_ge(size, 0);
	text[size] = '\0';
	return text;
}

/* In the place of the C library's: what is durable when; of a file, by what is in it. */
int fsync(int fd)
{
	struct stat status;

	ck_assert_int_eq(fstat(fd, &status), 0);
	note(S_ISDIR(status.st_mode) ? "sync folder" : content("list.new"));
	if (++syncs == sync_fails) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	note("rename");
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void setup(void)
{
	umask(022);
	snprintf(base, sizeof(base), "/tmp/isobar-wholefile-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	folder = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder, 0);
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "old", 3), 0);
	steps[0] = '\0';
	syncs = sync_fails = 0;
}

static void teardown(void)
{
	(void)unlinkat(folder, "list", 0);
	(void)unlinkat(folder, "other", 0);
	close(folder);
	ck_assert_int_eq(rmdir(base), 0); /* nothing else was left */
}

START_TEST(the_content_is_durable_before_the_name_and_the_name_in_the_end)
{
	struct stat status;

	ck_assert_int_eq(wholefile_replace(folder, "list", 0640, "new!", 4), 0);
	ck_assert_str_eq(content("list"), "new!");
	ck_assert_int_eq(fstatat(folder, "list", &status, 0), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0640);
	ck_assert_str_eq(steps, "new!, rename, sync folder");
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "", 0), 0);
	ck_assert_str_eq(content("list"), "");
}
END_TEST

START_TEST(between_the_steps_the_old_one_is_there)
{
	ck_assert_int_eq(wholefile_prepare(folder, "list", 0600, "half", 4), 0);
	ck_assert_str_eq(content("list"), "old");
	ck_assert_str_eq(content("list.new"), "half");
	/* As after a crash there: the next attempt is another one. */
	ck_assert_int_eq(wholefile_prepare(folder, "list", 0600, "new", 3), 0);
	ck_assert_int_eq(wholefile_commit(folder, "list"), 0);
	ck_assert_str_eq(content("list"), "new");
}
END_TEST

START_TEST(what_cannot_be_written_leaves_the_old_one)
{
	const struct rlimit two = { 2, RLIM_INFINITY };
	char long_name[NAME_MAX - 2];

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &two), 0);
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "new", 3), -EFBIG);
	ck_assert_str_eq(content("list"), "old");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ck_assert_int_eq(wholefile_replace(folder, long_name, 0600, "", 0), -ENAMETOOLONG);
	ck_assert_str_eq(steps, "");
}
END_TEST

START_TEST(a_sync_that_fails_is_a_failure)
{
	sync_fails = 1;
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "new", 3), -EIO);
	ck_assert_str_eq(content("list"), "old");
	sync_fails = 3;
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "new", 3), -EIO);
	ck_assert_str_eq(content("list"), "new");
}
END_TEST

START_TEST(a_link_in_the_way_is_not_followed)
{
	ck_assert_int_eq(wholefile_replace(folder, "other", 0600, "mine", 4), 0);
	ck_assert_int_eq(symlinkat("other", folder, "list.new"), 0);
	ck_assert_int_eq(wholefile_replace(folder, "list", 0600, "new", 3), -ELOOP);
	ck_assert_str_eq(content("other"), "mine");
	ck_assert_str_eq(content("list"), "old");
	ck_assert_int_eq(unlinkat(folder, "list.new", 0), 0);
}
END_TEST

START_TEST(a_path_is_a_name_in_its_folder)
{
	char long_path[PATH_MAX + 8];

	ck_assert_int_eq(wholefile_replace_path(below("list"), 0600, "new", 3), 0);
	ck_assert_str_eq(content("list"), "new");
	ck_assert_int_eq(fchdir(folder), 0);
	ck_assert_int_eq(wholefile_replace_path("list", 0600, "here", 4), 0);
	ck_assert_str_eq(content("list"), "here");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(wholefile_replace_path(below(""), 0600, "", 0), -EISDIR);
	ck_assert_int_eq(wholefile_replace_path("", 0600, "", 0), -ENOENT);
	ck_assert_int_eq(wholefile_replace_path(below("none/list"), 0600, "", 0), -ENOENT);
	memset(long_path, '/', sizeof(long_path));
	memcpy(long_path + sizeof(long_path) - 2, "x", 2);
	ck_assert_int_eq(wholefile_replace_path(long_path, 0600, "", 0), -ENAMETOOLONG);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("wholefile");
	TCase *tcase = tcase_create("wholefile");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_content_is_durable_before_the_name_and_the_name_in_the_end);
	tcase_add_test(tcase, between_the_steps_the_old_one_is_there);
	tcase_add_test(tcase, what_cannot_be_written_leaves_the_old_one);
	tcase_add_test(tcase, a_sync_that_fails_is_a_failure);
	tcase_add_test(tcase, a_link_in_the_way_is_not_followed);
	tcase_add_test(tcase, a_path_is_a_name_in_its_folder);
	suite_add_tcase(suite, tcase);
	return suite;
}
