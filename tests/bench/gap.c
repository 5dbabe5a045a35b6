/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Bytes on the wire until decentralised training has a gap of 1e-3: 16 nodes on an exponential
 * graph, binary logistic regression with 784 features of unequal sizes (as pixels
 * have) and a constant, gradient tracking with the same steps whatever the coding: those
 * that are best at full precision.
 * The gap is (F(y) - F*) / (F(0) - F*) of the node that is worst off.  Heads count.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/smooth.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"
#include "tests/tracked.h"

#define NODES	 16u
#define FEATURES 785u
#define SAMPLES	 64u /* of a node */
#define ROUNDS	 1500u
#define GAP	 1e-3

static const struct iso_smooth smooth = { .kind = ISO_SMOOTH_LOGISTIC,
					  .features = FEATURES,
					  .l2 = 1e-3 };
static double x[NODES * SAMPLES * FEATURES], targets[NODES * SAMPLES];
static double *workspace, curvature;

static struct iso_samples part(uint32_t node, uint32_t nodes)
{
	return (struct iso_samples){
		.x = x + (size_t)node * SAMPLES * FEATURES,
		.targets = targets + (size_t)node * SAMPLES,
		.count = nodes * SAMPLES,
		.weight = 1,
	};
}

static void gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	const struct iso_samples samples = part(node, 1);

	(void)context;
	(void)iso_smooth_gradient(&smooth, y, &samples, workspace, ret_gradient);
}

/* Two classes, each around a pattern of its own; nodes have them in unequal parts. */
static void make_data(void)
{
	static double pattern[2][FEATURES], size[FEATURES];
	struct iso_rng rng = { 1 };

	for (uint32_t k = 0; k < FEATURES; k++) {
		size[k] = exp(-6 * iso_rng_unit(&rng));
		pattern[0][k] = size[k] * iso_rng_unit(&rng);
		pattern[1][k] = size[k] * iso_rng_unit(&rng);
	}
	for (uint32_t s = 0; s < NODES * SAMPLES; s++) {
		uint32_t node = s / SAMPLES, side = iso_rng_below(&rng, NODES) < node;
		double *sample = x + (size_t)s * FEATURES, square = 0;

		for (uint32_t k = 0; k < FEATURES; k++) {
			double noise = 3 * size[k] * (iso_rng_unit(&rng) - 0.5);

			sample[k] = k + 1 == FEATURES ? 1 : pattern[side][k] + noise;
			square += sample[k] * sample[k];
		}
		for (uint32_t k = 0; k < FEATURES; k++)
			sample[k] /= sqrt(square);
		targets[s] = side;
	}
}

/* F of the node farthest from the mean. */
static double worst_value(const struct tracked *tracked)
{
	const struct iso_samples all = part(0, NODES);
	double mean[FEATURES] = { 0 }, farthest = -1;
	const double *worst = NULL;

	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < FEATURES; k++)
			mean[k] += tracked->y[i * FEATURES + k] / NODES;
	for (uint32_t i = 0; i < NODES; i++) {
		const double *y = tracked->y + (size_t)i * FEATURES;
		double square = 0;

		for (uint32_t k = 0; k < FEATURES; k++)
			square += (y[k] - mean[k]) * (y[k] - mean[k]);
		if (square > farthest) {
			farthest = square;
			worst = y;
		}
	}
	return iso_smooth_value(&smooth, worst, &all, workspace);
}

static struct tracked start(const struct iso_stream_config *coding)
{
	static const uint32_t exponential[] = { 1, 2, 4, 8 };
	struct tracked tracked = {
		.nodes = NODES,
		.m = FEATURES,
		.hops = exponential,
		.hop_count = 4,
		.gradient = gradient,
		.y_coding = *coding,
		.z_coding = *coding,
		.step = 0.8,
		/* With these the reference is as fast as it gets: 1 / L takes it half as long
		   again. */
		.alpha = 1.5 / curvature,
	};

	tracked_open(&tracked);
	return tracked;
}

/* Bytes that a node has sent to each of its neighbours; 0: the gap was never reached. */
static double bytes_to_gap(const struct iso_stream_config *coding, double first, double best)
{
	struct tracked tracked = start(coding);
	double bytes = 0;

	while (tracked.round < ROUNDS && bytes <= 0) {
		tracked_step(&tracked);
		if (worst_value(&tracked) - best <= GAP * (first - best))
			bytes = (double)tracked.bits / 8 / NODES;
	}
	tracked_close(&tracked);
	return bytes;
}

/* As far as doubles go. */
static double best_value(const struct iso_stream_config *doubles)
{
	struct tracked tracked = start(doubles);
	double best;

	while (tracked.round < 4 * ROUNDS)
		tracked_step(&tracked);
	best = worst_value(&tracked);
	tracked_close(&tracked);
	return best;
}

static void print(const char *name, double ours, double reference, double goal)
{
	struct bench_pairs pairs = { 0 };

	if (ours <= 0 || reference <= 0) {
		bench_skip(name, "the gap was not reached");
		return;
	}
	bench_add(&pairs, ours, reference);
	bench_print(name, "B", &pairs, goal);
}

int main(void)
{
	const struct iso_stream_config doubles = { .mode = ISO_STREAM_NONE };
	const struct iso_stream_config floats = { .mode = ISO_STREAM_SINGLE };
	const struct iso_samples all = part(0, NODES);
	const struct iso_stream_config four = { .mode = ISO_STREAM_INNOVATION,
						.bits = 4,
						.rho = 0.5 };
	const struct iso_stream_config two = { .mode = ISO_STREAM_INNOVATION,
					       .bits = 2,
					       .rho = 0.875 };
	double zero[FEATURES] = { 0 };

	workspace = malloc(iso_smooth_workspace(&smooth, NODES * SAMPLES) * sizeof(double));
	if (workspace == NULL)
		abort();
	make_data();
	for (uint32_t i = 0; i < NODES; i++) {
		const struct iso_samples samples = part(i, 1);

		curvature = fmax(curvature, iso_smooth_curvature(&smooth, &samples, workspace));
	}
	double first = iso_smooth_value(&smooth, zero, &all, workspace);
	double best = best_value(&doubles);
	double with_floats = bytes_to_gap(&floats, first, best);
	double with_doubles = bytes_to_gap(&doubles, first, best);
	double with_four = bytes_to_gap(&four, first, best);
	print("bytes to a gap of 1e-3, innovation in 4 bits / floats", with_four, with_floats,
	      1.0 / 6);
	print("bytes to a gap of 1e-3, innovation in 4 bits / doubles", with_four, with_doubles,
	      1.0 / 6);
	print("bytes to a gap of 1e-3, innovation in 2 bits / floats",
	      bytes_to_gap(&two, first, best), with_floats, -1);
	free(workspace);
	return 0;
}
