/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/toy.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "lib/draw.h"

#define LONG_AXIS  1.4
#define SHORT_AXIS 0.8
#define COS_TURN   0.86602540378443865 /* of 30 degrees */
#define SIN_TURN   0.5

static double between(struct iso_rng *rng, double least, double most)
{
	return least + (most - least) * iso_rng_unit(rng);
}

static double ellipse_at(const double *point)
{
	double along = COS_TURN * point[0] + SIN_TURN * point[1];
	double across = COS_TURN * point[1] - SIN_TURN * point[0];

	return along * along / (LONG_AXIS * LONG_AXIS) +
	       across * across / (SHORT_AXIS * SHORT_AXIS);
}

void iso_toy_ellipse(uint64_t seed, uint32_t count, double margin, double *ret_points,
		     double *ret_targets)
{
	struct iso_rng rng = { seed };

	assert(margin >= 0 && margin <= 0.5);
	for (uint32_t j = 0; j < count; j++) {
		double *point = ret_points + 2 * (size_t)j, form;

		do {
			point[0] = between(&rng, -1.5, 1.5);
			point[1] = between(&rng, -1.5, 1.5);
			form = ellipse_at(point);
		} while (fabs(form - 1) < margin);
		ret_targets[j] = form < 1;
	}
}

void iso_toy_map(const double *points, uint32_t count, double *ret_x)
{
	for (uint32_t j = 0; j < count; j++) {
		const double *point = points + 2 * (size_t)j;
		double *x = ret_x + 3 * (size_t)j;

		x[0] = point[0] * point[0];
		x[1] = point[1] * point[1];
		x[2] = sqrt(2) * point[0] * point[1];
	}
}

void iso_toy_regression(uint64_t seed, uint32_t count, uint32_t features, double noise,
			double *ret_x, double *ret_targets, double *ret_truth)
{
	struct iso_rng rng = { seed };

	assert(features >= 1);
	for (uint32_t f = 0; f <= features; f++)
		ret_truth[f] = between(&rng, -1, 1);
	for (uint32_t j = 0; j < count; j++) {
		double *x = ret_x + (size_t)j * features;

		ret_targets[j] = -ret_truth[features];
		for (uint32_t f = 0; f < features; f++) {
			x[f] = iso_draw_normal(&rng);
			ret_targets[j] += ret_truth[f] * x[f];
		}
		ret_targets[j] += noise * iso_draw_normal(&rng);
	}
}

void iso_toy_waves(uint64_t seed, uint32_t nodes, double size, double *ret_x)
{
	struct iso_rng rng = { seed };
	double sums[2] = { 0, 0 };

	assert(nodes >= 1);
	for (size_t i = 0; i < 2 * (size_t)nodes; i++) {
		ret_x[i] = between(&rng, -size, size);
		sums[i % 2] += ret_x[i];
	}
	for (size_t i = 0; i < 2 * (size_t)nodes; i++)
		ret_x[i] -= sums[i % 2] / nodes;
}
