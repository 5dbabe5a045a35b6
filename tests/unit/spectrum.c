/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/spectrum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/graph/random.h"
#include "lib/graph/weights.h"
#include "lib/tridiagonal.h"
#include "tests/test.h"

#define EDGES_MAX 20000u
#define NODES_MAX 400u
#define STEPS_MAX 4000u

/* LAPACK has no header of its own here. */
extern void dsyev_(const char *job, const char *half, const int *n, double *a, const int *rows,
		   double *values, double *work, const int *work_size, int *info);

static struct iso_graph_edge edges[EDGES_MAX];
static double weights[EDGES_MAX];

static struct iso_graph graph_of(uint32_t nodes)
{
	struct iso_graph graph;

	iso_graph_init(&graph, nodes, edges, EDGES_MAX);
	return graph;
}

static void weigh(const struct iso_graph *graph, enum iso_weights_kind kind)
{
	uint32_t *degrees = malloc(graph->nodes * sizeof(*degrees));

	iso_graph_degrees(graph, degrees);
	iso_graph_weights(graph, kind, degrees, weights);
	free(degrees);
}

static enum iso_status spectrum_of(const struct iso_graph *graph, double tolerance,
				   uint32_t steps_max, struct iso_spectrum *ret)
{
	void *memory = malloc(iso_spectrum_size(graph->nodes, steps_max));
	enum iso_status status =
	    iso_graph_spectrum(graph, weights, tolerance, steps_max, memory, ret);

	free(memory);
	return status;
}

/* All eigenvalues, ascending. */
static void lapack(const struct iso_graph *graph, double *values)
{
	int n = (int)graph->nodes, info, work_size = 8 * n;
	double *matrix = calloc((size_t)n * (size_t)n, sizeof(*matrix));
	double *work = malloc((size_t)work_size * sizeof(*work));

	for (uint32_t k = 0; k < graph->edge_count; k++) {
		uint32_t a = edges[k].low, b = edges[k].high, rows = graph->nodes;

		matrix[a * rows + a] += weights[k];
		matrix[b * rows + b] += weights[k];
		matrix[a * rows + b] -= weights[k];
		matrix[b * rows + a] -= weights[k];
	}
	dsyev_("N", "L", &n, matrix, &n, values, work, &work_size, &info);
	ck_assert_int_eq(info, 0);
	free(matrix);
	free(work);
}

static void assert_relative(double value, double want, double tolerance)
{
	ck_assert_double_eq_tol(value, want, tolerance * fabs(want));
}

/* Within the errors that were promised, and nearer as a rule. */
static void assert_spectrum(const struct iso_graph *graph, double second, double largest)
{
	struct iso_spectrum spectrum;

	ck_assert_ok(spectrum_of(graph, 1e-8, STEPS_MAX, &spectrum));
	ck_assert_double_le(spectrum.second_error, 1e-8 * spectrum.second);
	ck_assert_double_le(spectrum.largest_error, 1e-8 * spectrum.largest);
	assert_relative(spectrum.second, second, 1e-9);
	assert_relative(spectrum.largest, largest, 1e-9);
}

START_TEST(lapack_finds_the_same)
{
	for (int run = 0; run < test_runs(60); run++) {
		struct iso_rng rng = { test_seed_base() + (uint64_t)run };
		uint32_t nodes = 2 + (uint32_t)iso_rng_below(&rng, 120), scratch[NODES_MAX];
		struct iso_graph graph = graph_of(nodes);
		struct iso_graph_point points[NODES_MAX];
		double values[NODES_MAX];

		if (run % 3 == 0)
			ck_assert_ok(iso_graph_random(&graph, nodes / 2, &rng));
		else if (run % 3 == 1)
			ck_assert_ok(iso_graph_erdos_renyi(&graph, 0.2, &rng));
		else
			ck_assert_ok(iso_graph_geometric(&graph, 0.25, &rng, scratch, points));
		if (!iso_graph_connected(&graph, scratch))
			ck_assert_ok(iso_graph_line(&graph));
		weigh(&graph, ISO_WEIGHTS_METROPOLIS);
		/* Half of them with weights of any size. */
		for (uint32_t k = 0; k < graph.edge_count && run % 2 == 0; k++)
			weights[k] *= exp(4 * iso_rng_unit(&rng) - 2);
		lapack(&graph, values);
		assert_spectrum(&graph, values[1], values[nodes - 1]);
	}
}
END_TEST

START_TEST(rings_and_lines_have_what_the_books_say)
{
	const double pi = acos(-1);

	for (uint32_t n = 3; n <= 400; n += n < 20 ? 1 : 95) {
		struct iso_graph graph = graph_of(n);

		ck_assert_ok(iso_graph_ring(&graph));
		weigh(&graph, ISO_WEIGHTS_METROPOLIS);
		assert_spectrum(&graph, (2 - 2 * cos(2 * pi / n)) / 3,
				(2 - 2 * cos(2 * pi * floor(n / 2.0) / n)) / 3);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_line(&graph));
		weigh(&graph, ISO_WEIGHTS_MAX_DEGREE);
		assert_spectrum(&graph, (2 - 2 * cos(pi / n)) / 3,
				(2 - 2 * cos(pi * (n - 1) / n)) / 3);
	}
}
END_TEST

START_TEST(grids_stars_and_complete_graphs_do_as_well)
{
	const double pi = acos(-1);

	for (uint32_t rows = 2; rows <= 18; rows += 4)
		for (uint32_t columns = 3; columns <= 19; columns += 4) {
			uint32_t most = rows < columns ? columns : rows;
			struct iso_graph graph = graph_of(rows * columns);
			/* Inner nodes have four neighbours, or three in two rows. */
			double w = rows > 2 ? 0.2 : 0.25;

			ck_assert_ok(iso_graph_grid(&graph, rows, columns));
			weigh(&graph, ISO_WEIGHTS_MAX_DEGREE);
			assert_spectrum(&graph, w * (2 - 2 * cos(pi / most)),
					w * (4 - 2 * cos(pi * (rows - 1) / rows) -
					     2 * cos(pi * (columns - 1) / columns)));
		}
	for (uint32_t n = 2; n <= 150; n += n < 10 ? 1 : 35) {
		struct iso_graph graph = graph_of(n);

		ck_assert_ok(iso_graph_star(&graph));
		weigh(&graph, ISO_WEIGHTS_METROPOLIS);
		assert_spectrum(&graph, n == 2 ? 1 : 1.0 / n, 1);
		graph = graph_of(n);
		ck_assert_ok(iso_graph_complete(&graph));
		weigh(&graph, ISO_WEIGHTS_METROPOLIS);
		assert_spectrum(&graph, 1, 1);
	}
}
END_TEST

START_TEST(what_is_in_parts_has_second_eigenvalue_zero)
{
	struct iso_graph graph = graph_of(6);
	struct iso_spectrum spectrum;

	ck_assert_ok(spectrum_of(&graph, 1e-8, 100, &spectrum));
	ck_assert_double_eq(spectrum.second, 0);
	ck_assert_double_eq(spectrum.largest, 0);
	ck_assert_ok(iso_graph_add(&graph, 0, 1));
	ck_assert_ok(iso_graph_add(&graph, 1, 2));
	ck_assert_ok(iso_graph_add(&graph, 3, 4));
	ck_assert_ok(iso_graph_add(&graph, 4, 5));
	for (int k = 0; k < 4; k++)
		weights[k] = 0.25;
	ck_assert_ok(spectrum_of(&graph, 1e-8, 100, &spectrum));
	ck_assert_double_eq(spectrum.second, 0);
	ck_assert_double_eq(spectrum.second_error, 0);
	assert_relative(spectrum.largest, 0.75, 1e-12);
	/* An edge without weight joins nothing. */
	ck_assert_ok(iso_graph_add(&graph, 2, 3));
	weights[2] = 0;
	weights[4] = 0.25;
	ck_assert_ok(spectrum_of(&graph, 1e-8, 100, &spectrum));
	ck_assert_double_eq(spectrum.second, 0);
	weights[2] = 0.25;
	ck_assert_ok(spectrum_of(&graph, 1e-8, 100, &spectrum));
	assert_relative(spectrum.second, (2 - sqrt(3)) / 4, 1e-12);
	graph = graph_of(1);
	ck_assert_ok(spectrum_of(&graph, 1e-8, 1, &spectrum));
	ck_assert_double_eq(spectrum.second, 0);
}
END_TEST

START_TEST(too_few_steps_are_said_and_bound_the_true_values)
{
	double second = (2 - 2 * cos(2 * acos(-1) / 400)) / 3;
	struct iso_graph graph = graph_of(400);
	struct iso_spectrum spectrum;
	double before = INFINITY;

	ck_assert_ok(iso_graph_ring(&graph));
	weigh(&graph, ISO_WEIGHTS_METROPOLIS);
	for (uint32_t steps = 1; steps <= 81; steps += 20) {
		ck_assert_int_eq(spectrum_of(&graph, 1e-6, steps, &spectrum), ISO_E_STEPS);
		ck_assert_uint_eq(spectrum.steps, steps);
		ck_assert_double_ge(spectrum.second, second);
		ck_assert_double_le(spectrum.largest, 4.0 / 3 * (1 + 1e-14));
		ck_assert_double_gt(spectrum.second_error, 1e-6 * spectrum.second);
		/* Some eigenvalue is as near as is claimed: the second one is the nearest known. */
		ck_assert_double_lt(spectrum.second, before);
		before = spectrum.second;
	}
}
END_TEST

START_TEST(an_eigenvalue_that_rounding_hides_is_not_claimed)
{
	struct iso_graph graph = graph_of(40);
	struct iso_spectrum spectrum;
	double values[NODES_MAX];

	/* Two halves that hardly know each other. */
	ck_assert_ok(iso_graph_complete(&graph));
	for (uint32_t k = 0; k < graph.edge_count; k++)
		weights[k] = edges[k].low < 20 && edges[k].high >= 20 ? 1e-15 : 0.05;
	ck_assert_int_eq(spectrum_of(&graph, 1e-3, STEPS_MAX, &spectrum), ISO_E_STEPS);
	ck_assert_double_gt(spectrum.second_error, 1e-3 * spectrum.second);
	/* Nor where the vectors span all that there is and no residual is left. */
	graph = graph_of(3);
	ck_assert_ok(iso_graph_line(&graph));
	weights[0] = 1;
	for (weights[1] = 1e-16; weights[1] > 1e-22; weights[1] /= 2)
		ck_assert_int_eq(spectrum_of(&graph, 1e-1, STEPS_MAX, &spectrum), ISO_E_STEPS);
	/* As soon as it can be seen it is found. */
	graph = graph_of(40);
	ck_assert_ok(iso_graph_complete(&graph));
	for (uint32_t k = 0; k < graph.edge_count; k++)
		weights[k] = edges[k].low < 20 && edges[k].high >= 20 ? 1e-12 : 0.05;
	ck_assert_ok(spectrum_of(&graph, 1e-3, STEPS_MAX, &spectrum));
	lapack(&graph, values);
	assert_relative(spectrum.second, 40e-12, 1e-3);
	assert_relative(spectrum.second, values[1], 1e-3);
}
END_TEST

/* Circulant: an eigenvalue for each frequency, a cosine for each distance there is. */
static void exponential(uint32_t n, double *ret_second, double *ret_largest)
{
	uint32_t hops[64], count = 0;

	for (uint64_t hop = 1; hop < n; hop *= 2) {
		uint32_t near = (uint32_t)(hop < n - hop ? hop : n - hop);
		bool is_new = true;

		for (uint32_t h = 0; h < count; h++)
			is_new = is_new && hops[h] != near;
		if (is_new)
			hops[count++] = near;
	}
	*ret_second = INFINITY;
	*ret_largest = 0;
	for (uint32_t k = 1; k < n; k++) {
		double sum = 0, degree = 0;

		for (uint32_t h = 0; h < count; h++) {
			double ways = 2 * (uint64_t)hops[h] == n ? 1 : 2;
			uint64_t turn = (uint64_t)hops[h] * k % n;

			sum += ways * (1 - cos(2 * acos(-1) * (double)turn / n));
			degree += ways;
		}
		*ret_second = fmin(*ret_second, sum / (1 + degree));
		*ret_largest = fmax(*ret_largest, sum / (1 + degree));
	}
}

START_TEST(large_expanders_take_some_dozen_steps)
{
	uint32_t sizes[] = { 16, 100, 1000, 10000, 100000 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t n = sizes[s], steps_max = 300;
		struct iso_graph graph;
		struct iso_spectrum spectrum;
		double second, largest, *each;
		void *memory = malloc(iso_spectrum_size(n, steps_max));

		iso_graph_init(&graph, n, malloc(17 * n * sizeof(edges[0])), 17 * n);
		ck_assert_ok(iso_graph_exponential(&graph));
		each = malloc(graph.edge_count * sizeof(*each));
		/* Every node has as many neighbours as the others. */
		for (uint32_t k = 0; k < graph.edge_count; k++)
			each[k] = 1 / (1 + 2.0 * graph.edge_count / n);
		ck_assert_ok(iso_graph_spectrum(&graph, each, 1e-6, steps_max, memory, &spectrum));
		exponential(n, &second, &largest);
		assert_relative(spectrum.second, second, 1e-9);
		assert_relative(spectrum.largest, largest, 1e-9);
		ck_assert_uint_le(spectrum.steps, 150);
		free(graph.edges);
		free(each);
		free(memory);
	}
}
END_TEST

START_TEST(tails_are_those_of_the_eigenvectors)
{
	/* 2 on the diagonal, -1 beside it: sines. */
	const double pi = acos(-1);

	for (uint32_t n = 1; n <= 60; n++) {
		double diagonal[60], beside[60], scratch[120];

		for (uint32_t i = 0; i < n; i++) {
			diagonal[i] = 2;
			beside[i] = -1;
		}
		double least = 2 - 2 * cos(pi / (n + 1)), most = 2 + 2 * cos(pi / (n + 1));
		double tail = sqrt(2.0 / (n + 1)) * sin(pi * n / (n + 1));

		ck_assert_double_eq_tol(iso_tridiagonal_smallest(n, diagonal, beside), least,
					1e-14);
		ck_assert_double_eq_tol(iso_tridiagonal_largest(n, diagonal, beside), most, 1e-14);
		assert_relative(iso_tridiagonal_tail(n, diagonal, beside, least, scratch), tail,
				1e-9);
		assert_relative(iso_tridiagonal_tail(n, diagonal, beside, most, scratch), tail,
				1e-9);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("spectrum");
	TCase *tcase = tcase_create("eigenvalues");

	/* A second of CPU, but others may want it, too. */
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, lapack_finds_the_same);
	tcase_add_test(tcase, rings_and_lines_have_what_the_books_say);
	tcase_add_test(tcase, grids_stars_and_complete_graphs_do_as_well);
	tcase_add_test(tcase, what_is_in_parts_has_second_eigenvalue_zero);
	tcase_add_test(tcase, too_few_steps_are_said_and_bound_the_true_values);
	tcase_add_test(tcase, an_eigenvalue_that_rounding_hides_is_not_claimed);
	tcase_add_test(tcase, large_expanders_take_some_dozen_steps);
	tcase_add_test(tcase, tails_are_those_of_the_eigenvectors);
	suite_add_tcase(suite, tcase);
	return suite;
}
