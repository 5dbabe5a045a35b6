/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/adapt.h"

#include <assert.h>
#include <math.h>

/* One window that peaks so much higher, or two in a row that peak a little higher. */
#define RISE_AT_ONCE 2.0
#define RISE	     1.1
#define RISES_MAX    2u

#define BALANCE_LOW  0.1
#define BALANCE_HIGH 0.4

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
	};
	assert_valid(ret_adapt);
	return ISO_OK;
}

double iso_track_unrest(double z_square, double pull_square, double step, double curvature)
{
	double weight = curvature / step;

	assert(step > 0);
	assert(curvature > 0);
	return sqrt(z_square + weight * weight * pull_square);
}

static void start_window(struct iso_track_adapt *adapt, double peak_before)
{
	adapt->peak_before = peak_before;
	adapt->peak = 0;
	adapt->round = 0;
	adapt->moved = 0;
	adapt->parts = 0;
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

static void shrink(struct iso_track_adapt *adapt)
{
	double alpha = fmax(adapt->alpha / 2, adapt->config.alpha_min);

	if (alpha < adapt->alpha)
		adapt->halved++;
	adapt->alpha = alpha;
}

void iso_track_adapt_balance(struct iso_track_adapt *adapt, double moved_square, double pull_square,
			     double gradient_square)
{
	assert_valid(adapt);
	if (!isfinite(moved_square + pull_square + gradient_square))
		return;
	adapt->moved += moved_square;
	adapt->parts += pull_square + gradient_square;
}

static void judge(struct iso_track_adapt *adapt)
{
	double peak = adapt->peak, before = adapt->peak_before;
	double balance = adapt->parts > 0 ? adapt->moved / adapt->parts : 1;

	if (++adapt->calm >= CALM_MAX) {
		adapt->ceiling = fmin(2 * adapt->ceiling, adapt->config.alpha_max);
		adapt->calm = 0;
	}
	start_window(adapt, peak);
	if (before < 0)
		return;
	adapt->rises = peak > RISE * before ? adapt->rises + 1 : 0;
	if (peak > RISE_AT_ONCE * before || adapt->rises >= RISES_MAX)
		back_off(adapt);
	else if (balance < BALANCE_LOW)
		shrink(adapt);
	else if (peak < before && balance > BALANCE_HIGH)
		grow(adapt);
}

double iso_track_adapt_round(struct iso_track_adapt *adapt, double unrest)
{
	assert_valid(adapt);
	if (!isfinite(unrest)) {
		back_off(adapt);
		return adapt->alpha;
	}
	adapt->peak = fmax(adapt->peak, unrest);
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
