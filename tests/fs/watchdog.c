/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guard's hardware watchdog: petted for as long as a guard runs, disarmed
 * when nothing is left to guard, and left to reset the machine when guard and
 * agent are both dead.  The device is a file here (watchdog_device.c); in the
 * virtual machine a real one resets it.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/fs/guarded.h"
#include "tests/test.h"

#define MS	  1000000ull
#define S	  1000000000ull
#define FLOOR	  GUARDED_FLOOR_US
#define SHARE	  GUARDED_SHARE_US
#define PETS_MAX  1000

static char device[128];
static uint64_t pets[PETS_MAX];

struct record {
	unsigned pets;
	unsigned timeout_s;
	bool disarmed; /* the last that was written is the V */
};

static void setup(void)
{
	const char *builddir = getenv("top_builddir");
	char shim[PATH_MAX];
	int fd;

	guarded_start(false);
	snprintf(device, sizeof(device), "%s/watchdog", guarded_run_directory());
	fd = open(device, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_lt(snprintf(shim, sizeof(shim), "%s/tests/fs/watchdog_device.so",
				  builddir != NULL ? builddir : "."), PATH_MAX);
	ck_assert_int_eq(access(shim, R_OK), 0);
	ck_assert_int_eq(setenv("LD_PRELOAD", shim, 1), 0);
	guarded_config.watchdog = device;
	guarded_config.watchdog_s = 1;
}

static void teardown(void)
{
	(void)unsetenv("LD_PRELOAD");
	guarded_end();
}

static struct record look(void)
{
	struct record record = { 0 };
	char line[128];
	FILE *file = fopen(device, "re");

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned long long value;
		char *at = line;

		/* A guard that opens it anew writes over what stood there. */
		record.disarmed = *at == 'V';
		if (record.disarmed)
			at++;
		if (sscanf(at, "pet %llu", &value) == 1) {
			ck_assert_uint_lt(record.pets, PETS_MAX);
			pets[record.pets++] = value;
			record.disarmed = false;
		} else if (sscanf(at, "timeout %llu", &value) == 1) {
			record.timeout_s = (unsigned)value;
			record.disarmed = false;
		}
	}
	fclose(file);
	return record;
}

/* The longest time that it was left alone, up to now_ns. */
static uint64_t longest_ns(const struct record *record, uint64_t now_ns)
{
	uint64_t longest = now_ns - pets[record->pets - 1];

	for (unsigned i = 1; i < record->pets; i++)
		if (pets[i] - pets[i - 1] > longest)
			longest = pets[i] - pets[i - 1];
	return longest;
}

START_TEST(it_is_armed_and_petted_and_then_automatic_burial_is_safe)
{
	struct record record;

	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_ARMED);
	ck_assert_uint_eq(guarded->watchdog_s, 1);
	ck_assert(guarded->auto_burial);
	usleep(1500000);
	uint64_t now_ns = clock_boot_ns();
	record = look();
	ck_assert_uint_eq(record.timeout_s, 1);
	ck_assert_uint_ge(record.pets, 5);
	ck_assert_uint_lt(longest_ns(&record, now_ns), S / 2 + 200 * MS);
	ck_assert(!record.disarmed);
}
END_TEST

START_TEST(without_its_agent_the_guard_pets_on_and_disarms_it_at_the_end)
{
	pid_t agent = guarded_with_share(), guard = guarded->guard;
	struct record record;

	guarded_kill(agent);
	unsigned before = look().pets;
	guarded_sleep_until(guarded->deadline_ns - GUARDED_EARLY_NS - 50 * MS);
	record = look();
	ck_assert_uint_gt(record.pets, before);
	ck_assert(!record.disarmed);
	guarded_sleep_until(guarded->asked_ns);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert_int_eq(guarded_quota(), FLOOR);
	ck_assert(look().disarmed);
}
END_TEST

START_TEST(a_guard_that_is_killed_leaves_it_armed_and_the_next_one_pets_it)
{
	guarded_with_share();
	pid_t guard = guarded->guard;
	struct record record;

	uint64_t killed_ns = clock_boot_ns();
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert(guarded_gone(guard, 1000));
	for (int i = 0; i < 500 && guarded->restarts == 0; i++)
		usleep(2000);
	guarded_await(GUARD_OK, SHARE);
	/* From its start on, so well within the timeout. */
	record = look();
	ck_assert_uint_ge(record.pets, 1);
	ck_assert_uint_gt(pets[0], killed_ns);
	ck_assert_uint_lt(pets[0] - killed_ns, S / 2);
	ck_assert(!record.disarmed);
	ck_assert(guarded->auto_burial);
}
END_TEST

START_TEST(with_both_killed_nobody_pets_it_and_nobody_disarms_it)
{
	pid_t agent = guarded_with_share(), guard = guarded->guard;
	struct record record;

	guarded_kill(agent);
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert(guarded_gone(guard, 1000));
	uint64_t now_ns = clock_boot_ns();
	unsigned before = look().pets;
	usleep(1200000);
	/* By now the machine would be on its way up again. */
	record = look();
	ck_assert_uint_eq(record.pets, before);
	ck_assert(!record.disarmed);
	ck_assert_uint_lt(pets[record.pets - 1], now_ns);
	ck_assert_uint_lt(now_ns - pets[record.pets - 1], S / 2 + 200 * MS);
}
END_TEST

START_TEST(sigterm_disarms_it)
{
	pid_t agent = guarded_with_share(), guard = guarded->guard;

	guarded_kill(agent);
	ck_assert_int_eq(kill(guard, SIGTERM), 0);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert(look().disarmed);
}
END_TEST

START_TEST(one_that_is_too_slow_for_the_slack_is_disarmed_again)
{
	ck_assert_int_eq(setenv(_i == 0 ? "ISO_WATCHDOG_LEAST_S" : "ISO_WATCHDOG_FIXED_S", "60", 1),
			 0);
	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_TOO_SLOW);
	ck_assert(!guarded->auto_burial);
	ck_assert(look().disarmed);
	ck_assert_uint_eq(look().pets, 0);
}
END_TEST

/* What sysfs says of the device. */
static void say(const char *name, const char *text)
{
	char path[192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sysfs", guarded_run_directory());
	(void)mkdir(path, 0700);
	ck_assert_int_eq(setenv("ISO_WATCHDOG", device, 1), 0);
	ck_assert_int_eq(setenv("ISO_WATCHDOG_SYSFS", path, 1), 0);
	snprintf(path, sizeof(path), "%s/sysfs/%s", guarded_run_directory(), name);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(fprintf(file, "%s\n", text), 0);
	ck_assert_int_eq(fclose(file), 0);
}

/* Opening it arms it, and for some that is for good. */
START_TEST(one_that_is_known_to_be_too_slow_is_not_opened)
{
	struct stat st;

	say("nowayout", _i < 2 ? "1" : "0");
	say("state", "inactive");
	say("timeout", "60");
	say(_i % 2 == 0 ? "min_timeout" : "options", _i % 2 == 0 ? "60" : "0x8100");
	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_TOO_SLOW);
	ck_assert(!guarded->auto_burial);
	ck_assert_int_eq(stat(device, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
}
END_TEST

static void assert_kept(enum guard_watchdog state, uint64_t most_ns)
{
	struct record record;
	pid_t guard, agent;

	agent = guarded_with_share();
	guard = guarded->guard;
	ck_assert_int_eq(guarded->watchdog, state);
	ck_assert(!guarded->auto_burial);
	usleep(1500000);
	uint64_t now_ns = clock_boot_ns();
	record = look();
	ck_assert(!record.disarmed);
	if (most_ns > 0) {
		ck_assert_uint_ge(record.pets, 2);
		ck_assert_uint_lt(longest_ns(&record, now_ns), most_ns);
	}
	/* And it stays: who ended would have the machine reset. */
	guarded_kill(agent);
	ck_assert_int_eq(kill(guard, SIGTERM), 0);
	ck_assert(!guarded_gone(guard, 500));
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert(!look().disarmed);
}

/* Sysfs of an older kernel, or of a driver without it, does not tell. */
START_TEST(one_that_shows_only_when_it_is_open_that_it_is_too_slow_is_petted)
{
	say(_i == 0 ? "nowayout" : "nothing", "1");
	ck_assert_int_eq(setenv("ISO_WATCHDOG_FIXED_S", "4", 1), 0);
	assert_kept(GUARD_WATCHDOG_TOO_SLOW, 1500 * MS);
}
END_TEST

START_TEST(one_that_was_left_running_is_petted_though_it_is_too_slow)
{
	say("nowayout", "1");
	say("state", "active");
	say("min_timeout", "4");
	say("timeout", "4");
	ck_assert_int_eq(setenv("ISO_WATCHDOG_LEAST_S", "4", 1), 0);
	if (_i == 1)
		guarded_config.watchdog_s = 0;
	if (_i == 1)
		ck_assert_int_eq(setenv("ISO_WATCHDOG_FIXED_S", "4", 1), 0);
	assert_kept(GUARD_WATCHDOG_TOO_SLOW, 1500 * MS);
}
END_TEST

START_TEST(one_that_cannot_be_disarmed_is_kept_though_it_does_not_answer)
{
	say("nowayout", "1");
	ck_assert_int_eq(setenv("ISO_WATCHDOG_DEAF", "1", 1), 0);
	assert_kept(GUARD_WATCHDOG_FAILED, 0);
}
END_TEST

START_TEST(one_that_cannot_be_disarmed_is_kept_when_none_is_configured_any_more)
{
	say("nowayout", "1");
	guarded_config.watchdog_s = 2;
	pid_t agent = guarded_with_share(), guard = guarded->guard;

	guarded_kill(agent);
	guarded_config.watchdog = "";
	guarded_config.watchdog_s = _i == 0 ? 2 : 1;
	agent = guarded_with_share();
	ck_assert_int_eq(guarded->guard, guard);
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_ARMED);
	/* The slack may be shorter by now than its timeout. */
	ck_assert_int_eq(guarded->auto_burial, _i == 0);
	guarded_kill(agent);
	ck_assert_int_eq(kill(guard, SIGKILL), 0);
	ck_assert(guarded_gone(guard, 1000));
	ck_assert(!look().disarmed);
}
END_TEST

START_TEST(one_that_cannot_be_set_will_do_if_it_is_fast_enough)
{
	ck_assert_int_eq(setenv("ISO_WATCHDOG_FIXED_S", "3", 1), 0);
	guarded_config.watchdog_s = 4;
	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_ARMED);
	ck_assert_uint_eq(guarded->watchdog_s, 3);
}
END_TEST

START_TEST(a_slack_without_room_for_any_timeout_arms_nothing)
{
	guarded_config.watchdog_s = 0;
	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_TOO_SLOW);
	ck_assert(!guarded->auto_burial);
	ck_assert_uint_eq(look().timeout_s, 0);
}
END_TEST

START_TEST(one_that_is_not_there_or_none_leaves_the_guard_at_work)
{
	if (_i == 0)
		ck_assert_int_eq(unlink(device), 0);
	else
		ck_assert_int_eq(unsetenv("LD_PRELOAD"), 0);
	guarded_with_share();
	ck_assert_int_eq(guarded->watchdog, GUARD_WATCHDOG_FAILED);
	ck_assert(!guarded->auto_burial);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("watchdog");
	TCase *tcase = tcase_create("file");

	guarded_begin_program();
	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, it_is_armed_and_petted_and_then_automatic_burial_is_safe);
	tcase_add_test(tcase, without_its_agent_the_guard_pets_on_and_disarms_it_at_the_end);
	tcase_add_test(tcase, a_guard_that_is_killed_leaves_it_armed_and_the_next_one_pets_it);
	tcase_add_test(tcase, with_both_killed_nobody_pets_it_and_nobody_disarms_it);
	tcase_add_test(tcase, sigterm_disarms_it);
	tcase_add_loop_test(tcase, one_that_is_too_slow_for_the_slack_is_disarmed_again, 0, 2);
	tcase_add_loop_test(tcase, one_that_is_known_to_be_too_slow_is_not_opened, 0, 4);
	tcase_add_loop_test(
		tcase, one_that_shows_only_when_it_is_open_that_it_is_too_slow_is_petted, 0, 2);
	tcase_add_loop_test(tcase, one_that_was_left_running_is_petted_though_it_is_too_slow, 0, 2);
	tcase_add_test(tcase, one_that_cannot_be_disarmed_is_kept_though_it_does_not_answer);
	tcase_add_loop_test(
		tcase, one_that_cannot_be_disarmed_is_kept_when_none_is_configured_any_more, 0, 2);
	tcase_add_test(tcase, one_that_cannot_be_set_will_do_if_it_is_fast_enough);
	tcase_add_test(tcase, a_slack_without_room_for_any_timeout_arms_nothing);
	tcase_add_loop_test(tcase, one_that_is_not_there_or_none_leaves_the_guard_at_work, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
