/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"
#include "tests/unit/timeline.h"

START_TEST(minibatch_takes_the_mean_of_its_allocation)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "j2", "." },
		{ "b2,1,0", "+0@0*2 +1@0" },
		{ "a0@0=1", "kept" },
		{ "a1@0=2", "kept" },
		{ "a0@0=6", "used x=-3 ." },
		{ "b0,0,1", "+2@1" },
		{ "a2@1=1", "used x=-4 ." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 3 }),
	    lines);

	ck_assert_uint_eq(totals.rounds, 2);
	ck_assert_uint_eq(totals.updates, 2);
	ck_assert_uint_eq(totals.used, 4);
	ck_assert_uint_eq(totals.started, 4);
}
END_TEST

START_TEST(minibatch_gives_lost_work_to_those_who_are_done)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "j2", "." },
		{ "b2,1,1", "+0@0*2 +1@0 +2@0" },
		{ "a1@0=1", "kept" },
		{ "l0", "+1@0" },          /* one of the two: who is done is 1 alone */
		{ "a2@0=2", "kept +2@0" }, /* now 2 takes the other */
		{ "v1@0", "" },            /* lost again; 2 is at work and will ask */
		{ "a2@0=3", "kept +2@0" },
		{ "l2", "+1@0" }, /* nobody is at work: whoever is present */
		{ "a1@0=4", "used x=-2.5 ." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 3 }),
	    lines);

	ck_assert_uint_eq(totals.lost, 4);
	ck_assert_uint_eq(totals.used, 4);
	ck_assert_uint_eq(totals.started, 8);
}
END_TEST

START_TEST(minibatch_waits_for_a_worker_and_goes_on_with_the_next)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "b1,2", "+0@0" }, /* 1 has left since the allocation: its tasks are owed */
		{ "l0", "" },
		{ "j1", "+1@0" },
		{ "a1@0=1", "kept +1@0" },
		{ "j0", "+0@0" },
		{ "a0@0=3", "kept" },
		{ "m1>0", "" },
		{ "a0@0=2", "used x=-2 ." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 2 }),
	    lines);

	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

START_TEST(rennala_takes_the_first_s_and_stops_the_rest)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "b", "+0@0 +1@0" },
		{ "a0@0=1", "kept +0@0" },
		{ "j2*2", "+2@0*2" },
		{ "v2@0", "+2@0" },
		{ "a0@0=3", "used -1<1 -2<1 x=-2 ." },
		{ "a1@0=9", "void ." },
		{ "l2", "." },
		{ "b", "+0@1 +1@1" },
		{ "a1@1=2", "kept +1@1" },
		{ "l0", "" },
		{ "a1@1=4", "used x=-5 ." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_RENNALA, .workers = 3, .batch = 2 }),
			  lines);

	ck_assert_uint_eq(totals.stopped, 3);
	ck_assert_uint_eq(totals.late, 1);
	ck_assert_uint_eq(totals.lost, 2);
	ck_assert_uint_eq(totals.used, 4);
	ck_assert_uint_eq(totals.started, 9);
}
END_TEST

/* S = 6, n = 2: (1/2 (1/B_0 + 1/B_1))^-1 >= 3, so with B_1 = 2 it takes B_0 = 6. */
START_TEST(malenia_waits_for_the_harmonic_mean)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "b", "+0@0 +1@0" },
		{ "a0@0=1", "kept +0@0" },
		{ "a0@0=2", "kept +0@0" },
		{ "a0@0=3", "kept +0@0" },
		{ "a0@0=4", "kept +0@0" },
		{ "a0@0=5", "kept +0@0" },
		{ "a1@0=10", "kept +1@0" },
		{ "a1@0=20", "kept +1@0" },
		{ "a0@0=9", "used -1<1 x=-9.5 ." },
		{ "b", "+0@1 +1@1" },
		{ "a1@1=1", "kept +1@1" },
		{ "a1@1=1", "kept +1@1" },
		{ "a1@1=1", "kept +1@1" },
		{ "a1@1=1", "kept +1@1" },
		{ "a1@1=1", "kept +1@1" },
		{ "a0@1=3", "kept +0@1" },
		/* 1 alone: (1/5)^-1 < 6; what 0 delivered stays in the mean of means. */
		{ "l0", "" },
		{ "a1@1=1", "used x=-11.5 ." },
		{ "l1", "." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_MALENIA, .workers = 2, .batch = 6 }),
			  lines);

	ck_assert_uint_eq(totals.used, 15);
	ck_assert_uint_eq(totals.stopped, 1);
	ck_assert_uint_eq(totals.lost, 1);
}
END_TEST

START_TEST(sgd_ata_takes_the_mean_of_means)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "b2,0,7", "+0@0*3 +1@0" }, /* 2 is absent: its data is out of reach */
		{ "j2", "" },
		{ "a0@0=1", "kept" },
		{ "v0@0", "+0@0" },
		{ "a1@0=4", "kept" },
		{ "a0@0=2", "kept" },
		{ "a0@0=3", "used x=-3 ." },
		/* 0 leaves with 1 of its 2: it weighs a half, (0.5*6 + 9)/1.5. */
		{ "b1,0,0", "+0@1*2 +1@1 +2@1" },
		{ "l2", "" },
		{ "a0@1=6", "kept" },
		{ "l0", "" },
		{ "a1@1=9", "used x=-11 ." },
		/* All are gone before a gradient is in: nothing happens to x. */
		{ "b0,0,0", "+1@2" },
		{ "l1", "." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_SGD_ATA, .workers = 3 }),
	    lines);

	ck_assert_uint_eq(totals.updates, 2);
	ck_assert_uint_eq(totals.lost, 4);
	ck_assert_uint_eq(totals.used, 6);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("rule_round");
	TCase *tc = tcase_create("rule_round");

	tcase_add_test(tc, minibatch_takes_the_mean_of_its_allocation);
	tcase_add_test(tc, minibatch_gives_lost_work_to_those_who_are_done);
	tcase_add_test(tc, minibatch_waits_for_a_worker_and_goes_on_with_the_next);
	tcase_add_test(tc, rennala_takes_the_first_s_and_stops_the_rest);
	tcase_add_test(tc, malenia_waits_for_the_harmonic_mean);
	tcase_add_test(tc, sgd_ata_takes_the_mean_of_means);
	suite_add_tcase(suite, tc);
	return suite;
}
