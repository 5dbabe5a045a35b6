/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent's side of the guard: what it does without one, which one it takes, and
 * what becomes of it when the agent ends.  On plain files, as cgroup v2.
 */
#include "config.h"

#include "agent/guard/guard_client.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/guard/guard_talk.h"
#include "agent/guard/guard_wire.h"
#include "lib/checksum.h"
#include "tests/fs/group.h"
#include "tests/fs/guarded.h"
#include "tests/test.h"

#define MS    1000000ull
#define FLOOR GUARDED_FLOOR_US
#define SHARE GUARDED_SHARE_US

static void setup(void)
{
	guarded_start(false);
}

/* Without a guard: the floor, whatever the lease; with one later, the share. */
static void check_none(const char *expected)
{
	long least, greatest;
	uint64_t since_ns;

	guarded->granting = true;
	guarded_watch();
	guarded_agent();
	since_ns = clock_boot_ns();
	guarded_await(GUARD_NONE, FLOOR);
	ck_assert_msg(strstr(guarded->reason, expected) != NULL, "%s", guarded->reason);
	usleep(100000);
	guarded_stop();
	ck_assert_uint_gt(guarded_range(since_ns, UINT64_MAX, &least, &greatest),
			  GUARDED_SAMPLES_MIN);
	ck_assert_int_eq(greatest, FLOOR);
}

START_TEST(without_the_guards_program_only_the_floor_is_enforced)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/program", guarded_run_directory());
	const char *executable = guarded_config.executable;
	guarded_config.executable = path;
	check_none("No such file");
	ck_assert_int_eq(symlink(executable, path), 0);
	guarded_await(GUARD_OK, SHARE);
}
END_TEST

START_TEST(a_program_that_is_none_is_told_from_one_that_is_missing)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/program", guarded_run_directory());
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs("no program\n", file);
	fclose(file);
	ck_assert_int_eq(chmod(path, 0755), 0);
	guarded_config.executable = path;
	check_none("cannot be executed");
}
END_TEST

START_TEST(a_run_directory_that_cannot_be_used_leaves_only_the_floor)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/later", guarded_run_directory());
	guarded_config.run_directory = path;
	check_none("run directory");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	guarded_await(GUARD_OK, SHARE);
	(void)kill(guarded->guard, SIGKILL);
}
END_TEST

/* An agent of our own in this process, for what it says when it ends. */
static struct guard_client *own_client(bool has_lease)
{
	char directory[PATH_MAX];
	struct guard_client *client = NULL;
	struct cgroup_limit limit = { .quota_us = SHARE, .period_us = 100000 };
	const struct cgroup_writer *writer;
	struct error error;
	int fd;

	guarded_group_directory(directory, sizeof(directory));
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(guard_client_open(&guarded_config, &client, &error), 0);
	writer = guard_client_writer(client);
	ck_assert_int_eq(writer->attach(writer->context, fd, 2), 0);
	close(fd);
	ck_assert_int_eq(guard_client_status(client)->state, GUARD_OK);
	ck_assert_int_eq(writer->write(writer->context, &limit), has_lease ? 0 : -ETIME);
	guard_client_renew(client, clock_boot_ns() + GUARDED_LEASE_NS);
	ck_assert_int_eq(writer->write(writer->context, &limit), 0);
	ck_assert_int_eq(guarded_quota(), SHARE);
	return client;
}

START_TEST(an_agent_that_ends_in_order_keeps_its_limit_until_the_deadline)
{
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;
	uint64_t deadline_ns = guard_client_status(client)->deadline_ns;

	guarded_watch();
	uint64_t since_ns = clock_boot_ns();
	guard_client_leave(client, true);
	guard_client_close(client);
	guarded_sleep_until(deadline_ns + 200 * MS);
	guarded_stop();
	guarded_check_end(since_ns, deadline_ns, deadline_ns);
	ck_assert(guarded_gone(guard, 1000));
}
END_TEST

START_TEST(an_agent_that_gives_the_group_back_takes_the_guard_with_it)
{
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;

	guard_client_leave(client, false);
	/* What is put back now is nobody's business. */
	ck_assert(guarded_gone(guard, 0));
	ck_assert_int_eq(guarded_quota(), SHARE);
	guard_client_close(client);
	usleep((useconds_t)(GUARDED_LEASE_NS / 1000));
	ck_assert_int_eq(guarded_quota(), SHARE);
}
END_TEST

START_TEST(with_nothing_above_the_floor_the_guard_ends_with_its_agent)
{
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;

	guard_client_renew(client, 0);
	ck_assert_int_eq(guarded_quota(), FLOOR);
	guard_client_leave(client, true);
	guard_client_close(client);
	ck_assert(guarded_gone(guard, 1000));
}
END_TEST

START_TEST(where_no_lease_is_needed_nobody_guards_what_an_agent_left)
{
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;

	guard_client_renew(client, UINT64_MAX);
	guard_client_close(client);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert_int_eq(guarded_quota(), SHARE);
}
END_TEST

START_TEST(a_guard_with_other_settings_is_replaced)
{
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;

	guard_client_close(client);
	ck_assert(!guarded_gone(guard, 50));
	guarded_config.priority = 11;
	client = own_client(true);
	ck_assert_int_ne(guard_client_status(client)->pid, guard);
	ck_assert(guarded_gone(guard, 0));
	guard_client_leave(client, false);
	guard_client_close(client);
}
END_TEST

/* The old file is gone with the copy that replaces it, as dpkg and install do it. */
static void install_guard(const char *executable, const char *path)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), "cp '%s' '%s.new' && mv '%s.new' '%s'", executable,
		 path, path, path);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_guard_whose_program_was_upgraded_is_replaced)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/program", guarded_run_directory());
	const char *executable = guarded_config.executable;
	guarded_config.executable = path;
	install_guard(executable, path);
	struct guard_client *client = own_client(false);
	pid_t guard = guard_client_status(client)->pid;

	guard_client_close(client);
	client = own_client(true);
	ck_assert_int_eq(guard_client_status(client)->pid, guard);
	guard_client_close(client);
	install_guard(executable, path);
	client = own_client(true);
	ck_assert_int_ne(guard_client_status(client)->pid, guard);
	ck_assert(guarded_gone(guard, 0));
	guard_client_leave(client, false);
	guard_client_close(client);
}
END_TEST

/* Were the new program not to start, its watchdog would reset the machine. */
START_TEST(one_that_must_not_end_is_replaced_for_its_settings_only)
{
	struct guard_reply reply = { .priority = 10 };

	ck_assert(!guard_is_replaced(&reply, &guarded_config, false));
	ck_assert(guard_is_replaced(&reply, &guarded_config, true));
	reply.flags = GUARD_STICKY;
	ck_assert(!guard_is_replaced(&reply, &guarded_config, true));
	reply.priority = 11;
	ck_assert(guard_is_replaced(&reply, &guarded_config, true));
	ck_assert(guard_is_replaced(&reply, &guarded_config, false));
	/* But not when the next one would leave its device alone. */
	reply.watchdog_hash = iso_checksum("/dev/watchdog0", strlen("/dev/watchdog0"));
	ck_assert(guard_is_other(&reply, &guarded_config));
	ck_assert(!guard_is_replaced(&reply, &guarded_config, false));
	guarded_config.watchdog = "/dev/watchdog1";
	ck_assert(!guard_is_replaced(&reply, &guarded_config, false));
	ck_assert(!guard_is_replaced(&reply, &guarded_config, true));
	guarded_config.watchdog = "/dev/watchdog0";
	ck_assert(guard_is_replaced(&reply, &guarded_config, false));
	reply.flags = 0;
	guarded_config.watchdog = "/dev/watchdog1";
	ck_assert(guard_is_replaced(&reply, &guarded_config, false));
	guarded_config.watchdog = "";
	ck_assert(guard_is_replaced(&reply, &guarded_config, false));
}
END_TEST

static void quit_when_ok(struct loop_source *source, short revents);

static struct watcher {
	struct loop loop;
	struct loop_source timer;
	struct guard_client *client;
	int left;
} watcher;

static void quit_when_ok(struct loop_source *source, short revents)
{
	(void)revents;
	(void)timer_consume(source->fd);
	(void)timer_arm(source->fd, clock_now_ns() + 5 * MS);
	if (guard_client_status(watcher.client)->restarts == 1 || watcher.left-- == 0)
		loop_quit(&watcher.loop);
}

START_TEST(a_loop_sees_the_guards_death_without_a_tick)
{
	watcher.client = own_client(false);
	pid_t guard = guard_client_status(watcher.client)->pid;

	ck_assert_int_eq(guard_client_watch(watcher.client, &watcher.loop), 0);
	watcher.left = 400;
	watcher.timer = (struct loop_source){
		.fd = timer_open(), .events = ZMQ_POLLIN, .fn = quit_when_ok,
	};
	ck_assert_int_eq(loop_add(&watcher.loop, &watcher.timer), 0);
	(void)timer_arm(watcher.timer.fd, 0);
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert_int_eq(loop_run(&watcher.loop), 0);
	ck_assert_uint_eq(guard_client_status(watcher.client)->restarts, 1);
	ck_assert_int_eq(guard_client_status(watcher.client)->state, GUARD_OK);
	ck_assert_int_ne(guard_client_status(watcher.client)->pid, guard);
	ck_assert_uint_eq(guard_client_status(watcher.client)->lowered, 2);
	ck_assert_int_eq(guarded_quota(), FLOOR);
	ck_assert(!guard_client_floor_only(watcher.client));
	guard_client_leave(watcher.client, false);
	guard_client_close(watcher.client);
	close(watcher.timer.fd);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("guard_client");
	TCase *tcase = group_case(suite, "files", 40, setup, guarded_end);

	guarded_begin_program();
	tcase_add_test(tcase, without_the_guards_program_only_the_floor_is_enforced);
	tcase_add_test(tcase, a_program_that_is_none_is_told_from_one_that_is_missing);
	tcase_add_test(tcase, a_run_directory_that_cannot_be_used_leaves_only_the_floor);
	tcase_add_test(tcase, an_agent_that_ends_in_order_keeps_its_limit_until_the_deadline);
	tcase_add_test(tcase, an_agent_that_gives_the_group_back_takes_the_guard_with_it);
	tcase_add_test(tcase, with_nothing_above_the_floor_the_guard_ends_with_its_agent);
	tcase_add_test(tcase, where_no_lease_is_needed_nobody_guards_what_an_agent_left);
	tcase_add_test(tcase, a_guard_with_other_settings_is_replaced);
	tcase_add_test(tcase, a_guard_whose_program_was_upgraded_is_replaced);
	tcase_add_test(tcase, one_that_must_not_end_is_replaced_for_its_settings_only);
	tcase_add_test(tcase, a_loop_sees_the_guards_death_without_a_tick);
	return suite;
}
