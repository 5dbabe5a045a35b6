/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/distance.h"

#include "lib/graph/random.h"
#include "tests/test.h"

#define EDGES_MAX 4096u
#define NODES_MAX 128u

static struct iso_graph_edge edges[EDGES_MAX];
static uint32_t starts[NODES_MAX + 1], others[2 * EDGES_MAX], scratch[4 * NODES_MAX];

static struct iso_graph graph_of(uint32_t nodes)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	return graph;
}

static uint32_t diameter_of(const struct iso_graph *graph)
{
	struct iso_adjacency adjacency = iso_graph_adjacency(graph, starts, others);
	struct iso_diameter diameter = iso_graph_diameter(&adjacency, NODES_MAX, scratch);

	ck_assert_uint_eq(diameter.low, diameter.high);
	return diameter.low;
}

/* Connected or not: from there some cannot be reached. */
static struct iso_graph draw(uint32_t run, struct iso_rng *rng)
{
	struct iso_graph graph = graph_of(1 + (uint32_t)iso_rng_below(rng, NODES_MAX));
	struct iso_graph_point points[NODES_MAX];

	if (run % 2 == 0)
		ck_assert_ok(iso_graph_erdos_renyi(&graph, 3.0 / (graph.nodes + 3), rng));
	else
		ck_assert_ok(iso_graph_geometric(&graph, 0.2, rng, scratch, points));
	return graph;
}

/* All pairs, by Floyd and Warshall; returns the largest of those that are finite. */
static uint32_t floyd(const struct iso_graph *graph, uint32_t distance[NODES_MAX][NODES_MAX])
{
	uint32_t n = graph->nodes, most = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			distance[i][j] = i == j ? 0 : UINT32_MAX / 2;
	for (uint32_t k = 0; k < graph->edge_count; k++)
		distance[edges[k].low][edges[k].high] = distance[edges[k].high][edges[k].low] = 1;
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				if (distance[i][k] + distance[k][j] < distance[i][j])
					distance[i][j] = distance[i][k] + distance[k][j];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (distance[i][j] < UINT32_MAX / 2 && distance[i][j] > most)
				most = distance[i][j];
	return most;
}

START_TEST(searches_find_what_all_pairs_do)
{
	static uint32_t all[NODES_MAX][NODES_MAX];

	for (int run = 0; run < test_runs(40); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		struct iso_graph graph = draw((uint32_t)run, &rng);
		struct iso_adjacency adjacency = iso_graph_adjacency(&graph, starts, others);
		uint32_t most = floyd(&graph, all), wrong = 0, found = 0;

		for (uint32_t i = 0; i < graph.nodes; i++) {
			uint32_t distances[NODES_MAX], far = 0;
			uint32_t e = iso_graph_distances(&adjacency, i, scratch, distances);

			for (uint32_t j = 0; j < graph.nodes; j++) {
				bool reached = all[i][j] < UINT32_MAX / 2;

				wrong += distances[j] != (reached ? all[i][j] : UINT32_MAX);
				far = reached && all[i][j] > far ? all[i][j] : far;
			}
			wrong += e != far;
			found = e > found ? e : found;
		}
		ck_assert_uint_eq(wrong, 0);
		ck_assert_uint_eq(found, most);
		if (iso_graph_connected(&graph, scratch))
			ck_assert_uint_eq(diameter_of(&graph), most);
	}
}
END_TEST

START_TEST(known_graphs_have_known_diameters)
{
	for (uint32_t n = 1; n <= 100; n++) {
		struct iso_graph graph = graph_of(n);

		ck_assert_ok(iso_graph_line(&graph));
		ck_assert_uint_eq(diameter_of(&graph), n - 1);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_ring(&graph));
		ck_assert_uint_eq(diameter_of(&graph), n / 2);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_star(&graph));
		ck_assert_uint_eq(diameter_of(&graph), n < 3 ? n - 1 : 2);
	}
	struct iso_graph graph = graph_of(7 * 13);

	ck_assert_ok(iso_graph_grid(&graph, 7, 13));
	ck_assert_uint_eq(diameter_of(&graph), 6 + 12);
	graph = graph_of(64);
	ck_assert_ok(iso_graph_complete(&graph));
	ck_assert_uint_eq(diameter_of(&graph), 1);
	graph = graph_of(16);
	ck_assert_ok(iso_graph_exponential(&graph));
	ck_assert_uint_eq(diameter_of(&graph), 2);
}
END_TEST

START_TEST(few_searches_give_bounds_that_hold)
{
	for (int run = 0; run < test_runs(200); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		struct iso_graph graph = draw((uint32_t)run, &rng);
		uint32_t before_low = 0, before_high = UINT32_MAX;

		if (!iso_graph_connected(&graph, scratch))
			ck_assert_ok(iso_graph_line(&graph));

		uint32_t most = diameter_of(&graph);
		struct iso_adjacency adjacency = iso_graph_adjacency(&graph, starts, others);

		for (uint32_t searches = 1; searches <= 4; searches++) {
			struct iso_diameter diameter =
			    iso_graph_diameter(&adjacency, searches, scratch);

			ck_assert_uint_le(diameter.searches, searches);
			ck_assert(diameter.low <= most && most <= diameter.high);
			ck_assert(diameter.low >= before_low && diameter.high <= before_high);
			before_low = diameter.low;
			before_high = diameter.high;
		}
	}
	/* A line is measured from its ends: two searches, and no more. */
	struct iso_graph graph = graph_of(100);

	ck_assert_ok(iso_graph_line(&graph));
	struct iso_adjacency adjacency = iso_graph_adjacency(&graph, starts, others);
	ck_assert_uint_le(iso_graph_diameter(&adjacency, 100, scratch).searches, 2);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("distance");
	TCase *tcase = tcase_create("searches");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, searches_find_what_all_pairs_do);
	tcase_add_test(tcase, known_graphs_have_known_diameters);
	tcase_add_test(tcase, few_searches_give_bounds_that_hold);
	suite_add_tcase(suite, tcase);
	return suite;
}
