/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One node's worker is in hostile hands; the others learn what there is to learn without it. */
#include "config.h"

#include "lib/bytes.h"
#include "tests/sim/peer_world.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NODES	     5u
#define HOSTILE	     2u	 /* between 1 and 3 */
#define NUMBER_AT    12u /* in a stream */
#define ALPHA_AT     112u
#define CURVATURE_AT 120u

/* A ring, and after it a path of those that are left. */
static void open_ring(struct peer_world *world, int run, enum iso_stream_mode mode,
		      peer_tamper *tamper)
{
	peer_world_open_ring(world, test_seed_base() + (unsigned)run, NODES, mode);
	world->tamper = tamper;
}

/* From its first word on. */
static void start_hostile(struct peer_world *world)
{
	world->nodes[HOSTILE].hostile = true;
	peer_world_start_all(world);
}

/* Of all but the hostile one, from the optimum of theirs. */
static double gap_of_the_rest(const struct peer_world *world)
{
	bool counts[PEER_NODES_MAX];

	for (uint32_t i = 0; i < NODES; i++)
		counts[i] = i != HOSTILE;
	return peer_world_gap(world, counts);
}

/* How its two neighbours have it. */
static void check_it_is(const struct peer_world *world, enum iso_peer_state state, uint64_t bars)
{
	for (uint32_t i = 1; i <= 3; i += 2) {
		struct iso_peer_edge edge = peer_world_edge(world, i, HOSTILE);

		ck_assert_int_eq(edge.state, state);
		ck_assert_uint_eq(edge.bars, bars);
		ck_assert(state != ISO_PEER_IS_LIVE || edge.barred_ns == 0);
	}
}

static void check_nobody_else_is_barred(const struct peer_world *world)
{
	for (uint32_t i = 0; i < NODES; i++)
		if (i != HOSTILE && (i + 1) % NODES != HOSTILE) {
			ck_assert_uint_eq(peer_world_edge(world, i, (i + 1) % NODES).bars, 0);
			ck_assert_uint_eq(peer_world_edge(world, (i + 1) % NODES, i).bars, 0);
		}
}

static void put_double(uint8_t *at, double value)
{
	iso_put_le(at, iso_bits_of_double(value), 8);
}

static double number; /* what is sent in the place of one */

/* y and z in turn; a snapshot, or streams of doubles, which have heads. */
static void swell(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	uint8_t kind = packet->head[6];
	uint8_t *z = payload + iso_get_le(packet->head + 152, 4);
	uint32_t offset = kind == ISO_PEER_INNOVATION ? NUMBER_AT : 0;

	if (kind != ISO_PEER_SNAPSHOT &&
	    (kind != ISO_PEER_INNOVATION || world->config.stream.mode != ISO_STREAM_NONE))
		return;
	put_double((iso_rng_next(&world->rng) & 1 ? payload : z) + offset + 8, number);
}

static const double huge[] = { 0x1p60, -0x1p104, -0x1p1000, DBL_MAX, (double)INFINITY,
			       (double)NAN };

START_TEST(who_begins_with_huge_numbers_is_left_out)
{
	struct peer_world world;
	enum iso_stream_mode mode = _i % 2 == 0 ? ISO_STREAM_NONE : ISO_STREAM_INNOVATION;

	number = huge[_i];
	open_ring(&world, _i, mode, swell);
	start_hostile(&world);
	peer_world_run(&world, 8 * SECOND);
	for (uint32_t i = 1; i <= 3; i += 2) {
		struct iso_peer_edge edge = peer_world_edge(&world, i, HOSTILE);

		/* 0.36 s, 0.72 s, ... between one time and the next. */
		ck_assert_uint_ge(edge.bars, 3);
		ck_assert_uint_le(edge.bars, 5);
		ck_assert_int_eq(edge.state, ISO_PEER_IS_DOWN);
		ck_assert_uint_gt(edge.barred_ns, 0);
	}
	check_nobody_else_is_barred(&world);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

/* Of one that was in step: nothing of what it says then counts. */
START_TEST(who_turns_hostile_is_left_out_at_once)
{
	struct peer_world world;

	number = huge[_i];
	open_ring(&world, _i, ISO_STREAM_NONE, swell);
	peer_world_start_all(&world);
	peer_world_run(&world, SECOND);
	world.nodes[HOSTILE].hostile = true;
	peer_world_run(&world, 30 * MS);
	check_it_is(&world, ISO_PEER_IS_DOWN, 1);
	peer_world_run(&world, 8 * SECOND);
	check_nobody_else_is_barred(&world);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

/* The highest level of y's stream: all that has changed has changed by as much. */
static void raise_anchor(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	(void)world;
	if (packet->head[6] == ISO_PEER_INNOVATION)
		iso_put_le(payload + 8, iso_bits_of_float((float)number), 4);
}

START_TEST(changes_add_up_to_no_huge_number)
{
	struct peer_world world;

	/* One such change is beyond reason, or only many of them are. */
	number = _i == 0 ? 0x1p60 : 0x1p36;
	open_ring(&world, _i, ISO_STREAM_INNOVATION, raise_anchor);
	peer_world_start_all(&world);
	peer_world_run(&world, 100 * MS);
	world.nodes[HOSTILE].hostile = true;
	peer_world_run(&world, 5 * SECOND);
	ck_assert_uint_ge(peer_world_edge(&world, 1, HOSTILE).bars, 1);
	peer_world_kill(&world, HOSTILE);
	peer_world_run(&world, 20 * SECOND);
	check_nobody_else_is_barred(&world);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-6);
	peer_world_close(&world);
}
END_TEST

/* As large as is still believed, and against all that the others do; once it is over they mend. */
START_TEST(what_is_just_believed_ends_nobody)
{
	struct peer_world world;

	number = 0x1p38;
	open_ring(&world, _i, ISO_STREAM_NONE, swell);
	world.config.alpha = _i == 0 ? 0.2 : 0;
	start_hostile(&world);
	for (unsigned i = 0; i < 20; i++) {
		number = -number;
		peer_world_run(&world, 100 * MS);
	}
	ck_assert_double_gt(gap_of_the_rest(&world), 1e3);
	ck_assert_uint_eq(peer_world_edge(&world, 1, HOSTILE).bars, 0);
	check_nobody_else_is_barred(&world);
	peer_world_kill(&world, HOSTILE);
	peer_world_run(&world, (_i == 0 ? 20 : 120) * SECOND);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-3);
	peer_world_close(&world);
}
END_TEST

static void slow_down(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	(void)world;
	(void)payload;
	put_double(packet->head + ALPHA_AT, number);
	put_double(packet->head + CURVATURE_AT, ISO_PEER_AMOUNT_MAX);
}

/* Neither an alpha nor a curvature that no neighbour can have makes the steps small. */
START_TEST(nobody_brings_the_steps_to_nothing)
{
	struct peer_world world;

	number = _i == 0 ? DBL_TRUE_MIN : 0x1p-100;
	open_ring(&world, _i, ISO_STREAM_INNOVATION, slow_down);
	world.config.alpha = 0;
	start_hostile(&world);
	peer_world_run(&world, 20 * SECOND);
	ck_assert_double_gt(peer_world_status(&world, 1).alpha, 1e-2);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-6);
	peer_world_close(&world);
}
END_TEST

/* Says that it is done when nobody is: its last numbers would count for ever. */
static void end_early(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	(void)payload;
	if (packet->head[6] != ISO_PEER_POKE && packet->head[6] != ISO_PEER_ACK)
		return;
	packet->head[6] = ISO_PEER_BYE;
	iso_put_le(packet->head + 108, ISO_PEER_DONE, 4);
	(void)world;
}

START_TEST(nobody_is_done_before_the_last_round)
{
	struct peer_world world;

	open_ring(&world, _i, ISO_STREAM_INNOVATION, end_early);
	world.config.rounds = _i == 0 ? 0 : 1000000;
	peer_world_start_all(&world);
	peer_world_run(&world, 300 * MS);
	world.nodes[HOSTILE].hostile = true;
	/* So that something is asked for. */
	world.loss = 0.1;
	peer_world_run(&world, 2 * SECOND);
	ck_assert_int_ne(peer_world_edge(&world, 1, HOSTILE).state, ISO_PEER_IS_DONE);
	ck_assert_uint_gt(peer_world_edge(&world, 1, HOSTILE).frames_bad, 0);
	world.loss = 0;
	peer_world_kill(&world, HOSTILE);
	peer_world_run(&world, 8 * SECOND);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

/* Any field of the head is any number that is extreme. */
static void say_anything(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	static const struct {
		uint8_t at, bytes;
	} fields[] = {
		{ 6, 2 },   { 32, 8 },	{ 40, 8 },  { 48, 4 },	{ 52, 4 },  { 56, 8 },	{ 64, 4 },
		{ 68, 4 },  { 72, 8 },	{ 80, 8 },  { 88, 8 },	{ 96, 8 },  { 104, 2 }, { 106, 2 },
		{ 108, 4 }, { 112, 8 }, { 120, 8 }, { 128, 8 }, { 136, 8 }, { 152, 4 }, { 156, 4 },
	};
	static const uint64_t values[] = { 0, 1, 2, 4, UINT32_MAX, UINT64_MAX, ISO_PEER_ROUND_MAX,
					   ISO_PEER_AGE_MAX - 1, ISO_PEER_NEIGHBOURS_MAX };
	static const double reals[] = { 0x1p500, 0x1p-1074, 0x1p-500, 0x1p40, -1 };
	size_t which = iso_rng_below(&world->rng, sizeof(fields) / sizeof(fields[0]));
	size_t what = iso_rng_below(&world->rng, 2 * sizeof(values) / sizeof(values[0]));
	uint64_t value;

	(void)payload;
	if (iso_rng_below(&world->rng, 4) != 0)
		return;
	if (what < sizeof(values) / sizeof(values[0]))
		value = values[what];
	else
		value = iso_bits_of_double(reals[what % (sizeof(reals) / sizeof(reals[0]))]);
	iso_put_le(packet->head + fields[which].at, value, fields[which].bytes);
}

START_TEST(whatever_it_says_the_rest_go_on)
{
	struct peer_world world;
	uint64_t seed = test_seed_base() + (unsigned)_i;

	open_ring(&world, _i, _i % 2 == 0 ? ISO_STREAM_NONE : ISO_STREAM_INNOVATION, say_anything);
	world.config.alpha = _i % 4 < 2 ? 0.2 : 0;
	start_hostile(&world);
	peer_world_run(&world, 3 * SECOND);
	check_nobody_else_is_barred(&world);
	peer_world_kill(&world, HOSTILE);
	peer_world_run(&world, (_i % 4 < 2 ? 10 : 60) * SECOND);
	double gap = gap_of_the_rest(&world);
	ck_assert_msg(gap < 1e-6, "seed %llu: gap %g", (unsigned long long)seed, gap);
	peer_world_close(&world);
}
END_TEST

/* A false alarm: both ends forget F, the other one as soon as it hears of it, or by itself. */
START_TEST(who_is_barred_forgets_too_and_comes_back)
{
	struct peer_world world;

	number = 0x1p60;
	open_ring(&world, _i, ISO_STREAM_NONE, swell);
	peer_world_start_all(&world);
	peer_world_run(&world, SECOND);
	world.nodes[HOSTILE].hostile = true;
	world.cut[1][HOSTILE] = _i == 1;
	while (peer_world_edge(&world, 1, HOSTILE).bars == 0 ||
	       peer_world_edge(&world, 3, HOSTILE).bars == 0)
		peer_world_run(&world, MS / 4);
	world.nodes[HOSTILE].hostile = false;
	peer_world_run(&world, 5 * MS);
	ck_assert_int_eq(peer_world_edge(&world, HOSTILE, 1).state,
			 _i == 0 ? ISO_PEER_IS_DOWN : ISO_PEER_IS_LIVE);
	ck_assert_uint_eq(peer_world_edge(&world, HOSTILE, 1).holds, 0);
	ck_assert_int_eq(peer_world_edge(&world, HOSTILE, 3).state, ISO_PEER_IS_DOWN);
	world.cut[1][HOSTILE] = false;
	peer_world_run(&world, 300 * MS);
	ck_assert_int_eq(peer_world_edge(&world, 1, HOSTILE).state, ISO_PEER_IS_DOWN);
	peer_world_run(&world, 200 * MS);
	check_it_is(&world, ISO_PEER_IS_LIVE, 1);
	peer_world_settle(&world, 5 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* Time after time it is barred for longer; once it is mended and begins anew it need not wait. */
START_TEST(who_is_mended_and_begins_anew_is_heard_soon)
{
	struct peer_world world;

	number = 0x1p60;
	open_ring(&world, _i, ISO_STREAM_NONE, swell);
	start_hostile(&world);
	while (peer_world_edge(&world, 1, HOSTILE).bars < 5 ||
	       peer_world_edge(&world, 3, HOSTILE).bars < 5)
		peer_world_run(&world, MS);
	world.nodes[HOSTILE].hostile = false;
	/* Not by going on as if nothing had been. */
	peer_world_run(&world, SECOND);
	for (uint32_t i = 1; i <= 3; i += 2) {
		ck_assert_int_eq(peer_world_edge(&world, i, HOSTILE).state, ISO_PEER_IS_DOWN);
		ck_assert_uint_gt(peer_world_edge(&world, i, HOSTILE).barred_ns, SECOND);
	}
	peer_world_kill(&world, HOSTILE);
	peer_world_start(&world, HOSTILE);
	peer_world_run(&world, SECOND);
	check_it_is(&world, ISO_PEER_IS_LIVE, 5);
	peer_world_settle(&world, 5 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* Being started again and again does not let a hostile one be heard all the time. */
START_TEST(beginning_anew_does_not_end_a_bar_at_once)
{
	struct peer_world world;

	number = 0x1p60;
	open_ring(&world, _i, ISO_STREAM_NONE, swell);
	start_hostile(&world);
	for (unsigned i = 0; i < 40; i++) {
		peer_world_run(&world, 50 * MS);
		peer_world_kill(&world, HOSTILE);
		peer_world_start(&world, HOSTILE);
	}
	/* 2 s hold five times 0.36 s. */
	for (uint32_t i = 1; i <= 3; i += 2)
		ck_assert_uint_le(peer_world_edge(&world, i, HOSTILE).bars, 6);
	check_nobody_else_is_barred(&world);
	peer_world_kill(&world, HOSTILE);
	peer_world_run(&world, 5 * SECOND);
	ck_assert_double_lt(gap_of_the_rest(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer_hostile");
	TCase *tcase = tcase_create("hostile");
	const int count = (int)(sizeof(huge) / sizeof(huge[0]));

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, who_begins_with_huge_numbers_is_left_out, 0, count);
	tcase_add_loop_test(tcase, who_turns_hostile_is_left_out_at_once, 0, count);
	tcase_add_loop_test(tcase, changes_add_up_to_no_huge_number, 0, 2);
	tcase_add_loop_test(tcase, what_is_just_believed_ends_nobody, 0, 2);
	tcase_add_loop_test(tcase, nobody_brings_the_steps_to_nothing, 0, 2);
	tcase_add_loop_test(tcase, nobody_is_done_before_the_last_round, 0, 2);
	tcase_add_loop_test(tcase, whatever_it_says_the_rest_go_on, 0, test_runs(12));
	tcase_add_loop_test(tcase, who_is_barred_forgets_too_and_comes_back, 0, 2);
	tcase_add_loop_test(tcase, who_is_mended_and_begins_anew_is_heard_soon, 0, 2);
	tcase_add_loop_test(tcase, beginning_anew_does_not_end_a_bar_at_once, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
