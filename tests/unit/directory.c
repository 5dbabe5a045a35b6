/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char base[64];
static struct error error;

static void setup(void)
{
	snprintf(base, sizeof(base), "/tmp/isobar-directory-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
}

static const char *below(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void teardown(void)
{
	(void)rmdir(below("a/b/c"));
	(void)rmdir(below("a/b"));
	(void)rmdir(below("a"));
	(void)unlink(below("file"));
	ck_assert_int_eq(rmdir(base), 0);
}

START_TEST(makes_the_parents_too_and_only_itself_is_private)
{
	struct stat st;

	umask(022);
	ck_assert_int_eq(directory_make(below("a/b/c"), 0700, &error), 0);
	ck_assert_int_eq(stat(below("a/b/c"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(stat(below("a/b"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0755);
}
END_TEST

START_TEST(one_that_is_there_keeps_its_mode)
{
	struct stat st;

	ck_assert_int_eq(mkdir(below("a"), 0711), 0);
	ck_assert_int_eq(directory_make(below("a"), 0700, &error), 0);
	ck_assert_int_eq(directory_make(below("a//"), 0700, &error), 0);
	ck_assert_int_eq(stat(below("a"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0711);
}
END_TEST

START_TEST(names_what_is_in_the_way)
{
	char expected[320];
	FILE *file = fopen(below("file"), "we");

	ck_assert_ptr_nonnull(file);
	fclose(file);
	snprintf(expected, sizeof(expected), "create '%s': Not a directory", below("file"));
	ck_assert_int_eq(directory_make(below("file/x"), 0700, &error), -ENOTDIR);
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(directory_make(below("file"), 0700, &error), -ENOTDIR);
	ck_assert_str_eq(error.text, expected);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("directory");
	TCase *tcase = tcase_create("make");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, makes_the_parents_too_and_only_itself_is_private);
	tcase_add_test(tcase, one_that_is_there_keeps_its_mode);
	tcase_add_test(tcase, names_what_is_in_the_way);
	suite_add_tcase(suite, tcase);
	return suite;
}
