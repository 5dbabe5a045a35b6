/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run calculates, how it begins, how it ends, and the weight of the gradient. */
#include "config.h"

#include "tests/sim/peer_world.h"
#include "tests/test.h"

#include <string.h>

/* The same iteration of all nodes at once, as lib/track/flow.h has it, on a ring. */
struct field {
	double y[PEER_NODES_MAX][PEER_PARAMS], z[PEER_NODES_MAX][PEER_PARAMS];
	double y_seen[PEER_NODES_MAX][PEER_PARAMS], z_seen[PEER_NODES_MAX][PEER_PARAMS];
	double flux[PEER_NODES_MAX][PEER_PARAMS]; /* of the edge to the next */
};

static void field_round(struct field *field, const struct peer_world *world, bool first)
{
	uint32_t n = world->nodes_count;
	double weight = world->config.step / 3;

	for (uint32_t i = 0; i < n; i++) {
		const struct peer_node *node = &world->nodes[i];

		for (uint32_t k = 0; k < PEER_PARAMS; k++)
			field->z[i][k] = node->a[k] * (field->y[i][k] - node->b[k]) +
					 field->flux[i][k] - field->flux[(i + n - 1) % n][k];
		if (first) {
			memcpy(field->y_seen[i], field->y[i], sizeof(field->y[i]));
			memcpy(field->z_seen[i], field->z[i], sizeof(field->z[i]));
		} else {
			iso_stream_apply(&world->config.stream, field->y[i], field->y_seen[i]);
			iso_stream_apply(&world->config.stream, field->z[i], field->z_seen[i]);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < PEER_PARAMS; k++) {
			double here = field->y_seen[i][k];
			double pull = field->y_seen[(i + 1) % n][k] - here +
				      (field->y_seen[(i + n - 1) % n][k] - here);

			field->flux[i][k] += weight * (field->z_seen[(i + 1) % n][k] -
						       field->z_seen[i][k]);
			field->y[i][k] += weight * pull -
					  world->config.step * world->config.alpha * field->z[i][k];
		}
}

START_TEST(without_trouble_it_is_the_lock_step_iteration)
{
	static struct field field;
	struct peer_world world;
	const uint64_t rounds = 40;

	memset(&field, 0, sizeof(field));
	peer_world_open_ring(&world, 4, 5, (enum iso_stream_mode)(ISO_STREAM_NONE + _i));
	world.config.rounds = rounds;
	world.nodes[2].compute_ns = 7 * MS;
	peer_world_start_all(&world);
	ck_assert(peer_world_run_out(&world, 10 * SECOND));
	for (uint32_t i = 0; i < 5; i++)
		memcpy(field.y[i], world.y_first, sizeof(field.y[i]));
	for (uint64_t r = 0; r < rounds; r++)
		field_round(&field, &world, r == 0);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(iso_peer_round(world.nodes[i].peer), rounds);
		for (uint32_t k = 0; k < PEER_PARAMS; k++)
			ck_assert_double_eq_tol(iso_peer_model(world.nodes[i].peer)[k],
						field.y[i][k], 1e-9);
	}
	peer_world_check_rest(&world);
	peer_world_close(&world);
}
END_TEST

START_TEST(all_at_once_begin_from_the_plans_y)
{
	struct peer_world world;

	peer_world_open_ring(&world, 10, 4, ISO_STREAM_INNOVATION);
	peer_world_start_all(&world);
	peer_world_run(&world, 100 * MS);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert(!peer_world_status(&world, i).adopted);
	peer_world_close(&world);
}
END_TEST

/* Another neighbour is dead: the run does not wait for it with the one that comes back. */
START_TEST(who_comes_back_keeps_nobody_waiting)
{
	struct peer_world world;

	peer_world_open_ring(&world, 23, 4, ISO_STREAM_INNOVATION);
	peer_world_start_all(&world);
	peer_world_run(&world, 200 * MS);
	peer_world_kill(&world, 2);
	peer_world_run(&world, 500 * MS);
	world.config.wait_ns = 10 * SECOND;
	peer_world_kill(&world, 1);
	peer_world_start(&world, 1);
	peer_world_run(&world, 50 * MS);
	ck_assert(peer_world_status(&world, 1).adopted);
	uint64_t round = iso_peer_round(world.nodes[1].peer);
	uint64_t other = iso_peer_round(world.nodes[0].peer);
	peer_world_run(&world, 50 * MS);
	ck_assert_uint_gt(iso_peer_round(world.nodes[1].peer), round + 5);
	ck_assert_uint_gt(iso_peer_round(world.nodes[0].peer), other + 5);
	ck_assert_uint_eq(peer_world_edge(&world, 0, 1).holds, 0);
	peer_world_close(&world);
}
END_TEST

/* A node of a saved y that is further on is followed, not the other way round. */
START_TEST(who_is_further_on_is_followed)
{
	const double saved[PEER_PARAMS] = { 1, 2, 3, 4, 5 };
	struct peer_world world;

	peer_world_open_ring(&world, 11, 3, ISO_STREAM_INNOVATION);
	peer_world_start(&world, 0);
	peer_world_start(&world, 1);
	peer_world_start_at(&world, 2, saved, 1000);
	peer_world_run(&world, 30 * MS);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_ge(iso_peer_round(world.nodes[i].peer), 1000);
		ck_assert_int_eq(peer_world_status(&world, i).adopted, i < 2);
	}
	peer_world_settle(&world, 3 * SECOND);
	peer_world_close(&world);
}
END_TEST

/* All do the same number of rounds, nobody waits for one that has ended, F stays as it was. */
START_TEST(runs_end_together)
{
	struct peer_world world;
	uint64_t seed = test_seed_base() + (unsigned)_i;

	peer_world_open(&world, seed, 5, peer_exact_modes[_i % 2]);
	peer_world_random(&world);
	world.config.rounds = 300;
	world.loss = _i % 4 < 2 ? 0.0 : 0.05;
	world.nodes[3].compute_ns = 20 * MS;
	peer_world_start_all(&world);
	ck_assert(peer_world_run_out(&world, 60 * SECOND));
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(iso_peer_round(world.nodes[i].peer), 300);
	if (world.loss == 0) {
		ck_assert_double_lt(peer_world_gap_up(&world), 1e-5);
		ck_assert_uint_lt(world.now_ns, 12 * SECOND);
		peer_world_check_rest(&world);
	}
	peer_world_close(&world);
}
END_TEST

/* It dies a little before the end and comes back when the others are done. */
START_TEST(who_comes_at_the_end_takes_the_result)
{
	struct peer_world world;

	peer_world_open_ring(&world, 15, 3, ISO_STREAM_INNOVATION);
	world.config.rounds = 400;
	world.config.wait_ns = 500 * MS;
	peer_world_start_all(&world);
	while (iso_peer_round(world.nodes[0].peer) < 395)
		peer_world_run(&world, MS);
	peer_world_kill(&world, 2);
	while (iso_peer_round(world.nodes[0].peer) < 400)
		peer_world_run(&world, MS);
	peer_world_start(&world, 2);
	ck_assert(peer_world_run_out(&world, SECOND));
	ck_assert(peer_world_status(&world, 2).adopted);
	ck_assert_uint_eq(iso_peer_round(world.nodes[2].peer), 400);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-3);
	peer_world_close(&world);
}
END_TEST

/* Long after the end the workers of the others are still there, and one is started anew. */
START_TEST(who_comes_after_the_end_takes_the_result)
{
	for (uint64_t round = 0; round <= 200; round += 100) {
		struct peer_world world;
		double y[PEER_PARAMS];

		peer_world_open(&world, 36 + round, 3, ISO_STREAM_INNOVATION);
		world.config.rounds = 200;
		world.loss = 0.1;
		peer_world_ring(&world);
		peer_world_start_all(&world);
		ck_assert(peer_world_run_out(&world, 60000 * MS));
		memcpy(y, iso_peer_model(world.nodes[0].peer), sizeof(y));
		peer_world_kill(&world, 2);
		uint64_t sent = world.sent;
		peer_world_run(&world, 60000 * MS);
		/* Nobody is called who may never come. */
		ck_assert_uint_lt(world.sent, sent + 20);
		peer_world_start_at(&world, 2, round < 200 ? world.y_first : y, round);
		ck_assert(peer_world_run_out(&world, 2000 * MS));
		ck_assert_uint_eq(iso_peer_round(world.nodes[2].peer), 200);
		ck_assert_double_lt(peer_world_gap_up(&world), 0.05);
		peer_world_run(&world, 2000 * MS);
		uint64_t rest = world.sent;
		peer_world_run(&world, 60000 * MS);
		ck_assert_uint_eq(world.sent, rest);
		peer_world_close(&world);
	}
}
END_TEST

/* What it has on disk is the end of the run, and nobody else is up. */
START_TEST(who_has_the_result_waits_for_nobody)
{
	struct peer_world world;

	peer_world_open(&world, 37, 3, ISO_STREAM_INNOVATION);
	world.config.rounds = 200;
	peer_world_ring(&world);
	peer_world_start_at(&world, 1, world.y_first, 200);
	ck_assert(peer_world_run_out(&world, 1000 * MS));
	ck_assert_uint_eq(iso_peer_round(world.nodes[1].peer), 200);
	ck_assert_mem_eq(iso_peer_model(world.nodes[1].peer), world.y_first, sizeof(world.y_first));
	/* And hands it on. */
	world.nodes[0].a[0] = 3;
	peer_world_start_at(&world, 0, world.y_first, 7);
	ck_assert(peer_world_run_out(&world, 1000 * MS));
	ck_assert(peer_world_status(&world, 0).adopted);
	peer_world_close(&world);
}
END_TEST

START_TEST(a_node_alone_waits)
{
	struct peer_world world;

	peer_world_open(&world, 16, 2, ISO_STREAM_INNOVATION);
	peer_world_link(&world, 0, 1);
	peer_world_start(&world, 0);
	peer_world_run(&world, 5 * SECOND);
	ck_assert_uint_eq(iso_peer_round(world.nodes[0].peer), 0);
	ck_assert(peer_world_status(&world, 0).alone);
	peer_world_start(&world, 1);
	peer_world_run(&world, 3 * SECOND);
	ck_assert(!peer_world_status(&world, 0).alone);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

START_TEST(without_neighbours_it_is_gradient_descent)
{
	struct peer_world world;

	peer_world_open(&world, 17, 1, ISO_STREAM_INNOVATION);
	world.config.rounds = 500;
	peer_world_start(&world, 0);
	ck_assert(peer_world_run_out(&world, 10 * SECOND));
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-9);
	peer_world_close(&world);
}
END_TEST

/* alpha 0: it grows while it helps, and all know of the largest L. */
START_TEST(adaptive_alpha_finds_its_size)
{
	struct peer_world world;

	peer_world_open_ring(&world, 18, 6, peer_exact_modes[_i]);
	world.config.alpha = 0;
	world.nodes[4].curvature = 2.5;
	peer_world_start_all(&world);
	peer_world_run(&world, 20 * MS);
	ck_assert_double_gt(peer_world_status(&world, 0).alpha, 0);
	ck_assert_double_lt(peer_world_status(&world, 0).alpha, 0.05);
	peer_world_run(&world, 10 * SECOND);
	for (uint32_t i = 0; i < 6; i++)
		ck_assert_double_eq(peer_world_status(&world, i).curvature, 2.5);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-9);
	ck_assert_double_gt(peer_world_status(&world, 0).alpha, 0.1);
	peer_world_close(&world);
}
END_TEST

/*
 * A step so large that any alpha but a small one makes the error grow, by little in a round.
 * It is always tried again, but never let grow for long.
 */
START_TEST(adaptive_alpha_sees_what_grows_slowly)
{
	struct peer_world world;

	peer_world_open_ring(&world, 24, 4, ISO_STREAM_NONE);
	world.config.alpha = 0;
	world.config.step = 1.4 + 0.01 * _i;
	peer_world_start_all(&world);
	for (unsigned i = 0; i < 20; i++) {
		peer_world_run(&world, 3 * SECOND);
		ck_assert_double_lt(peer_world_gap_up(&world), 20);
	}
	peer_world_close(&world);
}
END_TEST

/* A node that needs a tiny alpha slows all down as long as it is there, and not longer. */
START_TEST(alpha_recovers_after_a_steep_node_has_gone)
{
	struct peer_world world;

	peer_world_open_ring(&world, 19, 5, ISO_STREAM_INNOVATION);
	world.config.alpha = 0;
	world.nodes[0].curvature = 1e6;
	peer_world_start_all(&world);
	peer_world_run(&world, 3 * SECOND);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_double_eq(peer_world_status(&world, i).curvature, 1e6);
		ck_assert_double_le(peer_world_status(&world, i).alpha, 1e-5);
	}
	peer_world_kill(&world, 0);
	peer_world_run(&world, 60 * SECOND);
	for (uint32_t i = 1; i < 5; i++)
		ck_assert_double_eq(peer_world_status(&world, i).curvature, 1.5);
	ck_assert_double_gt(peer_world_status(&world, 1).alpha, 1e-3);
	ck_assert_double_lt(peer_world_gap_up(&world), 1e-6);
	peer_world_close(&world);
}
END_TEST

/* Coarse quantisers without memory end in a band; it is no drift. */
START_TEST(quantisers_without_memory_end_in_a_band)
{
	struct peer_world world;

	peer_world_open_ring(&world, 20, 5, _i == 0 ? ISO_STREAM_LOG : ISO_STREAM_UNIFORM);
	world.config.stream.bits = 12;
	peer_world_start_all(&world);
	peer_world_run(&world, 5 * SECOND);
	double gap = peer_world_gap_up(&world);
	ck_assert_double_lt(gap, 0.5);
	ck_assert_double_gt(gap, 1e-6);
	peer_world_close(&world);
}
END_TEST

/* Gradients of mini-batches: y wanders around the optimum, F stays opposite. */
START_TEST(noisy_gradients_are_tracked)
{
	struct peer_world world;
	double mean[PEER_PARAMS] = { 0 };

	peer_world_open_ring(&world, 21, 5, ISO_STREAM_INNOVATION);
	world.config.alpha = 0.02;
	world.config.rounds = 3000;
	for (uint32_t i = 0; i < 5; i++)
		world.nodes[i].noise = 0.5;
	peer_world_start_all(&world);
	ck_assert(peer_world_run_out(&world, 60 * SECOND));
	ck_assert_double_lt(peer_world_gap_up(&world), 0.2);
	peer_world_check_rest(&world);
	/* So the sum of z is that of the gradients but for rounding. */
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < PEER_PARAMS; k++)
			mean[k] += iso_peer_tracked(world.nodes[i].peer)[k] -
				   world.nodes[i].gradient_to[k];
	for (uint32_t k = 0; k < PEER_PARAMS; k++)
		ck_assert_double_eq_tol(mean[k], 0, 1e-12);
	peer_world_close(&world);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer_course");
	TCase *tcase = tcase_create("course");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, without_trouble_it_is_the_lock_step_iteration, 0, 5);
	tcase_add_test(tcase, all_at_once_begin_from_the_plans_y);
	tcase_add_test(tcase, who_comes_back_keeps_nobody_waiting);
	tcase_add_test(tcase, who_is_further_on_is_followed);
	tcase_add_loop_test(tcase, runs_end_together, 0, 8);
	tcase_add_test(tcase, who_comes_at_the_end_takes_the_result);
	tcase_add_test(tcase, who_comes_after_the_end_takes_the_result);
	tcase_add_test(tcase, who_has_the_result_waits_for_nobody);
	tcase_add_test(tcase, a_node_alone_waits);
	tcase_add_test(tcase, without_neighbours_it_is_gradient_descent);
	tcase_add_loop_test(tcase, adaptive_alpha_finds_its_size, 0, 2);
	tcase_add_loop_test(tcase, adaptive_alpha_sees_what_grows_slowly, 0, 4);
	tcase_add_test(tcase, alpha_recovers_after_a_steep_node_has_gone);
	tcase_add_loop_test(tcase, quantisers_without_memory_end_in_a_band, 0, 2);
	tcase_add_test(tcase, noisy_gradients_are_tracked);
	suite_add_tcase(suite, tcase);
	return suite;
}
