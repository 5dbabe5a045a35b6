/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/graph.h"

#include <string.h>

#include "tests/test.h"

#define EDGES_MAX 4096u

static struct iso_graph_edge edges[EDGES_MAX];
static uint32_t scratch[512];

static struct iso_graph graph_of(uint32_t nodes)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	return graph;
}

static void assert_proper(const struct iso_graph *graph)
{
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		ck_assert_uint_lt(graph->edges[k].low, graph->edges[k].high);
		ck_assert_uint_lt(graph->edges[k].high, graph->nodes);
		if (k > 0)
			ck_assert(graph->edges[k - 1].low < graph->edges[k].low ||
				  graph->edges[k - 1].high < graph->edges[k].high);
	}
}

START_TEST(every_topology_has_its_edges)
{
	for (uint32_t n = 1; n <= 64; n++) {
		struct iso_graph graph = graph_of(n);
		uint32_t hops = 0;

		ck_assert_ok(iso_graph_line(&graph));
		ck_assert_uint_eq(graph.edge_count, n - 1);
		assert_proper(&graph);
		ck_assert(iso_graph_connected(&graph, scratch));
		graph = graph_of(n);
		ck_assert_ok(iso_graph_ring(&graph));
		ck_assert_uint_eq(graph.edge_count, n < 3 ? n - 1 : n);
		assert_proper(&graph);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_star(&graph));
		ck_assert_uint_eq(graph.edge_count, n - 1);
		ck_assert(iso_graph_connected(&graph, scratch));
		graph = graph_of(n);
		ck_assert_ok(iso_graph_complete(&graph));
		ck_assert_uint_eq(graph.edge_count, n * (n - 1) / 2);
		assert_proper(&graph);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_exponential(&graph));
		assert_proper(&graph);
		ck_assert(iso_graph_connected(&graph, scratch));
		/* Hops that lead to the same node count once: 2^k and n - 2^k. */
		for (uint32_t hop = 1; hop < n; hop *= 2)
			hops++;
		ck_assert_uint_le(graph.edge_count, n * hops);
		ck_assert_uint_ge(2 * graph.edge_count, n * hops);
	}
}
END_TEST

START_TEST(grids_join_rows_and_columns)
{
	struct iso_graph graph = graph_of(12);

	ck_assert_int_eq(iso_graph_grid(&graph, 3, 5), ISO_E_RANGE);
	ck_assert_ok(iso_graph_grid(&graph, 3, 4));
	ck_assert_uint_eq(graph.edge_count, 3 * 3 + 2 * 4);
	ck_assert(iso_graph_connected(&graph, scratch));
	assert_proper(&graph);
	iso_graph_degrees(&graph, scratch);
	ck_assert_uint_eq(scratch[0], 2);
	ck_assert_uint_eq(scratch[5], 4);
}
END_TEST

START_TEST(random_graphs_follow_their_seed)
{
	static struct iso_graph_edge kept[EDGES_MAX];

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct iso_rng rng = { seed }, again = { seed };
		struct iso_graph graph = graph_of(40);

		ck_assert_ok(iso_graph_random(&graph, 40, &rng));
		ck_assert(iso_graph_connected(&graph, scratch));
		assert_proper(&graph);
		ck_assert_uint_gt(graph.edge_count, 60);
		memcpy(kept, edges, sizeof(kept));
		struct iso_graph second = graph_of(40);
		ck_assert_ok(iso_graph_random(&second, 40, &again));
		ck_assert_uint_eq(graph.edge_count, second.edge_count);
		ck_assert_mem_eq(kept, edges, graph.edge_count * sizeof(edges[0]));
	}
}
END_TEST

START_TEST(edges_are_added_once)
{
	struct iso_graph graph = graph_of(4);

	ck_assert_ok(iso_graph_add(&graph, 3, 1));
	ck_assert_ok(iso_graph_add(&graph, 1, 3));
	ck_assert_uint_eq(graph.edge_count, 1);
	ck_assert_int_eq(iso_graph_add(&graph, 2, 2), ISO_E_RANGE);
	ck_assert_int_eq(iso_graph_add(&graph, 0, 4), ISO_E_RANGE);
	ck_assert(!iso_graph_connected(&graph, scratch));
	ck_assert_ok(iso_graph_line(&graph));
	ck_assert_uint_eq(graph.edge_count, 4);
	assert_proper(&graph);
}
END_TEST

START_TEST(a_full_list_stays_as_it_was)
{
	struct iso_graph_edge few[3];
	struct iso_rng rng = { 1 };
	struct iso_graph graph;

	iso_graph_init(&graph, 10, few, 3);
	ck_assert_ok(iso_graph_add(&graph, 0, 5));
	ck_assert_int_eq(iso_graph_line(&graph), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_ring(&graph), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_star(&graph), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_complete(&graph), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_exponential(&graph), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_grid(&graph, 2, 5), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_random(&graph, 1, &rng), ISO_E_FULL);
	ck_assert_uint_eq(graph.edge_count, 1);
	ck_assert_uint_eq(few[0].high, 5);
}
END_TEST

START_TEST(metropolis_weights_leave_some_for_oneself)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_graph graph = graph_of(100);
	double rows[100] = { 0 };

	ck_assert_double_eq(iso_graph_metropolis(3, 1), 0.25);
	ck_assert_double_eq(iso_graph_metropolis(1, 3), 0.25);
	ck_assert_ok(iso_graph_random(&graph, 300, &rng));
	iso_graph_degrees(&graph, scratch);
	for (uint32_t k = 0; k < graph.edge_count; k++) {
		double w = iso_graph_metropolis(scratch[edges[k].low], scratch[edges[k].high]);

		rows[edges[k].low] += w;
		rows[edges[k].high] += w;
	}
	for (int i = 0; i < 100; i++)
		ck_assert_double_lt(rows[i], 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("graph");
	TCase *tcase = tcase_create("edges");

	tcase_add_test(tcase, every_topology_has_its_edges);
	tcase_add_test(tcase, grids_join_rows_and_columns);
	tcase_add_test(tcase, random_graphs_follow_their_seed);
	tcase_add_test(tcase, edges_are_added_once);
	tcase_add_test(tcase, a_full_list_stays_as_it_was);
	tcase_add_test(tcase, metropolis_weights_leave_some_for_oneself);
	suite_add_tcase(suite, tcase);
	return suite;
}
