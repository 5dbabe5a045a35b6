/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"
#include "tests/unit/timeline.h"

/* The time line of the paper's poster: worker 3 (here 2) computes at x0, x1, x1, x6. */
START_TEST(ringleader_follows_the_time_line_of_its_poster)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "j2", "+2@0" },
		/* phase 1 */
		{ "a0@0=1", "kept +0@0" },
		{ "a1@0=2", "kept +1@0" },
		{ "a2@0=3", "used +2@1 x=-2" }, /* (1 + 2 + 3)/3 */
		/* phase 2 */
		{ "a2@1=6", "kept +2@1" },            /* for the next round */
		{ "a0@0=3", "used +0@2 x=-4.33333" }, /* ((1+3)/2 + 2 + 3)/3 */
		{ "a1@0=2", "used +1@3 x=-6.66667" },
		/* the table is empty, 6, empty */
		{ "a0@2=3", "kept +0@2" },
		{ "a1@3=0", "used +1@4 x=-9.66667" }, /* (3 + 0 + 6)/3 */
		{ "a1@4=8", "kept +1@4" },
		{ "a0@2=0", "used +0@5 x=-12.1667" }, /* (1.5 + 0 + 6)/3 */
		{ "a2@1=0", "used +2@6 x=-13.6667" }, /* (1.5 + 0 + 3)/3 */
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER,
								    .workers = 3 }),
			  lines);

	ck_assert_uint_eq(totals.rounds, 2);
	ck_assert_uint_eq(totals.updates, 6);
	ck_assert_uint_eq(totals.used, 10);
	ck_assert_uint_eq(totals.buffered, 1);
	ck_assert_uint_eq(totals.ignored, 0);
	ck_assert_uint_eq(totals.delay_max, 4); /* 2n - 2: x5 moved by gradients of x1 */
}
END_TEST

START_TEST(ringleader_lives_with_comers_and_goers)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=2", "kept +0@0" },
		{ "j2", "+2@0" }, /* phase 1 waits for it */
		{ "a1@0=4", "kept +1@0" },
		{ "l2", "" }, /* and no longer */
		{ "a1@0=4", "used +1@1 x=-3" },
		{ "j2", "+2@1" }, /* phase 2: for the next round */
		{ "a2@1=9", "kept +2@1" },
		{ "a0@0=2", "used +0@2 x=-6" },
		{ "a0@2=0", "kept +0@2" },
		{ "l2", "" }, /* its 9 stays until the round is over */
		{ "a1@1=0", "used +1@3 x=-9" },
		{ "a0@2=3", "used +0@4 x=-12.5" }, /* (1.5 + 0 + 9)/3 */
		{ "a0@4=1", "kept +0@4" },
		{ "a1@3=1", "used +1@5 x=-13.5" },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER,
								    .workers = 3 }),
			  lines);

	ck_assert_uint_eq(totals.lost, 2);
	ck_assert_uint_eq(totals.ignored, 0);
}
END_TEST

START_TEST(ringleader_waits_for_all_threads_at_the_old_point)
{
	static const struct line lines[] = {
		{ "j0*2", "+0@0*2" },
		{ "j1", "+1@0" },
		{ "a0@0=4", "kept +0@0" }, /* phase 1: no thread waits */
		{ "a1@0=2", "used +1@1 x=-3" },
		{ "a0@0=6", "kept" },             /* one more at x0 is to come */
		{ "a0@0=8", "used +0@2*2 x=-7" }, /* ((4 + 6 + 8)/3 + 2)/2 */
		{ "a0@2=1", "kept +0@2" },
		{ "v0@2", "+0@2" },
		{ "a1@1=1", "used +1@3 x=-8" },
		{ "a0@2=4", "kept" },
		{ "v0@2", "+0@4*2 x=-9.75" }, /* what is lost is not waited for */
		{ NULL, NULL },
	};
	struct iso_method *method = timeline_make(
	    (struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER, .workers = 2 });
	struct iso_method_totals totals = timeline_play(method, lines);

	ck_assert_uint_eq(totals.delay_max, 2);
	ck_assert_uint_eq(totals.ignored + totals.stopped, 0);
}
END_TEST

/* Against the contract: what was in flight before a restart is reported after it. */
START_TEST(work_of_an_earlier_life_is_late)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=1", "kept +0@0" },
		{ "a1@0=1", "used +1@1 x=-1" },
		{ "j1", "+1@1" },
		{ "a1@0=9", "void" },
		{ "l1", "" },
		{ "a1@1=9", "void" },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER,
								    .workers = 2 }),
			  lines);

	ck_assert_uint_eq(totals.late, 2);
	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

START_TEST(ia2sgd_takes_the_mean_of_the_latest)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=9", "kept +0@0" },
		{ "a0@0=1", "kept +0@0" }, /* the newer replaces the older */
		{ "a1@0=3", "used +1@1 x=-2" },
		{ "j2", "+2@1" }, /* nobody waits for it */
		{ "a0@0=5", "used +0@2 x=-6" },
		{ "a2@1=1", "used +2@3 x=-9" }, /* (5 + 3 + 1)/3 */
		{ "l0", "" },
		{ "a1@1=1", "used +1@4 x=-10" }, /* (1 + 1)/2 */
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 3 }),
	    lines);

	ck_assert_uint_eq(totals.ignored, 1);
	ck_assert_uint_eq(totals.used, 5);
	ck_assert_uint_eq(totals.lost, 1);
}
END_TEST

START_TEST(capped_ringleader_never_waits_for_an_idle_worker)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		/*
		 * 2 and 1 starts, the last kept for the new point; so the first of 1, which has
		 * no entry, is not counted.
		 */
		{ "b1,0", "+0@0 +1@0" },
		{ "a0@0=2", "kept" },
		{ "a1@0=4", "used +1@2 +0@2 x=-6 ." }, /* 0 has its update at once */
		{ "a0@2=1", "kept ." },
		{ "b1,0", "+0@2" },
		{ "a1@2=3", "used +1@3 x=-8" },      /* (1 + 3)/2 */
		{ "a0@2=3", "used +0@4 x=-10.5 ." }, /* (2 + 3)/2 */
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_RINGLEADER, .workers = 2, .capped = true }),
			  lines);

	ck_assert_uint_eq(totals.rounds, 2);
	ck_assert_uint_eq(totals.updates, 4);
	ck_assert_uint_eq(totals.started, 7);
}
END_TEST

START_TEST(capped_ringleader_goes_on_when_all_have_left_and_one_returns)
{
	static const struct line
	    lines[] = {
		    { "j0", "." },        { "j1", "." },  { "b0,0", "+0@0 +1@0" },
		    { "a0@0=2", "kept" }, { "l0", "" },   { "l1", "" },
		    { "j0", "x=-2 ." }, /* its entry is still there, and nobody else is */
		    { "b0,0", "+0@1" },   { NULL, NULL },
	    };
	(void)timeline_play(timeline_make((struct iso_method_config){
				.kind = ISO_METHOD_RINGLEADER, .workers = 2, .capped = true }),
			    lines);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("rule_table");
	TCase *tc = tcase_create("rule_table");

	tcase_add_test(tc, ringleader_follows_the_time_line_of_its_poster);
	tcase_add_test(tc, ringleader_lives_with_comers_and_goers);
	tcase_add_test(tc, ringleader_waits_for_all_threads_at_the_old_point);
	tcase_add_test(tc, work_of_an_earlier_life_is_late);
	tcase_add_test(tc, ia2sgd_takes_the_mean_of_the_latest);
	tcase_add_test(tc, capped_ringleader_never_waits_for_an_idle_worker);
	tcase_add_test(tc, capped_ringleader_goes_on_when_all_have_left_and_one_returns);
	suite_add_tcase(suite, tc);
	return suite;
}
