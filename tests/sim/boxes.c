/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/field.h"

#include <math.h>
#include <stdlib.h>

#include "tests/test.h"

/*
 * The published trade of shares, whose boxes are penalties alone: where it comes to with
 * those of iso_cost_tune_penalty(), against the exact optimum in the boxes.
 */
#define NODES	  20u
#define EDGES_MAX (NODES * (NODES - 1) / 2)
#define BUDGET	  (500000ll * NODES)

static struct iso_site sites[NODES];
static struct iso_graph_edge edges[EDGES_MAX];
static struct iso_graph graph;

/* Half a CPU each, of boxes from 0.02 .. 0.1 to 0.4 .. 1, about half of which are in the way. */
static void draw(uint64_t seed, struct iso_site_optimum *ret_best)
{
	struct iso_rng rng = { seed };

	iso_graph_init(&graph, NODES, edges, EDGES_MAX);
	ck_assert_ok(iso_graph_exponential(&graph));
	for (uint32_t i = 0; i < NODES; i++)
		sites[i] = iso_site_draw(ISO_SITE_SCATTERED, ISO_COST_QUADRATIC, i, NODES, &rng);
	*ret_best = iso_site_optimum(sites, NODES, BUDGET);
}

/* With the force that the exact optimum needs, and a percent of its cost to lose. */
static void tune(const struct iso_site_optimum *best, enum iso_penalty_kind penalty)
{
	double force = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		double share = 1e-6 * iso_site_share_at(&sites[i], best->lambda);
		double slope = iso_cost_slope_real(&sites[i].cost, &sites[i].box, share).first;

		force = fmax(force, fabs(slope - best->lambda));
	}
	for (uint32_t i = 0; i < NODES; i++) {
		sites[i].cost.penalty = penalty;
		iso_cost_tune_penalty(&sites[i].cost, &sites[i].box, force,
				      0.01 * best->cost / NODES);
	}
}

static struct iso_field *open_field(enum iso_stream_mode mode, double rho, void **ret_memory)
{
	const struct iso_field_config config = {
		.graph = &graph,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.hold_rounds = 10,
		.sites = sites,
		.budget_ucpu = BUDGET,
		.share_step = iso_field_share_step_max(sites, NODES, 2, rho) / 2,
		.price = { .mode = mode, .n = 1, .bits = 12, .rho = rho },
	};
	size_t size = iso_field_size(&config);
	struct iso_field *field;

	ck_assert_uint_gt(size, 0);
	*ret_memory = malloc(size);
	ck_assert_ok(iso_field_init(*ret_memory, size, &config, &field));
	return field;
}

static double largest_violation(const struct iso_field *field)
{
	double most = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		double share_ucpu = 1e6 * iso_field_share(field, i);
		double floor = (double)sites[i].box.floor_ucpu;
		double ceiling = (double)sites[i].box.ceiling_ucpu;

		most =
		    fmax(most, fmax(floor - share_ucpu, share_ucpu - ceiling) / (ceiling - floor));
	}
	return most;
}

static const struct {
	enum iso_penalty_kind penalty;
	enum iso_stream_mode mode;
	double rho;
} kinds[] = {
	{ ISO_PENALTY_SOFTPLUS, ISO_STREAM_NONE, 0 },
	{ ISO_PENALTY_BARRIER, ISO_STREAM_NONE, 0 },
	{ ISO_PENALTY_SOFTPLUS, ISO_STREAM_LOG, 1.0 / 32 },
};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

START_TEST(tuned_penalties_lead_the_published_trade_to_the_optimum)
{
	for (int run = 0; run < test_runs(3); run++) {
		struct iso_site_optimum best;
		void *memory;

		draw(test_seed_base() + (uint64_t)run, &best);
		tune(&best, kinds[_i].penalty);
		struct iso_field *field = open_field(kinds[_i].mode, kinds[_i].rho, &memory);
		/* Steps are as short as the penalties are steep: 10000 rounds leave 3 %. */
		for (int rounds = 0; rounds < 30000; rounds++)
			ck_assert_ok(iso_field_round(field));
		ck_assert_msg(iso_field_violation(field) == NULL, "%s", iso_field_violation(field));
		ck_assert_msg(fabs(iso_field_share_gap(field)) <= 0.01, "run %d: gap %g", run,
			      iso_field_share_gap(field));
		ck_assert_double_le(largest_violation(field), 0.01);
		free(memory);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("boxes");
	TCase *tcase = tcase_create("penalties");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, tuned_penalties_lead_the_published_trade_to_the_optimum, 0,
			    KINDS);
	suite_add_tcase(suite, tcase);
	return suite;
}
