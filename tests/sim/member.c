/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Budgets that change, nodes that leave, are buried and come again: under loss and leases. */
#include "config.h"

#include <inttypes.h>

#include "tests/sim/world.h"
#include "tests/test.h"

static struct world_setup lossy(uint64_t seed)
{
	return (struct world_setup){
		.seed = seed,
		.nodes = 8,
		.topology = WORLD_RANDOM,
		.mode = ISO_SHARE_DIFFERENCE,
		.cost = ISO_COST_QUADRATIC,
		.loss = 0.2,
		.duplicate = 0.1,
		.delay_s = 0.05,
		.tail = 0.05,
		.dead_band = 0.005,
	};
}

/* Leases of 5 s, and clocks as different as the promise allows. */
static struct world_setup leased(uint64_t seed)
{
	struct world_setup setup = lossy(seed);

	setup.lease_s = 5;
	setup.drift = 0.024;
	return setup;
}

static void must_hold(const struct world *world)
{
	const char *violation = world_violation(world);

	ck_assert_msg(violation == NULL, "%s", violation);
}

static void run_s(struct world *world, double seconds)
{
	world_run(world, world_time_s(world) + seconds, UINT64_MAX);
	must_hold(world);
}

/* Carries an order out to its end, in a given time. */
static void carry_out(struct world *world, enum world_order order, uint32_t node,
		      int64_t amount_ucpu, double within_s)
{
	world_command(world, order, node, amount_ucpu);
	for (double t = 0; t < within_s && !world_idle(world); t += 0.5)
		run_s(world, 0.5);
	ck_assert_msg(world_idle(world), "order %d at node %u is not done after %.0f s", order,
		      node, within_s);
}

static struct iso_trade_status status_of(struct world *world, uint32_t node)
{
	struct iso_trade_status status;

	iso_trade_status(world_node(world, node), &status);
	return status;
}

/* The optimum, with all leases there, some time after everything. */
static void settles(struct world *world, double within_s)
{
	run_s(world, within_s);
	ck_assert_msg(world_gap(world, NULL) < 0.01, "gap %.3g", world_gap(world, NULL));
}

START_TEST(a_budget_goes_up_and_down)
{
	for (int run = 0; run < test_runs(4); run++) {
		struct world_setup setup = lossy(test_seed_base() + (uint64_t)run);

		setup.topology = WORLD_RING;
		struct world *world = world_new(&setup);
		int64_t before = world_budget(world), least = 0;

		run_s(world, 5);
		/* Nobody else is told; then it goes out in transfers above their budget. */
		carry_out(world, WORLD_MINT, 0, 3 * before, 20);
		ck_assert_int_eq(world_budget(world), 4 * before);
		carry_out(world, WORLD_DRAIN, 0, 0, 30);
		run_s(world, 20);
		for (uint32_t i = 0; i < setup.nodes; i++)
			carry_out(world, WORLD_BURN, i, 4 * before, 20);
		run_s(world, 5);
		for (uint32_t i = 0; i < setup.nodes; i++) {
			carry_out(world, WORLD_BURN, i, 4 * before, 20);
			least += world_floor(world, i);
		}
		run_s(world, 20);
		ck_assert_int_ge(world_budget(world), least);
		ck_assert_int_lt(world_budget(world), before);
		world = world_free(world);
	}
}
END_TEST

START_TEST(a_drained_node_is_at_its_floor_and_comes_back)
{
	for (int run = 0; run < test_runs(4); run++) {
		struct world_setup setup = lossy(test_seed_base() + (uint64_t)run);
		struct world *world = world_new(&setup);

		run_s(world, 20);
		world_command(world, WORLD_DRAIN, 1, 0);
		run_s(world, 9);
		ck_assert_int_eq(status_of(world, 1).share_ucpu, world_floor(world, 1));
		ck_assert_int_le(world_enforced(world, 1), world_floor(world, 1));
		run_s(world, 10);
		ck_assert(world_idle(world));
		settles(world, 40);
		world = world_free(world);
	}
}
END_TEST

START_TEST(a_node_leaves_with_nothing_and_comes_again)
{
	static const enum world_topology topologies[] = { WORLD_RANDOM, WORLD_RING,
							  WORLD_COMPLETE };

	for (int run = 0; run < test_runs(6); run++) {
		struct world_setup setup = leased(test_seed_base() + (uint64_t)run);

		setup.topology = topologies[setup.seed % 3];
		setup.loss = 0.4;
		setup.duplicate = 0.3;
		struct world *world = world_new(&setup);
		uint32_t node = (uint32_t)(setup.seed % setup.nodes);
		int64_t before = world_budget(world);

		run_s(world, 10);
		carry_out(world, WORLD_LEAVE, node, 0, 120);
		ck_assert_uint_eq(world_generation(world, node), 2);
		ck_assert_int_eq(world_budget(world), before + world_floor(world, node));
		settles(world, 60);
		world = world_free(world);
	}
}
END_TEST

/* What a burial must come to, whatever the dead node was doing. */
static void bury(enum world_order order, uint64_t seed)
{
	struct world_setup setup = leased(seed);

	setup.topology = seed % 2 == 0 ? WORLD_RANDOM : WORLD_RING;
	struct world *world = world_new(&setup);
	uint32_t node = (uint32_t)(seed % setup.nodes);
	int64_t before = world_budget(world);

	run_s(world, 10 + (double)(seed % 7) / 3);
	carry_out(world, order, node, 0, 120);
	ck_assert_int_eq(world_budget(world), before);
	ck_assert_uint_eq(world_generation(world, node), 2);
	settles(world, 60);
	world = world_free(world);
}

START_TEST(the_dead_are_buried_and_come_again)
{
	for (int run = 0; run < test_runs(6); run++)
		bury(WORLD_BURY_DEAD, test_seed_base() + (uint64_t)run);
}
END_TEST

START_TEST(who_lives_on_behind_a_partition_is_at_its_floor_by_then)
{
	for (int run = 0; run < test_runs(6); run++)
		bury(WORLD_BURY_CUT_OFF, test_seed_base() + (uint64_t)run);
}
END_TEST

START_TEST(who_is_buried_alive_is_told)
{
	for (int run = 0; run < test_runs(6); run++)
		bury(WORLD_BURY_ALIVE, test_seed_base() + (uint64_t)run);
}
END_TEST

/* All that a node has ever given. */
static uint64_t given(struct world *world, uint32_t node)
{
	struct iso_trade_edge edge;
	uint64_t sum = 0;

	for (uint32_t k = 0; k < iso_trade_edges(world_node(world, node)); k++)
		if (iso_trade_edge(world_node(world, node), k, &edge) == ISO_OK)
			sum += edge.sent;
	return sum;
}

START_TEST(amnesia_ends_in_a_new_life)
{
	for (int run = 0; run < test_runs(4); run++) {
		static uint8_t journals[WORLD_NODES_MAX][ISO_JOURNAL_BYTES];
		struct world_setup setup = leased(test_seed_base() + (uint64_t)run);
		struct world *world = world_new(&setup);
		int64_t before = world_budget(world);
		uint32_t node = 0;

		run_s(world, 1);
		for (uint32_t i = 0; i < setup.nodes; i++)
			world_backup(world, i, journals[i]);
		run_s(world, 20);
		/* One that has given in the meantime: who has only received forgets nothing. */
		for (uint32_t i = 0; i < setup.nodes; i++)
			node = given(world, i) > given(world, node) ? i : node;
		world_restore(world, node, journals[node]);
		run_s(world, 20);
		ck_assert_int_eq(status_of(world, node).halt, ISO_HALT_AMNESIA);
		carry_out(world, WORLD_BURY_AMNESIAC, node, 0, 120);
		ck_assert_int_eq(status_of(world, node).halt, ISO_HALT_NONE);
		ck_assert_int_eq(world_budget(world), before);
		settles(world, 60);
		world = world_free(world);
	}
}
END_TEST

/* All of it at once, with crashes, power cuts, stalls, partitions and stuck quotas. */
static struct world_setup chaos(uint64_t seed)
{
	struct world_setup setup = leased(seed);

	setup.crash = 0.004;
	setup.partition = 0.03;
	setup.change = 0.02;
	setup.stuck = 0.03;
	setup.full = 0.03;
	setup.stall = 0.001;
	setup.admin = 0.5;
	return setup;
}

START_TEST(conserves_every_unit_whatever_the_administrator_does)
{
	struct world_counts sum = { 0 };

	for (int run = 0; run < test_runs(8); run++) {
		struct world_setup setup = chaos(test_seed_base() + (uint64_t)run);

		setup.topology = setup.seed % 2 == 0 ? WORLD_RANDOM : WORLD_RING;
		struct world *world = world_new(&setup);

		world_run(world, 1e6, 120000);
		must_hold(world);
		for (int order = 0; order < WORLD_ORDERS; order++)
			sum.done[order] += world_counts(world)->done[order];
		sum.stalls += world_counts(world)->stalls;
		sum.guard_lowered += world_counts(world)->guard_lowered;
		sum.guard_refused += world_counts(world)->guard_refused;
		sum.tombstones += world_counts(world)->tombstones;
		world = world_free(world);
	}
	for (int order = WORLD_MINT; order <= WORLD_BURY_ALIVE; order++)
		ck_assert_msg(sum.done[order] > 0, "order %d was never carried out", order);
	ck_assert_uint_gt(sum.stalls, 0);
	ck_assert_uint_gt(sum.guard_lowered, 0);
	ck_assert_uint_gt(sum.guard_refused, 0);
	ck_assert_uint_gt(sum.tombstones, 0);
}
END_TEST

START_TEST(settles_after_all_that)
{
	for (int run = 0; run < test_runs(3); run++) {
		struct world_setup setup = chaos(test_seed_base() + (uint64_t)run);
		struct world *world = world_new(&setup);

		run_s(world, 120);
		world_calm(world);
		for (double t = 0; t < 200 && !world_idle(world); t += 1)
			run_s(world, 1);
		ck_assert(world_idle(world));
		settles(world, 60);
		world = world_free(world);
	}
}
END_TEST

/* How many of the seeds notice the mutant. */
static int caught(enum world_mutant mutant, uint64_t events)
{
	int count = 0;

	for (uint64_t run = 0; run < 4; run++) {
		/* Always the same worlds: not every one of them brings every mistake to light. */
		struct world_setup setup = chaos(901 + run);

		setup.mutant = mutant;
		/* An agent must stop, between decision and raise or at all, as long as a burial. */
		if (mutant == WORLD_RAISE_LATE || mutant == WORLD_GUARD_ASLEEP) {
			setup.crash = setup.partition = 0;
			setup.stall = 0.02;
			setup.admin = 5;
		}
		struct world *world = world_new(&setup);

		world_run(world, 1e6, events);
		count += world_violation(world) != NULL;
		world = world_free(world);
	}
	return count;
}

/* Messages that are long under way, and, where it matters, clocks that go far apart. */
static bool cut_off_one_by_one(enum world_mutant mutant, double lease_s)
{
	struct world_setup setup = leased(1001);
	struct world *world;
	bool is_caught;

	setup.mutant = mutant;
	setup.lease_s = lease_s;
	setup.tail = 0.5;
	setup.topology = WORLD_RING;
	world = world_new(&setup);
	world_run(world, 20, UINT64_MAX);
	for (uint32_t i = 0; i < setup.nodes && world_violation(world) == NULL; i++) {
		world_command(world, WORLD_BURY_CUT_OFF, i, 0);
		for (int n = 0; n < 400 && !world_idle(world); n++)
			world_run(world, world_time_s(world) + 1, UINT64_MAX);
		ck_assert(world_idle(world) || world_violation(world) != NULL);
	}
	is_caught = world_violation(world) != NULL;
	world = world_free(world);
	return is_caught;
}

START_TEST(notices_what_is_broken)
{
	ck_assert(!cut_off_one_by_one(WORLD_FAITHFUL, 120));
	ck_assert(cut_off_one_by_one(WORLD_SHORT_PROMISE, 120));
	ck_assert(!cut_off_one_by_one(WORLD_FAITHFUL, 5));
	ck_assert(cut_off_one_by_one(WORLD_FROM_RECEIPT, 5));
	ck_assert_int_eq(caught(WORLD_FAITHFUL, 60000), 0);
	ck_assert_int_ge(caught(WORLD_GUARD_ASLEEP, 200000), 1);
	ck_assert_int_ge(caught(WORLD_RAISE_LATE, 1000000), 1);
	ck_assert_int_ge(caught(WORLD_GRANT_PARTIAL, 200000), 2);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("member-sim");
	TCase *tcase = tcase_create("administrator");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, a_budget_goes_up_and_down);
	tcase_add_test(tcase, a_drained_node_is_at_its_floor_and_comes_back);
	tcase_add_test(tcase, a_node_leaves_with_nothing_and_comes_again);
	tcase_add_test(tcase, the_dead_are_buried_and_come_again);
	tcase_add_test(tcase, who_lives_on_behind_a_partition_is_at_its_floor_by_then);
	tcase_add_test(tcase, who_is_buried_alive_is_told);
	tcase_add_test(tcase, amnesia_ends_in_a_new_life);
	tcase_add_test(tcase, conserves_every_unit_whatever_the_administrator_does);
	tcase_add_test(tcase, settles_after_all_that);
	tcase_add_test(tcase, notices_what_is_broken);
	suite_add_tcase(suite, tcase);
	return suite;
}
