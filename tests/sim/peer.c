/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links that lose frames or are cut, nodes that die, are slow, or begin anew. */
#include "config.h"

#include "tests/sim/peer_world.h"
#include "tests/test.h"

#include <string.h>

START_TEST(calm_nodes_reach_the_optimum)
{
	struct peer_world world;

	peer_world_open_ring(&world, test_seed_base() + (unsigned)_i, 6, peer_exact_modes[_i]);
	peer_world_link(&world, 0, 3);
	peer_world_start_all(&world);
	peer_world_settle(&world, 5 * SECOND);
	ck_assert_uint_gt(world.checked_pairs, 1000);
	for (uint32_t i = 0; i < 6; i++) {
		struct iso_peer_status status = peer_world_status(&world, i);

		ck_assert_uint_gt(status.round, 500);
		ck_assert_uint_eq(status.live, world.nodes[i].neighbour_count);
		ck_assert_double_lt(status.spread, 1e-9);
		/* Nothing was held or begun anew. */
		for (uint32_t j = 0; j < world.nodes[i].neighbour_count; j++) {
			struct iso_peer_edge edge =
				peer_world_edge(&world, i, world.nodes[i].neighbours[j]);

			ck_assert_uint_eq(edge.sessions, 1);
			ck_assert_uint_eq(edge.holds, 0);
			ck_assert_uint_gt(edge.settled + 3, status.round);
		}
	}
	peer_world_close(&world);
}
END_TEST

/* The rounds of others go on, and what flows to and from it still makes the optimum of all. */
START_TEST(a_slow_node_is_held_and_counts)
{
	struct peer_world world;

	peer_world_open_ring(&world, 5, 5, peer_exact_modes[_i]);
	world.nodes[1].compute_ns = 250 * MS;
	peer_world_start_all(&world);
	peer_world_run(&world, SECOND);
	uint64_t slow = iso_peer_round(world.nodes[1].peer);
	uint64_t other = iso_peer_round(world.nodes[3].peer);
	peer_world_run(&world, 60 * SECOND);
	ck_assert_uint_lt(iso_peer_round(world.nodes[1].peer) - slow, 300);
	ck_assert_uint_gt(iso_peer_round(world.nodes[3].peer) - other, 700);
	ck_assert_uint_gt(peer_world_edge(&world, 0, 1).holds, 100);
	ck_assert_uint_eq(peer_world_edge(&world, 0, 1).drops, 0);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-8);
	peer_world_close(&world);
}
END_TEST

START_TEST(the_rest_of_a_dead_node_reach_their_optimum)
{
	struct peer_world world;

	peer_world_open_ring(&world, 6, 5, peer_exact_modes[_i]);
	peer_world_start_all(&world);
	peer_world_run(&world, 500 * MS);
	peer_world_kill(&world, 2);
	peer_world_run(&world, 100 * MS);
	/* Silent, and held: as if it were still there. */
	ck_assert_int_eq(peer_world_edge(&world, 1, 2).state, ISO_PEER_IS_HELD);
	ck_assert(peer_world_edge(&world, 1, 2).flux[0] != 0);
	peer_world_run(&world, 400 * MS);
	ck_assert_int_eq(peer_world_edge(&world, 1, 2).state, ISO_PEER_IS_DOWN);
	ck_assert(peer_world_edge(&world, 1, 2).flux[0] == 0);
	peer_world_settle(&world, 5 * SECOND);
	/* Back without a memory: it takes y and round, and all is as before. */
	uint64_t round = iso_peer_round(world.nodes[1].peer);
	peer_world_start(&world, 2);
	peer_world_run(&world, 20 * MS);
	ck_assert(peer_world_status(&world, 2).adopted);
	ck_assert_uint_ge(iso_peer_round(world.nodes[2].peer), round);
	ck_assert_int_eq(peer_world_edge(&world, 1, 2).state, ISO_PEER_IS_LIVE);
	peer_world_settle(&world, 5 * SECOND);
	peer_world_close(&world);
}
END_TEST

START_TEST(both_ends_may_begin_anew_at_once)
{
	struct peer_world world;

	peer_world_open_ring(&world, 9, 4, peer_exact_modes[_i]);
	peer_world_start_all(&world);
	peer_world_run(&world, 300 * MS);
	peer_world_kill(&world, 0);
	peer_world_kill(&world, 1);
	peer_world_start(&world, 0);
	peer_world_start(&world, 1);
	peer_world_run(&world, 40 * MS);
	/* Between them nobody was further on at first; both have it from their other side. */
	ck_assert(peer_world_status(&world, 0).adopted);
	ck_assert(peer_world_status(&world, 1).adopted);
	ck_assert_int_eq(peer_world_edge(&world, 0, 1).state, ISO_PEER_IS_LIVE);
	peer_world_settle(&world, 5 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* One direction is dead: neither end keeps an F that the other has forgotten. */
START_TEST(a_link_that_works_one_way_is_dropped_by_both)
{
	struct peer_world world;

	peer_world_open_ring(&world, 12, 4, peer_exact_modes[_i]);
	peer_world_start_all(&world);
	peer_world_run(&world, 300 * MS);
	world.cut[0][1] = true;
	peer_world_run(&world, SECOND);
	ck_assert_int_eq(peer_world_edge(&world, 0, 1).state, ISO_PEER_IS_DOWN);
	ck_assert_int_eq(peer_world_edge(&world, 1, 0).state, ISO_PEER_IS_DOWN);
	peer_world_run(&world, 5 * SECOND);
	/* All are connected by the other edges. */
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-9);
	peer_world_check_rest(&world);
	world.cut[0][1] = false;
	peer_world_run(&world, 100 * MS);
	ck_assert_int_eq(peer_world_edge(&world, 0, 1).state, ISO_PEER_IS_LIVE);
	peer_world_settle(&world, 3 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* A cut shorter than drop_ns: F goes on where it was, but for one pair at most. */
START_TEST(after_a_short_cut_f_is_resumed)
{
	struct peer_world world;
	uint64_t seed = test_seed_base() + (unsigned)_i;

	peer_world_open(&world, seed, 2, peer_exact_modes[_i % 2]);
	peer_world_link(&world, 0, 1);
	peer_world_start_all(&world);
	peer_world_run(&world, 2 * SECOND + iso_rng_below(&world.rng, 10 * MS));
	double before = peer_world_edge(&world, 0, 1).flux[0];

	ck_assert(before != 0);
	world.cut[0][1] = true;
	world.cut[1][0] = _i % 3 != 0;
	peer_world_run(&world, 150 * MS);
	ck_assert_int_eq(peer_world_edge(&world, 0, 1).state, ISO_PEER_IS_HELD);
	memset(world.cut, 0, sizeof(world.cut));
	peer_world_run(&world, 30 * MS);
	ck_assert_int_eq(peer_world_edge(&world, 0, 1).state, ISO_PEER_IS_LIVE);
	ck_assert_uint_eq(peer_world_edge(&world, 0, 1).drops, 0);
	ck_assert_uint_eq(peer_world_edge(&world, 1, 0).drops, 0);
	ck_assert_double_eq_tol(peer_world_edge(&world, 0, 1).flux[0], before, 1e-6);
	peer_world_settle(&world, 2 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* A frame that is lost is sent again; the session goes on. */
START_TEST(a_lost_frame_does_not_end_the_session)
{
	struct peer_world world;

	peer_world_open_ring(&world, 13, 4, ISO_STREAM_INNOVATION);
	peer_world_start_all(&world);
	peer_world_run(&world, 100 * MS);
	world.loss = 0.02;
	world.twice = 0.02;
	peer_world_run(&world, 2 * SECOND);
	ck_assert_uint_gt(world.lost, 50);
	uint64_t holds = 0, sessions = 0;
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t j = 0; j < 2; j++) {
			struct iso_peer_edge edge =
				peer_world_edge(&world, i, world.nodes[i].neighbours[j]);

			holds += edge.holds;
			sessions += edge.sessions;
		}
	ck_assert_msg(holds <= world.lost / 20, "%llu of %llu", (unsigned long long)holds,
		      (unsigned long long)world.lost);
	ck_assert_uint_le(sessions, 8 + holds);
	peer_world_close(&world);
}
END_TEST

/* Both frames of a pair are lost: whoever waits asks. */
START_TEST(a_blink_is_bridged_without_a_hold)
{
	struct peer_world world;

	peer_world_open(&world, 22, 2, ISO_STREAM_INNOVATION);
	peer_world_link(&world, 0, 1);
	peer_world_start_all(&world);
	peer_world_run(&world, 100 * MS);
	for (unsigned i = 0; i < 20; i++) {
		world.cut[0][1] = world.cut[1][0] = true;
		peer_world_run(&world, 20 * MS);
		world.cut[0][1] = world.cut[1][0] = false;
		uint64_t round = iso_peer_round(world.nodes[0].peer);
		peer_world_run(&world, 40 * MS);
		ck_assert_uint_gt(iso_peer_round(world.nodes[0].peer), round + 2);
	}
	ck_assert_uint_eq(peer_world_edge(&world, 0, 1).sessions, 1);
	ck_assert_uint_eq(peer_world_edge(&world, 0, 1).holds, 0);
	peer_world_close(&world);
}
END_TEST

START_TEST(a_payload_that_does_not_decode_begins_anew)
{
	struct peer_world world;

	peer_world_open_ring(&world, 14, 3, ISO_STREAM_INNOVATION);
	peer_world_start_all(&world);
	peer_world_run(&world, 300 * MS);
	for (unsigned i = 0; i < 5; i++) {
		world.damage = true;
		peer_world_run(&world, 50 * MS);
		ck_assert(!world.damage);
	}
	uint64_t resyncs = 0, drops = 0;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 2; j++) {
			resyncs += peer_world_edge(&world, i, (i + j + 1) % 3).resyncs;
			drops += peer_world_edge(&world, i, (i + j + 1) % 3).drops;
		}
	ck_assert_uint_ge(resyncs, 5);
	ck_assert_uint_eq(drops, 0);
	peer_world_settle(&world, 3 * SECOND);
	peer_world_close(&world);
}
END_TEST

static void some_trouble(struct peer_world *world)
{
	uint32_t n = world->nodes_count;
	uint32_t a = (uint32_t)iso_rng_below(&world->rng, n);
	uint32_t b = (uint32_t)iso_rng_below(&world->rng, n);

	switch (iso_rng_below(&world->rng, 7)) {
	case 0:
		if (world->nodes[a].up)
			peer_world_kill(world, a);
		break;
	case 1:
		if (!world->nodes[a].up)
			peer_world_start(world, a);
		break;
	case 2: world->cut[a][b] = true; break;
	case 3: world->cut[a][b] = world->cut[b][a] = false; break;
	case 4: world->nodes[a].compute_ns = MS + iso_rng_below(&world->rng, 100 * MS); break;
	case 5: world->damage = true; break;
	case 6:
		if (!world->nodes[a].up)
			peer_world_start_at(world, a, world->y_first,
					    iso_rng_below(&world->rng, 200));
		break;
	}
}

/*
 * Frames are lost, doubled, late and out of order, nodes die and come back, are slower than
 * they are waited for, links are cut both ways and one way, payloads do not decode.  Once it is
 * over all is as if it had never been.
 */
START_TEST(chaos_leaves_no_trace)
{
	struct peer_world world;
	uint64_t seed = test_seed_base() + (unsigned)_i;

	peer_world_open(&world, seed, 3 + (unsigned)(seed % 6), peer_exact_modes[seed % 2]);
	peer_world_random(&world);
	world.config.alpha = seed % 5 == 0 ? 0 : 0.2;
	world.config.stream.coarser = seed % 3 == 0 ? 2 : 0;
	peer_world_start_all(&world);
	world.loss = 0.1;
	world.twice = 0.1;
	world.delay_max_ns = 20 * MS;
	for (unsigned i = 0; i < 100; i++) {
		some_trouble(&world);
		peer_world_run(&world, iso_rng_below(&world.rng, 100 * MS));
	}
	memset(world.cut, 0, sizeof(world.cut));
	world.loss = world.twice = 0;
	world.delay_max_ns = 2 * MS;
	world.damage = false;
	for (uint32_t i = 0; i < world.nodes_count; i++) {
		world.nodes[i].compute_ns = 2 * MS;
		if (!world.nodes[i].up)
			peer_world_start(&world, i);
	}
	/* alpha takes its time. */
	peer_world_run(&world, (seed % 5 == 0 ? 60 : 10) * SECOND);
	double gap = peer_world_gap_up(&world);
	ck_assert_msg(gap < 1e-9, "seed %llu: gap %g", (unsigned long long)seed, gap);
	peer_world_close(&world);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer");
	TCase *tcase = tcase_create("trouble");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, calm_nodes_reach_the_optimum, 0, 2);
	tcase_add_loop_test(tcase, a_slow_node_is_held_and_counts, 0, 2);
	tcase_add_loop_test(tcase, the_rest_of_a_dead_node_reach_their_optimum, 0, 2);
	tcase_add_loop_test(tcase, both_ends_may_begin_anew_at_once, 0, 2);
	tcase_add_loop_test(tcase, a_link_that_works_one_way_is_dropped_by_both, 0, 2);
	tcase_add_loop_test(tcase, after_a_short_cut_f_is_resumed, 0, 12);
	tcase_add_test(tcase, a_lost_frame_does_not_end_the_session);
	tcase_add_test(tcase, a_blink_is_bridged_without_a_hold);
	tcase_add_test(tcase, a_payload_that_does_not_decode_begins_anew);
	tcase_add_loop_test(tcase, chaos_leaves_no_trace, 0, test_runs(20));
	suite_add_tcase(suite, tcase);
	return suite;
}
