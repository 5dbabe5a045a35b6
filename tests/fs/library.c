/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * agent/cgroup on the real hierarchy of this host beside a libcgroup that does not
 * start, fails, or says that it has done what it has not.  Its functions are the
 * ones below: a program's own go before those of its shared libraries.
 */
#include "config.h"

#include "agent/base/log.h"
#include "agent/cgroup/cgroup.h"
#include "tests/fs/group.h"
#include "tests/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What libcgroup.h declares, without its struct cgroup, which is not ours. */
#define ECGOTHER	     50016
#define ECGROUPVALUENOTEXIST 50015
struct library_group;
int cgroup_init(void);
int cgroup_create_cgroup(struct library_group *group, int ignore_ownership);
int cgroup_modify_cgroup(struct library_group *group);
int cgroup_attach_task_pid(struct library_group *group, pid_t tid);

static int init_answer, answer;
static unsigned calls;
static int64_t written_us; /* by the library, behind our back; 0: nothing */

int cgroup_init(void)
{
	return init_answer;
}

int cgroup_create_cgroup(struct library_group *group, int ignore_ownership)
{
	(void)group;
	(void)ignore_ownership;
	calls++;
	return answer;
}

int cgroup_modify_cgroup(struct library_group *group)
{
	(void)group;
	calls++;
	if (written_us != 0)
		group_write_limit("job", written_us, 100000);
	return answer;
}

int cgroup_attach_task_pid(struct library_group *group, pid_t tid)
{
	(void)group;
	(void)tid;
	calls++;
	return answer;
}

/* Made, limited, entered and removed: what the kernel has is what was asked for. */
static void all_goes_well(void)
{
	static const uint64_t quotas_us[] = { 30000, 5000, 5000, 60000, 1000 };
	struct cgroup_config config = {
		.path = group_path("job"),
		.period_us = 100000,
		.first_quota_us = 10000,
		.on_exit = CGROUP_REMOVE,
		.create = true,
	};
	struct error error = { 0 };
	struct cgroup *cgroup = NULL;
	char directory[PATH_MAX];
	struct stat status;

	ck_assert_msg(cgroup_open(&config, &cgroup, &error) == 0, "%s", error.text);
	snprintf(directory, sizeof(directory), "%s", cgroup_directory(cgroup));
	group_assert_limit(directory, 10000, 100000);
	for (size_t i = 0; i < sizeof(quotas_us) / sizeof(quotas_us[0]); i++) {
		ck_assert_msg(cgroup_write(cgroup, quotas_us[i], &error) == 0, "%s", error.text);
		group_assert_limit(directory, (int64_t)quotas_us[i], 100000);
	}
	pid_t pid = group_fork_busy(1);
	ck_assert_msg(cgroup_attach(cgroup, pid, &error) == 0, "%s", error.text);
	group_kill(pid);
	ck_assert_msg(cgroup_leave(cgroup, &error) == 0, "%s", error.text);
	cgroup_close(cgroup);
	ck_assert_int_eq(stat(directory, &status), -1);
	ck_assert_int_eq(errno, ENOENT);
}

START_TEST(one_that_does_not_start_is_done_without_and_that_is_said_once)
{
	char said[256] = "";
	int fd = memfd_create("log", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	log_init(LOG_INFO, false);
	init_answer = ECGOTHER;
	all_goes_well();
	all_goes_well();
	ck_assert_uint_eq(calls, 0);
	ck_assert_int_gt(pread(fd, said, sizeof(said) - 1, 0), 0);
	ck_assert_msg(strncmp(said, "libcgroup does not start: ", 26) == 0, "%s", said);
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}
END_TEST

START_TEST(one_that_fails_is_done_without)
{
	answer = ECGROUPVALUENOTEXIST;
	all_goes_well();
	ck_assert_uint_gt(calls, 4);
}
END_TEST

/* As it does for a file without the owner's write bit, or after an old EOPNOTSUPP. */
START_TEST(one_that_says_done_and_did_nothing_is_not_believed)
{
	all_goes_well();
	ck_assert_uint_gt(calls, 4);
}
END_TEST

START_TEST(one_that_writes_something_else_is_not_believed)
{
	written_us = 44000;
	all_goes_well();
	ck_assert_uint_gt(calls, 4);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("fs-library");
	TCase *tcase = group_case(suite, "libcgroup", 30, NULL, group_clean);

	tcase_add_test(tcase, one_that_does_not_start_is_done_without_and_that_is_said_once);
	tcase_add_test(tcase, one_that_fails_is_done_without);
	tcase_add_test(tcase, one_that_says_done_and_did_nothing_is_not_believed);
	tcase_add_test(tcase, one_that_writes_something_else_is_not_believed);
	return suite;
}
