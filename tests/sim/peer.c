/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/peer_world.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND (1000 * MS)

static const enum iso_stream_mode exact_modes[] = { ISO_STREAM_NONE, ISO_STREAM_INNOVATION };

START_TEST(calm_nodes_reach_the_optimum)
{
	struct peer_world world;

	peer_world_open(&world, test_seed_base() + (unsigned)_i, 6, exact_modes[_i]);
	peer_world_ring(&world);
	peer_world_link(&world, 0, 3);
	peer_world_start_all(&world);
	peer_world_run(&world, 5 * SECOND);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-9);
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

static void random_graph(struct peer_world *world)
{
	uint32_t n = world->nodes_count;

	peer_world_ring(world);
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 2; b < n; b++)
			if ((a > 0 || b < n - 1) && iso_rng_below(&world->rng, 4) == 0)
				peer_world_link(world, a, b);
}

static void some_trouble(struct peer_world *world)
{
	uint32_t n = world->nodes_count;
	uint32_t a = (uint32_t)iso_rng_below(&world->rng, n);
	uint32_t b = (uint32_t)iso_rng_below(&world->rng, n);

	switch (iso_rng_below(&world->rng, 6)) {
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

	peer_world_open(&world, seed, 3 + (unsigned)_i % 6, exact_modes[_i % 2]);
	random_graph(&world);
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
	peer_world_run(&world, 10 * SECOND);
	double gap = peer_world_gap_up(&world);
	ck_assert_msg(gap < 1e-9, "seed %llu: gap %g", (unsigned long long)seed, gap);
	peer_world_close(&world);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer");
	TCase *tcase = tcase_create("peer");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, calm_nodes_reach_the_optimum, 0, 2);
	tcase_add_loop_test(tcase, chaos_leaves_no_trace, 0, test_runs(20));
	suite_add_tcase(suite, tcase);
	return suite;
}
