/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/reload.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

#define KEY_B "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_C "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

#define REQUIRED                                                                                   \
	"cluster = lab\nnode = a\nbudget = 2cpu\nendowment = 1cpu\ncgroup = /job/a\n"              \
	"listen = 'tcp://192.0.2.1:7400'\nsecret-key = /k\n"
#define ADMIN "admin-listen = 'tcp://192.0.2.1:7401'\n"
#define ALICE "administrator alice { public-key = '" KEY_B "' }\n"
#define BOB   "administrator bob { public-key = '" KEY_C "' }\n"
#define B     "neighbour b { address = 'tcp://192.0.2.2:7400' public-key = '" KEY_B "' }\n"
#define C     "neighbour c { address = 'tcp://192.0.2.3:7400' public-key = '" KEY_C "' }\n"
#define ALL   "trading { limit = none }\n"
#define LIMITED_C                                                                                  \
	"neighbour c { address = 'tcp://192.0.2.3:7400' public-key = '" KEY_C "' limit = 0.2cpu "  \
									      "}\n"

static struct conf conf, fresh;
static struct conf_changes changes;

static void parse(const char *text, struct conf *ret_conf)
{
	struct error error = { 0 };

	ck_assert_msg(conf_parse("x", text, ret_conf, &error) == 0, "%s", error.text);
}

static void take(const char *before, const char *after)
{
	struct error error = { 0 };

	parse(before, &conf);
	parse(after, &fresh);
	ck_assert_msg(conf_take(&conf, &fresh, &changes, &error) == 0, "%s", error.text);
}

START_TEST(takes_what_each_tick_looks_at)
{
	take(REQUIRED,
	     REQUIRED "log-level = debug\nceiling = 1cpu\n"
		      "cost { kind = latency weight = 3 kappa = 2 sigma = 7 epsilon = 1 }");
	ck_assert_str_eq(changes.taken, "ceiling, log-level, cost.kind, cost.kappa, cost.weight, "
					"cost.sigma, cost.epsilon");
	ck_assert_str_eq(changes.restart, "");
	ck_assert_int_eq(conf.log_level, CONF_LOG_DEBUG);
	ck_assert_uint_eq(conf.ceiling_ucpu, 1000000);
	ck_assert(conf.has_ceiling);
	ck_assert_int_eq(conf.cost.kind, CONF_COST_LATENCY);
	ck_assert_double_eq(conf.cost.weight, 3);
}
END_TEST

/* With every option that is taken reset, the struct is what it was, to the last byte. */
START_TEST(leaves_all_else_alone_and_names_it)
{
	static struct conf before;

	parse(REQUIRED ALL B, &before);
	take(REQUIRED ALL B, "cluster = other\nnode = b\nbudget = 3cpu\nendowment = 1cpu\n"
			 "cgroup = /job/b\nperiod = 50ms\nfloor = 0.1cpu\non-exit = restore\n"
			 "listen = 'tcp://192.0.2.9:1'\nsecret-key = /l\n"
			 "trading { tick = 100ms limit = none }" C);
	ck_assert_str_eq(changes.taken, "");
	ck_assert_str_eq(changes.restart,
			 "cluster, node, budget, cgroup, period, floor, on-exit, listen, "
			 "secret-key, state-directory, run-directory, trading.tick, neighbour");
	ck_assert_mem_eq(&conf, &before, sizeof(conf));
}
END_TEST

START_TEST(a_ceiling_that_goes_is_the_budget_in_force)
{
	take(REQUIRED "ceiling = 1cpu", REQUIRED);
	ck_assert_str_eq(changes.taken, "ceiling");
	ck_assert(!conf.has_ceiling);
	ck_assert_uint_eq(conf.ceiling_ucpu, 2000000);
	take(REQUIRED, REQUIRED);
	ck_assert_str_eq(changes.taken, "");
	ck_assert_str_eq(changes.restart, "");
}
END_TEST

START_TEST(administrators_come_and_go_where_they_are_listened_to)
{
	take(REQUIRED ADMIN ALICE, REQUIRED ADMIN BOB);
	ck_assert_str_eq(changes.taken, "administrator");
	ck_assert_uint_eq(conf.administrator_count, 1);
	ck_assert_str_eq(conf.administrators[0].name, "bob");
	take(REQUIRED, REQUIRED ADMIN ALICE);
	ck_assert_str_eq(changes.taken, "");
	ck_assert_str_eq(changes.restart, "admin-listen, administrator");
	ck_assert_uint_eq(conf.administrator_count, 0);
}
END_TEST

START_TEST(the_order_of_neighbours_is_no_change)
{
	take(REQUIRED ALL B C, REQUIRED ALL C B);
	ck_assert_str_eq(changes.restart, "");
}
END_TEST

START_TEST(limits_of_neighbours_are_taken)
{
	take(REQUIRED "trading { limit = 0.5cpu }\n" B C,
	     REQUIRED "trading { limit = 0.7cpu }\n" B C);
	ck_assert_str_eq(changes.taken, "trading.limit");
	ck_assert_str_eq(changes.restart, "");
	ck_assert_uint_eq(conf.trading.limit_ucpu, 700000);
	take(REQUIRED ALL B C, REQUIRED ALL LIMITED_C B);
	ck_assert_str_eq(changes.taken, "neighbour.limit");
	ck_assert_str_eq(changes.restart, "");
	ck_assert_uint_eq(conf.neighbours[0].limit_ucpu, 0);
	ck_assert_uint_eq(conf.neighbours[1].limit_ucpu, 200000);
	/* It goes, too. */
	take(REQUIRED ALL LIMITED_C, REQUIRED ALL C);
	ck_assert_uint_eq(conf.neighbours[0].limit_ucpu, 0);
	/* From one place to the other. */
	take(REQUIRED ALL LIMITED_C, REQUIRED LIMITED_C);
	ck_assert_str_eq(changes.taken, "trading.limit");
	ck_assert_uint_eq(conf.trading.limit_ucpu, 0);
	/* Whose section goes is there until the restart, and trusted as before. */
	take(REQUIRED "trading { limit = 0.5cpu }\n" B LIMITED_C, REQUIRED LIMITED_C);
	ck_assert_str_eq(changes.taken, "trading.limit");
	ck_assert_str_eq(changes.restart, "neighbour");
	ck_assert_uint_eq(conf_limit_ucpu(&conf, conf.neighbours[0].id), 500000);
	take(REQUIRED "trading { limit = 0.5cpu }\n" B LIMITED_C,
	     REQUIRED "trading { limit = 0.1cpu }\n" LIMITED_C);
	ck_assert_uint_eq(conf_limit_ucpu(&conf, conf.neighbours[0].id), 100000);
}
END_TEST

START_TEST(what_does_not_go_with_what_stays_changes_nothing)
{
	static struct conf before;
	struct error error = { 0 };

	parse(REQUIRED "floor = 0.5cpu", &before);
	conf = before;
	parse(REQUIRED "floor = 0.1cpu\nceiling = 0.2cpu\nlog-level = debug", &fresh);
	ck_assert_int_eq(conf_take(&conf, &fresh, &changes, &error), -EINVAL);
	ck_assert_str_eq(error.text, "with what only a restart changes: ceiling: 0.2cpu is below "
				     "the floor, 0.5cpu");
	ck_assert_mem_eq(&conf, &before, sizeof(conf));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("reload");
	TCase *tcase = tcase_create("conf");

	tcase_add_test(tcase, takes_what_each_tick_looks_at);
	tcase_add_test(tcase, leaves_all_else_alone_and_names_it);
	tcase_add_test(tcase, a_ceiling_that_goes_is_the_budget_in_force);
	tcase_add_test(tcase, administrators_come_and_go_where_they_are_listened_to);
	tcase_add_test(tcase, the_order_of_neighbours_is_no_change);
	tcase_add_test(tcase, limits_of_neighbours_are_taken);
	tcase_add_test(tcase, what_does_not_go_with_what_stays_changes_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
