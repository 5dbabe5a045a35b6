/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/score.h"

#include <assert.h>
#include <math.h>

/* Fewer samples than that are none, and nobody ever has so many. */
#define COUNT_MIN 1e-9
#define COUNT_MAX 1e18
/* Standard deviations of a billion means are no measurement. */
#define VARIANCE_MAX 1e18

bool iso_ata_time_valid(double time_s)
{
	return time_s >= ISO_ATA_TIME_MIN && time_s <= ISO_ATA_TIME_MAX;
}

bool iso_ata_samples_valid(const struct iso_ata_samples *samples)
{
	if (samples->count == 0)
		return samples->sum_s == 0 && samples->squares_s2 == 0;
	if (!(samples->count >= COUNT_MIN && samples->count <= COUNT_MAX))
		return false;
	double mean_s = samples->sum_s / samples->count;

	return iso_ata_time_valid(mean_s) && samples->squares_s2 >= 0 &&
	       samples->squares_s2 / samples->count <= VARIANCE_MAX * mean_s * mean_s;
}

void iso_ata_samples_add(struct iso_ata_samples *samples, double time_s)
{
	assert(time_s >= 0);
	double before_s = samples->count > 0 ? samples->sum_s / samples->count : time_s;

	samples->count += 1;
	samples->sum_s += time_s;
	double after_s = samples->sum_s / samples->count;
	/* Welford's update; by rounding a hair below 0, which a square is not. */
	double more_s2 = (time_s - before_s) * (time_s - after_s);
	samples->squares_s2 += more_s2 > 0 ? more_s2 : 0;
}

void iso_ata_samples_fade(struct iso_ata_samples *samples, double factor)
{
	assert(factor >= 0);
	assert(factor <= 1);
	samples->count *= factor;
	samples->sum_s *= factor;
	samples->squares_s2 *= factor;
}

double iso_ata_mean_s(const struct iso_ata_samples *samples)
{
	return samples->count > 0 ? samples->sum_s / samples->count : 0;
}

double iso_ata_relative_variance(const struct iso_ata_samples *samples)
{
	if (samples->count < 2)
		return 0;
	double mean_s = samples->sum_s / samples->count;

	return samples->squares_s2 / ((samples->count - 1) * mean_s * mean_s);
}

double iso_ata_log_term(uint64_t round)
{
	assert(round >= 1);
	/* ln(2 k^2) without the overflow of k^2. */
	return 0.69314718055994531 + 2 * log((double)round);
}

/* sqrt(ln(2k^2)/K) + ln(2k^2)/K of Lemma 6.2. */
static double relative_width(double count, double log_term)
{
	assert(count > 0);
	assert(log_term > 0);
	double ratio = log_term / count;

	return sqrt(ratio) + ratio;
}

double iso_ata_score(const struct iso_ata_samples *samples, const struct iso_ata_width *width,
		     double log_term)
{
	if (!(samples->count > 0))
		return 0;
	double score = iso_ata_mean_s(samples) -
		       width->constant * width->alpha_s * relative_width(samples->count, log_term);

	return score > 0 ? score : 0;
}

double iso_ata_score_empirical(const struct iso_ata_samples *samples,
			       const struct iso_ata_width *width, double log_term)
{
	if (!(samples->count > 0))
		return 0;
	double factor = 1 - width->constant * width->eta * relative_width(samples->count, log_term);

	assert(factor <= 1);
	return factor > 0 ? iso_ata_mean_s(samples) * factor : 0;
}

double iso_ata_score_reopened(const struct iso_ata_samples *samples, double relative_constant,
			      double log_term)
{
	if (!(samples->count > 0))
		return 0;
	return iso_ata_mean_s(samples) /
	       (1 + relative_constant * relative_width(samples->count, log_term));
}

double iso_ata_score_pooled(const struct iso_ata_samples *samples, double relative_variance,
			    double log_term)
{
	if (!(samples->count > 0))
		return 0;
	assert(relative_variance >= 0);
	/* What has faded below one sample says no less than one. */
	double ratio = log_term / (samples->count > 1 ? samples->count : 1);

	return iso_ata_mean_s(samples) / (1 + sqrt(relative_variance) * (sqrt(2 * ratio) + ratio));
}

double iso_rate_cpus(uint32_t threads, uint64_t share_ucpu)
{
	double share_cpus = (double)share_ucpu / 1e6;

	return share_cpus < (double)threads ? share_cpus : (double)threads;
}
