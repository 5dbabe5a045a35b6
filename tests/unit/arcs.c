/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/arcs.h"

#include <math.h>

#include "lib/graph/weights.h"
#include "tests/test.h"

#define EDGES_MAX 4096u
#define ARCS_MAX  (2 * EDGES_MAX + 512)

static struct iso_graph_edge edges[EDGES_MAX];
static struct iso_arc memory[ARCS_MAX];
static uint32_t scratch[512];

static struct iso_graph random_graph(uint32_t nodes, struct iso_rng *rng)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	ck_assert_ok(iso_graph_random(&graph, 3 * nodes, rng));
	return graph;
}

static struct iso_arcs arcs_of(uint32_t nodes)
{
	struct iso_arcs arcs;

	iso_arcs_init(&arcs, nodes, memory, ARCS_MAX);
	return arcs;
}

static void assert_sorted(const struct iso_arcs *arcs)
{
	uint32_t loops = 0, wrong = 0;

	for (uint32_t k = 0; k < arcs->arc_count; k++) {
		const struct iso_arc *arc = &arcs->arcs[k];

		wrong += arc->from >= arcs->nodes || arc->to >= arcs->nodes || !(arc->weight > 0);
		wrong += k > 0 && (arc[-1].to > arc->to ||
				   (arc[-1].to == arc->to && arc[-1].from >= arc->from));
		loops += arc->from == arc->to;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(loops, arcs->nodes);
}

/* Sums of the columns, and of the rows where B is to be doubly stochastic. */
static void assert_stochastic(const struct iso_arcs *arcs, bool rows_too)
{
	double columns[512] = { 0 }, rows[512] = { 0 };

	for (uint32_t k = 0; k < arcs->arc_count; k++) {
		columns[arcs->arcs[k].from] += arcs->arcs[k].weight;
		rows[arcs->arcs[k].to] += arcs->arcs[k].weight;
	}
	for (uint32_t i = 0; i < arcs->nodes; i++) {
		ck_assert_double_eq_tol(columns[i], 1, 1e-14);
		if (rows_too)
			ck_assert_double_eq_tol(rows[i], 1, 1e-14);
	}
}

START_TEST(the_exponential_digraph_is_doubly_stochastic)
{
	for (uint32_t n = 1; n <= 130; n++) {
		struct iso_arcs arcs = arcs_of(n);

		ck_assert_ok(iso_arcs_exponential(&arcs));
		ck_assert_uint_eq(arcs.arc_count, iso_arcs_exponential_count(n));
		assert_sorted(&arcs);
		assert_stochastic(&arcs, true);
	}
	struct iso_arcs arcs = arcs_of(16);

	/* Published: 16 nodes, all column sums 5; node 0 hears of 15, 14, 12, 8. */
	ck_assert_ok(iso_arcs_exponential(&arcs));
	ck_assert_uint_eq(arcs.arc_count, 16 * 5);
	ck_assert_uint_eq(memory[0].from, 0);
	ck_assert_uint_eq(memory[1].from, 8);
	ck_assert_uint_eq(memory[2].from, 12);
	ck_assert_uint_eq(memory[3].from, 14);
	ck_assert_uint_eq(memory[4].from, 15);
	ck_assert_double_eq(memory[4].weight, 0.2);
}
END_TEST

START_TEST(every_edge_goes_both_ways)
{
	for (int run = 0; run < test_runs(100); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		uint32_t n = 3 + (uint32_t)iso_rng_below(&rng, 100);
		struct iso_graph graph = random_graph(n, &rng);
		struct iso_arcs arcs = arcs_of(n);

		ck_assert_ok(iso_arcs_of_graph(&arcs, &graph, scratch));
		ck_assert_uint_eq(arcs.arc_count, 2 * graph.edge_count + n);
		assert_sorted(&arcs);
		assert_stochastic(&arcs, false);
		iso_graph_degrees(&graph, scratch);
		for (uint32_t k = 0; k < arcs.arc_count; k++)
			ck_assert_double_eq(memory[k].weight, 1.0 / (1 + scratch[memory[k].from]));
	}
}
END_TEST

START_TEST(symmetric_weights_give_a_doubly_stochastic_matrix)
{
	static double weights[EDGES_MAX];

	for (int run = 0; run < test_runs(100); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		uint32_t n = 3 + (uint32_t)iso_rng_below(&rng, 100), degrees[512];
		struct iso_graph graph = random_graph(n, &rng);
		struct iso_arcs arcs = arcs_of(n);

		iso_graph_degrees(&graph, degrees);
		iso_graph_weights(&graph,
				  run % 2 == 0 ? ISO_WEIGHTS_METROPOLIS : ISO_WEIGHTS_MAX_DEGREE,
				  degrees, weights);
		ck_assert_ok(iso_arcs_of_weights(&arcs, &graph, weights, scratch));
		assert_sorted(&arcs);
		assert_stochastic(&arcs, true);
	}
}
END_TEST

START_TEST(max_degree_weights_are_all_the_same)
{
	double weights[EDGES_MAX];
	struct iso_graph graph;

	iso_graph_init(&graph, 7, edges, EDGES_MAX);
	ck_assert_ok(iso_graph_star(&graph));
	ck_assert_ok(iso_graph_add(&graph, 1, 2));
	iso_graph_degrees(&graph, scratch);
	iso_graph_weights(&graph, ISO_WEIGHTS_MAX_DEGREE, scratch, weights);
	for (uint32_t k = 0; k < graph.edge_count; k++)
		ck_assert_double_eq(weights[k], 1.0 / 7);
	iso_graph_weights(&graph, ISO_WEIGHTS_METROPOLIS, scratch, weights);
	ck_assert_double_eq(weights[0], 1.0 / 7);
	/* The edge of 1 and 2 is the last one. */
	ck_assert_double_eq(weights[6], 1.0 / 3);
}
END_TEST

START_TEST(mixing_is_the_product_with_the_matrix)
{
	double matrix[12][12] = { 0 }, in[12 * 3], out[12 * 3];
	struct iso_rng rng = { test_seed_base() };
	struct iso_arcs arcs = arcs_of(12);

	ck_assert_ok(iso_arcs_exponential(&arcs));
	for (uint32_t k = 0; k < arcs.arc_count; k++) {
		memory[k].weight = iso_rng_unit(&rng);
		matrix[memory[k].to][memory[k].from] = memory[k].weight;
	}
	for (int c = 0; c < 36; c++)
		in[c] = iso_rng_unit(&rng) - 0.5;
	iso_arcs_mix(&arcs, 3, in, out);
	for (int i = 0; i < 12; i++)
		for (int c = 0; c < 3; c++) {
			double sum = 0;

			for (int j = 0; j < 12; j++)
				sum += matrix[i][j] * in[3 * j + c];
			ck_assert_double_eq_tol(out[3 * i + c], sum, 1e-15);
		}
	/* Column-stochastic weights keep the sum over the nodes. */
	iso_arcs_push_weights(&arcs, scratch);
	iso_arcs_mix(&arcs, 3, in, out);
	for (int c = 0; c < 3; c++) {
		double before = 0, after = 0;

		for (int i = 0; i < 12; i++) {
			before += in[3 * i + c];
			after += out[3 * i + c];
		}
		ck_assert_double_eq_tol(before, after, 1e-14);
	}
}
END_TEST

START_TEST(links_become_one_way_as_often_as_asked)
{
	uint32_t pairs = 0, dropped = 0, upward = 0, mixed = 0;

	for (int run = 0; run < 60; run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		struct iso_graph graph = random_graph(100, &rng);
		struct iso_arcs arcs = arcs_of(100);

		ck_assert_ok(iso_arcs_of_graph(&arcs, &graph, scratch));
		pairs += graph.edge_count;
		dropped += iso_arcs_one_way(&arcs, 0.25, &rng);
		assert_sorted(&arcs);
		/* What is left of a pair goes up or down, either as likely. */
		for (uint32_t k = 0; k < arcs.arc_count; k++)
			upward += memory[k].from < memory[k].to;
		mixed += arcs.arc_count - 100;
		iso_arcs_push_weights(&arcs, scratch);
		assert_stochastic(&arcs, false);
	}
	double deviation = sqrt(pairs * 0.25 * 0.75);

	ck_assert_uint_eq(mixed, 2 * pairs - dropped);
	ck_assert_double_eq_tol(dropped, 0.25 * pairs, 5 * deviation);
	ck_assert_double_eq_tol(upward, 0.5 * mixed, 5 * sqrt(0.25 * dropped));
}
END_TEST

START_TEST(all_links_or_none_can_be_one_way)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_graph graph = random_graph(50, &rng);
	struct iso_arcs arcs = arcs_of(50);

	ck_assert_ok(iso_arcs_of_graph(&arcs, &graph, scratch));
	ck_assert_uint_eq(iso_arcs_one_way(&arcs, 0, &rng), 0);
	ck_assert_uint_eq(iso_arcs_one_way(&arcs, 1, &rng), graph.edge_count);
	ck_assert_uint_eq(arcs.arc_count, graph.edge_count + 50);
	assert_sorted(&arcs);
	/* And no link is left that has two ways. */
	ck_assert_uint_eq(iso_arcs_one_way(&arcs, 1, &rng), 0);
}
END_TEST

START_TEST(a_way_back_makes_it_strongly_connected)
{
	struct iso_arcs arcs = arcs_of(40);

	/* From each node to the next, sorted by where they go. */
	for (uint32_t i = 1; i < 40; i++)
		memory[arcs.arc_count++] = (struct iso_arc){ i - 1, i, 1 };
	ck_assert(!iso_arcs_strongly_connected(&arcs, scratch));
	memory[arcs.arc_count++] = (struct iso_arc){ 39, 0, 1 };
	ck_assert(iso_arcs_strongly_connected(&arcs, scratch));
	/* A node that only sends, and one that only receives. */
	memory[39] = (struct iso_arc){ 39, 1, 1 };
	ck_assert(!iso_arcs_strongly_connected(&arcs, scratch));
	memory[39] = (struct iso_arc){ 38, 0, 1 };
	ck_assert(!iso_arcs_strongly_connected(&arcs, scratch));
	arcs = arcs_of(1);
	ck_assert_ok(iso_arcs_exponential(&arcs));
	ck_assert(iso_arcs_strongly_connected(&arcs, scratch));
	arcs = arcs_of(100);
	ck_assert_ok(iso_arcs_exponential(&arcs));
	ck_assert(iso_arcs_strongly_connected(&arcs, scratch));
}
END_TEST

START_TEST(a_list_without_room_stays_empty)
{
	struct iso_rng rng = { 1 };
	struct iso_graph graph = random_graph(10, &rng);
	double weights[EDGES_MAX] = { 0 };
	struct iso_arcs arcs;

	iso_arcs_init(&arcs, 10, memory, 49);
	ck_assert_int_eq(iso_arcs_exponential(&arcs), ISO_E_FULL);
	iso_arcs_init(&arcs, 10, memory, 2 * graph.edge_count + 9);
	ck_assert_int_eq(iso_arcs_of_graph(&arcs, &graph, scratch), ISO_E_FULL);
	ck_assert_int_eq(iso_arcs_of_weights(&arcs, &graph, weights, scratch), ISO_E_FULL);
	ck_assert_uint_eq(arcs.arc_count, 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("arcs");
	TCase *tcase = tcase_create("arcs");

	tcase_add_test(tcase, the_exponential_digraph_is_doubly_stochastic);
	tcase_add_test(tcase, every_edge_goes_both_ways);
	tcase_add_test(tcase, symmetric_weights_give_a_doubly_stochastic_matrix);
	tcase_add_test(tcase, max_degree_weights_are_all_the_same);
	tcase_add_test(tcase, mixing_is_the_product_with_the_matrix);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, links_become_one_way_as_often_as_asked);
	tcase_add_test(tcase, all_links_or_none_can_be_one_way);
	tcase_add_test(tcase, a_way_back_makes_it_strongly_connected);
	tcase_add_test(tcase, a_list_without_room_stays_empty);
	suite_add_tcase(suite, tcase);
	return suite;
}
