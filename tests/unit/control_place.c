/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the control socket is: one instance at a time, and who may do what there. */
#include "config.h"

#include "agent/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/loop.h"
#include "tests/test.h"
#include "tests/unit/control_server.h"

#define NOBODY 65534
#define GROUP  "daemon" /* exists everywhere, and nobody is in it */

START_TEST(only_one_instance_at_a_time)
{
	struct control_config config = server_configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char expected[200];

	server_start(&config);
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), -EBUSY);
	snprintf(expected, sizeof(expected),
		 "'%s/lock' is held by process %d: one instance at a time", server.directory,
		 (int)server.pid);
	ck_assert_str_eq(server.error.text, expected);
	ck_assert_ptr_null(control);
	ck_assert_uint_eq(loop.count, 0);
	/* The one that runs has lost nothing by it. */
	json_decref(server_call("{\"command\": \"ask\"}"));
}
END_TEST

START_TEST(takes_over_after_a_crash_and_leaves_nothing_behind)
{
	struct control_config config = server_configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char lock[96];

	server_start(&config);
	server_stop(SIGKILL);
	ck_assert_int_eq(access(server.path, F_OK), 0);
	int r = control_open(&config, &loop, &control, &server.error);
	ck_assert_msg(r == 0, "%s", server.error.text);
	control = control_close(control);
	ck_assert_ptr_null(control);
	snprintf(lock, sizeof(lock), "%s/lock", server.directory);
	ck_assert_int_lt(access(server.path, F_OK), 0);
	ck_assert_int_lt(access(lock, F_OK), 0);
	ck_assert_uint_eq(loop.count, 0);
}
END_TEST

START_TEST(refuses_what_is_in_its_way)
{
	struct control_config config = server_configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char expected[200], deep[200];

	ck_assert_int_eq(mkdir(server.path, 0755), 0);
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), -EEXIST);
	snprintf(expected, sizeof(expected), "'%s' is in the way: it is not a socket", server.path);
	ck_assert_str_eq(server.error.text, expected);
	ck_assert_int_eq(rmdir(server.path), 0);

	memset(deep, 'd', sizeof(deep));
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	config.directory = deep;
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), -ENAMETOOLONG);
	config.directory = "/nonexistent";
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), -ENOENT);
	ck_assert_str_eq(server.error.text,
			 "create '/nonexistent/lock': No such file or directory");
	config.directory = server.directory;
	config.group = "no-such-group";
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), -ENOENT);
	ck_assert_str_eq(server.error.text, "control-group: there is no group 'no-such-group'");
}
END_TEST

/* Asks as another user; returns whether it was allowed. */
static bool is_allowed(const char *request, gid_t gid, gid_t extra)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgroups(extra != 0, &extra) < 0 || setgid(gid) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		json_t *reply = server_call(request);
		_exit(json_is_true(json_object_get(reply, "ok")) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ne(WEXITSTATUS(status), 2);
	return WEXITSTATUS(status) == 0;
}

START_TEST(only_root_and_the_group_may_change_the_state)
{
	struct control_config config = server_configure();
	const struct group *group = getgrnam(GROUP);

	if (geteuid() != 0 || group == NULL)
		return;
	server_start(&config);
	ck_assert(is_allowed("{\"command\":\"ask\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", group->gr_gid, 0));
	server_stop(SIGKILL);

	config.group = GROUP;
	server_start(&config);
	ck_assert(is_allowed("{\"command\":\"ask\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", NOBODY, 0));
	ck_assert(is_allowed("{\"command\":\"set\"}", group->gr_gid, 0));
	ck_assert(is_allowed("{\"command\":\"set\"}", NOBODY, group->gr_gid));
}
END_TEST

/* One that may only ask cannot keep out those who may do more, nor all others who ask. */
START_TEST(a_stranger_cannot_take_all_places)
{
	struct control_config config = server_configure();
	int counted[2];
	unsigned places = 0;

	if (geteuid() != 0)
		return; /* we cannot become another user */
	server_start(&config);
	ck_assert_int_eq(pipe(counted), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(counted[0]);
		if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
			char reply[256] = "";
			int fd = server_connect();

			/* Whoever gets no place is told so before it asks. */
			(void)send(fd, "{\"command\":\"ask\"}", 17, MSG_NOSIGNAL);
			if (recv(fd, reply, sizeof(reply) - 1, 0) < 0)
				(void)recv(fd, reply, sizeof(reply) - 1, 0);
			places += strstr(reply, "\"ok\":true") != NULL;
		}
		if (write(counted[1], &places, sizeof(places)) != sizeof(places))
			_exit(2);
		pause();
	}
	close(counted[1]);
	ck_assert_int_eq(read(counted[0], &places, sizeof(places)), sizeof(places));
	ck_assert_uint_eq(places, CONTROL_CLIENTS_MAX / 2);
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		int fd = server_connect();

		ck_assert_str_eq(server_raw_call(fd, "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	}
	/* Among equals it is as before: no place is taken from anybody. */
	server_reply_is(server_call("{\"command\": \"ask\"}"),
			"{\"error\":\"too many clients, try again\",\"ok\":false}");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(the_mode_of_the_socket_is_as_configured)
{
	struct control_config config = server_configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	struct stat st;

	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), 0);
	ck_assert_int_eq(stat(server.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	control = control_close(control);
	config.group_only = true;
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), 0);
	ck_assert_int_eq(stat(server.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	control = control_close(control);
}
END_TEST

/* Who can open the lock can hold it, and keep the agent from starting again after a crash. */
START_TEST(nobody_else_can_open_the_lock)
{
	struct control_config config = server_configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char lock[96];
	struct stat st;

	snprintf(lock, sizeof(lock), "%s/lock", server.directory);
	/* Left behind by a version that was more generous. */
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	close(fd);
	ck_assert_int_eq(control_open(&config, &loop, &control, &server.error), 0);
	ck_assert_int_eq(stat(lock, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	control = control_close(control);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("control_place");
	TCase *tcase = tcase_create("socket");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, server_set_up, server_tear_down);
	tcase_add_test(tcase, only_one_instance_at_a_time);
	tcase_add_test(tcase, takes_over_after_a_crash_and_leaves_nothing_behind);
	tcase_add_test(tcase, refuses_what_is_in_its_way);
	tcase_add_test(tcase, only_root_and_the_group_may_change_the_state);
	tcase_add_test(tcase, a_stranger_cannot_take_all_places);
	tcase_add_test(tcase, the_mode_of_the_socket_is_as_configured);
	tcase_add_test(tcase, nobody_else_can_open_the_lock);
	suite_add_tcase(suite, tcase);
	return suite;
}
