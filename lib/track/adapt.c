/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/adapt.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* In units of 1 / L; the largest in units of 1 / (T L). */
#define ALPHA_FIRST  0x1p-5
#define ALPHA_MIN    0x1p-15
#define ALPHA_MAX    0.5
#define ALPHA_WINDOW 16u

/* One window that peaks so much higher, or two in a row that peak a little higher. */
#define RISE_AT_ONCE 2.0
#define RISE	     1.1
#define RISES_MAX    2u

/* So many times the peak of the calmest window. */
#define DRIFT_MAX 4.0

/* Of the gradient; that of floats has a rounding of 2^-24 of its largest terms. */
#define REST 0x1p-20

/* After so many windows without trouble the ceiling is tried again. */
#define CALM_MAX 64u

static void assert_valid(const struct iso_track_adapt *adapt)
{
	assert(adapt->alpha >= adapt->config.alpha_min);
	assert(adapt->alpha <= adapt->config.alpha_max);
	assert(adapt->ceiling <= adapt->config.alpha_max);
	assert(adapt->ceiling >= adapt->config.alpha_min);
	assert(adapt->round < adapt->config.window);
	assert(adapt->rises < RISES_MAX);
}

enum iso_status iso_track_adapt_init(const struct iso_track_adapt_config *config,
				     struct iso_track_adapt *ret_adapt)
{
	if (!(config->alpha_min > 0) || !(config->alpha_first >= config->alpha_min))
		return ISO_E_RANGE;
	if (!(config->alpha_max >= config->alpha_first) || !isfinite(config->alpha_max))
		return ISO_E_RANGE;
	if (config->window < 2)
		return ISO_E_RANGE;
	*ret_adapt = (struct iso_track_adapt){
		.config = *config,
		.alpha = config->alpha_first,
		.ceiling = config->alpha_max,
		.peak_before = -1,
		.calmest = INFINITY,
	};
	assert_valid(ret_adapt);
	return ISO_OK;
}

struct iso_track_adapt_config iso_track_adapt_usual(double step, double curvature)
{
	assert(step > 0);
	assert(curvature > 0);
	return (struct iso_track_adapt_config){
		.alpha_first = ALPHA_FIRST / curvature,
		.alpha_min = ALPHA_MIN / curvature,
		.alpha_max = ALPHA_MAX / (step * curvature),
		.window = ALPHA_WINDOW,
	};
}

double iso_track_unrest(const struct iso_track_motion *motion)
{
	double weight = motion->curvature / motion->step;

	assert(motion->step > 0);
	assert(motion->curvature > 0);
	return sqrt(motion->z_square + weight * weight * motion->pull_square);
}

static void start_window(struct iso_track_adapt *adapt, double peak_before)
{
	adapt->peak_before = peak_before;
	adapt->peak = 0;
	adapt->round = 0;
}

static void back_off(struct iso_track_adapt *adapt)
{
	adapt->alpha = fmax(adapt->alpha / 2, adapt->config.alpha_min);
	adapt->ceiling = adapt->alpha;
	adapt->rises = 0;
	adapt->calm = 0;
	adapt->backed_off++;
	/* What follows is compared with what follows, not with the time before. */
	start_window(adapt, -1);
}

static void grow(struct iso_track_adapt *adapt)
{
	double alpha = fmin(2 * adapt->alpha, adapt->ceiling);

	if (alpha > adapt->alpha)
		adapt->doubled++;
	adapt->alpha = alpha;
}

/* The peak of this window against all before it under the same alpha. */
static bool drifts(struct iso_track_adapt *adapt)
{
	bool worse;

	if (adapt->calmest_alpha != adapt->alpha) {
		adapt->calmest_alpha = adapt->alpha;
		adapt->calmest = INFINITY;
	}
	worse = adapt->peak > DRIFT_MAX * adapt->calmest;
	adapt->calmest = worse ? (double)INFINITY : fmin(adapt->calmest, adapt->peak);
	return worse;
}

static void judge(struct iso_track_adapt *adapt)
{
	double peak = adapt->peak, before = adapt->peak_before;

	if (++adapt->calm >= CALM_MAX) {
		adapt->ceiling = fmin(2 * adapt->ceiling, adapt->config.alpha_max);
		adapt->calm = 0;
	}
	if (drifts(adapt)) {
		back_off(adapt);
		return;
	}
	start_window(adapt, peak);
	if (before < 0)
		return;
	adapt->rises = peak > RISE * before ? adapt->rises + 1 : 0;
	if (peak > RISE_AT_ONCE * before || adapt->rises >= RISES_MAX)
		back_off(adapt);
	else if (peak < before)
		grow(adapt);
}

double iso_track_adapt_round(struct iso_track_adapt *adapt, const struct iso_track_motion *motion)
{
	double unrest = iso_track_unrest(motion), rest = REST * sqrt(motion->gradient_square);

	assert_valid(adapt);
	if (!isfinite(unrest + rest)) {
		back_off(adapt);
		return adapt->alpha;
	}
	adapt->peak = fmax(adapt->peak, fmax(unrest, rest));
	if (++adapt->round == adapt->config.window)
		judge(adapt);
	assert_valid(adapt);
	return adapt->alpha;
}

double iso_track_adapt_heed(struct iso_track_adapt *adapt, double least)
{
	assert_valid(adapt);
	assert(least > 0);
	if (adapt->alpha > 2 * least)
		adapt->alpha = fmax(2 * least, adapt->config.alpha_min);
	assert_valid(adapt);
	return fmin(adapt->alpha, least);
}
