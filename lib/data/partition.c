/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/partition.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/draw.h"

#define CLASSES_MAX 256u

/* 0 for equal parts. */
static uint64_t sizes_sum(const struct iso_partition_config *config)
{
	uint64_t sum = 0;

	for (uint32_t j = 0; j < config->parts && config->sizes != NULL; j++)
		sum += config->sizes[j];
	return sum;
}

static bool sizes_valid(const struct iso_partition_config *config, uint32_t samples)
{
	uint64_t sum = sizes_sum(config);

	for (uint32_t j = 0; j < config->parts; j++)
		if (config->sizes[j] == 0 || (uint64_t)samples * config->sizes[j] < sum)
			return false;
	return true;
}

static bool kind_valid(const struct iso_partition_config *config)
{
	switch (config->kind) {
	case ISO_PARTITION_IID:
	case ISO_PARTITION_BLOCKS: return true;
	case ISO_PARTITION_DIRICHLET:
		return config->classes > 0 && config->classes <= CLASSES_MAX && config->alpha > 0 &&
		       config->alpha < HUGE_VAL;
	case ISO_PARTITION_OVERLAP:
		return config->sizes == NULL && config->overlap > 0 && config->overlap <= 1 &&
		       config->overlap * config->parts >= 1;
	}
	return false;
}

enum iso_status iso_partition_check(const struct iso_partition_config *config, uint32_t samples)
{
	bool is_valid = config->parts > 0 && samples >= config->parts && kind_valid(config) &&
			(config->sizes == NULL || sizes_valid(config, samples));

	return is_valid ? ISO_OK : ISO_E_RANGE;
}

static uint32_t part_count(const struct iso_partition_config *config, uint32_t samples,
			   uint64_t sum, uint32_t part)
{
	if (config->kind == ISO_PARTITION_OVERLAP) {
		uint32_t count = (uint32_t)round(config->overlap * samples);
		uint32_t gapless = samples / config->parts + (samples % config->parts > 0);

		return count > gapless ? count : gapless;
	}
	if (config->sizes == NULL)
		return samples / config->parts;
	return (uint32_t)((uint64_t)samples * config->sizes[part] / sum);
}

struct iso_part iso_partition_part(const struct iso_partition_config *config, uint32_t samples,
				   uint32_t part)
{
	uint64_t sum = sizes_sum(config);
	struct iso_part place = { 0, part_count(config, samples, sum, part) };

	assert(part < config->parts);
	if (config->kind == ISO_PARTITION_OVERLAP)
		place.first = (uint32_t)((uint64_t)samples * part / config->parts);
	else if (config->sizes == NULL)
		place.first = part * place.count;
	else
		for (uint32_t j = 0; j < part; j++)
			place.first += part_count(config, samples, sum, j);
	return place;
}

uint32_t iso_partition_least(const struct iso_partition_config *config, uint32_t samples)
{
	uint64_t sum = sizes_sum(config);
	uint32_t least = samples;

	for (uint32_t j = 0; j < config->parts; j++) {
		uint32_t count = part_count(config, samples, sum, j);

		least = count < least ? count : least;
	}
	return least;
}

uint32_t iso_partition_used(const struct iso_partition_config *config, uint32_t samples)
{
	struct iso_part last = iso_partition_part(config, samples, config->parts - 1);

	if (config->kind == ISO_PARTITION_OVERLAP)
		return samples;
	return last.first + last.count;
}

size_t iso_partition_workspace(const struct iso_partition_config *config, uint32_t samples)
{
	(void)config;
	return samples;
}

size_t iso_partition_room(const struct iso_partition_config *config, uint32_t samples)
{
	/* The circle goes on where it began. */
	return config->kind == ISO_PARTITION_OVERLAP ? 2 * (size_t)samples : samples;
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
		iso_draw_shuffle(rng, pools->samples + pools->start[c], pools->left[c]);
	apportion(sizes, pools->classes, keep, pools->left);
	for (uint32_t c = 0; c < pools->classes; c++)
		assert(pools->left[c] <= filled[c]);
}

/* p ~ Dirichlet(alpha): gamma variates over their sum, in logarithms. */
static void draw_proportions(struct iso_rng *rng, double alpha, uint32_t classes, double *weights)
{
	double largest = -HUGE_VAL;

	for (uint32_t c = 0; c < classes; c++) {
		weights[c] = iso_draw_log_gamma(rng, alpha);
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
	uint64_t sum = sizes_sum(config);
	double weights[CLASSES_MAX];
	uint32_t counts[CLASSES_MAX];

	fill_pools(&rng, labels, samples, iso_partition_used(config, samples), &pools);
	for (uint32_t j = 0; j < config->parts; j++) {
		uint32_t size = part_count(config, samples, sum, j);

		draw_proportions(&rng, config->alpha, config->classes, weights);
		apportion(weights, config->classes, size, counts);
		fill_part(&pools, counts, size, ret_order);
		iso_draw_shuffle(&rng, ret_order, size);
		ret_order += size;
	}
}

enum iso_status iso_partition(const struct iso_partition_config *config, const uint8_t *labels,
			      uint32_t samples, uint32_t *workspace, uint32_t *ret_order)
{
	if (iso_partition_check(config, samples) != ISO_OK)
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
	if (config->kind != ISO_PARTITION_BLOCKS)
		iso_draw_shuffle(&rng, ret_order, samples);
	if (config->kind == ISO_PARTITION_OVERLAP)
		memcpy(ret_order + samples, ret_order, samples * sizeof(*ret_order));
	return ISO_OK;
}
