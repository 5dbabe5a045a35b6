/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

#include "lib/bytes.h"

/* Little-endian; the whole's: flags u64, rng, round, made_round. */
#define WHOLE_BYTES  (4u * 8u)
#define EXPLORING    1u
#define CHANGED	     2u
#define STALE	     4u

/* A worker's: count, sum, squares f64, seen u64, given mean, smoothed f64, held u64. */
#define WORKER_BYTES (7u * 8u)

static void put_u64(uint8_t **at, uint64_t value)
{
	iso_put_le(*at, value, 8);
	*at += 8;
}

static void put_f64(uint8_t **at, double value)
{
	put_u64(at, iso_bits_of_double(value));
}

static uint64_t get_u64(const uint8_t **at)
{
	*at += 8;
	return iso_get_le(*at - 8, 8);
}

static double get_f64(const uint8_t **at)
{
	return iso_double_of_bits(get_u64(at));
}

/* 0 or positive, and a number. */
static bool is_sum(double value)
{
	return value == 0 || iso_strategy_positive(value);
}

static bool samples_valid(const struct iso_ata_samples *samples)
{
	if (samples->count == 0)
		return samples->sum_s == 0 && samples->squares_s2 == 0;
	return iso_strategy_positive(samples->count) &&
	       samples->count >= ISO_STRATEGY_SAMPLES_MIN &&
	       iso_strategy_positive(samples->sum_s) && is_sum(samples->squares_s2) &&
	       iso_strategy_positive(samples->sum_s / samples->count);
}

enum iso_status iso_strategy_import(struct iso_strategy *strategy, uint32_t worker,
				    struct iso_ata_samples samples, double believed)
{
	assert(worker < strategy->config.workers);
	assert(believed > 0);
	if (!samples_valid(&samples) || !(samples.count > 0))
		return ISO_E_RANGE;
	if (samples.count > believed)
		iso_ata_samples_fade(&samples, believed / samples.count);
	strategy->workers[worker].samples = samples;
	strategy->workers[worker].seen = (uint64_t)samples.count;
	strategy->is_stale = true;
	return ISO_OK;
}

size_t iso_strategy_state_bytes(const struct iso_strategy *strategy)
{
	(void)strategy;
	return WHOLE_BYTES;
}

void iso_strategy_save(const struct iso_strategy *strategy, uint8_t *ret_bytes)
{
	uint8_t *at = ret_bytes;

	put_u64(&at, (strategy->exploring ? EXPLORING : 0) | (strategy->changed ? CHANGED : 0) |
			     (strategy->is_stale ? STALE : 0));
	put_u64(&at, strategy->rng.state);
	put_u64(&at, strategy->round);
	put_u64(&at, strategy->made_round);
	assert(at == ret_bytes + WHOLE_BYTES);
}

enum iso_status iso_strategy_restore(struct iso_strategy *strategy, const uint8_t *bytes)
{
	const uint8_t *at = bytes;
	uint64_t flags = get_u64(&at), rng = get_u64(&at);
	uint64_t round = get_u64(&at), made_round = get_u64(&at);

	if (flags > (EXPLORING | CHANGED | STALE) || made_round > round)
		return ISO_E_MALFORMED;
	strategy->exploring = (flags & EXPLORING) != 0;
	strategy->changed = (flags & CHANGED) != 0;
	strategy->is_stale = (flags & STALE) != 0;
	strategy->rng.state = rng;
	strategy->round = round;
	strategy->made_round = made_round;
	return ISO_OK;
}

size_t iso_strategy_worker_bytes(const struct iso_strategy *strategy)
{
	(void)strategy;
	return WORKER_BYTES;
}

void iso_strategy_save_worker(const struct iso_strategy *strategy, uint32_t worker,
			      uint8_t *ret_bytes)
{
	assert(worker < strategy->config.workers);
	const struct iso_strategy_worker *from = &strategy->workers[worker];
	uint8_t *at = ret_bytes;

	put_f64(&at, from->samples.count);
	put_f64(&at, from->samples.sum_s);
	put_f64(&at, from->samples.squares_s2);
	put_u64(&at, from->seen);
	put_f64(&at, from->given_mean_s);
	put_f64(&at, strategy->smoothed[worker]);
	put_u64(&at, strategy->held[worker]);
	assert(at == ret_bytes + WORKER_BYTES);
}

enum iso_status iso_strategy_restore_worker(struct iso_strategy *strategy, uint32_t worker,
					    const uint8_t *bytes)
{
	assert(worker < strategy->config.workers);
	struct iso_strategy_worker *to = &strategy->workers[worker];
	const uint8_t *at = bytes;
	struct iso_ata_samples samples;

	samples.count = get_f64(&at);
	samples.sum_s = get_f64(&at);
	samples.squares_s2 = get_f64(&at);
	uint64_t seen = get_u64(&at);
	double given_mean_s = get_f64(&at), smoothed = get_f64(&at);
	uint64_t held = get_u64(&at);
	if (!samples_valid(&samples) || !is_sum(given_mean_s) || !is_sum(smoothed) ||
	    held > strategy->config.batch)
		return ISO_E_MALFORMED;
	to->samples = samples;
	to->seen = seen;
	to->given_mean_s = given_mean_s;
	strategy->smoothed[worker] = smoothed;
	strategy->held[worker] = (uint32_t)held;
	return ISO_OK;
}

uint64_t iso_strategy_rng(const struct iso_strategy *strategy)
{
	return strategy->rng.state;
}

void iso_strategy_restore_rng(struct iso_strategy *strategy, uint64_t state)
{
	strategy->rng.state = state;
}
