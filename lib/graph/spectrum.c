/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/spectrum.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "lib/carve.h"
#include "lib/graph/parts.h"
#include "lib/rng.h"
#include "lib/tridiagonal.h"

/* What the method works with: three vectors of the nodes, and the tridiagonal matrix. */
struct lanczos {
	const struct iso_graph *graph;
	const double *weights;
	double *now, *before, *next;
	double *diagonal, *beside, *scratch;
	double bound; /* of the eigenvalues, by the circles of Gershgorin */
	uint32_t steps;
};

size_t iso_spectrum_size(uint32_t nodes, uint32_t steps_max)
{
	assert(nodes >= 1 && steps_max >= 1);
	return 3 * iso_carve_bytes(nodes * sizeof(double)) +
	       2 * iso_carve_bytes(steps_max * sizeof(double)) +
	       iso_carve_bytes(2 * (size_t)steps_max * sizeof(double)) +
	       iso_carve_bytes(nodes * sizeof(uint32_t));
}

static double dot(uint32_t n, const double *a, const double *b)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static void scale(uint32_t n, double factor, double *values)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] *= factor;
}

/* Rounding brings back the vector of ones, whose eigenvalue 0 is not wanted. */
static void remove_mean(uint32_t n, double *values)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	for (uint32_t i = 0; i < n; i++)
		values[i] -= sum / n;
}

static void multiply(const struct lanczos *lanczos, const double *in, double *out)
{
	const struct iso_graph *graph = lanczos->graph;

	for (uint32_t i = 0; i < graph->nodes; i++)
		out[i] = 0;
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct iso_graph_edge edge = graph->edges[k];
		double flow = lanczos->weights[k] * (in[edge.low] - in[edge.high]);

		out[edge.low] += flow;
		out[edge.high] -= flow;
	}
}

static double gershgorin(const struct lanczos *lanczos, double *sums)
{
	const struct iso_graph *graph = lanczos->graph;
	double most = 0;

	for (uint32_t i = 0; i < graph->nodes; i++)
		sums[i] = 0;
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		assert(lanczos->weights[k] >= 0);
		sums[graph->edges[k].low] += lanczos->weights[k];
		sums[graph->edges[k].high] += lanczos->weights[k];
	}
	for (uint32_t i = 0; i < graph->nodes; i++)
		most = fmax(most, sums[i]);
	return 2 * most * (1 + 8 * DBL_EPSILON);
}

/* Connected by the edges that have a weight. */
static bool is_connected(const struct lanczos *lanczos, uint32_t *parent)
{
	const struct iso_graph *graph = lanczos->graph;
	uint32_t parts = graph->nodes;

	iso_parts_start(parent, graph->nodes);
	for (uint32_t k = 0; k < graph->edge_count; k++)
		if (lanczos->weights[k] > 0)
			parts -= iso_parts_join(parent, graph->edges[k].low, graph->edges[k].high);
	return parts == 1;
}

/* Any vector will do in which no eigenvector is missing: a drawn one, always the same. */
static void start(struct lanczos *lanczos)
{
	uint32_t n = lanczos->graph->nodes;
	struct iso_rng rng = { n };

	for (uint32_t i = 0; i < n; i++) {
		lanczos->now[i] = iso_rng_unit(&rng) - 0.5;
		lanczos->before[i] = 0;
	}
	remove_mean(n, lanczos->now);
	scale(n, 1 / sqrt(dot(n, lanczos->now, lanczos->now)), lanczos->now);
}

/* One row more of the matrix.  false: the vectors span all that there is to see. */
static bool step(struct lanczos *lanczos)
{
	uint32_t n = lanczos->graph->nodes, k = lanczos->steps;
	double *now = lanczos->now, *next = lanczos->next;
	double last = k > 0 ? lanczos->beside[k - 1] : 0;

	multiply(lanczos, now, next);
	for (uint32_t i = 0; i < n; i++)
		next[i] -= last * lanczos->before[i];
	lanczos->diagonal[k] = dot(n, now, next);
	for (uint32_t i = 0; i < n; i++)
		next[i] -= lanczos->diagonal[k] * now[i];
	remove_mean(n, next);
	lanczos->beside[k] = sqrt(dot(n, next, next));
	lanczos->steps++;
	if (lanczos->beside[k] <= 16 * DBL_EPSILON * lanczos->bound)
		return false;
	scale(n, 1 / lanczos->beside[k], next);
	lanczos->next = lanczos->before;
	lanczos->before = now;
	lanczos->now = next;
	return true;
}

/* The residual of a Ritz value, and what rounding may do to it. */
static double error_of(const struct lanczos *lanczos, double value)
{
	uint32_t k = lanczos->steps;

	return lanczos->beside[k - 1] * iso_tridiagonal_tail(k, lanczos->diagonal, lanczos->beside,
							     value, lanczos->scratch) +
	       8 * DBL_EPSILON * lanczos->bound;
}

/* What the matrix so far says; true: both are good enough. */
static bool look(const struct lanczos *lanczos, double tolerance, bool connected,
		 struct iso_spectrum *spectrum)
{
	const double *diagonal = lanczos->diagonal, *beside = lanczos->beside;

	/* Values that were good stay as they were: copies that appear later say nothing new. */
	if (connected && !(spectrum->second_error <= tolerance * spectrum->second)) {
		spectrum->second = iso_tridiagonal_smallest(lanczos->steps, diagonal, beside);
		spectrum->second_error = error_of(lanczos, spectrum->second);
	}
	if (!(spectrum->largest_error <= tolerance * spectrum->largest)) {
		spectrum->largest = iso_tridiagonal_largest(lanczos->steps, diagonal, beside);
		spectrum->largest_error = error_of(lanczos, spectrum->largest);
	}
	return spectrum->second_error <= tolerance * spectrum->second &&
	       spectrum->largest_error <= tolerance * spectrum->largest;
}

static bool run(struct lanczos *lanczos, double tolerance, bool connected, uint32_t steps_max,
		struct iso_spectrum *spectrum)
{
	bool good = false, more = true;
	uint32_t look_at = 1;

	start(lanczos);
	while (!good && more && lanczos->steps < steps_max) {
		more = step(lanczos);
		if (more && lanczos->steps < look_at && lanczos->steps < steps_max)
			continue;
		good = look(lanczos, tolerance, connected, spectrum);
		look_at = lanczos->steps + 1 + lanczos->steps / 8;
	}
	return good;
}

enum iso_status iso_graph_spectrum(const struct iso_graph *graph, const double *weights,
				   double tolerance, uint32_t steps_max, void *memory,
				   struct iso_spectrum *ret_spectrum)
{
	struct lanczos lanczos = { .graph = graph, .weights = weights };
	size_t vector = graph->nodes * sizeof(double), row = steps_max * sizeof(double);
	uint8_t *rest = memory;
	bool good;

	assert(tolerance > 0 && steps_max >= 1);
	lanczos.now = iso_carve(&rest, vector);
	lanczos.before = iso_carve(&rest, vector);
	lanczos.next = iso_carve(&rest, vector);
	lanczos.diagonal = iso_carve(&rest, row);
	lanczos.beside = iso_carve(&rest, row);
	lanczos.scratch = iso_carve(&rest, 2 * row);
	lanczos.bound = gershgorin(&lanczos, lanczos.next);

	bool connected = is_connected(&lanczos, iso_carve(&rest, graph->nodes * sizeof(uint32_t)));

	assert((size_t)(rest - (uint8_t *)memory) == iso_spectrum_size(graph->nodes, steps_max));
	*ret_spectrum = (struct iso_spectrum){ .second_error = connected ? INFINITY : 0,
					       .largest_error = INFINITY };
	if (graph->nodes == 1 || lanczos.bound == 0) {
		*ret_spectrum = (struct iso_spectrum){ 0 };
		return ISO_OK;
	}
	good = run(&lanczos, tolerance, connected, steps_max, ret_spectrum);
	ret_spectrum->steps = lanczos.steps;
	return good ? ISO_OK : ISO_E_STEPS;
}
