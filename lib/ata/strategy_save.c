/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/strategy_state.h"

#include <assert.h>

#include "lib/bytes.h"

/*
 * Little-endian; the whole's: flags, rng, round, made_round, seen, clustered u64, alpha, eta
 * f64.  A worker's: samples 3 f64, seen, given_round, held u64, given mean, score
 * f64, reopened u64, and then of each option that is on: smoothed f64; kept f64 each; drift 8
 * f64; place 3 f64 and u64.
 */
#define WHOLE_BYTES  (8u * 8u)
#define EXPLORING    1u
#define CHANGED	     2u
#define STALE	     4u
#define CALIBRATED   8u
#define PROBE	     16u
#define WORKER_BYTES (9u * 8u)
#define DRIFT_BYTES  (8u * 8u)
#define PLACE_BYTES  (4u * 8u)
/* No run has more rounds. */
#define ROUND_MAX (1ull << 62)
/* Scores are times by a rate, or a bound below them: thousandths and less. */
#define SCALE 1e9

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

/* 0, or what may be a time: of a CPU, or by a rate of thousandths or thousands. */
static bool is_time(double value)
{
	return value == 0 ||
	       (value >= ISO_ATA_TIME_MIN / SCALE && value <= ISO_ATA_TIME_MAX * SCALE);
}

enum iso_status iso_strategy_import(struct iso_strategy *strategy, uint32_t worker,
				    struct iso_ata_samples samples, double believed)
{
	assert(worker < strategy->config.workers);
	assert(believed > 0);
	if (!iso_ata_samples_valid(&samples) || !(samples.count > 0))
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
			 (strategy->is_stale ? STALE : 0) |
			 (strategy->is_calibrated ? CALIBRATED : 0) |
			 (strategy->is_probe ? PROBE : 0));
	put_u64(&at, strategy->rng.state);
	put_u64(&at, strategy->round);
	put_u64(&at, strategy->made_round);
	put_u64(&at, strategy->seen);
	put_u64(&at, strategy->clustered);
	put_f64(&at, strategy->config.width.alpha_s);
	put_f64(&at, strategy->config.width.eta);
	assert(at == ret_bytes + WHOLE_BYTES);
}

enum iso_status iso_strategy_restore(struct iso_strategy *strategy, const uint8_t *bytes)
{
	const uint8_t *at = bytes;
	uint64_t flags = get_u64(&at), rng = get_u64(&at);
	uint64_t round = get_u64(&at), made_round = get_u64(&at);
	uint64_t seen = get_u64(&at), clustered = get_u64(&at);
	double alpha_s = get_f64(&at), eta = get_f64(&at);
	bool is_calibrated = (flags & CALIBRATED) != 0;

	if (flags > (EXPLORING | CHANGED | STALE | CALIBRATED | PROBE) || made_round > round ||
	    round > ROUND_MAX || clustered > seen)
		return ISO_E_MALFORMED;
	if (is_calibrated && (strategy->config.options.calibrate_tasks == 0 ||
			      !iso_strategy_positive(alpha_s) || !iso_strategy_positive(eta)))
		return ISO_E_MALFORMED;
	strategy->exploring = (flags & EXPLORING) != 0;
	strategy->changed = (flags & CHANGED) != 0;
	strategy->is_stale = (flags & STALE) != 0;
	strategy->is_calibrated = is_calibrated;
	strategy->is_probe = (flags & PROBE) != 0;
	strategy->rng.state = rng;
	strategy->round = round;
	strategy->made_round = made_round;
	strategy->seen = seen;
	strategy->clustered = clustered;
	/* What was configured may have been changed since; what was measured is kept. */
	if (is_calibrated) {
		strategy->config.width.alpha_s = alpha_s;
		strategy->config.width.eta = eta;
	}
	return ISO_OK;
}

size_t iso_strategy_worker_bytes(const struct iso_strategy *strategy)
{
	return WORKER_BYTES + (strategy->smoothed != NULL ? 8u : 0) +
	       (size_t)strategy->config.options.calibrate_tasks * 8u +
	       (strategy->drift != NULL ? DRIFT_BYTES : 0) +
	       (strategy->places != NULL ? PLACE_BYTES : 0);
}

static void put_samples(uint8_t **at, const struct iso_ata_samples *samples)
{
	put_f64(at, samples->count);
	put_f64(at, samples->sum_s);
	put_f64(at, samples->squares_s2);
}

static struct iso_ata_samples get_samples(const uint8_t **at, bool *ret_valid)
{
	struct iso_ata_samples samples;

	samples.count = get_f64(at);
	samples.sum_s = get_f64(at);
	samples.squares_s2 = get_f64(at);
	*ret_valid &= iso_ata_samples_valid(&samples);
	return samples;
}

static double get_time(const uint8_t **at, bool *ret_valid)
{
	double value = get_f64(at);

	*ret_valid &= is_time(value);
	return value;
}

/* A sum of drift detection. */
static double get_deviations(const uint8_t **at, bool *ret_valid)
{
	double value = get_f64(at);

	*ret_valid &= value >= 0 && value <= ISO_ATA_DRIFT_MAX;
	return value;
}

void iso_strategy_save_worker(const struct iso_strategy *strategy, uint32_t worker,
			      uint8_t *ret_bytes)
{
	assert(worker < strategy->config.workers);
	const struct iso_strategy_worker *from = &strategy->workers[worker];
	uint32_t kept = strategy->config.options.calibrate_tasks;
	uint8_t *at = ret_bytes;

	put_samples(&at, &from->samples);
	put_u64(&at, from->seen);
	put_u64(&at, from->given_round);
	put_u64(&at, strategy->held[worker]);
	put_f64(&at, from->given_mean_s);
	put_f64(&at, strategy->scores[worker]);
	put_u64(&at, from->is_reopened);
	if (strategy->smoothed != NULL)
		put_f64(&at, strategy->smoothed[worker]);
	for (uint32_t i = 0; i < kept; i++)
		put_f64(&at, strategy->kept[(size_t)worker * kept + i]);
	if (strategy->drift != NULL) {
		put_f64(&at, strategy->drift[worker].up);
		put_f64(&at, strategy->drift[worker].down);
		put_samples(&at, &strategy->drift[worker].slow);
		put_samples(&at, &strategy->drift[worker].fast);
	}
	if (strategy->places != NULL) {
		put_samples(&at, &strategy->places[worker].together);
		put_u64(&at, strategy->places[worker].number);
	}
	assert(at == ret_bytes + iso_strategy_worker_bytes(strategy));
}

/* The arrays of options.  Run twice: to look, and, all being valid, to take. */
static bool options_of(struct iso_strategy *strategy, uint32_t worker, const uint8_t *at,
		       bool is_taken)
{
	uint32_t kept = strategy->config.options.calibrate_tasks;
	bool valid = true;

	if (strategy->smoothed != NULL) {
		double smoothed = get_time(&at, &valid);

		if (is_taken)
			strategy->smoothed[worker] = smoothed;
	}
	uint32_t full = 0;
	for (uint32_t i = 0; i < kept; i++) {
		double time_s = get_time(&at, &valid);

		/* They come one after the other, and no time is 0. */
		full += full == i && time_s > 0;
		if (is_taken)
			strategy->kept[(size_t)worker * kept + i] = time_s;
	}
	if (is_taken)
		strategy->workers[worker].kept = full;
	if (strategy->drift != NULL) {
		struct iso_ata_drift drift = { .up = get_deviations(&at, &valid) };

		drift.down = get_deviations(&at, &valid);
		drift.slow = get_samples(&at, &valid);
		drift.fast = get_samples(&at, &valid);
		if (is_taken)
			strategy->drift[worker] = drift;
	}
	if (strategy->places != NULL) {
		struct iso_strategy_place place = { .together = get_samples(&at, &valid) };
		uint64_t number = get_u64(&at);

		valid &=
		    number <= strategy->config.workers && (number == 0 || place.together.count > 0);
		place.number = (uint32_t)number;
		if (is_taken)
			strategy->places[worker] = place;
	}
	return valid;
}

enum iso_status iso_strategy_restore_worker(struct iso_strategy *strategy, uint32_t worker,
					    const uint8_t *bytes)
{
	assert(worker < strategy->config.workers);
	struct iso_strategy_worker *to = &strategy->workers[worker];
	const uint8_t *at = bytes;
	bool valid = true;
	struct iso_ata_samples samples = get_samples(&at, &valid);
	uint64_t seen = get_u64(&at), given_round = get_u64(&at), held = get_u64(&at);
	double given_mean_s = get_time(&at, &valid), score = get_time(&at, &valid);
	uint64_t is_reopened = get_u64(&at);

	if (!valid || held > UINT32_MAX || is_reopened > 1 ||
	    !options_of(strategy, worker, at, false))
		return ISO_E_MALFORMED;
	to->samples = samples;
	to->seen = seen;
	to->given_round = given_round;
	to->given_mean_s = given_mean_s;
	to->is_reopened = is_reopened == 1;
	/* The batch was larger: what it held is good for no round of this one. */
	strategy->is_stale |= held > strategy->config.batch;
	strategy->held[worker] =
	    held > strategy->config.batch ? strategy->config.batch : (uint32_t)held;
	strategy->scores[worker] = score;
	(void)options_of(strategy, worker, at, true);
	return ISO_OK;
}
