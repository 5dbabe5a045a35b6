/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "tests/test.h"

#define OTHER 65533

static struct error error;

/* In the place of the C library's: users that this host need not have. */
struct passwd *getpwnam(const char *name)
{
	static struct passwd user;

	user = (struct passwd){ .pw_uid = OTHER, .pw_gid = OTHER };
	if (strcmp(name, "root") == 0)
		user.pw_uid = user.pw_gid = 0;
	else if (strcmp(name, "operator") == 0)
		user.pw_gid = 0;
	else if (strcmp(name, "other") != 0)
		return NULL;
	return &user;
}

static void need_root(void)
{
	if (geteuid() != 0)
		test_skip_all("only root can become another user");
}

/* stderr becomes a pipe; every test is a process of its own. */
static int capture(void)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	log_init(LOG_INFO, false);
	return fds[0];
}

static const char *said(int fd)
{
	static char text[4096];
	ssize_t size = read(fd, text, sizeof(text) - 1);

	text[size > 0 ? size : 0] = '\0';
	return text;
}

START_TEST(neither_root_nor_one_with_its_group_will_do)
{
	ck_assert_int_eq(user_become("--user", "root", &error), -EPERM);
	ck_assert_str_eq(error.text, "--user: 'root' is root: it must not be");
	ck_assert_int_eq(user_become("--user", "operator", &error), -EPERM);
	ck_assert_str_eq(error.text,
			 "--user: 'operator' has the group of root: it must not have it");
	ck_assert_int_eq(user_become("--user", "nobody-here", &error), -ENOENT);
	ck_assert_uint_eq(geteuid(), 0);
}
END_TEST

START_TEST(who_cannot_become_another_says_so)
{
	ck_assert_int_eq(setresgid(OTHER, OTHER, OTHER), 0);
	ck_assert_int_eq(setresuid(OTHER, OTHER, OTHER), 0);
	int fd = capture();
	ck_assert_int_eq(user_become("--user", "other", &error), 0);
	ck_assert_str_eq(said(fd), "");
	ck_assert_int_eq(user_become("--user", "root", &error), 0);
	ck_assert_str_eq(said(fd),
			 "--user: only root can become 'root': it goes on as user 65533\n");
	ck_assert_int_eq(user_become("--user", "nobody-here", &error), 0);
	ck_assert_str_eq(said(fd),
			 "--user: only root can become 'nobody-here': it goes on as user 65533\n");
	close(fd);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("user");
	TCase *tcase = tcase_create("become");

	need_root();
	tcase_add_test(tcase, neither_root_nor_one_with_its_group_will_do);
	tcase_add_test(tcase, who_cannot_become_another_says_so);
	suite_add_tcase(suite, tcase);
	return suite;
}
