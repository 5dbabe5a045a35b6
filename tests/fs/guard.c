/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guard and its agent as real processes: whatever is killed, stopped or
 * missing, the quota is at most the floor when the lease has ended.  What is
 * not on the real hierarchy of this host is on plain files, as cgroup v2.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "agent/guard/guard_wire.h"
#include "tests/fs/group.h"
#include "tests/fs/guarded.h"
#include "tests/test.h"

#define MS	    1000000ull
#define FLOOR	    GUARDED_FLOOR_US
#define SHARE	    GUARDED_SHARE_US
#define SAMPLES_MIN GUARDED_SAMPLES_MIN

static void setup_real(void)
{
	guarded_start(true);
}

static void setup_files(void)
{
	guarded_start(false);
}

/* An agent with a lease and its share, watched. */
static pid_t with_share(void)
{
	pid_t agent = guarded_with_share();

	guarded_watch();
	usleep(50000);
	return agent;
}

START_TEST(a_lease_that_nobody_renews_ends_at_the_floor)
{
	with_share();
	guarded->granting = false;
	usleep(30000);
	uint64_t since_ns = clock_boot_ns(), deadline_ns = guarded->asked_ns;
	uint64_t least_ns = guarded->deadline_ns;
	pid_t guard = guarded->guard;

	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	guarded_check_end(since_ns, least_ns, deadline_ns);
	/* The next answer of a neighbour. */
	guarded->granting = true;
	guarded_await(GUARD_OK, SHARE);
	ck_assert_int_eq(guarded->guard, guard);
	ck_assert_uint_eq(guarded->restarts, 0);
	ck_assert_uint_eq(guarded->drifts, 0);
}
END_TEST

START_TEST(an_agent_that_is_killed_leaves_the_end_of_the_lease_to_the_guard)
{
	pid_t agent = with_share(), guard = guarded->guard;

	guarded_kill(agent);
	uint64_t since_ns = clock_boot_ns(), deadline_ns = guarded->asked_ns;
	uint64_t least_ns = guarded->deadline_ns;

	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	guarded_check_end(since_ns, least_ns, deadline_ns);
	/* Nobody to serve, nothing to lower. */
	ck_assert(guarded_gone(guard, 1000));
}
END_TEST

START_TEST(a_new_agent_before_the_deadline_goes_on_without_a_dip)
{
	uint64_t since_ns = clock_boot_ns();
	pid_t agent = with_share(), guard = guarded->guard;
	long least, greatest;

	since_ns = clock_boot_ns();
	guarded_kill(agent);
	uint64_t deadline_ns = guarded->asked_ns, least_ns = guarded->deadline_ns;
	guarded_sleep_until(least_ns - GUARDED_LEASE_NS / 2);
	agent = guarded_agent();
	ck_assert_uint_ge(guarded->found_ns, least_ns);
	ck_assert_uint_le(guarded->found_ns, deadline_ns);
	ck_assert_int_eq(guarded->guard, guard);
	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	ck_assert_uint_gt(guarded_range(since_ns, UINT64_MAX, &least, &greatest), 10 * SAMPLES_MIN);
	ck_assert_int_eq(least, SHARE);
	ck_assert_int_eq(greatest, SHARE);
}
END_TEST

START_TEST(an_agent_that_stands_still_for_longer_than_the_lease_comes_back_lowered)
{
	pid_t agent = with_share(), guard = guarded->guard;

	ck_assert_int_eq(kill(agent, SIGSTOP), 0);
	usleep(20000);
	uint64_t since_ns = clock_boot_ns(), deadline_ns = guarded->asked_ns;
	uint64_t least_ns = guarded->deadline_ns;

	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	guarded_check_end(since_ns, least_ns, deadline_ns);
	ck_assert_int_eq(kill(agent, SIGCONT), 0);
	guarded_await(GUARD_OK, SHARE);
	/* It knows who lowered, and takes nobody for another writer. */
	ck_assert_int_eq(guarded->guard, guard);
	ck_assert_uint_ge(guarded->lowered, 1);
	ck_assert_uint_eq(guarded->drifts, 0);
}
END_TEST

START_TEST(a_guard_that_is_killed_is_replaced_and_the_limit_lowered_meanwhile)
{
	with_share();
	uint32_t lowered = guarded->lowered;
	pid_t guard = guarded->guard;
	long least, greatest;

	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert(guarded_gone(guard, 1000));
	for (int i = 0; i < 500 && guarded->restarts == 0; i++)
		usleep(5000);
	guarded_await(GUARD_OK, SHARE);
	guarded_stop();
	ck_assert_uint_eq(guarded->restarts, 1);
	ck_assert_int_ne(guarded->guard, guard);
	/* By the agent itself, before the next guard was there. */
	ck_assert_uint_gt(guarded->lowered, lowered);
	ck_assert_uint_eq(guarded->drifts, 0);
	ck_assert_uint_gt(guarded_range(0, UINT64_MAX, &least, &greatest), SAMPLES_MIN);
	ck_assert_int_eq(greatest, SHARE);
	/* And the new one knows the lease. */
	guarded->granting = false;
	usleep(30000);
	guarded_sleep_until(guarded->deadline_ns + 150 * MS);
	ck_assert_int_eq(guarded_quota(), FLOOR);
}
END_TEST

START_TEST(guards_that_die_one_after_the_other_are_not_started_in_a_rush)
{
	with_share();
	guarded_stop();
	for (int i = 0; i < 300; i++) {
		pid_t guard = guarded->guard;

		if (guard > 0)
			(void)kill(guard, SIGKILL);
		usleep(5000);
	}
	/* In one and a half seconds: four at once, then one a second. */
	ck_assert_uint_ge(guarded->restarts, 4);
	ck_assert_uint_le(guarded->restarts, 12);
	guarded_await(GUARD_OK, SHARE);
	ck_assert_uint_eq(guarded->drifts, 0);
}
END_TEST

START_TEST(a_guard_that_stands_still_is_ended_before_the_lease_is)
{
	pid_t agent = with_share(), guard = guarded->guard;
	long least, greatest;

	/* Nobody answers any more, and the guard hangs: the agent is the second line. */
	(void)agent;
	guarded->granting = false;
	usleep(30000);
	uint64_t deadline_ns = guarded->deadline_ns;
	ck_assert_int_eq(kill(guard, SIGSTOP), 0);
	ck_assert(guarded_gone(guard, 3000));
	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	ck_assert_uint_gt(guarded_range(deadline_ns, UINT64_MAX, &least, &greatest), SAMPLES_MIN);
	ck_assert_int_eq(greatest, FLOOR);
	guarded->granting = true;
	guarded_await(GUARD_OK, SHARE);
	ck_assert_uint_ge(guarded->restarts, 1);
	ck_assert_int_ne(guarded->guard, guard);
}
END_TEST

/* Nothing is left that could lower: a watchdog is for that.  The next agent does. */
static void check_after_both(pid_t guard, uint64_t deadline_ns)
{
	long least, greatest;
	uint64_t since_ns;

	ck_assert(guarded_gone(guard, 1000));
	guarded_sleep_until(deadline_ns + 150 * MS);
	ck_assert_int_eq(guarded_quota(), SHARE);
	guarded->granting = false;
	guarded_agent();
	since_ns = clock_boot_ns();
	ck_assert_uint_eq(guarded->found_ns, 0);
	usleep(150000);
	guarded_stop();
	ck_assert_uint_gt(guarded_range(since_ns, UINT64_MAX, &least, &greatest), SAMPLES_MIN);
	ck_assert_int_eq(greatest, FLOOR);
	guarded->granting = true;
	guarded_await(GUARD_OK, SHARE);
}

START_TEST(after_the_agent_and_then_the_guard_were_killed_a_new_agent_lowers)
{
	pid_t agent = with_share(), guard = guarded->guard;
	uint64_t deadline_ns = guarded->deadline_ns;

	guarded_kill(agent);
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	check_after_both(guard, deadline_ns);
}
END_TEST

START_TEST(after_the_guard_and_then_the_agent_were_killed_a_new_agent_lowers)
{
	pid_t agent = with_share(), guard = guarded->guard;

	/* Stopped, so that it cannot notice in between. */
	ck_assert_int_eq(kill(agent, SIGSTOP), 0);
	usleep(20000);
	uint64_t deadline_ns = guarded->deadline_ns;

	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	guarded_kill(agent);
	check_after_both(guard, deadline_ns);
}
END_TEST

START_TEST(a_group_that_is_made_anew_is_guarded_by_the_same_guard)
{
	char directory[PATH_MAX];
	pid_t agent = with_share(), guard = guarded->guard;
	long least, greatest;

	guarded_group_directory(directory, sizeof(directory));
	ck_assert_int_eq(rmdir(directory), 0);
	usleep(50000);
	ck_assert_int_eq(guarded_quota(), -2);
	ck_assert_int_eq(guarded->guard, guard);
	uint64_t since_ns = clock_boot_ns();
	group_make("job");
	group_write_limit("job", 5 * SHARE, 100000);
	guarded_await(GUARD_OK, SHARE);
	ck_assert_int_eq(guarded->guard, guard);
	ck_assert_uint_eq(guarded->restarts, 0);
	guarded_kill(agent);
	guarded_sleep_until(guarded->asked_ns + 150 * MS);
	guarded_stop();
	ck_assert_uint_gt(guarded_range(since_ns, UINT64_MAX, &least, &greatest), 10 * SAMPLES_MIN);
	ck_assert_uint_gt(guarded_range(guarded->asked_ns, UINT64_MAX, &least, &greatest),
			  SAMPLES_MIN);
	ck_assert_int_eq(greatest, FLOOR);
}
END_TEST

START_TEST(a_group_that_goes_while_the_guard_is_alone_is_no_reason_to_stay)
{
	char directory[PATH_MAX];
	pid_t agent = with_share(), guard = guarded->guard;

	guarded_group_directory(directory, sizeof(directory));
	guarded_kill(agent);
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert(guarded_gone(guard, 500));
	ck_assert_uint_lt(clock_boot_ns(), guarded->asked_ns);
	guarded_stop();
}
END_TEST

/* As systemd does at a daemon-reload with the quota that it keeps for a unit. */
static void raise_behind_its_back(void)
{
	char path[PATH_MAX], directory[PATH_MAX], text[64];
	bool is_v1 = group_version() == 1;

	guarded_group_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%.3000s/%s", directory,
		 is_v1 ? "cpu.cfs_quota_us" : "cpu.max");
	snprintf(text, sizeof(text), is_v1 ? "%ld\n" : "%ld 100000\n", (long)SHARE);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

START_TEST(with_a_unit_it_stays_and_lowers_what_systemd_raises_after_the_lease)
{
	char directory[PATH_MAX];

	guarded_config.stays = true;
	pid_t agent = with_share(), guard = guarded->guard;

	guarded_kill(agent);
	guarded_sleep_until(guarded->asked_ns + 200 * MS);
	guarded_stop();
	ck_assert_int_eq(guarded_quota(), FLOOR);
	for (int i = 0; i < 3; i++) {
		ck_assert(!guarded_gone(guard, 200));
		raise_behind_its_back();
		uint64_t raised_ns = clock_boot_ns();
		while (guarded_quota() != FLOOR)
			ck_assert_uint_lt(clock_boot_ns() - raised_ns, 2000 * MS);
		printf("# lowered after %llu ms\n",
		       (unsigned long long)((clock_boot_ns() - raised_ns) / MS));
		/* It looks ten times a second; the rest is for a busy machine. */
		ck_assert_uint_lt(clock_boot_ns() - raised_ns, 500 * MS);
	}
	guarded_group_directory(directory, sizeof(directory));
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert(guarded_gone(guard, 1000));
}
END_TEST

/* Starts the program with our end of a connection as descriptor 3. */
static pid_t start_by_hand(int *ret_fd)
{
	int pair[2];
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDERR_FILENO);
		close(pair[0]);
		if (pair[1] != GUARD_FD)
			dup2(pair[1], GUARD_FD);
		execl(guarded_config.executable, "isobar-guard", guarded_run_directory(), NULL);
		_exit(127);
	}
	close(pair[1]);
	*ret_fd = pair[0];
	return pid;
}

START_TEST(a_second_guard_ends_at_once_and_says_why)
{
	struct guard_reply reply;
	int fd, status;
	pid_t second;

	with_share();
	pid_t guard = guarded->guard;
	second = start_by_hand(&fd);
	ck_assert_int_eq(recv(fd, &reply, sizeof(reply), 0), sizeof(reply));
	ck_assert_int_eq(reply.error, -EBUSY);
	ck_assert_ptr_nonnull(strstr(reply.text, "another guard"));
	ck_assert_int_eq(waitpid(second, &status, 0), second);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(fd);
	usleep(50000);
	ck_assert_int_eq(guarded->guard, guard);
	guarded_await(GUARD_OK, SHARE);
	guarded_stop();
	ck_assert_uint_eq(guarded->restarts, 0);
}
END_TEST

START_TEST(sigterm_lowers_at_once_and_the_agent_starts_another_guard)
{
	with_share();
	pid_t guard = guarded->guard;

	ck_assert_int_eq(kill(guard, SIGTERM), 0);
	ck_assert(guarded_gone(guard, 1000));
	for (int i = 0; i < 500 && guarded->restarts == 0; i++)
		usleep(5000);
	guarded_await(GUARD_OK, SHARE);
	guarded_stop();
	ck_assert_int_ne(guarded->guard, guard);
	ck_assert_uint_ge(guarded->lowered, 1);
	ck_assert_uint_eq(guarded->drifts, 0);
}
END_TEST

START_TEST(sigterm_ends_a_lonely_guard_with_the_floor)
{
	pid_t agent = with_share(), guard = guarded->guard;

	guarded_kill(agent);
	ck_assert_int_eq(guarded_quota(), SHARE);
	ck_assert_int_eq(kill(guard, SIGHUP), 0); /* is nothing to it */
	usleep(20000);
	ck_assert_int_eq(guarded_quota(), SHARE);
	ck_assert_int_eq(kill(guard, SIGTERM), 0);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert_int_eq(guarded_quota(), FLOOR);
	guarded_stop();
}
END_TEST

static int connect_as(uid_t uid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", guarded_run_directory(),
		 GUARD_SOCKET);
	if (uid != 0 && seteuid(uid) < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		fd = -1;
	}
	if (uid != 0 && seteuid(0) < 0)
		abort();
	return fd;
}

START_TEST(strangers_and_nonsense_change_nothing)
{
	char path[128], nonsense[sizeof(struct guard_request)];
	struct guard_reply reply;
	struct guard_request hello = { .kind = GUARD_HELLO, .number = 7 };
	int fd;

	with_share();
	pid_t guard = guarded->guard;
	/* Even with the socket wide open. */
	snprintf(path, sizeof(path), "%s/%s", guarded_run_directory(), GUARD_SOCKET);
	ck_assert_int_eq(chmod(guarded_run_directory(), 0777), 0);
	ck_assert_int_eq(chmod(path, 0777), 0);
	fd = connect_as(65534);
	ck_assert_int_ge(fd, 0);
	(void)!send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	ck_assert_int_le(recv(fd, &reply, sizeof(reply), 0), 0);
	close(fd);
	guarded_await(GUARD_OK, SHARE);
	ck_assert_uint_eq(guarded->restarts, 0);

	/* Root may, and takes the agent's place; the agent is back with the next turn. */
	fd = connect_as(0);
	memset(nonsense, 0x5a, sizeof(nonsense));
	ck_assert_int_eq(send(fd, nonsense, sizeof(nonsense), 0), sizeof(nonsense));
	if (recv(fd, &reply, sizeof(reply), 0) > 0)
		ck_assert_int_eq(reply.error, -EPROTO);
	close(fd);
	guarded_await(GUARD_OK, SHARE);
	guarded_stop();
	(void)guard;
}
END_TEST

static void add(TCase *tcase, bool real)
{
	tcase_set_timeout(tcase, 40);
	tcase_add_checked_fixture(tcase, real ? setup_real : setup_files, guarded_end);
	tcase_add_test(tcase, a_lease_that_nobody_renews_ends_at_the_floor);
	tcase_add_test(tcase, an_agent_that_is_killed_leaves_the_end_of_the_lease_to_the_guard);
	tcase_add_test(tcase, a_new_agent_before_the_deadline_goes_on_without_a_dip);
	tcase_add_test(tcase,
		       an_agent_that_stands_still_for_longer_than_the_lease_comes_back_lowered);
	tcase_add_test(tcase, a_guard_that_is_killed_is_replaced_and_the_limit_lowered_meanwhile);
	tcase_add_test(tcase, a_guard_that_stands_still_is_ended_before_the_lease_is);
	tcase_add_test(tcase, after_the_agent_and_then_the_guard_were_killed_a_new_agent_lowers);
	tcase_add_test(tcase, after_the_guard_and_then_the_agent_were_killed_a_new_agent_lowers);
}

Suite *test_suite(void)
{
	Suite *suite = suite_create("guard");
	TCase *real = tcase_create("real"), *files = tcase_create("files");

	group_start();
	guarded_begin_program();
	add(real, true);
	tcase_add_test(real, a_group_that_is_made_anew_is_guarded_by_the_same_guard);
	tcase_add_test(real, a_group_that_goes_while_the_guard_is_alone_is_no_reason_to_stay);
	tcase_add_test(real, with_a_unit_it_stays_and_lowers_what_systemd_raises_after_the_lease);
	tcase_add_unchecked_fixture(real, NULL, group_end);
	add(files, false);
	tcase_add_test(files, guards_that_die_one_after_the_other_are_not_started_in_a_rush);
	tcase_add_test(files, a_second_guard_ends_at_once_and_says_why);
	tcase_add_test(files, sigterm_lowers_at_once_and_the_agent_starts_another_guard);
	tcase_add_test(files, sigterm_ends_a_lonely_guard_with_the_floor);
	tcase_add_test(files, strangers_and_nonsense_change_nothing);
	suite_add_tcase(suite, real);
	suite_add_tcase(suite, files);
	return suite;
}
