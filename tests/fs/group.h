/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_GROUP_H
#define ISO_TESTS_GROUP_H

#include <check.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A group of the test's own on the real host, /isobar-test-PID, and what a
 * stranger would do in it: plain reads and writes that know nothing of the
 * code under test.  Names are relative to it.
 */

/* Makes it, or skips the whole program, saying why.  Call from test_suite(). */
void group_start(void);
/* Kills and removes everything in it; group_end() removes it too. */
void group_clean(void);
void group_end(void);

/* Makes it, or skips; for the tests of one case, after which it is removed.  setup, teardown:
   of each test, or NULL. */
TCase *group_case(Suite *suite, const char *name, double timeout_s, SFun setup, SFun teardown);

unsigned group_version(void);
/* "/isobar-test-PID/NAME"; static, one of a few in turn. */
const char *group_path(const char *name);
void group_directory(const char *name, char ret_directory[PATH_MAX]);
void group_make(const char *name);

/* -1 is no limit. */
void group_write_limit(const char *name, int64_t quota_us, uint64_t period_us);
int64_t group_quota_us(const char *directory);
void group_assert_limit(const char *directory, int64_t quota_us, uint64_t period_us);
bool group_write_file(const char *directory, const char *file, const char *text);
void group_read_file(const char *directory, const char *file, char *ret_text, size_t size);

/* A process with so many threads, all there, that only burn CPU; dies with its parent. */
pid_t group_fork_busy(int threads);
void group_kill(pid_t pid);
/* Its exit status. */
int group_wait(pid_t pid);
/* The group of a thread that is not the first. */
void group_thread_path(pid_t pid, unsigned version, char ret_path[PATH_MAX]);

#endif
