/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

/* stderr becomes a pipe; every test is a process of its own. */
static int capture(void)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_gt(fcntl(fds[1], F_SETPIPE_SZ, 65536), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	return fds[0];
}

static const char *said(int fd)
{
	static char text[65536 + 1];
	ssize_t size = read(fd, text, sizeof(text) - 1);

	ck_assert_int_ge(size, 0);
	text[size] = '\0';
	return text;
}

START_TEST(writes_lines_with_their_level_for_the_journal)
{
	int fd = capture();

	log_init(LOG_INFO, false);
	log_info("a %d", 1);
	log_debug("not this one");
	log_init(LOG_DEBUG, true);
	log_debug("b");
	log_error("c");
	ck_assert_str_eq(said(fd), "a 1\n<7>b\n<3>c\n");
}
END_TEST

START_TEST(never_waits_for_a_reader)
{
	char line[201];
	int fd = capture();

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	log_init(LOG_INFO, false);
	for (int i = 0; i < 1000; i++)
		log_info("%s", line);
	ck_assert_uint_gt(strlen(said(fd)), 50000);
	/* What could not be said is counted, once there is room. */
	log_info("again");
	unsigned long lost = 0;
	char rest[16] = "";

	ck_assert_int_eq(sscanf(said(fd), "%lu lines were lost here %15s", &lost, rest), 2);
	ck_assert_str_eq(rest, "again");
	ck_assert_uint_gt(lost, 600);
	log_info("and on");
	ck_assert_str_eq(said(fd), "and on\n");
}
END_TEST

START_TEST(outlives_its_reader)
{
	int fd = capture();

	log_prepare();
	close(fd);
	errno = ERANGE;
	log_info("nobody hears this");
	ck_assert_int_eq(errno, ERANGE);
}
END_TEST

START_TEST(what_is_opened_later_is_never_stderr)
{
	struct stat status;

	close(STDIN_FILENO);
	close(STDERR_FILENO);
	log_prepare();
	int fd = dup(STDOUT_FILENO);
	ck_assert_int_gt(fd, STDERR_FILENO);
	ck_assert_int_eq(fstat(STDERR_FILENO, &status), 0);
	ck_assert(S_ISCHR(status.st_mode));
	log_info("nobody hears this");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("stderr");

	tcase_set_timeout(tcase, 10);
	tcase_add_test(tcase, writes_lines_with_their_level_for_the_journal);
	tcase_add_test(tcase, never_waits_for_a_reader);
	tcase_add_test(tcase, outlives_its_reader);
	tcase_add_test(tcase, what_is_opened_later_is_never_stderr);
	suite_add_tcase(suite, tcase);
	return suite;
}
