/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/tracked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/track/flow.h"

static double *zeros(const struct tracked *tracked)
{
	double *array = calloc((size_t)tracked->nodes * tracked->m, sizeof(*array));

	if (array == NULL)
		abort();
	return array;
}

static double *vector_of(const struct tracked *tracked, double *array, uint32_t node)
{
	return array + (size_t)node * tracked->m;
}

/* z_i = grad g_i(y_i) + what flowed to it. */
static void make_z(struct tracked *tracked)
{
	for (uint32_t i = 0; i < tracked->nodes; i++) {
		double *z = vector_of(tracked, tracked->z, i);

		tracked->gradient(tracked->context, i, vector_of(tracked, tracked->y, i), z);
		iso_track_gain(tracked->m, vector_of(tracked, tracked->flow, i), z);
	}
}

void tracked_open(struct tracked *tracked)
{
	tracked->y_coding.n = tracked->z_coding.n = tracked->m;
	if (iso_stream_check(&tracked->y_coding) != ISO_OK ||
	    iso_stream_check(&tracked->z_coding) != ISO_OK)
		abort();
	tracked->bits = tracked->round = 0;
	tracked->y = zeros(tracked);
	tracked->z = zeros(tracked);
	tracked->y_hat = zeros(tracked);
	tracked->z_hat = zeros(tracked);
	tracked->flow = zeros(tracked);
	tracked->pull = zeros(tracked);
	make_z(tracked);
}

void tracked_close(struct tracked *tracked)
{
	free(tracked->y);
	free(tracked->z);
	free(tracked->y_hat);
	free(tracked->z_hat);
	free(tracked->flow);
	free(tracked->pull);
}

static void send(struct tracked *tracked, uint32_t node)
{
	uint64_t y_bits = iso_stream_apply(&tracked->y_coding, vector_of(tracked, tracked->y, node),
					   vector_of(tracked, tracked->y_hat, node));
	uint64_t z_bits = iso_stream_apply(&tracked->z_coding, vector_of(tracked, tracked->z, node),
					   vector_of(tracked, tracked->z_hat, node));

	/* Diverged. */
	if (y_bits == 0 || z_bits == 0)
		abort();
	tracked->bits += y_bits + z_bits;
}

void tracked_step(struct tracked *tracked)
{
	const uint32_t nodes = tracked->nodes, m = tracked->m;
	uint32_t degree = 0;

	for (uint32_t h = 0; h < tracked->hop_count; h++)
		degree += 2 * tracked->hops[h] == nodes ? 1 : 2;
	for (uint32_t i = 0; i < nodes; i++)
		send(tracked, i);
	memset(tracked->pull, 0, (size_t)nodes * m * sizeof(double));
	for (uint32_t i = 0; i < nodes; i++) {
		for (uint32_t k = 0; k < 2 * tracked->hop_count; k++) {
			uint32_t hop = tracked->hops[k / 2];
			uint32_t j = (k % 2 == 0 ? i + hop : i + nodes - hop) % nodes;
			double weight = tracked->step / (1 + degree);

			/* Half around the circle both ways lead to one neighbour. */
			if (k % 2 == 1 && 2 * hop == nodes)
				continue;
			iso_track_flow(m, weight, vector_of(tracked, tracked->y_hat, i),
				       vector_of(tracked, tracked->y_hat, j),
				       vector_of(tracked, tracked->pull, i));
			iso_track_flow(m, weight, vector_of(tracked, tracked->z_hat, i),
				       vector_of(tracked, tracked->z_hat, j),
				       vector_of(tracked, tracked->flow, i));
		}
	}
	for (uint32_t i = 0; i < nodes; i++)
		iso_track_move(m, vector_of(tracked, tracked->pull, i),
			       tracked->step * tracked->alpha, vector_of(tracked, tracked->z, i),
			       vector_of(tracked, tracked->y, i));
	make_z(tracked);
	tracked->round++;
}

double tracked_distance(const struct tracked *tracked, const double *target)
{
	double worst = 0;

	for (uint32_t i = 0; i < tracked->nodes; i++) {
		const double *y = tracked->y + (size_t)i * tracked->m;
		double square = 0;

		for (uint32_t k = 0; k < tracked->m; k++)
			square += (y[k] - target[k]) * (y[k] - target[k]);
		worst = fmax(worst, square);
	}
	return sqrt(worst / iso_track_square(tracked->m, target));
}
