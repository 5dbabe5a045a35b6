/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Each rule as a time line.  Events:
 *      j0      worker 0 joins; j0*2: with two threads
 *      l0      it leaves
 *      t0*2    it has two threads from now on
 *      b2,1    a round begins with this allocation; b: without one
 *      a0@3=5  its gradient 5 at x^3 arrives
 *      v0@3    its computation at x^3 is lost
 *      m0>1    one of its computations is moved to worker 1
 *      n0, y0  it is not admitted, or again
 * What follows, in this order:
 *      used, kept, void   what became of the gradient
 *      -0<3    STOP worker 0 at points older than x^3
 *      +0@3    START worker 0 at x^3; +0@3*2: two
 *      x=5     if it moved
 *      .       the round is over, begin() is due
 */

struct line {
	const char *event;
	const char *outcome;
};

static struct iso_method *make(struct iso_method_config config)
{
	size_t size;
	struct iso_method *method = NULL;

	config.params = 1;
	if (config.depth_max == 0)
		config.depth_max = 4;
	if (config.step == 0)
		config.step = 1;
	size = iso_method_size(&config);
	ck_assert_ok(iso_method_init(malloc(size), size, &config, &method));
	return method;
}

static double x_of(const struct iso_method *method)
{
	return iso_method_exact_point(method)[0];
}

static void say(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	if (used > 0)
		text[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

static void say_orders(struct iso_method *method, char *text, size_t size)
{
	struct iso_method_order order;

	while (iso_method_next(method, &order)) {
		unsigned long long version = order.version;

		if (order.act == ISO_METHOD_STOP)
			say(text, size, "-%u<%llu", order.worker, version);
		else if (order.count == 1)
			say(text, size, "+%u@%llu", order.worker, version);
		else
			say(text, size, "+%u@%llu*%u", order.worker, version, order.count);
	}
}

static void arrive(struct iso_method *method, const char *event, char *text, size_t size)
{
	static const char *const verdicts[] = {
		[ISO_METHOD_USED] = "used",
		[ISO_METHOD_BUFFERED] = "kept",
		[ISO_METHOD_IGNORED] = "void",
	};
	unsigned long long version;
	struct iso_method_arrival arrival;
	float gradient;

	ck_assert_int_eq(sscanf(event, "a%u@%llu=%f", &arrival.worker, &version, &gradient), 3);
	arrival.version = version;
	arrival.gradient = &gradient;
	say(text, size, "%s", verdicts[iso_method_arrive(method, &arrival)]);
}

static void begin(struct iso_method *method, const char *event)
{
	uint32_t tasks[4] = { 0 };

	if (event[1] == '\0') {
		iso_method_begin(method, NULL);
		return;
	}
	ck_assert_int_ge(sscanf(event, "b%u,%u,%u,%u", &tasks[0], &tasks[1], &tasks[2], &tasks[3]),
			 1);
	iso_method_begin(method, tasks);
}

static void happen(struct iso_method *method, const char *event, char *text, size_t size)
{
	unsigned worker = 0, other = 1;
	unsigned long long version = 0;
	double x = x_of(method);

	(void)sscanf(event + 1, "%u%*[*>@]%u", &worker, &other);
	(void)sscanf(event + 1, "%*u@%llu", &version);
	if (event[0] == 'j')
		iso_method_join(method, worker, other);
	else if (event[0] == 'l')
		iso_method_leave(method, worker);
	else if (event[0] == 't')
		iso_method_set_depth(method, worker, other);
	else if (event[0] == 'b')
		begin(method, event);
	else if (event[0] == 'a')
		arrive(method, event, text, size);
	else if (event[0] == 'v')
		iso_method_lost(method, worker, version, 1);
	else if (event[0] == 'm')
		iso_method_move(method, worker, other, 1);
	else
		iso_method_admit(method, worker, event[0] == 'y');
	say_orders(method, text, size);
	if (x_of(method) != x)
		say(text, size, "x=%.6g", x_of(method));
	if (iso_method_between_rounds(method))
		say(text, size, ".");
}

/* Plays the lines; at the end no computation may be unaccounted for. */
static struct iso_method_totals play(struct iso_method *method, const struct line *lines)
{
	for (uint32_t i = 0; lines[i].event != NULL; i++) {
		char text[256] = "", *start = text;

		happen(method, lines[i].event, text, sizeof(text));
		ck_assert_msg(strcmp(start, lines[i].outcome) == 0,
			      "line %u, %s: \"%s\", not \"%s\"", i, lines[i].event, text,
			      lines[i].outcome);
	}
	return iso_method_totals(method);
}

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 3 }), lines);

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 3 }), lines);

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 2 }), lines);

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
	    play(make((struct iso_method_config){
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
	    play(make((struct iso_method_config){
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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_SGD_ATA, .workers = 3 }), lines);

	ck_assert_uint_eq(totals.updates, 2);
	ck_assert_uint_eq(totals.lost, 4);
	ck_assert_uint_eq(totals.used, 6);
}
END_TEST

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_ASGD, .workers = 2, .decay = 1 }),
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
	(void)play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_DELAY_ADAPTIVE, .workers = 2 }),
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
	(void)play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_DELAY_ADAPTIVE, .workers = 2 }),
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
	(void)play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_NAIVE_OPTIMAL, .workers = 3 }),
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
	    play(make((struct iso_method_config){
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
	struct iso_method *method = make((struct iso_method_config){
	    .kind = ISO_METHOD_RINGMASTER_STOPS, .workers = 2, .delay_max = 2 });

	(void)play(method, lines);
	static const struct line more[] = {
		{ "a1@0=9", "void" }, { "a1@2=1", "used +1@3 -0<2 +0@3 x=-4" },
		{ "l0", "" },         { "a1@2=1", "used +1@4 x=-5" },
		{ "v1@3", "+1@4" },   { NULL, NULL },
	};
	struct iso_method_totals totals = play(method, more);
	ck_assert_uint_eq(totals.stopped, 2);
	ck_assert_uint_eq(totals.ignored, 0);
	ck_assert_uint_eq(totals.late, 1);
	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

/* With R = 1 only gradients at the current point count: serial SGD, to the last bit. */
START_TEST(ringmaster_with_r_1_equals_serial_sgd)
{
	struct iso_method *method = make((struct iso_method_config){
	    .kind = ISO_METHOD_RINGMASTER, .workers = 3, .delay_max = 1, .step = 0.1 });
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
			at[order.worker] = order.version;
		uint32_t worker = (uint32_t)iso_rng_below(&rng, 3);
		float gradient = (float)(2 * x_of(method) + iso_rng_unit(&rng) - 0.5);
		bool fresh = at[worker] == iso_method_version(method);

		if (fresh)
			x -= 0.1 * (double)gradient;
		struct iso_method_arrival arrival = { worker, at[worker], &gradient };
		ck_assert_int_eq(iso_method_arrive(method, &arrival),
				 fresh ? ISO_METHOD_USED : ISO_METHOD_IGNORED);
		ck_assert(x_of(method) == x);
	}
	ck_assert_uint_gt(iso_method_totals(method).ignored, 100);
}
END_TEST

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER, .workers = 3 }), lines);

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER, .workers = 3 }), lines);

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
	struct iso_method *method =
	    make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER, .workers = 2 });
	struct iso_method_totals totals = play(method, lines);

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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_RINGLEADER, .workers = 2 }), lines);

	ck_assert_uint_eq(totals.late, 2);
	ck_assert_uint_eq(totals.lost, 2);
}
END_TEST

START_TEST(only_a_table_can_hold_gradients_of_a_saved_state)
{
	static const struct line lines[] = { { "j0", "+0@0" }, { NULL, NULL } };
	struct iso_method_config config = { .kind = ISO_METHOD_ASGD, .workers = 1 };
	struct iso_method *method = make(config);
	uint8_t bytes[256];

	(void)play(method, lines);
	iso_method_save(method, bytes);
	bytes[24 + 4 * 8]++; /* buffered */
	bytes[24 + 2 * 8]++; /* and started, so that it adds up */
	ck_assert_int_eq(iso_method_restore(make(config), bytes, iso_method_state_bytes(method)),
			 ISO_E_MALFORMED);
	bytes[24 + 4 * 8]--;
	bytes[24 + 2 * 8]--;
	ck_assert_ok(iso_method_restore(make(config), bytes, iso_method_state_bytes(method)));
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
	struct iso_method_totals totals = play(
	    make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 3 }), lines);

	ck_assert_uint_eq(totals.ignored, 1);
	ck_assert_uint_eq(totals.used, 5);
	ck_assert_uint_eq(totals.lost, 1);
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
	    play(make((struct iso_method_config){
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
	struct iso_method_totals totals =
	    play(make((struct iso_method_config){ .kind = ISO_METHOD_RINGMASTER_STOPS,
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
	(void)play(
	    make((struct iso_method_config){
		.kind = ISO_METHOD_RINGMASTER, .workers = 2, .capped = true, .delay_max = 1 }),
	    ignored);
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
	    play(make((struct iso_method_config){
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
	(void)play(make((struct iso_method_config){
		       .kind = ISO_METHOD_RINGLEADER, .workers = 2, .capped = true }),
		   lines);
}
END_TEST

/* IA2SGD with one entry that is used, one that waits, and one in flight. */
static struct iso_method *with_state(uint8_t **ret_bytes, size_t *ret_size)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" }, { "a0@0=1", "used +0@1 x=-1" },
		{ "j1", "+1@1" }, { "a1@1=3", "used +1@2 x=-3" },
		{ NULL, NULL },
	};
	struct iso_method *method =
	    make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });

	(void)play(method, lines);
	*ret_size = iso_method_state_bytes(method);
	*ret_bytes = malloc(*ret_size);
	iso_method_save(method, *ret_bytes);
	return method;
}

START_TEST(a_saved_state_goes_on_where_it_was)
{
	uint8_t *bytes;
	size_t size;
	(void)with_state(&bytes, &size);
	struct iso_method *method =
	    make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });

	ck_assert_ok(iso_method_restore(method, bytes, size));
	struct iso_method_totals totals = iso_method_totals(method);
	ck_assert_uint_eq(totals.used, 2);
	ck_assert_uint_eq(totals.lost, 2); /* what was in flight */
	ck_assert_uint_eq(totals.in_flight, 0);
	ck_assert_uint_eq(totals.updates, 2);
	static const struct line lines[] = {
		{ "j0", "+0@2" },
		{ "a0@2=5", "used +0@3 x=-7" }, /* (5 + 3)/2: 1 may still come back */
		{ "a0@3=5", "used +0@4 x=-11" },
		{ "a0@4=5", "used +0@5 x=-15" },
		{ "a0@5=5", "used +0@6 x=-19" },
		{ "a0@6=5", "used +0@7 x=-24" }, /* it has not */
		{ NULL, NULL },
	};
	(void)play(method, lines);
}
END_TEST

START_TEST(a_damaged_state_is_refused_and_changes_nothing)
{
	uint8_t *bytes;
	size_t size;
	(void)with_state(&bytes, &size);
	struct iso_method *method =
	    make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });
	size_t fresh_size = iso_method_state_bytes(method);
	uint8_t *fresh = malloc(fresh_size), *after = malloc(fresh_size);
	iso_method_save(method, fresh);

	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *part = malloc(cut + 1);

		memcpy(part, bytes, cut);
		ck_assert_int_ne(iso_method_restore(method, part, cut), ISO_OK);
		free(part);
	}
	uint8_t *longer = calloc(1, size + 1);
	memcpy(longer, bytes, size);
	ck_assert_int_eq(iso_method_restore(method, longer, size + 1), ISO_E_LONG);
	/* head, a total, x, the table's sum, an entry's worker, count, fresh, version, mean */
	static const struct {
		size_t offset;
		uint8_t value;
		enum iso_status status;
	} damages[] = {
		{ 0, 'J', ISO_E_MALFORMED },
		{ 4, 2, ISO_E_VERSION },
		{ 8, 10, ISO_E_CONFIG },
		{ 12, 3, ISO_E_CONFIG },
		{ 16, 2, ISO_E_CONFIG },
		{ 20, 2, ISO_E_MALFORMED },
		{ 24 + 2 * 8, 5, ISO_E_MALFORMED },         /* started more than became of it */
		{ 24 + 9 * 8, 3, ISO_E_MALFORMED },         /* a delay of more than all updates */
		{ 24 + 7 * 8 + 7, 0x10, ISO_E_MALFORMED },  /* more lost than can be counted */
		{ 24 + 11 * 8 + 7, 0x7f, ISO_E_MALFORMED }, /* x */
		{ 120, 3, ISO_E_MALFORMED },                /* more entries than workers */
		{ 128 + 7, 0x7f, ISO_E_MALFORMED },         /* sum */
		{ 136, 1, ISO_E_MALFORMED },                /* workers 1, 1 */
		{ 140, 0, ISO_E_MALFORMED },                /* an empty entry */
		{ 144, 1, ISO_E_MALFORMED },                /* fresh, and none is buffered */
		{ 148, 1, ISO_E_MALFORMED },
		{ 152, 3, ISO_E_MALFORMED },    /* of a point that is not yet */
		{ 163, 0x7f, ISO_E_MALFORMED }, /* mean */
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		uint8_t *damaged = malloc(size);

		memcpy(damaged, bytes, size);
		damaged[damages[i].offset] = damages[i].value;
		if (damages[i].value == 0x7f)
			damaged[damages[i].offset - 1] = 0xf0;
		ck_assert_msg(iso_method_restore(method, damaged, size) == damages[i].status,
			      "damage %zu", i);
		free(damaged);
	}
	iso_method_save(method, after);
	ck_assert_mem_eq(fresh, after, fresh_size);
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
	(void)play(make((struct iso_method_config){ .kind = ISO_METHOD_ASGD, .workers = 1 }),
		   lines);
	(void)play(make((struct iso_method_config){ .kind = ISO_METHOD_MINIBATCH, .workers = 1 }),
		   by_allocation);
}
END_TEST

static struct iso_method *asgd(void)
{
	return make((struct iso_method_config){ .kind = ISO_METHOD_ASGD, .workers = 2 });
}

START_TEST(dies_of_a_begin_that_is_not_due)
{
	iso_method_begin(asgd(), NULL);
}
END_TEST

START_TEST(dies_of_a_gradient_from_the_future)
{
	struct iso_method *method = asgd();
	float gradient = 1;
	struct iso_method_arrival arrival = { 0, 1, &gradient };

	iso_method_join(method, 0, 1);
	(void)iso_method_arrive(method, &arrival);
}
END_TEST

START_TEST(dies_of_a_worker_without_threads)
{
	iso_method_join(asgd(), 0, 0);
}
END_TEST

START_TEST(dies_of_an_unknown_worker)
{
	iso_method_join(asgd(), 2, 1);
}
END_TEST

START_TEST(dies_of_a_start_from_elsewhere_after_the_start)
{
	static const struct line lines[] = { { "j0", "+0@0" }, { NULL, NULL } };
	struct iso_method *method = asgd();
	float x = 1;

	(void)play(method, lines);
	iso_method_set_point(method, &x);
}
END_TEST

static void add_rules(TCase *tc)
{
	tcase_add_test(tc, minibatch_takes_the_mean_of_its_allocation);
	tcase_add_test(tc, minibatch_gives_lost_work_to_those_who_are_done);
	tcase_add_test(tc, minibatch_waits_for_a_worker_and_goes_on_with_the_next);
	tcase_add_test(tc, rennala_takes_the_first_s_and_stops_the_rest);
	tcase_add_test(tc, malenia_waits_for_the_harmonic_mean);
	tcase_add_test(tc, sgd_ata_takes_the_mean_of_means);
	tcase_add_test(tc, asgd_applies_whatever_comes);
	tcase_add_test(tc, delay_adaptive_shrinks_the_step_beyond_n);
	tcase_add_test(tc, delay_adaptive_counts_threads);
	tcase_add_test(tc, naive_optimal_starts_only_those_admitted);
	tcase_add_test(tc, ringmaster_ignores_delays_of_r);
	tcase_add_test(tc, ringmaster_stops_what_would_be_ignored);
	tcase_add_test(tc, ringmaster_with_r_1_equals_serial_sgd);
	tcase_add_test(tc, ringleader_follows_the_time_line_of_its_poster);
	tcase_add_test(tc, ringleader_lives_with_comers_and_goers);
	tcase_add_test(tc, ringleader_waits_for_all_threads_at_the_old_point);
	tcase_add_test(tc, ia2sgd_takes_the_mean_of_the_latest);
	tcase_add_test(tc, capped_asgd_starts_only_its_allocation);
	tcase_add_test(tc, capped_ringmaster_counts_what_it_stops_and_ignores);
	tcase_add_test(tc, capped_ringleader_never_waits_for_an_idle_worker);
	tcase_add_test(tc, capped_ringleader_goes_on_when_all_have_left_and_one_returns);
}

Suite *test_suite(void)
{
	Suite *suite = suite_create("rule");
	TCase *tc = tcase_create("rule");

	add_rules(tc);
	tcase_add_test(tc, a_worker_may_have_more_or_fewer_threads);
	tcase_add_test(tc, work_of_an_earlier_life_is_late);
	tcase_add_test(tc, only_a_table_can_hold_gradients_of_a_saved_state);
	tcase_add_test(tc, a_saved_state_goes_on_where_it_was);
	tcase_add_test(tc, a_damaged_state_is_refused_and_changes_nothing);
	tcase_add_test_raise_signal(tc, dies_of_a_begin_that_is_not_due, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_gradient_from_the_future, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_worker_without_threads, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_an_unknown_worker, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_start_from_elsewhere_after_the_start, SIGABRT);
	suite_add_tcase(suite, tc);
	return suite;
}
