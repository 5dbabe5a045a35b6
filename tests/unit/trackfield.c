/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/trackfield.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/graph/spectrum.h"
#include "lib/track/flow.h"

#define M TRACKFIELD_M

void trackfield_init(struct trackfield *field, uint32_t nodes)
{
	assert(nodes <= TRACKFIELD_NODES);
	memset(field, 0, sizeof(*field));
	iso_graph_init(&field->graph, nodes, field->edges, TRACKFIELD_EDGES);
	field->stream = (struct iso_stream_config){ .mode = ISO_STREAM_NONE, .n = M };
}

void trackfield_weigh(struct trackfield *field)
{
	uint32_t degree[TRACKFIELD_NODES];

	iso_graph_degrees(&field->graph, degree);
	for (uint32_t e = 0; e < field->graph.edge_count; e++)
		field->weight[e] =
		    iso_graph_metropolis(degree[field->edges[e].low], degree[field->edges[e].high]);
}

static double symmetric(struct iso_rng *rng)
{
	return 2 * iso_rng_unit(rng) - 1;
}

/* Gauss without pivoting, which a positive definite matrix does not need. */
static void solve(double a[M][M], double b[M], double ret_x[M])
{
	for (uint32_t k = 0; k < M; k++)
		for (uint32_t i = k + 1; i < M; i++) {
			double factor = a[i][k] / a[k][k];

			for (uint32_t j = k; j < M; j++)
				a[i][j] -= factor * a[k][j];
			b[i] -= factor * b[k];
		}
	for (uint32_t k = M; k-- > 0;) {
		ret_x[k] = b[k];
		for (uint32_t j = k + 1; j < M; j++)
			ret_x[k] -= a[k][j] * ret_x[j];
		ret_x[k] /= a[k][k];
	}
}

static void find_optimum(struct trackfield *field)
{
	double a[M][M] = { 0 }, b[M] = { 0 };

	for (uint32_t i = 0; i < field->graph.nodes; i++)
		for (uint32_t k = 0; k < M; k++) {
			b[k] += field->linear[i][k];
			for (uint32_t l = 0; l < M; l++)
				a[k][l] += field->hessian[i][k][l];
		}
	solve(a, b, field->optimum);
}

void trackfield_draw(struct trackfield *field, uint32_t rank, struct iso_rng *rng)
{
	for (uint32_t i = 0; i < field->graph.nodes; i++) {
		for (uint32_t r = 0; r < rank; r++) {
			double direction[M], square = 0;

			for (uint32_t k = 0; k < M; k++) {
				/* All directions are somebody's, or the sum has no curvature. */
				direction[k] = symmetric(rng) + ((i + r) % M == k ? 2 : 0);
				square += direction[k] * direction[k];
			}
			for (uint32_t k = 0; k < M; k++)
				for (uint32_t l = 0; l < M; l++)
					field->hessian[i][k][l] +=
					    direction[k] * direction[l] / square / rank;
		}
		for (uint32_t k = 0; k < M; k++) {
			field->linear[i][k] = symmetric(rng);
			field->y[i][k] = 3 * symmetric(rng);
		}
	}
	find_optimum(field);
}

void trackfield_draw_bent(struct trackfield *field, struct iso_rng *rng)
{
	for (uint32_t i = 0; i < field->graph.nodes; i++)
		for (uint32_t k = 0; k < M; k++) {
			field->hessian[i][k][k] = 5 * i < 3 * field->graph.nodes ? 1 : -1;
			field->linear[i][k] = symmetric(rng);
			field->y[i][k] = 3 * symmetric(rng);
		}
	find_optimum(field);
}

void trackfield_gradient(const struct trackfield *field, uint32_t node, double *ret_gradient)
{
	for (uint32_t k = 0; k < M; k++) {
		ret_gradient[k] = -field->linear[node][k];
		for (uint32_t l = 0; l < M; l++)
			ret_gradient[k] += field->hessian[node][k][l] * field->y[node][l];
	}
}

void trackfield_gather(struct trackfield *field)
{
	for (uint32_t i = 0; i < field->graph.nodes; i++)
		trackfield_gradient(field, i, field->z[i]);
	for (uint32_t e = 0; e < field->graph.edge_count; e++) {
		iso_track_gain(M, field->flux[e], field->z[field->edges[e].low]);
		iso_track_lose(M, field->flux[e], field->z[field->edges[e].high]);
	}
}

void trackfield_step(struct trackfield *field, double step, double alpha)
{
	memset(field->pull, 0, sizeof(field->pull));
	for (uint32_t i = 0; i < field->graph.nodes; i++) {
		uint64_t y_bits = iso_stream_apply(&field->stream, field->y[i], field->y_seen[i]);
		uint64_t z_bits = iso_stream_apply(&field->stream, field->z[i], field->z_seen[i]);

		assert(y_bits > 0);
		assert(z_bits > 0);
	}
	for (uint32_t e = 0; e < field->graph.edge_count; e++) {
		uint32_t a = field->edges[e].low, b = field->edges[e].high;
		double weight = step * field->weight[e];

		iso_track_flow(M, weight, field->z_seen[a], field->z_seen[b], field->flux[e]);
		iso_track_flow(M, weight, field->y_seen[a], field->y_seen[b], field->pull[a]);
		iso_track_flow(M, weight, field->y_seen[b], field->y_seen[a], field->pull[b]);
	}
	for (uint32_t i = 0; i < field->graph.nodes; i++)
		iso_track_move(M, field->pull[i], step * alpha, field->z[i], field->y[i]);
	trackfield_gather(field);
}

double trackfield_error(const struct trackfield *field)
{
	double worst = 0;

	for (uint32_t i = 0; i < field->graph.nodes; i++)
		for (uint32_t k = 0; k < M; k++)
			worst = fmax(worst, fabs(field->y[i][k] - field->optimum[k]));
	return worst;
}

double trackfield_leak(const struct trackfield *field)
{
	double sum[M] = { 0 }, worst = 0;

	for (uint32_t i = 0; i < field->graph.nodes; i++) {
		double gradient[M];

		trackfield_gradient(field, i, gradient);
		iso_track_gain(M, field->z[i], sum);
		iso_track_lose(M, gradient, sum);
	}
	for (uint32_t k = 0; k < M; k++)
		worst = fmax(worst, fabs(sum[k]));
	return worst;
}

struct iso_track_facts trackfield_facts(const struct trackfield *field)
{
	static uint64_t memory[1u << 16];
	const uint32_t steps = 4 * TRACKFIELD_NODES;
	struct iso_spectrum spectrum;
	enum iso_status status;

	assert(iso_spectrum_size(field->graph.nodes, steps) <= sizeof(memory));
	status = iso_graph_spectrum(&field->graph, field->weight, 1e-6, steps, memory, &spectrum);
	assert(status == ISO_OK);
	return (struct iso_track_facts){
		.lambda2 = spectrum.second,
		.lambda_max = spectrum.largest,
		.curvature = 1,
	};
}

struct iso_track_motion trackfield_motion(const struct trackfield *field, double step)
{
	uint32_t all = field->graph.nodes * M;

	return (struct iso_track_motion){
		.step = step,
		.curvature = 1,
		.z_square = iso_track_square(all, field->z[0]),
		.pull_square = iso_track_square(all, field->pull[0]),
	};
}
