/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What isobarctl freeze is answered where the disk does not keep it. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/node_private.h"
#include "tests/test.h"

START_TEST(a_file_that_is_not_durable_may_count_after_a_restart)
{
	static struct conf conf = { .node = "a", .state_directory = "state" };
	static struct node node = { .conf = &conf };
	char directory[] = "/tmp/isobar-freeze-XXXXXX";
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	/* By such a descriptor files are made, and nothing is synced. */
	node.state_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(node.state_fd, 0);
	json_t *reply = node_command_freeze(&node, NULL);
	ck_assert(!node.is_frozen);
	ck_assert_int_eq(fstatat(node.state_fd, "frozen", &st, 0), 0);
	const char *said = json_string_value(json_object_get(reply, "error"));
	ck_assert_ptr_nonnull(said);
	ck_assert_ptr_nonnull(strstr(said, "it is not in force, but may be after a restart"));
	json_decref(reply);
	ck_assert_int_eq(unlinkat(node.state_fd, "frozen", 0), 0);
	close(node.state_fd);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("freeze");
	TCase *tcase = tcase_create("disk");

	tcase_add_test(tcase, a_file_that_is_not_durable_may_count_after_a_restart);
	suite_add_tcase(suite, tcase);
	return suite;
}
