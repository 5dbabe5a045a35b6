/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/swarm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define SHARE_UCPU 500000

static struct iso_quant quant;

/* A swarm and all that it borrows. */
struct swarm {
	struct iso_graph graph;
	struct iso_graph_edge *edges;
	uint32_t *degrees;
	struct iso_site *sites;
	struct iso_swarm_config config;
	size_t bytes;
	void *memory;
	struct iso_swarm *swarm;
	double least;
};

enum shape { RING, GRID, RANDOM, EXPONENTIAL };

static void make_graph(struct swarm *set, enum shape shape, uint32_t nodes, uint64_t seed)
{
	struct iso_rng rng = { seed };
	uint32_t edges_max = nodes * 32, rows = (uint32_t)sqrt((double)nodes);

	set->edges = calloc(edges_max, sizeof(*set->edges));
	set->degrees = calloc(nodes, sizeof(*set->degrees));
	set->sites = calloc(nodes, sizeof(*set->sites));
	iso_graph_init(&set->graph, nodes, set->edges, edges_max);
	switch (shape) {
	case RING: ck_assert_ok(iso_graph_ring(&set->graph)); break;
	case GRID: ck_assert_ok(iso_graph_grid(&set->graph, rows, nodes / rows)); break;
	case RANDOM: ck_assert_ok(iso_graph_random(&set->graph, nodes, &rng)); break;
	case EXPONENTIAL: ck_assert_ok(iso_graph_exponential(&set->graph)); break;
	}
	iso_graph_degrees(&set->graph, set->degrees);
	for (uint32_t i = 0; i < nodes; i++)
		set->sites[i] = iso_site_draw(ISO_SITE_HALVES, ISO_COST_QUADRATIC, i, nodes, &rng);
	set->least = iso_site_optimum(set->sites, nodes, (int64_t)SHARE_UCPU * nodes).cost;
}

static struct swarm swarm_of(enum shape shape, uint32_t nodes, uint64_t seed)
{
	struct swarm set = { 0 };

	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	make_graph(&set, shape, nodes, seed);
	set.config = (struct iso_swarm_config){
		.seed = seed,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32ull * ISO_SWARM_ROUND_NS,
			   .fresh_age_ns = 50ull * ISO_SWARM_ROUND_NS },
		.sites = set.sites,
		.share_ucpu = SHARE_UCPU,
		.jitter = 0.2,
	};
	return set;
}

/* The graph lies in the set, which the caller may have copied. */
static void start(struct swarm *set)
{
	set->config.graph = &set->graph;
	set->bytes = iso_swarm_size(&set->config, set->degrees);
	ck_assert_uint_gt(set->bytes, 0);
	/* What is not initialised shows. */
	set->memory = malloc(set->bytes);
	memset(set->memory, 0xa5, set->bytes);
	ck_assert_ok(
	    iso_swarm_init(set->memory, set->bytes, &set->config, set->degrees, &set->swarm));
}

static void stop(struct swarm *set)
{
	free(set->memory);
	free(set->edges);
	free(set->degrees);
	free(set->sites);
}

static double run(struct swarm *set, int rounds)
{
	for (int n = 0; n < rounds; n++) {
		const char *violation;

		iso_swarm_round(set->swarm);
		violation = iso_swarm_violation(set->swarm);
		ck_assert_msg(violation == NULL, "round %d: %s", n, violation);
	}
	return (iso_swarm_cost(set->swarm) - set->least) / fabs(set->least);
}

START_TEST(comes_to_the_exact_optimum)
{
	static const struct {
		enum shape shape;
		int rounds;
	} cases[] = { { RING, 400 }, { GRID, 300 }, { RANDOM, 150 }, { EXPONENTIAL, 100 } };

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct swarm set = swarm_of(cases[k].shape, 25, test_seed_base());

		start(&set);
		double gap = run(&set, cases[k].rounds);

		ck_assert_msg(gap < 1e-4 && gap > -1e-4, "shape %d: gap %.3g", cases[k].shape, gap);
		stop(&set);
	}
}
END_TEST

START_TEST(comes_there_through_loss_and_delay)
{
	for (int run_number = 0; run_number < test_runs(3); run_number++) {
		struct swarm set = swarm_of(RANDOM, 30, test_seed_base() + (uint64_t)run_number);
		struct iso_swarm_counts counts;

		set.config.loss = 0.3;
		set.config.delay = 3;
		set.config.jitter = 0.5;
		start(&set);
		double gap = run(&set, 600);

		ck_assert_msg(fabs(gap) < 1e-3, "gap %.3g", gap);
		iso_swarm_counts(set.swarm, &counts);
		ck_assert_double_eq_tol((double)counts.lost / (double)counts.sent, 0.3, 0.03);
		ck_assert_uint_le(counts.received + counts.dropped + counts.lost, counts.sent);
		ck_assert_double_eq_tol((double)counts.ticks, 600 * 30, 30 * 30);
		/* Letters that never left their place were overwritten: hardly any. */
		ck_assert_uint_lt(counts.dropped, counts.sent / 50);
		stop(&set);
	}
}
END_TEST

START_TEST(the_seed_decides_every_bit)
{
	uint64_t digests[3];

	for (int n = 0; n < 3; n++) {
		struct swarm set = swarm_of(RANDOM, 100, test_seed_base());

		set.config.loss = 0.1;
		set.config.delay = 1.5;
		set.config.seed += n == 2;
		start(&set);
		(void)run(&set, 20);
		digests[n] = iso_swarm_digest(set.swarm);
		stop(&set);
	}
	ck_assert_uint_eq(digests[0], digests[1]);
	ck_assert_uint_ne(digests[0], digests[2]);
}
END_TEST

/* No hundred thousand nodes need more than this on a laptop. */
START_TEST(a_node_of_small_degree_takes_little)
{
	struct swarm set = swarm_of(RANDOM, 100000, test_seed_base());

	start(&set);
	ck_assert_uint_lt(set.bytes, (size_t)100000 * 1664);
	(void)run(&set, 2);
	stop(&set);
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	struct swarm set = swarm_of(RING, 8, test_seed_base());
	struct iso_swarm *untouched = (struct iso_swarm *)&set, *swarm = untouched;
	struct iso_swarm_config good, bad;

	start(&set);
	good = set.config;
#define refused(change)                                                                            \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		ck_assert_uint_eq(iso_swarm_size(&bad, set.degrees), 0);                           \
		ck_assert_int_eq(iso_swarm_init(set.memory, set.bytes, &bad, set.degrees, &swarm), \
				 ISO_E_RANGE);                                                     \
		ck_assert_ptr_eq(swarm, untouched);                                                \
	} while (0)
	refused(bad.loss = 1);
	refused(bad.loss = -0.1);
	refused(bad.delay = NAN);
	refused(bad.jitter = 0.95);
	refused(bad.share_ucpu = 0);
	refused(bad.share_ucpu = 1000); /* below the floors */
	refused(bad.share.gamma = 2);
#undef refused
	ck_assert_int_eq(iso_swarm_init(set.memory, set.bytes - 8, &good, set.degrees, &swarm),
			 ISO_E_SHORT);
	set.degrees[0] = 65;
	ck_assert_uint_eq(iso_swarm_size(&good, set.degrees), 0);
	stop(&set);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("swarm");
	TCase *tcase = tcase_create("nodes");

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, comes_to_the_exact_optimum);
	tcase_add_test(tcase, comes_there_through_loss_and_delay);
	tcase_add_test(tcase, the_seed_decides_every_bit);
	tcase_add_test(tcase, a_node_of_small_degree_takes_little);
	tcase_add_test(tcase, refuses_what_cannot_be);
	suite_add_tcase(suite, tcase);
	return suite;
}
