/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An agent under a service manager: what it tells the manager, and what
 * `isobard --restore` does after it was killed, as the unit's ExecStopPost.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/fs/group.h"
#include "tests/system/single.h"
#include "tests/test.h"

static int manager_fd; /* the manager's end */

static void setup(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	single_begin("service");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", single.folder);
	manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(manager_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
}

static void teardown(void)
{
	close(manager_fd);
	single_end();
}

static pid_t start(const char *watchdog_us)
{
	ck_assert_int_eq(setenv("WATCHDOG_USEC", watchdog_us, 1), 0);
	return single_run(NULL, -1);
}

/* Reads until a message has this line; how many others had "WATCHDOG=1". */
static unsigned wait_for(const char *line)
{
	struct pollfd ready = { .fd = manager_fd, .events = POLLIN };
	unsigned fed = 0;

	for (;;) {
		char text[1024] = "\n";
		ck_assert_msg(poll(&ready, 1, SINGLE_PATIENCE_MS) == 1, "'%s' does not come", line);
		ssize_t size = recv(manager_fd, text + 1, sizeof(text) - 2, 0);
		ck_assert_int_gt(size, 0);
		text[size + 1] = '\0';
		const char *found = strstr(text, line);
		if (found != NULL && found[-1] == '\n')
			return fed;
		fed += strcmp(text + 1, "WATCHDOG=1") == 0;
	}
}

START_TEST(tells_the_manager_when_it_is_ready_alive_and_leaving)
{
	single_init("on-exit = restore\n");
	pid_t pid = start("2000000");

	/* Ready is who enforces. */
	wait_for("READY=1");
	single_assert_limit(SINGLE_OURS_US);
	wait_for("WATCHDOG=1");
	wait_for("WATCHDOG=1");
	kill(pid, SIGTERM);
	wait_for("STOPPING=1");
	ck_assert_int_eq(group_wait(pid), 0);
	single_assert_limit(SINGLE_BEFORE_US);
}
END_TEST

START_TEST(says_how_it_is)
{
	single_init("on-exit = keep\n");
	pid_t pid = start("2000000");

	wait_for("STATUS=node a: ok, share 0.300 CPU");
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

/* Five ticks are 250 ms: it would be taken for hung. */
START_TEST(asks_for_a_longer_watchdog)
{
	single_init("on-exit = keep\n");
	pid_t pid = start("100000");

	wait_for("WATCHDOG_USEC=250000");
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

/* What feeds the watchdog is the tick, and no other thread or timer. */
START_TEST(stops_feeding_when_it_does_not_enforce)
{
	single_init("on-exit = keep\n");
	pid_t pid = start("2000000");
	struct pollfd more = { .fd = manager_fd, .events = POLLIN };
	char text[1024];

	wait_for("WATCHDOG=1");
	kill(pid, SIGSTOP);
	while (poll(&more, 1, 300) == 1)
		ck_assert_int_gt(recv(manager_fd, text, sizeof(text), 0), 0);
	ck_assert_int_eq(poll(&more, 1, 500), 0);
	kill(pid, SIGCONT);
	wait_for("WATCHDOG=1");
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

START_TEST(restores_for_an_agent_that_was_killed)
{
	int status;

	single_init("on-exit = restore\n");
	pid_t pid = start("2000000");
	wait_for("READY=1");

	/* Not while it runs. */
	ck_assert_int_eq(single_says("--restore"), 1);
	single_assert_limit(SINGLE_OURS_US);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	single_assert_limit(SINGLE_OURS_US);
	/* Nor for one that said itself why it ended: it has done what was to be done. */
	ck_assert_int_eq(setenv("EXIT_CODE", "exited", 1), 0);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_OURS_US);
	ck_assert_int_eq(setenv("EXIT_CODE", "killed", 1), 0);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_BEFORE_US);
	/* Done once: what somebody writes from then on is left alone. */
	group_write_limit("job", 55000, 100000);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(55000);
}
END_TEST

START_TEST(keeps_the_limit_of_an_agent_that_was_killed)
{
	int status;

	single_init("on-exit = keep\n");
	pid_t pid = start("2000000");
	wait_for("READY=1");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_OURS_US);
}
END_TEST

/* An upgrade ends an agent and starts another one: the job is not free in between. */
START_TEST(leaves_its_limit_to_the_one_that_takes_over)
{
	char order[96];
	int status;

	single_init("on-exit = restore\n");
	ck_assert_int_eq(single_says("--hand-over"), 1); /* to whom? */
	pid_t pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(single_says("--hand-over"), 0);
	snprintf(order, sizeof(order), "%s/run/keep-limit", single.folder);
	ck_assert_int_eq(access(order, F_OK), 0);
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
	single_assert_limit(SINGLE_OURS_US);
	/* One that hung and was killed leaves it as well. */
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_OURS_US);

	/* It was for once. */
	pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(access(order, F_OK), -1);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	single_assert_limit(SINGLE_OURS_US);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_BEFORE_US);
}
END_TEST

/* The other one never came: from then on an end is one like any other. */
START_TEST(an_old_order_is_none)
{
	char order[96];
	int status;

	single_init("on-exit = restore\n");
	pid_t pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(single_says("--hand-over"), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_OURS_US);
	/* As if it were of another boot, which is the same: none of the last five minutes. */
	snprintf(order, sizeof(order), "%s/run/keep-limit", single.folder);
	FILE *file = fopen(order, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%" PRIu64 "\n", clock_boot_ns() + 3600000000000u);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_BEFORE_US);
}
END_TEST

/* The guard has outlived its agent and holds the limit: it must let go first. */
START_TEST(restores_what_a_guard_holds)
{
	char more[512];
	int status;

	single_make_keys();
	snprintf(more, sizeof(more),
		 "on-exit = restore\nlisten = 'tcp://127.0.0.1:*'\nsecret-key = %s/a.key\n"
		 "guard { executable = %s/agent/isobar-guard }\n", single.folder,
		 getenv("top_builddir"));
	single_init(more);
	pid_t pid = start("2000000");
	wait_for("READY=1");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(single_says("--restore"), 0);
	single_assert_limit(SINGLE_BEFORE_US);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("service");

#ifndef HAVE_SYSTEMD
	test_skip_all("built without libsystemd");
#endif
	TCase *tcase = group_case(suite, "manager", 60, setup, teardown);
	tcase_add_test(tcase, tells_the_manager_when_it_is_ready_alive_and_leaving);
	tcase_add_test(tcase, says_how_it_is);
	tcase_add_test(tcase, asks_for_a_longer_watchdog);
	tcase_add_test(tcase, stops_feeding_when_it_does_not_enforce);
	tcase_add_test(tcase, restores_for_an_agent_that_was_killed);
	tcase_add_test(tcase, restores_what_a_guard_holds);
	tcase_add_test(tcase, leaves_its_limit_to_the_one_that_takes_over);
	tcase_add_test(tcase, an_old_order_is_none);
	tcase_add_test(tcase, keeps_the_limit_of_an_agent_that_was_killed);
	return suite;
}
