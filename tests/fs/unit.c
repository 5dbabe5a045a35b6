/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/unit.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/cgroup/unitdropin.h"
#include "tests/fs/manager.h"
#include "tests/test.h"

#define S      1000000000ull
#define MCPU   1000ull
#define PERIOD 100000u

static struct manager manager;
static unsigned wait_ms;

static void begin(void)
{
	wait_ms = 300;
	manager_start(&manager);
}

static void end(void)
{
	manager_stop(&manager);
}

static int open_unit(struct unit **ret_unit, struct error *error)
{
	struct unit_config config = {
		.name = "foo.service", .address = manager.address, .wait_ms = wait_ms,
	};

	return unit_open(&config, ret_unit, error);
}

static struct unit *opened(void)
{
	struct unit *unit = NULL;
	struct error error = { 0 };

	ck_assert_msg(open_unit(&unit, &error) == 0, "%s", error.text);
	return unit;
}

static void says(const struct error *error, const char *what)
{
	ck_assert_msg(strstr(error->text, what) != NULL, "'%s' lacks '%s'", error->text, what);
}

static void has_hung_up(void)
{
	uint64_t begin_ns = clock_now_ns();

	while (manager.unit->has_peer)
		ck_assert_uint_lt(clock_now_ns() - begin_ns, 20 * S);
}

START_TEST(only_what_can_be_one_job_is_a_unit)
{
	static const struct {
		const char *name, *says;
	} wrong[] = {
		{ "foo", "service, scope or slice" },
		{ "foo.socket", "service, scope or slice" },
		{ ".service", "service, scope or slice" },
		{ "a/b.service", "service, scope or slice" },
		{ "@x.service", "service, scope or slice" },
		{ "-.slice", "whole host" },
		{ "init.scope", "init system" },
		{ "foo@.service", "foo@1.service" },
	};
	static const char *const right[] = {
		"foo.service", "foo@a.service", "foo@a.b.service", "run-r1.scope",
		"user-1000.slice", "a\\x2db.service",
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error error = { 0 };

		ck_assert_msg(!unit_name_valid(wrong[i].name, &error), "%s", wrong[i].name);
		says(&error, wrong[i].says);
	}
	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		ck_assert_msg(unit_name_valid(right[i], NULL), "%s", right[i]);
}
END_TEST

START_TEST(finds_the_group_and_the_quota)
{
	char path[PATH_MAX] = "";
	struct error error = { 0 };

	manager.unit->ucpu = 250 * MCPU;
	strcpy(manager.unit->group, "/system.slice/foo.service");
	struct unit *unit = opened();

	ck_assert_int_eq(unit_group(unit, S, path, &error), 0);
	ck_assert_str_eq(path, "/system.slice/foo.service");
	ck_assert_uint_eq(unit_found(unit)->ucpu, 250 * MCPU);
	ck_assert_uint_eq(unit_found(unit)->period_us, UINT64_MAX);
	ck_assert_uint_eq(unit_bound_ucpu(unit), 250 * MCPU);
	manager.unit->group[0] = '\0';
	ck_assert_int_eq(unit_group(unit, S, path, &error), -ENODEV);
	ck_assert_str_eq(error.text, "unit foo.service is not running (inactive)");
	ck_assert_str_eq(path, "/system.slice/foo.service");
	unit_close(unit);
}
END_TEST

START_TEST(what_systemd_does_not_know_is_no_job)
{
	struct unit *unit = NULL;
	struct error error = { 0 };

	strcpy(manager.unit->load_state, "not-found");
	ck_assert_int_eq(open_unit(&unit, &error), -ENOENT);
	ck_assert_str_eq(error.text, "unit foo.service: systemd knows no such unit");
	strcpy(manager.unit->load_state, "masked");
	ck_assert_int_eq(open_unit(&unit, &error), -ENOENT);
	says(&error, "masked");
	ck_assert_ptr_null(unit);
}
END_TEST

START_TEST(a_drop_in_counts_more_by_its_name_whatever_directory_it_is_in)
{
	static const char *const later[] = {
		"/etc/systemd/system/foo.service.d/override.conf",
		"/run/systemd/system/foo.service.d/60-x.conf",
		"/etc/systemd/system/service.d/50-CPUQuotas.conf",
		"/etc/systemd/system.control/foo.service.d/50-CPUQuota.conf",
	};
	static const char *const earlier[] = {
		"/etc/systemd/system/foo.service.d/10-override.conf",
		"/etc/systemd/system/foo.service.d/50-CPUQuota.conf",
		"/run/systemd/system.control/foo.service.d/50-CPUQuota.conf",
		"/etc/systemd/system.control/foo.service.d/50-CPUAccounting.conf",
	};

	for (unsigned i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		ck_assert_msg(unitdropin_comes_later(later[i]), "%s", later[i]);
	for (unsigned i = 0; i < sizeof(earlier) / sizeof(earlier[0]); i++)
		ck_assert_msg(!unitdropin_comes_later(earlier[i]), "%s", earlier[i]);
}
END_TEST

static void drop_in(const char *name, const char *text)
{
	FILE *file;

	snprintf(manager.unit->dropin, sizeof(manager.unit->dropin), "%s/%s",
		 dirname(strdupa(manager.address + strlen("unix:path="))), name);
	file = fopen(manager.unit->dropin, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_drop_in_that_systemd_would_take_instead_is_found)
{
	static const struct {
		const char *name, *text;
		bool is_found;
	} files[] = {
		{ "override.conf", "[Service]\nCPUQuota=200%\n", true },
		{ "override.conf", "[Service]\n CPUQuota =\n", true },
		{ "override.conf", "[Service]\n#CPUQuota=200%\nCPUQuotaPeriodSec=1\n", false },
		{ "override.conf", "", false },
		{ "10-x.conf", "[Service]\nCPUQuota=200%\n", false },
		{ "50-CPUQuota.conf", "[Service]\nCPUQuota=200%\n", false },
	};
	struct unit *unit = opened();

	ck_assert_ptr_null(unit_overridden(unit));
	unit_close(unit);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		drop_in(files[i].name, files[i].text);
		unit = opened();
		if (files[i].is_found)
			ck_assert_str_eq(unit_overridden(unit), manager.unit->dropin);
		else
			ck_assert_msg(unit_overridden(unit) == NULL, "file %u", i);
		unit_close(unit);
		ck_assert_int_eq(unlink(manager.unit->dropin), 0);
	}
}
END_TEST

START_TEST(lowers_at_once_and_raises_seldom)
{
	struct unit *unit = opened();

	ck_assert_uint_eq(unit_bound_ucpu(unit), UINT64_MAX);
	ck_assert_int_eq(unit_lower(unit, S, 354321, PERIOD, NULL), 1);
	ck_assert_uint_eq(manager.unit->ucpu, 350 * MCPU);
	ck_assert_uint_eq(manager.unit->period_us, PERIOD);
	ck_assert_uint_eq(unit_bound_ucpu(unit), 350 * MCPU);
	/* Nothing to do. */
	ck_assert_int_eq(unit_lower(unit, S, 350 * MCPU, PERIOD, NULL), 0);
	ck_assert_int_eq(unit_lower(unit, S, 600 * MCPU, PERIOD, NULL), 0);
	ck_assert_uint_eq(manager.unit->calls, 1);
	ck_assert_int_eq(unit_raise(unit, S, 600 * MCPU, PERIOD, NULL), 1);
	ck_assert_int_eq(unit_raise(unit, S + 1, 900 * MCPU, PERIOD, NULL), 0);
	ck_assert_uint_eq(manager.unit->ucpu, 600 * MCPU);
	ck_assert_int_eq(unit_lower(unit, S + 2, 599 * MCPU, PERIOD, NULL), 1);
	ck_assert_uint_eq(manager.unit->ucpu, 590 * MCPU);
	ck_assert_int_eq(unit_raise(unit, 2 * S, 900 * MCPU, PERIOD, NULL), 1);
	ck_assert_uint_eq(manager.unit->ucpu, 900 * MCPU);
	ck_assert_uint_eq(manager.unit->calls, 4);
	unit_close(unit);
}
END_TEST

START_TEST(without_an_answer_it_is_uncertain_and_bounded_in_time)
{
	struct unit *unit = opened();
	struct error error = { 0 };
	uint64_t begin_ns;

	ck_assert_int_eq(unit_lower(unit, S, 500 * MCPU, PERIOD, NULL), 1);
	manager.unit->delay_ms = 1000;
	begin_ns = clock_now_ns();
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, &error), -ETIME);
	ck_assert_uint_lt(clock_now_ns() - begin_ns, S * 9 / 10);
	says(&error, "does not answer");
	ck_assert_uint_eq(unit_bound_ucpu(unit), 500 * MCPU);
	/* Not asked again, and so not waited for. */
	begin_ns = clock_now_ns();
	ck_assert_int_eq(unit_lower(unit, S + 1, 300 * MCPU, PERIOD, &error), -ETIME);
	ck_assert_uint_lt(clock_now_ns() - begin_ns, S / 4);
	says(&error, "500000 ucpu");
	manager.unit->delay_ms = 0;
	while (manager.unit->ucpu != 300 * MCPU)
		ck_assert_uint_lt(clock_now_ns() - begin_ns, 20 * S);
	/* It has the value by now, which is not known until it answers. */
	ck_assert_uint_eq(unit_bound_ucpu(unit), 500 * MCPU);
	ck_assert_int_eq(unit_lower(unit, 3 * S, 300 * MCPU, PERIOD, &error), 1);
	ck_assert_uint_eq(unit_bound_ucpu(unit), 300 * MCPU);
	unit_close(unit);
}
END_TEST

START_TEST(a_value_that_is_not_taken_is_an_error)
{
	struct unit *unit = opened();
	struct error error = { 0 };

	manager.unit->ucpu = 800 * MCPU;
	manager.unit->ignores = true;
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, &error), -EIO);
	says(&error, "reads 800000 us");
	ck_assert_uint_eq(unit_bound_ucpu(unit), 800 * MCPU);
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), -EIO);
	manager.unit->refuses = true;
	ck_assert_int_lt(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 0);
	ck_assert_int_lt(unit_lower(unit, 3 * S, 300 * MCPU, PERIOD, &error), 0);
	says(&error, "not today");
	ck_assert_uint_eq(unit_bound_ucpu(unit), 800 * MCPU);
	unit_close(unit);
}
END_TEST

START_TEST(one_that_systemd_has_forgotten_has_no_quota_to_lower)
{
	struct unit *unit = opened();
	struct error error = { 0 };

	ck_assert_int_eq(unit_lower(unit, S, 500 * MCPU, PERIOD, NULL), 1);
	manager.unit->forgets = true;
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, &error), 0);
	ck_assert_uint_le(unit_bound_ucpu(unit), 300 * MCPU);
	/* One by that name is another one. */
	manager.unit->forgets = false;
	manager.unit->ucpu = UINT64_MAX;
	ck_assert_int_eq(unit_look(unit, S, NULL), 0);
	ck_assert_uint_eq(unit_bound_ucpu(unit), UINT64_MAX);
	unit_close(unit);
}
END_TEST

START_TEST(what_others_set_is_seen_when_looked_at)
{
	struct unit *unit = opened();

	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	manager.unit->ucpu = UINT64_MAX;
	ck_assert_int_eq(unit_look(unit, S, NULL), 0);
	ck_assert_uint_eq(unit_bound_ucpu(unit), UINT64_MAX);
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	ck_assert_uint_eq(manager.unit->ucpu, 300 * MCPU);
	unit_close(unit);
}
END_TEST

START_TEST(what_cannot_be_looked_at_may_be_anything)
{
	struct unit *unit = opened();
	struct error error = { 0 };

	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	manager.unit->ucpu = UINT64_MAX;
	manager.unit->delay_ms = 400;
	ck_assert_int_eq(unit_look(unit, S, &error), -ETIME);
	ck_assert_uint_eq(unit_bound_ucpu(unit), UINT64_MAX);
	manager.unit->delay_ms = 0;
	ck_assert_int_eq(unit_lower(unit, 3 * S, 500 * MCPU, PERIOD, NULL), 1);
	ck_assert_uint_eq(manager.unit->ucpu, 500 * MCPU);
	ck_assert_uint_eq(unit_bound_ucpu(unit), 500 * MCPU);
	unit_close(unit);
}
END_TEST

START_TEST(the_calls_of_a_tick_wait_no_longer_than_one)
{
	char path[PATH_MAX];
	uint64_t begin_ns;

	wait_ms = 2000;
	strcpy(manager.unit->group, "/system.slice/foo.service");
	struct unit *unit = opened();

	manager.unit->delay_ms = 1200;
	ck_assert_int_eq(unit_group(unit, S, path, NULL), 0);
	ck_assert_int_eq(unit_group(unit, S, path, NULL), -ETIME);
	/* From now on it is left alone. */
	begin_ns = clock_now_ns();
	ck_assert_int_eq(unit_look(unit, S, NULL), -ETIME);
	ck_assert_uint_eq(unit_bound_ucpu(unit), UINT64_MAX);
	ck_assert_int_eq(unit_group(unit, 2 * S - 1, path, NULL), -ETIME);
	ck_assert_int_eq(unit_lower(unit, 2 * S - 1, 300 * MCPU, PERIOD, NULL), -ETIME);
	ck_assert_uint_lt(clock_now_ns() - begin_ns, S / 2);
	manager.unit->delay_ms = 0;
	ck_assert_int_eq(unit_group(unit, 2 * S, path, NULL), 0);
	ck_assert_int_eq(unit_lower(unit, 2 * S, 300 * MCPU, PERIOD, NULL), 1);
	unit_close(unit);
}
END_TEST

START_TEST(a_lost_connection_is_made_anew)
{
	struct unit *unit = opened();

	manager.unit->drops = true;
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	ck_assert(!manager.unit->drops);
	ck_assert_uint_eq(manager.unit->ucpu, 300 * MCPU);
	unit_close(unit);
}
END_TEST

/* systemd fills the connections of those who stay with its signals. */
START_TEST(nobody_stays_connected_once_all_is_answered)
{
	char path[PATH_MAX];
	struct unit *unit = opened();

	has_hung_up();
	ck_assert_uint_eq(manager.unit->peers, 1);
	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	has_hung_up();
	ck_assert_int_eq(unit_raise(unit, S, 900 * MCPU, PERIOD, NULL), 1);
	has_hung_up();
	ck_assert_int_eq(unit_look(unit, 2 * S, NULL), 0);
	has_hung_up();
	ck_assert_int_eq(unit_group(unit, 3 * S, path, NULL), -ENODEV);
	has_hung_up();
	manager.unit->refuses = true;
	ck_assert_int_lt(unit_lower(unit, 4 * S, 300 * MCPU, PERIOD, NULL), 0);
	has_hung_up();
	ck_assert_uint_eq(manager.unit->peers, 6);
	unit_close(unit);
}
END_TEST

START_TEST(what_was_not_answered_stays_before_what_comes_next)
{
	struct unit *unit = opened();
	struct error error = { 0 };
	unsigned peers;

	has_hung_up();
	manager.unit->delay_ms = 500;
	ck_assert_int_eq(unit_lower(unit, S, 500 * MCPU, PERIOD, &error), -ETIME);
	peers = manager.unit->peers;
	ck_assert(manager.unit->has_peer);
	manager.unit->delay_ms = 0;
	manager.unit->signals = 300;
	for (uint64_t begin_ns = clock_now_ns(); manager.unit->signals > 0;)
		ck_assert_uint_lt(clock_now_ns() - begin_ns, 20 * S);
	ck_assert_int_eq(unit_lower(unit, 3 * S, 300 * MCPU, PERIOD, &error), 1);
	ck_assert_uint_eq(manager.unit->peers, peers);
	ck_assert_uint_eq(manager.unit->ucpu, 300 * MCPU);
	has_hung_up();
	unit_close(unit);
}
END_TEST

START_TEST(nobody_there_is_said_at_once)
{
	struct unit_config config = {
		.name = "foo.service", .address = "unix:path=/nonexistent/bus",
	};
	struct unit *unit = NULL;
	struct error error = { 0 };

	ck_assert_int_eq(unit_open(&config, &unit, &error), -EHOSTDOWN);
	says(&error, "cannot talk to systemd");
	ck_assert_ptr_null(unit);
}
END_TEST

START_TEST(puts_back_what_was_found)
{
	manager.unit->ucpu = 700 * MCPU;
	struct unit *unit = opened();
	struct unit_quota found = *unit_found(unit);

	ck_assert_int_eq(unit_lower(unit, S, 300 * MCPU, PERIOD, NULL), 1);
	ck_assert_int_eq(unit_set(unit, &found, NULL), 0);
	ck_assert_uint_eq(manager.unit->ucpu, 700 * MCPU);
	ck_assert_uint_eq(manager.unit->period_us, UINT64_MAX);
	unit_close(unit);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("unit");
	TCase *tcase = tcase_create("names"), *bus = tcase_create("a manager of our own");

	tcase_add_test(tcase, only_what_can_be_one_job_is_a_unit);
	tcase_add_test(tcase, a_drop_in_counts_more_by_its_name_whatever_directory_it_is_in);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(bus, begin, end);
	tcase_add_test(bus, finds_the_group_and_the_quota);
	tcase_add_test(bus, what_systemd_does_not_know_is_no_job);
	tcase_add_test(bus, a_drop_in_that_systemd_would_take_instead_is_found);
	tcase_add_test(bus, lowers_at_once_and_raises_seldom);
	tcase_add_test(bus, without_an_answer_it_is_uncertain_and_bounded_in_time);
	tcase_add_test(bus, a_value_that_is_not_taken_is_an_error);
	tcase_add_test(bus, one_that_systemd_has_forgotten_has_no_quota_to_lower);
	tcase_add_test(bus, what_others_set_is_seen_when_looked_at);
	tcase_add_test(bus, what_cannot_be_looked_at_may_be_anything);
	tcase_add_test(bus, the_calls_of_a_tick_wait_no_longer_than_one);
	tcase_add_test(bus, a_lost_connection_is_made_anew);
	tcase_add_test(bus, nobody_stays_connected_once_all_is_answered);
	tcase_add_test(bus, what_was_not_answered_stays_before_what_comes_next);
	tcase_add_test(bus, nobody_there_is_said_at_once);
	tcase_add_test(bus, puts_back_what_was_found);
	suite_add_tcase(suite, bus);
	return suite;
}
