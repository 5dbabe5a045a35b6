/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/switching.h"

#include <math.h>
#include <string.h>

#include "lib/graph/parts.h"
#include "tests/test.h"

#define EDGES_MAX 1024u
#define NODES_MAX 64u

static struct iso_graph_edge edges[EDGES_MAX];
static bool up[EDGES_MAX], again[EDGES_MAX];
static uint32_t scratch[NODES_MAX];

static struct iso_graph complete(uint32_t nodes)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	ck_assert_ok(iso_graph_complete(&graph));
	return graph;
}

static bool connected_by(const struct iso_graph *graph, const bool *which)
{
	uint32_t parent[NODES_MAX], parts = graph->nodes;

	iso_parts_start(parent, graph->nodes);
	for (uint32_t k = 0; k < graph->edge_count; k++)
		if (which[k])
			parts -= iso_parts_join(parent, graph->edges[k].low, graph->edges[k].high);
	return parts == 1;
}

START_TEST(edges_are_up_as_often_as_asked)
{
	struct iso_switching switching = {
		.seed = test_seed_base(), .up = 0.3, .dwell = 1, .promise = ISO_SWITCHING_FREE
	};
	struct iso_graph graph = complete(20);
	uint32_t count = 0, rounds = 500, pairs = 0;

	for (uint64_t round = 0; round < rounds; round++) {
		count += iso_switching_edges(&switching, &graph, round, scratch, up);
		/* Neither edges nor rounds hang together: one edge with the next, one round too. */
		if (round > 0)
			for (uint32_t k = 0; k < graph.edge_count; k++)
				pairs += up[k] && again[k];
		memcpy(again, up, sizeof(up));
	}
	double trials = graph.edge_count * (double)rounds;

	/* Five standard deviations. */
	ck_assert_double_eq_tol(count / trials, 0.3, 5 * sqrt(0.3 * 0.7 / trials));
	ck_assert_double_eq_tol(pairs / trials, 0.09, 0.01);
	switching.up = 0;
	ck_assert_uint_eq(iso_switching_edges(&switching, &graph, 3, scratch, up), 0);
	switching.up = 1;
	ck_assert_uint_eq(iso_switching_edges(&switching, &graph, 3, scratch, up), 190);
}
END_TEST

START_TEST(a_draw_lasts_its_rounds_and_follows_its_seed)
{
	struct iso_switching switching = {
		.seed = 7, .up = 0.5, .dwell = 4, .promise = ISO_SWITCHING_CONNECTED
	};
	struct iso_graph graph = complete(16);

	(void)iso_switching_edges(&switching, &graph, 8, scratch, again);
	for (uint64_t round = 8; round < 12; round++) {
		(void)iso_switching_edges(&switching, &graph, round, scratch, up);
		ck_assert_mem_eq(up, again, graph.edge_count);
	}
	(void)iso_switching_edges(&switching, &graph, 12, scratch, up);
	ck_assert_mem_ne(up, again, graph.edge_count);
	switching.seed = 8;
	(void)iso_switching_edges(&switching, &graph, 8, scratch, up);
	ck_assert_mem_ne(up, again, graph.edge_count);
}
END_TEST

START_TEST(one_edge_is_told_what_all_are)
{
	struct iso_switching switching = { .seed = 3, .up = 0.2, .dwell = 2, .turns = 5 };
	struct iso_graph graph = complete(20);

	for (int promise = ISO_SWITCHING_FREE; promise <= ISO_SWITCHING_UNION; promise++) {
		switching.promise = (enum iso_switching_promise)promise;
		for (uint64_t round = 0; round < 40; round++) {
			uint32_t n = iso_switching_edges(&switching, &graph, round, scratch, up);

			for (uint32_t k = 0; k < graph.edge_count; k++) {
				bool is_up = iso_switching_is_up(&switching, edges[k], round);

				ck_assert(up[k] == is_up ||
					  (promise == ISO_SWITCHING_CONNECTED && up[k]));
				n -= up[k];
			}
			ck_assert_uint_eq(n, 0);
		}
	}
}
END_TEST

START_TEST(connected_is_kept_with_as_few_edges_as_can_be)
{
	for (int run = 0; run < test_runs(300); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		struct iso_switching switching = { .seed = iso_rng_next(&rng),
						   .up = iso_rng_unit(&rng) / 8,
						   .dwell = 1,
						   .promise = ISO_SWITCHING_CONNECTED };
		uint32_t nodes = 1 + (uint32_t)iso_rng_below(&rng, 30), drawn = 0, parts = nodes;
		struct iso_graph graph = complete(nodes);
		uint32_t count = iso_switching_edges(&switching, &graph, 1, scratch, up);

		iso_parts_start(scratch, nodes);
		for (uint32_t k = 0; k < graph.edge_count; k++)
			if (iso_switching_is_up(&switching, edges[k], 1)) {
				parts -= iso_parts_join(scratch, edges[k].low, edges[k].high);
				drawn++;
			}
		ck_assert(connected_by(&graph, up));
		ck_assert_uint_eq(count, drawn + parts - 1);
	}
	/* The edges that are added are not the same each time. */
	struct iso_switching none = { .dwell = 1, .promise = ISO_SWITCHING_CONNECTED };
	struct iso_graph graph = complete(20);

	ck_assert_uint_eq(iso_switching_edges(&none, &graph, 1, scratch, again), 19);
	ck_assert_uint_eq(iso_switching_edges(&none, &graph, 2, scratch, up), 19);
	ck_assert_mem_ne(up, again, graph.edge_count);
}
END_TEST

START_TEST(every_edge_has_its_turn)
{
	struct iso_switching switching = {
		.seed = 5, .dwell = 3, .promise = ISO_SWITCHING_UNION, .turns = 4
	};
	struct iso_graph graph = complete(20);
	uint32_t least = UINT32_MAX;

	for (uint64_t from = 0; from < 8; from++) {
		bool ever[EDGES_MAX] = { false };

		for (uint64_t draw = from; draw < from + 4; draw++) {
			uint32_t n = iso_switching_edges(&switching, &graph, 3 * draw, scratch, up);

			least = n < least ? n : least;
			for (uint32_t k = 0; k < graph.edge_count; k++)
				ever[k] = ever[k] || up[k];
		}
		for (uint32_t k = 0; k < graph.edge_count; k++)
			ck_assert(ever[k]);
	}
	/* A quarter of 190 each time, about. */
	ck_assert_uint_ge(least, 25);
	ck_assert_uint_le(least, 48);
}
END_TEST

START_TEST(weights_are_of_the_edges_that_are_up)
{
	struct iso_switching switching = { .seed = 9, .up = 0.4, .dwell = 1, .promise = 1 };
	struct iso_graph graph = complete(12);
	double weights[EDGES_MAX], rows[NODES_MAX] = { 0 };
	uint32_t degrees[NODES_MAX], sum = 0;

	uint32_t count = iso_switching_edges(&switching, &graph, 0, scratch, up);

	iso_switching_weights(&graph, up, ISO_WEIGHTS_METROPOLIS, degrees, weights);
	for (uint32_t i = 0; i < 12; i++)
		sum += degrees[i];
	ck_assert_uint_eq(sum, 2 * count);
	for (uint32_t k = 0; k < graph.edge_count; k++) {
		uint32_t a = edges[k].low, b = edges[k].high;

		ck_assert_double_eq(weights[k],
				    up[k] ? iso_graph_metropolis(degrees[a], degrees[b]) : 0);
		rows[a] += weights[k];
		rows[b] += weights[k];
	}
	for (uint32_t i = 0; i < 12; i++)
		ck_assert_double_lt(rows[i], 1);
	memset(up, 0, sizeof(up));
	iso_switching_weights(&graph, up, ISO_WEIGHTS_MAX_DEGREE, degrees, weights);
	ck_assert_double_eq(weights[0], 0);
}
END_TEST

START_TEST(values_that_mean_nothing_are_refused)
{
	const struct iso_switching good = {
		.up = 1, .dwell = 1, .promise = ISO_SWITCHING_UNION, .turns = 1
	};
	struct iso_switching bad = good;

	ck_assert_ok(iso_switching_check(&good));
	bad.up = 1.01;
	ck_assert_int_eq(iso_switching_check(&bad), ISO_E_RANGE);
	bad.up = NAN;
	ck_assert_int_eq(iso_switching_check(&bad), ISO_E_RANGE);
	bad = good;
	bad.dwell = 0;
	ck_assert_int_eq(iso_switching_check(&bad), ISO_E_RANGE);
	bad = good;
	bad.turns = 0;
	ck_assert_int_eq(iso_switching_check(&bad), ISO_E_RANGE);
	bad = good;
	bad.promise = 0;
	ck_assert_int_eq(iso_switching_check(&bad), ISO_E_RANGE);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("switching");
	TCase *tcase = tcase_create("edges");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, edges_are_up_as_often_as_asked);
	tcase_add_test(tcase, a_draw_lasts_its_rounds_and_follows_its_seed);
	tcase_add_test(tcase, one_edge_is_told_what_all_are);
	tcase_add_test(tcase, connected_is_kept_with_as_few_edges_as_can_be);
	tcase_add_test(tcase, every_edge_has_its_turn);
	tcase_add_test(tcase, weights_are_of_the_edges_that_are_up);
	tcase_add_test(tcase, values_that_mean_nothing_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
