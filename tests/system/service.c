/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An agent under a service manager: what it tells the manager, and what
 * `isobard --restore` does after it was killed, as the unit's ExecStopPost.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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
#include "agent/net/curve.h"
#include "tests/fs/group.h"
#include "tests/test.h"

#define PATIENCE_MS 20000

static char folder[64], conf[96], isobard[PATH_MAX], job[PATH_MAX];
static int manager_fd; /* the manager's end */

static void write_conf(const char *on_exit)
{
	FILE *file = fopen(conf, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"cluster = lab\nnode = a\nbudget = 0.3cpu\nendowment = 0.3cpu\ncgroup = %s\n"
		"on-exit = %s\nstate-directory = %s/state\nrun-directory = %s/run\n"
		"trading { tick = 50ms\n fresh = 1s }\n",
		group_path("job"), on_exit, folder, folder);
	ck_assert_int_eq(fclose(file), 0);
}

static int isobard_says(const char *option)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(isobard, "isobard", option, "-f", conf, (char *)NULL);
		_exit(127);
	}
	return group_wait(pid);
}

static void make_keys(const char *path)
{
	struct curve_keypair keys;
	char secret[128], public[128];

	snprintf(secret, sizeof(secret), "%s.key", path);
	snprintf(public, sizeof(public), "%s.pub", path);
	ck_assert_int_eq(curve_keypair_new(&keys, NULL), 0);
	ck_assert_int_eq(curve_keypair_write(&keys, secret, public, NULL), 0);
}

static void setup(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	group_make("job");
	group_directory("job", job);
	group_write_limit("job", 77000, 100000);
	snprintf(folder, sizeof(folder), "/tmp/isobar-service-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(conf, sizeof(conf), "%s/conf", folder);
	snprintf(isobard, sizeof(isobard), "%s/agent/isobard", getenv("top_builddir"));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", folder);
	manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(manager_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
}

static void teardown(void)
{
	char command[128];

	close(manager_fd);
	group_clean();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static pid_t start(const char *watchdog_us)
{
	pid_t pid;

	ck_assert_int_eq(setenv("WATCHDOG_USEC", watchdog_us, 1), 0);
	pid = fork();
	if (pid == 0) {
		execl(isobard, "isobard", "-f", conf, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Reads until a message has this line; how many others had "WATCHDOG=1". */
static unsigned wait_for(const char *line)
{
	struct pollfd ready = { .fd = manager_fd, .events = POLLIN };
	unsigned fed = 0;

	for (;;) {
		char text[1024] = "\n";
		ck_assert_msg(poll(&ready, 1, PATIENCE_MS) == 1, "'%s' does not come", line);
		ssize_t size = recv(manager_fd, text + 1, sizeof(text) - 2, 0);
		ck_assert_int_gt(size, 0);
		text[size + 1] = '\0';
		const char *found = strstr(text, line);
		if (found != NULL && found[-1] == '\n')
			return fed;
		fed += strcmp(text + 1, "WATCHDOG=1") == 0;
	}
}

static void assert_limit(int64_t quota_us)
{
	int64_t quota;
	uint64_t period;

	group_read_limit(job, &quota, &period);
	ck_assert_int_eq(quota, quota_us);
	ck_assert_uint_eq(period, 100000);
}

START_TEST(tells_the_manager_when_it_is_ready_alive_and_leaving)
{
	write_conf("restore");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");

	/* Ready is who enforces. */
	wait_for("READY=1");
	assert_limit(30000);
	wait_for("WATCHDOG=1");
	wait_for("WATCHDOG=1");
	kill(pid, SIGTERM);
	wait_for("STOPPING=1");
	ck_assert_int_eq(group_wait(pid), 0);
	assert_limit(77000);
}
END_TEST

START_TEST(says_how_it_is)
{
	write_conf("keep");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");

	wait_for("STATUS=node a: ok, share 0.300 CPU");
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

/* Five ticks are 250 ms: it would be taken for hung. */
START_TEST(asks_for_a_longer_watchdog)
{
	write_conf("keep");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("100000");

	wait_for("WATCHDOG_USEC=250000");
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
}
END_TEST

/* What feeds the watchdog is the tick, and no other thread or timer. */
START_TEST(stops_feeding_when_it_does_not_enforce)
{
	write_conf("keep");
	ck_assert_int_eq(isobard_says("--init"), 0);
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

	write_conf("restore");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");
	wait_for("READY=1");

	/* Not while it runs. */
	ck_assert_int_eq(isobard_says("--restore"), 1);
	assert_limit(30000);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	assert_limit(30000);
	/* Nor for one that said itself why it ended: it has done what was to be done. */
	ck_assert_int_eq(setenv("EXIT_CODE", "exited", 1), 0);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(30000);
	ck_assert_int_eq(setenv("EXIT_CODE", "killed", 1), 0);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(77000);
	/* Done once: what somebody writes from then on is left alone. */
	group_write_limit("job", 55000, 100000);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(55000);
}
END_TEST

START_TEST(keeps_the_limit_of_an_agent_that_was_killed)
{
	int status;

	write_conf("keep");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");
	wait_for("READY=1");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(30000);
}
END_TEST

/* An upgrade ends an agent and starts another one: the job is not free in between. */
START_TEST(leaves_its_limit_to_the_one_that_takes_over)
{
	char order[96];
	int status;

	write_conf("restore");
	ck_assert_int_eq(isobard_says("--init"), 0);
	ck_assert_int_eq(isobard_says("--hand-over"), 1); /* to whom? */
	pid_t pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(isobard_says("--hand-over"), 0);
	snprintf(order, sizeof(order), "%s/run/keep-limit", folder);
	ck_assert_int_eq(access(order, F_OK), 0);
	kill(pid, SIGTERM);
	ck_assert_int_eq(group_wait(pid), 0);
	assert_limit(30000);
	/* One that hung and was killed leaves it as well. */
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(30000);

	/* It was for once. */
	pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(access(order, F_OK), -1);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	assert_limit(30000);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(77000);
}
END_TEST

/* The other one never came: from then on an end is one like any other. */
START_TEST(an_old_order_is_none)
{
	char order[96];
	int status;

	write_conf("restore");
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");
	wait_for("READY=1");
	ck_assert_int_eq(isobard_says("--hand-over"), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(30000);
	/* As if it were of another boot, which is the same: none of the last five minutes. */
	snprintf(order, sizeof(order), "%s/run/keep-limit", folder);
	FILE *file = fopen(order, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%" PRIu64 "\n", clock_boot_ns() + 3600000000000u);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(77000);
}
END_TEST

/* The guard has outlived its agent and holds the limit: it must let go first. */
START_TEST(restores_what_a_guard_holds)
{
	char path[96];
	int status;

	snprintf(path, sizeof(path), "%s/a", folder);
	make_keys(path);
	write_conf("restore");
	FILE *file = fopen(conf, "ae");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"listen = 'tcp://127.0.0.1:*'\nsecret-key = %s/a.key\n"
		"guard { executable = %s/agent/isobar-guard }\n", folder, getenv("top_builddir"));
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(isobard_says("--init"), 0);
	pid_t pid = start("2000000");
	wait_for("READY=1");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(isobard_says("--restore"), 0);
	assert_limit(77000);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("service");
	TCase *tcase = tcase_create("manager");

#ifndef HAVE_SYSTEMD
	test_skip_all("built without libsystemd");
#endif
	group_start();
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, NULL, group_end);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, tells_the_manager_when_it_is_ready_alive_and_leaving);
	tcase_add_test(tcase, says_how_it_is);
	tcase_add_test(tcase, asks_for_a_longer_watchdog);
	tcase_add_test(tcase, stops_feeding_when_it_does_not_enforce);
	tcase_add_test(tcase, restores_for_an_agent_that_was_killed);
	tcase_add_test(tcase, restores_what_a_guard_holds);
	tcase_add_test(tcase, leaves_its_limit_to_the_one_that_takes_over);
	tcase_add_test(tcase, an_old_order_is_none);
	tcase_add_test(tcase, keeps_the_limit_of_an_agent_that_was_killed);
	suite_add_tcase(suite, tcase);
	return suite;
}
