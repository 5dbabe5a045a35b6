/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/partition.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CLASSES_MAX 256u

double iso_rng_normal(struct iso_rng *rng)
{
	double u, v, square;

	/* A point in the unit disc; three draws in four are inside. */
	do {
		u = 2 * iso_rng_unit(rng) - 1;
		v = 2 * iso_rng_unit(rng) - 1;
		square = u * u + v * v;
	} while (square >= 1 || square <= 0);
	return u * sqrt(-2 * log(square) / square);
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shape >= 1. */
static double log_gamma_from_one(struct iso_rng *rng, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = iso_rng_normal(rng), root = 1 + c * x;

		if (root <= 0)
			continue;
		double v = root * root * root, u = 1 - iso_rng_unit(rng);
		if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
			return log(d) + log(v);
	}
}

double iso_rng_log_gamma(struct iso_rng *rng, double shape)
{
	assert(shape > 0);
	if (shape >= 1)
		return log_gamma_from_one(rng, shape);
	/*
	 * Gamma(a) = Gamma(a + 1) U^(1/a).  In logarithms, since for a = 0.01
	 * one value in a thousand would be 0 in a double.
	 */
	double boosted = log_gamma_from_one(rng, shape + 1);
	return boosted + log(1 - iso_rng_unit(rng)) / shape;
}

void iso_rng_shuffle(struct iso_rng *rng, uint32_t *values, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)iso_rng_below(rng, i);
		uint32_t swap = values[i - 1];

		values[i - 1] = values[j];
		values[j] = swap;
	}
}

uint32_t iso_partition_size(const struct iso_partition_config *config, uint32_t samples)
{
	return samples / config->parts;
}

size_t iso_partition_workspace(const struct iso_partition_config *config, uint32_t samples)
{
	(void)config;
	return samples;
}

/* The shuffled samples of each class, one class behind the other; taken from the end. */
struct pools {
	uint32_t *samples;
	uint32_t start[CLASSES_MAX];
	uint32_t left[CLASSES_MAX];
	uint32_t classes;
};

/* Shares of `total` in proportion to weights, by largest remainder; they sum to total. */
static void apportion(const double *weights, uint32_t classes, uint32_t total, uint32_t *shares)
{
	double remainders[CLASSES_MAX], sum = 0;
	uint32_t given = 0;

	for (uint32_t c = 0; c < classes; c++)
		sum += weights[c];
	assert(sum > 0);
	for (uint32_t c = 0; c < classes; c++) {
		double exact = weights[c] / sum * total;

		shares[c] = (uint32_t)exact;
		remainders[c] = exact - shares[c];
		given += shares[c];
	}
	/* Rounding may have given one too many in all. */
	for (uint32_t c = 0; given > total; c = (c + 1) % classes) {
		if (shares[c] == 0)
			continue;
		shares[c]--;
		given--;
	}
	for (; given < total; given++) {
		uint32_t best = 0;

		for (uint32_t c = 1; c < classes; c++)
			best = remainders[c] > remainders[best] ? c : best;
		shares[best]++;
		remainders[best] -= 1;
	}
}

/* Sorts the samples into class pools, shuffles each and trims them to `keep` in all. */
static void fill_pools(struct iso_rng *rng, const uint8_t *labels, uint32_t samples, uint32_t keep,
		       struct pools *pools)
{
	double sizes[CLASSES_MAX];
	uint32_t filled[CLASSES_MAX] = { 0 }, at = 0;

	memset(pools->left, 0, sizeof(pools->left));
	for (uint32_t i = 0; i < samples; i++)
		pools->left[labels[i]]++;
	for (uint32_t c = 0; c < pools->classes; c++) {
		pools->start[c] = at;
		at += pools->left[c];
		sizes[c] = pools->left[c];
	}
	for (uint32_t i = 0; i < samples; i++)
		pools->samples[pools->start[labels[i]] + filled[labels[i]]++] = i;
	for (uint32_t c = 0; c < pools->classes; c++)
		iso_rng_shuffle(rng, pools->samples + pools->start[c], pools->left[c]);
	apportion(sizes, pools->classes, keep, pools->left);
	for (uint32_t c = 0; c < pools->classes; c++)
		assert(pools->left[c] <= filled[c]);
}

/* p ~ Dirichlet(alpha): gamma variates over their sum, in logarithms. */
static void draw_proportions(struct iso_rng *rng, double alpha, uint32_t classes, double *weights)
{
	double largest = -HUGE_VAL;

	for (uint32_t c = 0; c < classes; c++) {
		weights[c] = iso_rng_log_gamma(rng, alpha);
		largest = weights[c] > largest ? weights[c] : largest;
	}
	for (uint32_t c = 0; c < classes; c++)
		weights[c] = exp(weights[c] - largest);
}

static uint32_t take(struct pools *pools, uint32_t class, uint32_t count, uint32_t *out)
{
	uint32_t taken = count < pools->left[class] ? count : pools->left[class];

	for (uint32_t i = 0; i < taken; i++)
		out[i] = pools->samples[pools->start[class] + --pools->left[class]];
	return taken;
}

static void fill_part(struct pools *pools, const uint32_t *counts, uint32_t size, uint32_t *out)
{
	uint32_t filled = 0;

	for (uint32_t c = 0; c < pools->classes; c++)
		filled += take(pools, c, counts[c], out + filled);
	/* What a class could not give comes from the one with most left, one by one. */
	while (filled < size) {
		uint32_t richest = 0;

		for (uint32_t c = 1; c < pools->classes; c++)
			richest = pools->left[c] > pools->left[richest] ? c : richest;
		assert(pools->left[richest] > 0);
		filled += take(pools, richest, 1, out + filled);
	}
}

static void partition_dirichlet(const struct iso_partition_config *config, const uint8_t *labels,
				uint32_t samples, uint32_t *workspace, uint32_t *ret_order)
{
	struct iso_rng rng = { config->seed };
	struct pools pools = { .samples = workspace, .classes = config->classes };
	uint32_t size = iso_partition_size(config, samples);
	double weights[CLASSES_MAX];
	uint32_t counts[CLASSES_MAX];

	fill_pools(&rng, labels, samples, size * config->parts, &pools);
	for (uint32_t j = 0; j < config->parts; j++) {
		uint32_t *part = ret_order + (size_t)j * size;

		draw_proportions(&rng, config->alpha, config->classes, weights);
		apportion(weights, config->classes, size, counts);
		fill_part(&pools, counts, size, part);
		iso_rng_shuffle(&rng, part, size);
	}
}

static bool config_valid(const struct iso_partition_config *config, uint32_t samples)
{
	if (config->parts == 0 || samples < config->parts)
		return false;
	if (config->kind == ISO_PARTITION_IID)
		return true;
	return config->kind == ISO_PARTITION_DIRICHLET && config->classes > 0 &&
	       config->classes <= CLASSES_MAX && config->alpha > 0 && config->alpha < HUGE_VAL;
}

enum iso_status iso_partition(const struct iso_partition_config *config, const uint8_t *labels,
			      uint32_t samples, uint32_t *workspace, uint32_t *ret_order)
{
	if (!config_valid(config, samples))
		return ISO_E_RANGE;
	if (config->kind == ISO_PARTITION_DIRICHLET) {
		for (uint32_t i = 0; i < samples; i++)
			if (labels[i] >= config->classes)
				return ISO_E_RANGE;
		partition_dirichlet(config, labels, samples, workspace, ret_order);
		return ISO_OK;
	}
	struct iso_rng rng = { config->seed };
	for (uint32_t i = 0; i < samples; i++)
		ret_order[i] = i;
	iso_rng_shuffle(&rng, ret_order, samples);
	return ISO_OK;
}
