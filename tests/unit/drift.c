/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/enforce/drift.h"
#include "tests/test.h"

#define S 1000000000ull

START_TEST(nothing_happens_while_nothing_differs)
{
	struct iso_drift drift = { 0 };

	for (uint64_t t = 0; t < 10; t++)
		ck_assert(!iso_drift_look(&drift, t * S, false));
	ck_assert_int_eq(drift.state, ISO_DRIFT_NONE);
	ck_assert_uint_eq(drift.changes_total, 0);
}
END_TEST

START_TEST(repairs_at_once_then_with_doubling_pause)
{
	struct iso_drift drift = { 0 };

	ck_assert(iso_drift_look(&drift, 10 * S, true));
	ck_assert_int_eq(drift.state, ISO_DRIFT_DRIFTED);
	ck_assert(!iso_drift_look(&drift, 10 * S, false));
	ck_assert(!iso_drift_look(&drift, 11 * S - 1, true));
	ck_assert(iso_drift_look(&drift, 11 * S, true));
	ck_assert(!iso_drift_look(&drift, 13 * S - 1, true));
	ck_assert(iso_drift_look(&drift, 13 * S, true));
	ck_assert(!iso_drift_look(&drift, 17 * S - 1, true));
	ck_assert(iso_drift_look(&drift, 17 * S, true));
	ck_assert_uint_eq(drift.changes_total, 2); /* one that stays is one */
}
END_TEST

START_TEST(many_changes_are_a_conflict)
{
	struct iso_drift drift = { 0 };
	uint64_t now = 1;
	unsigned repairs = 0;

	for (unsigned i = 0; i < ISO_DRIFT_CHANGES_MAX; i++, now += 17 * S) {
		repairs += iso_drift_look(&drift, now, true);
		(void)iso_drift_look(&drift, now, false);
		ck_assert_int_eq(drift.state, ISO_DRIFT_DRIFTED);
	}
	ck_assert_uint_eq(repairs, ISO_DRIFT_CHANGES_MAX);
	ck_assert(iso_drift_look(&drift, now, true));
	ck_assert_int_eq(drift.state, ISO_DRIFT_CONFLICT);
	(void)iso_drift_look(&drift, now, false);
	for (repairs = 0; repairs < 600; repairs++)
		ck_assert(!iso_drift_look(&drift, now + repairs * S / 10, true));
	ck_assert(iso_drift_look(&drift, now + 60 * S, true));
}
END_TEST

START_TEST(calms_down_when_left_alone)
{
	struct iso_drift drift = { 0 };
	uint64_t now = 1;

	(void)iso_drift_look(&drift, now, true);
	(void)iso_drift_look(&drift, now + ISO_DRIFT_CALM_NS - 1, false);
	ck_assert_int_eq(drift.state, ISO_DRIFT_DRIFTED);
	(void)iso_drift_look(&drift, now + ISO_DRIFT_CALM_NS, false);
	ck_assert_int_eq(drift.state, ISO_DRIFT_NONE);
	ck_assert_uint_eq(drift.changes_total, 1);

	for (unsigned i = 0; i <= ISO_DRIFT_CHANGES_MAX; i++) {
		now += ISO_DRIFT_CALM_NS - 1;
		(void)iso_drift_look(&drift, now, true);
		(void)iso_drift_look(&drift, now, false);
	}
	ck_assert_int_eq(drift.state, ISO_DRIFT_CONFLICT);
	(void)iso_drift_look(&drift, now + ISO_DRIFT_TRUCE_NS - 1, false);
	ck_assert_int_eq(drift.state, ISO_DRIFT_CONFLICT);
	(void)iso_drift_look(&drift, now + ISO_DRIFT_TRUCE_NS, false);
	ck_assert_int_eq(drift.state, ISO_DRIFT_NONE);
	ck_assert(iso_drift_look(&drift, now + ISO_DRIFT_TRUCE_NS, true));
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	struct iso_drift drift = { 0 };

	(void)iso_drift_look(&drift, 10, true);
	(void)iso_drift_look(&drift, 9, true);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("drift");
	TCase *tcase = tcase_create("another writer");

	tcase_add_test(tcase, nothing_happens_while_nothing_differs);
	tcase_add_test(tcase, repairs_at_once_then_with_doubling_pause);
	tcase_add_test(tcase, many_changes_are_a_conflict);
	tcase_add_test(tcase, calms_down_when_left_alone);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, 6 /* SIGABRT */);
	suite_add_tcase(suite, tcase);
	return suite;
}
