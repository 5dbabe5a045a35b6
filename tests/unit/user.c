/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
	else if (strcmp(name, "other") != 0 && strcmp(name, "member") != 0)
		return NULL;
	return &user;
}

/* And their groups: member is in that of root. */
int getgrouplist(const char *name, gid_t primary, gid_t *groups, int *count)
{
	int most = *count;

	*count = strcmp(name, "member") == 0 ? 3 : 1;
	for (int i = 0; i < *count && i < most; i++)
		groups[i] = i == 0 ? primary : i == 1 ? OTHER + 1 : 0;
	return *count > most ? -1 : *count;
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
	ck_assert_int_eq(user_become("--user", "member", &error), -EPERM);
	ck_assert_str_eq(error.text,
			 "--user: 'member' has the group of root: it must not have it");
	ck_assert(user_has_group_of_root("member", OTHER));
	ck_assert(!user_has_group_of_root("other", OTHER));
	ck_assert(user_has_group_of_root("other", 0));
	ck_assert_int_eq(user_become("--user", "nobody-here", &error), -ENOENT);
	ck_assert_uint_eq(geteuid(), 0);
}
END_TEST

static char base[64];

static void setup(void)
{
	snprintf(base, sizeof(base), "/tmp/isobar-user-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert_int_eq(chmod(base, 0755), 0);
}

static const char *below(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static void teardown(void)
{
	static const char *const names[] = { "a/b/c", "a/b", "a", "theirs/x", "theirs" };

	(void)unlink(below("link"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)rmdir(below(names[i]));
	ck_assert_int_eq(rmdir(base), 0);
}

static int make(const char *name)
{
	return user_make_directory(below(name), 0750, "user", "other", &error);
}

static void check_is(const char *name, uid_t owner, mode_t mode)
{
	struct stat st;

	ck_assert_int_eq(lstat(below(name), &st), 0);
	ck_assert(S_ISDIR(st.st_mode));
	ck_assert_uint_eq(st.st_uid, owner);
	ck_assert_uint_eq(st.st_gid, owner);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
}

START_TEST(the_last_is_the_users_and_its_parents_can_be_passed)
{
	umask(077);
	ck_assert_int_eq(make("a//b/c/"), 0);
	check_is("a", 0, 0755);
	check_is("a/b", 0, 0755);
	check_is("a/b/c", OTHER, 0700);
	/* What is there stays as it is. */
	ck_assert_int_eq(make("a/b"), 0);
	check_is("a/b", 0, 0755);
}
END_TEST

/* As /var/run is. */
START_TEST(a_link_of_roots_is_followed)
{
	ck_assert_int_eq(mkdir(below("a"), 0755), 0);
	ck_assert_int_eq(symlink(_i == 0 ? "./a/../a" : below("a"), below("link")), 0);
	ck_assert_int_eq(make("link/b/c"), 0);
	check_is("a/b/c", OTHER, 0750);
}
END_TEST

/* Else root gives away what the user puts there, or points at. */
START_TEST(nothing_is_made_where_others_may_change_it)
{
	ck_assert_int_eq(mkdir(below("a"), 0755), 0);
	ck_assert_int_eq(mkdir(below("theirs"), 0755), 0);
	if (_i == 0)
		ck_assert_int_eq(chown(below("theirs"), OTHER, OTHER), 0);
	else
		ck_assert_int_eq(chmod(below("theirs"), 0777), 0);
	ck_assert_int_eq(make("theirs/x"), 0);
	ck_assert_int_eq(access(below("theirs/x"), F_OK), -1);
	ck_assert_int_eq(make("theirs/x/y"), 0);
	ck_assert_int_eq(access(below("theirs/x"), F_OK), -1);
	ck_assert_int_eq(symlink(below("a"), below("link")), 0);
	ck_assert_int_eq(lchown(below("link"), OTHER, OTHER), 0);
	ck_assert_int_eq(make("link/b"), 0);
	ck_assert_int_eq(access(below("a/b"), F_OK), -1);
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
	tcase = tcase_create("directory");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_last_is_the_users_and_its_parents_can_be_passed);
	tcase_add_loop_test(tcase, a_link_of_roots_is_followed, 0, 2);
	tcase_add_loop_test(tcase, nothing_is_made_where_others_may_change_it, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
