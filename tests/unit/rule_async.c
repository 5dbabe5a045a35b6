/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"
#include "tests/unit/timeline.h"

START_TEST(asgd_applies_whatever_comes)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "a0@1=1", "used +0@2 x=-1.5" }, /* 1/(1 + 1) */
		{ "a1@0=3", "used +1@3 x=-2.5" }, /* 3/(1 + 2) */
		{ "v0@2", "+0@3" },
		{ "l1", "" },
		{ "j1*2", "+1@3*2" },
		{ "a1@3=4", "used +1@4 x=-3.5" },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_ASGD, .workers = 2, .decay = 1 }),
			  lines);

	ck_assert_uint_eq(totals.delay_max, 2);
	ck_assert_uint_eq(totals.delay_sum, 2);
	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

START_TEST(delay_adaptive_shrinks_the_step_beyond_n)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "a0@1=1", "used +0@2 x=-2" },
		{ "a0@2=1", "used +0@3 x=-3" },
		{ "a0@3=1", "used +0@4 x=-4" },
		{ "a1@0=1", "used +1@5 x=-4.5" }, /* 2 / max(2, 4) */
		{ NULL, NULL },
	};
	(void)timeline_play(timeline_make((struct iso_method_config){
				.kind = ISO_METHOD_DELAY_ADAPTIVE, .workers = 2 }),
			    lines);
}
END_TEST

START_TEST(delay_adaptive_counts_threads)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1*2", "+1@0*2" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "a0@1=1", "used +0@2 x=-2" },
		{ "a0@2=1", "used +0@3 x=-3" },
		{ "a1@0=1", "used +1@4 x=-4" }, /* 3 / max(3, 3) */
		{ "t1*1", "" },
		{ "a1@0=1", "used x=-4.5" }, /* 2 / max(2, 4) */
		{ NULL, NULL },
	};
	(void)timeline_play(timeline_make((struct iso_method_config){
				.kind = ISO_METHOD_DELAY_ADAPTIVE, .workers = 2 }),
			    lines);
}
END_TEST

START_TEST(naive_optimal_starts_only_those_admitted)
{
	static const struct line lines[] = {
		{ "n1", "" },
		{ "j0", "+0@0" },
		{ "j1", "" },
		{ "j2", "+2@0" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "n2", "" },
		{ "a2@0=1", "used x=-2" }, /* it had started before */
		{ "y1", "+1@2" },
		{ "l2", "" },
		{ "j2", "" },
		{ NULL, NULL },
	};
	(void)timeline_play(timeline_make((struct iso_method_config){
				.kind = ISO_METHOD_NAIVE_OPTIMAL, .workers = 3 }),
			    lines);
}
END_TEST

START_TEST(ringmaster_ignores_delays_of_r)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1", "+1@0" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "a1@0=2", "used +1@2 x=-3" }, /* delay 1 = R - 1 */
		{ "a1@2=1", "used +1@3 x=-4" },
		{ "a0@1=7", "void +0@3" }, /* delay 2 = R */
		{ "a0@3=1", "used +0@4 x=-5" },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_RINGMASTER, .workers = 2, .delay_max = 2 }),
			  lines);

	ck_assert_uint_eq(totals.ignored, 1);
	ck_assert_uint_eq(totals.delay_max, 1);
}
END_TEST

START_TEST(ringmaster_stops_what_would_be_ignored)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "j1*2", "+1@0*2" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "a1@0=2", "used -1<1 +1@2*2 x=-3" },
		{ NULL, NULL },
	};
	struct iso_method *method = timeline_make((struct iso_method_config){
	    .kind = ISO_METHOD_RINGMASTER_STOPS, .workers = 2, .delay_max = 2 });

	(void)timeline_play(method, lines);
	static const struct line more[] = {
		{ "a1@0=9", "void" }, { "a1@2=1", "used +1@3 -0<2 +0@3 x=-4" },
		{ "l0", "" },         { "a1@2=1", "used +1@4 x=-5" },
		{ "v1@3", "+1@4" },   { NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(method, more);
	ck_assert_uint_eq(totals.stopped, 2);
	ck_assert_uint_eq(totals.ignored, 0);
	ck_assert_uint_eq(totals.late, 1);
	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

static const enum iso_method_kind ringmasters[] = { ISO_METHOD_RINGMASTER,
						    ISO_METHOD_RINGMASTER_STOPS };

/* With R = 1 only gradients at the current point count: serial SGD, to the last bit. */
START_TEST(ringmaster_with_r_1_equals_serial_sgd)
{
	bool stops = ringmasters[_i] == ISO_METHOD_RINGMASTER_STOPS;
	struct iso_method *method = timeline_make((struct iso_method_config){
	    .kind = ringmasters[_i], .workers = 3, .delay_max = 1, .step = 0.1 });
	struct iso_rng rng = { test_seed_base() };
	struct iso_method_order order;
	uint64_t at[3];
	double x = 1;
	float start = 1;

	iso_method_set_point(method, &start);
	for (uint32_t i = 0; i < 3; i++)
		iso_method_join(method, i, 1);
	for (uint32_t step = 0; step < 1000; step++) {
		while (iso_method_next(method, &order))
			if (order.act == ISO_METHOD_START)
				at[order.worker] = order.version;
		uint32_t worker = (uint32_t)iso_rng_below(&rng, 3);
		float gradient = (float)(2 * timeline_x(method) + iso_rng_unit(&rng) - 0.5);
		bool fresh = at[worker] == iso_method_version(method);

		if (fresh)
			x -= 0.1 * (double)gradient;
		struct iso_method_arrival arrival = { worker, at[worker], &gradient };
		ck_assert_int_eq(iso_method_arrive(method, &arrival),
				 fresh ? ISO_METHOD_USED : ISO_METHOD_IGNORED);
		ck_assert(timeline_x(method) == x);
	}
	struct iso_method_totals totals = iso_method_totals(method);
	ck_assert_uint_gt(stops ? totals.stopped : totals.ignored, 100);
	ck_assert_uint_eq(stops ? totals.ignored : totals.stopped, 0);
	ck_assert_uint_eq(totals.delay_max, 0);
}
END_TEST

START_TEST(capped_asgd_starts_only_its_allocation)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1*2", "." },
		{ "b1,3", "+0@0 +1@0*2" },
		{ "a0@0=1", "used x=-1" }, /* 0 has had its one */
		{ "a1@0=1", "used +1@2 x=-2" },
		{ "j2", "" }, /* in the next round */
		{ "a1@0=1", "used x=-3" },
		{ "v1@2", "." }, /* it was its last */
		{ "b1,1,2", "+0@3 +1@3 +2@3" },
		{ "l2", "" }, /* the one it had left is dropped */
		{ "a0@3=1", "used x=-4" },
		{ "a1@3=1", "used x=-5 ." },
		{ NULL, NULL },
	};
	struct iso_method_totals totals =
	    timeline_play(timeline_make((struct iso_method_config){
			      .kind = ISO_METHOD_ASGD, .workers = 3, .capped = true }),
			  lines);

	ck_assert_uint_eq(totals.rounds, 2);
	ck_assert_uint_eq(totals.started, 7);
}
END_TEST

START_TEST(capped_ringmaster_counts_what_it_stops_and_ignores)
{
	static const struct line lines[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "b2,2", "+0@0 +1@0" },
		{ "a0@0=1", "used +0@1 -1<1 +1@1 x=-1" },
		{ "a0@1=1", "used -1<2 x=-2 ." }, /* 1 has used up its two */
		{ NULL, NULL },
	};
	struct iso_method_totals totals = timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_RINGMASTER_STOPS,
						      .workers = 2,
						      .capped = true,
						      .delay_max = 1 }),
	    lines);

	ck_assert_uint_eq(totals.started, 4);
	static const struct line ignored[] = {
		{ "j0", "." },
		{ "j1", "." },
		{ "b1,2", "+0@0 +1@0" },
		{ "a0@0=1", "used x=-1" },
		{ "a1@0=1", "void +1@1" },
		{ "a1@1=1", "used x=-2 ." },
		{ NULL, NULL },
	};
	(void)timeline_play(
	    timeline_make((struct iso_method_config){
		.kind = ISO_METHOD_RINGMASTER, .workers = 2, .capped = true, .delay_max = 1 }),
	    ignored);
}
END_TEST

START_TEST(a_worker_may_have_more_or_fewer_threads)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" },
		{ "t0*3", "+0@0*2" },
		{ "a0@0=1", "used +0@1 x=-1" },
		{ "t0*2", "" },
		{ "a0@0=1", "used x=-2" }, /* two others are at work */
		{ "a0@0=1", "used +0@3 x=-3" },
		{ "t0*9", "+0@3*2" }, /* depth_max is 4 */
		{ NULL, NULL },
	};
	static const struct line by_allocation[] = {
		{ "j0", "." }, { "t0*2", "." }, { "b2", "+0@0*2" }, { "t0*4", "" }, { NULL, NULL },
	};
	(void)timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_ASGD, .workers = 1 }),
	    lines);
	(void)timeline_play(
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 1 }),
	    by_allocation);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("rule_async");
	TCase *tc = tcase_create("rule_async");

	tcase_add_test(tc, asgd_applies_whatever_comes);
	tcase_add_test(tc, delay_adaptive_shrinks_the_step_beyond_n);
	tcase_add_test(tc, delay_adaptive_counts_threads);
	tcase_add_test(tc, naive_optimal_starts_only_those_admitted);
	tcase_add_test(tc, ringmaster_ignores_delays_of_r);
	tcase_add_test(tc, ringmaster_stops_what_would_be_ignored);
	tcase_add_loop_test(tc, ringmaster_with_r_1_equals_serial_sgd, 0, 2);
	tcase_add_test(tc, capped_asgd_starts_only_its_allocation);
	tcase_add_test(tc, capped_ringmaster_counts_what_it_stops_and_ignores);
	tcase_add_test(tc, a_worker_may_have_more_or_fewer_threads);
	suite_add_tcase(suite, tc);
	return suite;
}
