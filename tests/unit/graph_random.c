/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define EDGES_MAX 20000u
#define NODES_MAX 512u

static struct iso_graph_edge edges[EDGES_MAX], others[EDGES_MAX];
static struct iso_graph_point points[NODES_MAX];
static uint32_t scratch[2 * NODES_MAX];

static struct iso_graph graph_of(uint32_t nodes)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	return graph;
}

static void assert_proper(const struct iso_graph *graph)
{
	uint32_t wrong = 0;

	for (uint32_t k = 0; k < graph->edge_count; k++)
		wrong += edges[k].low >= edges[k].high || edges[k].high >= graph->nodes ||
			 (k > 0 && edges[k - 1].low > edges[k].low) ||
			 (k > 0 && edges[k - 1].low == edges[k].low &&
			  edges[k - 1].high >= edges[k].high);
	ck_assert_uint_eq(wrong, 0);
}

START_TEST(each_pair_has_the_same_chance)
{
	enum { NODES = 9, PAIRS = 36, DRAWS = 20000 };
	uint32_t counts[NODES][NODES] = { 0 };
	struct iso_rng rng = { test_seed_base() };
	double sum = 0, squares = 0, p = 0.3;

	for (int draw = 0; draw < DRAWS; draw++) {
		struct iso_graph graph = graph_of(NODES);

		ck_assert_ok(iso_graph_erdos_renyi(&graph, p, &rng));
		assert_proper(&graph);
		for (uint32_t k = 0; k < graph.edge_count; k++)
			counts[edges[k].low][edges[k].high]++;
		sum += graph.edge_count;
		squares += (double)graph.edge_count * graph.edge_count;
	}
	for (int i = 0; i < NODES; i++)
		for (int j = i + 1; j < NODES; j++)
			ck_assert_double_eq_tol(counts[i][j] / (double)DRAWS, p,
						5 * sqrt(p * (1 - p) / DRAWS));
	/* Pairs do not hang together: the number of edges is binomial. */
	double variance = squares / DRAWS - sum / DRAWS * (sum / DRAWS);

	ck_assert_double_eq_tol(variance, PAIRS * p * (1 - p), 0.05 * PAIRS * p * (1 - p));
}
END_TEST

START_TEST(drawn_pairs_end_at_all_and_none)
{
	struct iso_rng rng = { test_seed_base() };

	for (uint32_t nodes = 1; nodes < 40; nodes++) {
		struct iso_graph graph = graph_of(nodes);

		ck_assert_ok(iso_graph_erdos_renyi(&graph, 0, &rng));
		ck_assert_uint_eq(graph.edge_count, 0);
		ck_assert_ok(iso_graph_erdos_renyi(&graph, 5e-324, &rng));
		ck_assert_uint_eq(graph.edge_count, 0);
		ck_assert_ok(iso_graph_erdos_renyi(&graph, 1, &rng));
		ck_assert_uint_eq(graph.edge_count, nodes * (nodes - 1) / 2);
		graph = graph_of(nodes);
		ck_assert_ok(iso_graph_erdos_renyi(&graph, 1 - 1e-16, &rng));
		ck_assert_uint_eq(graph.edge_count, nodes * (nodes - 1) / 2);
		assert_proper(&graph);
	}
	struct iso_graph graph = graph_of(5);

	ck_assert_int_eq(iso_graph_erdos_renyi(&graph, -0.1, &rng), ISO_E_RANGE);
	ck_assert_int_eq(iso_graph_erdos_renyi(&graph, 1.1, &rng), ISO_E_RANGE);
	ck_assert_int_eq(iso_graph_erdos_renyi(&graph, NAN, &rng), ISO_E_RANGE);
	ck_assert_int_eq(iso_graph_geometric(&graph, -0.1, &rng, scratch, points), ISO_E_RANGE);
	ck_assert_int_eq(iso_graph_geometric(&graph, NAN, &rng, scratch, points), ISO_E_RANGE);
}
END_TEST

START_TEST(nodes_are_joined_where_they_are_near)
{
	for (int run = 0; run < test_runs(200); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		uint32_t nodes = 1 + (uint32_t)iso_rng_below(&rng, 150), count = 0, wrong = 0;
		double radius = exp(5 * iso_rng_unit(&rng) - 4.5);
		struct iso_graph graph = graph_of(nodes);

		ck_assert_ok(iso_graph_geometric(&graph, radius, &rng, scratch, points));
		assert_proper(&graph);
		for (uint32_t i = 0; i < nodes; i++)
			for (uint32_t j = i + 1; j < nodes; j++) {
				double dx = points[i].x - points[j].x;
				double dy = points[i].y - points[j].y;
				bool has = count < graph.edge_count && edges[count].low == i &&
					   edges[count].high == j;

				wrong += has != (dx * dx + dy * dy <= radius * radius);
				count += has;
			}
		ck_assert_uint_eq(wrong, 0);
		ck_assert_uint_eq(count, graph.edge_count);
	}
}
END_TEST

START_TEST(points_are_all_over_the_square)
{
	struct iso_rng rng = { test_seed_base() };
	uint32_t quarters[4] = { 0 };
	struct iso_graph graph = graph_of(400);

	ck_assert_ok(iso_graph_geometric(&graph, 0.05, &rng, scratch, points));
	for (int i = 0; i < 400; i++) {
		ck_assert(points[i].x >= 0 && points[i].x < 1 && points[i].y >= 0 &&
			  points[i].y < 1);
		quarters[2 * (points[i].y >= 0.5) + (points[i].x >= 0.5)]++;
	}
	for (int q = 0; q < 4; q++)
		ck_assert_uint_ge(quarters[q], 55);
}
END_TEST

START_TEST(there_is_room_for_what_is_drawn)
{
	for (int run = 0; run < test_runs(300); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		uint32_t nodes = 1 + (uint32_t)iso_rng_below(&rng, 150);
		double p = iso_rng_unit(&rng);
		struct iso_graph graph;

		p *= p;
		iso_graph_init(&graph, nodes, edges,
			       (uint32_t)iso_graph_erdos_renyi_room(nodes, p));
		ck_assert_uint_le(graph.edges_max, nodes * (nodes - 1) / 2);
		ck_assert_ok(iso_graph_erdos_renyi(&graph, p, &rng));
		iso_graph_init(&graph, nodes, edges, (uint32_t)iso_graph_geometric_room(nodes, p));
		ck_assert_uint_le(graph.edges_max, nodes * (nodes - 1) / 2);
		ck_assert_ok(iso_graph_geometric(&graph, p, &rng, scratch, points));
	}
	/* Not for many times as much: 10^6 nodes of degree 10. */
	ck_assert_uint_le(iso_graph_erdos_renyi_room(1000000, 1e-5), 5020000);
	ck_assert_uint_le(iso_graph_geometric_room(1000000, sqrt(1e-5 / acos(-1))), 5100000);
}
END_TEST

START_TEST(a_graph_without_room_stays_as_it_was)
{
	struct iso_graph_edge few[4];
	struct iso_rng rng = { 1 };
	struct iso_graph graph;

	iso_graph_init(&graph, 50, few, 4);
	ck_assert_ok(iso_graph_add(&graph, 0, 1));
	ck_assert_int_eq(iso_graph_erdos_renyi(&graph, 0.5, &rng), ISO_E_FULL);
	ck_assert_int_eq(iso_graph_geometric(&graph, 0.5, &rng, scratch, points), ISO_E_FULL);
	ck_assert_uint_eq(graph.edge_count, 1);
	ck_assert_uint_eq(few[0].high, 1);
}
END_TEST

START_TEST(drawings_follow_their_seed)
{
	struct iso_rng rng = { 11 }, again = { 11 };
	struct iso_graph graph = graph_of(100), second = graph_of(100);

	ck_assert_ok(iso_graph_erdos_renyi(&graph, 0.1, &rng));
	ck_assert_ok(iso_graph_geometric(&graph, 0.1, &rng, scratch, points));
	second.edges = others;
	ck_assert_ok(iso_graph_erdos_renyi(&second, 0.1, &again));
	ck_assert_ok(iso_graph_geometric(&second, 0.1, &again, scratch, points));
	ck_assert_uint_eq(graph.edge_count, second.edge_count);
	ck_assert_mem_eq(edges, others, graph.edge_count * sizeof(edges[0]));
	assert_proper(&graph);
}
END_TEST

START_TEST(large_graphs_take_no_time)
{
	uint32_t nodes = 200000, room = (uint32_t)iso_graph_erdos_renyi_room(nodes, 5e-5);
	struct iso_graph_point *many = malloc(nodes * sizeof(*many));
	uint32_t *words = malloc(2 * nodes * sizeof(*words));
	struct iso_rng rng = { test_seed_base() };
	struct iso_graph graph;

	room += (uint32_t)iso_graph_geometric_room(nodes, 0.004);
	iso_graph_init(&graph, nodes, malloc(room * sizeof(edges[0])), room);
	ck_assert_ok(iso_graph_erdos_renyi(&graph, 5e-5, &rng));
	ck_assert_double_eq_tol(graph.edge_count, 999995, 8000);
	ck_assert_ok(iso_graph_geometric(&graph, 0.004, &rng, words, many));
	ck_assert_double_eq_tol(graph.edge_count, 999995 + 1005000, 40000);
	free(graph.edges);
	free(words);
	free(many);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("graph_random");
	TCase *tcase = tcase_create("draws");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, each_pair_has_the_same_chance);
	tcase_add_test(tcase, drawn_pairs_end_at_all_and_none);
	tcase_add_test(tcase, nodes_are_joined_where_they_are_near);
	tcase_add_test(tcase, points_are_all_over_the_square);
	tcase_add_test(tcase, there_is_room_for_what_is_drawn);
	tcase_add_test(tcase, a_graph_without_room_stays_as_it_was);
	tcase_add_test(tcase, drawings_follow_their_seed);
	tcase_add_test(tcase, large_graphs_take_no_time);
	suite_add_tcase(suite, tcase);
	return suite;
}
