/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/speeds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/draw.h"

struct iso_speeds {
	struct iso_speeds_config config;
	struct iso_speed *of;
	uint32_t *order; /* pairs of a move: order[0] with order[1], and so on */
	struct iso_rng rng;
	uint32_t change;  /* the next one */
	uint32_t reached; /* workers of it that are done */
	uint64_t moves;	  /* the next one's number, from 1 */
	uint32_t moved;	  /* workers of it that are done */
};

static bool config_valid(const struct iso_speeds_config *config)
{
	double before_s = 0;

	if (config->workers == 0 || !(config->share > 0 && config->share < HUGE_VAL))
		return false;
	for (uint32_t i = 0; i < config->change_count; i++) {
		const struct iso_speed_change *change = &config->changes[i];

		if (!(change->at_s >= before_s && change->at_s < HUGE_VAL) ||
		    change->first > change->last || change->last >= config->workers)
			return false;
		if (change->kind == ISO_SPEED_SPEED || change->kind == ISO_SPEED_SHARE)
			if (!(change->value >= 0 && change->value < HUGE_VAL))
				return false;
		if (change->kind == ISO_SPEED_SHARE && change->value <= 0)
			return false;
		before_s = change->at_s;
	}
	if (config->every_s == 0)
		return true;
	return config->every_s > 0 && config->every_s < HUGE_VAL && config->share_least > 0 &&
	       config->share_least <= config->share && config->share <= config->share_most &&
	       config->share_most < HUGE_VAL;
}

size_t iso_speeds_size(const struct iso_speeds_config *config)
{
	if (!config_valid(config))
		return 0;
	return iso_carve_bytes(sizeof(struct iso_speeds)) +
	       iso_carve_bytes(config->workers * sizeof(struct iso_speed)) +
	       iso_carve_bytes(config->workers * sizeof(uint32_t));
}

enum iso_status iso_speeds_init(void *memory, size_t size, const struct iso_speeds_config *config,
				struct iso_speeds **ret_speeds)
{
	uint8_t *at = memory;
	size_t want = iso_speeds_size(config);

	if (want == 0)
		return ISO_E_RANGE;
	if (size < want)
		return ISO_E_SHORT;
	struct iso_speeds *speeds = iso_carve(&at, sizeof(*speeds));
	*speeds = (struct iso_speeds){ .config = *config, .rng = { config->seed }, .moves = 1 };
	speeds->of = iso_carve(&at, config->workers * sizeof(*speeds->of));
	speeds->order = iso_carve(&at, config->workers * sizeof(*speeds->order));
	for (uint32_t i = 0; i < config->workers; i++) {
		speeds->of[i] = (struct iso_speed){ config->share, 1, true };
		speeds->order[i] = i;
	}
	/* Backwards, so that the first one to say it has the last word. */
	for (uint32_t i = config->change_count; i-- > 0;) {
		const struct iso_speed_change *change = &config->changes[i];

		for (uint32_t w = change->first; w <= change->last; w++)
			if (change->kind == ISO_SPEED_LEAVE || change->kind == ISO_SPEED_JOIN)
				speeds->of[w].present = change->kind == ISO_SPEED_LEAVE;
	}
	*ret_speeds = speeds;
	return ISO_OK;
}

struct iso_speed iso_speeds_of(const struct iso_speeds *speeds, uint32_t worker)
{
	assert(worker < speeds->config.workers);
	return speeds->of[worker];
}

static double change_s(const struct iso_speeds *speeds)
{
	return speeds->change < speeds->config.change_count
		   ? speeds->config.changes[speeds->change].at_s
		   : HUGE_VAL;
}

static double move_s(const struct iso_speeds *speeds)
{
	return speeds->config.every_s > 0 ? (double)speeds->moves * speeds->config.every_s
					  : HUGE_VAL;
}

bool iso_speeds_will_change(const struct iso_speeds *speeds)
{
	return speeds->change < speeds->config.change_count;
}

double iso_speeds_next_s(const struct iso_speeds *speeds)
{
	return fmin(change_s(speeds), move_s(speeds));
}

static uint32_t step_change(struct iso_speeds *speeds)
{
	const struct iso_speed_change *change = &speeds->config.changes[speeds->change];
	uint32_t worker = change->first + speeds->reached;
	struct iso_speed *speed = &speeds->of[worker];

	switch (change->kind) {
	case ISO_SPEED_SPEED: speed->speed = change->value; break;
	case ISO_SPEED_SHARE: speed->share = change->value; break;
	case ISO_SPEED_LEAVE: speed->present = false; break;
	case ISO_SPEED_JOIN: speed->present = true; break;
	}
	speeds->reached++;
	if (worker == change->last) {
		speeds->change++;
		speeds->reached = 0;
	}
	return worker;
}

/* A pair has together what it had. */
static void divide(struct iso_speeds *speeds, struct iso_speed *a, struct iso_speed *b)
{
	double sum = a->share + b->share;
	double least = fmax(speeds->config.share_least, sum - speeds->config.share_most);
	double most = fmin(speeds->config.share_most, sum - speeds->config.share_least);
	double u = iso_rng_unit(&speeds->rng);

	/* A change may have put one of them out of the bounds: then they stay. */
	if (least > most)
		return;
	a->share = least + u * (most - least);
	b->share = sum - a->share;
}

static uint32_t step_move(struct iso_speeds *speeds)
{
	uint32_t n = speeds->config.workers, at = speeds->moved++;

	if (at == 0)
		iso_draw_shuffle(&speeds->rng, speeds->order, n);
	if (at % 2 == 0 && at + 1 < n)
		divide(speeds, &speeds->of[speeds->order[at]], &speeds->of[speeds->order[at + 1]]);
	if (speeds->moved == n) {
		speeds->moved = 0;
		speeds->moves++;
	}
	return speeds->order[at];
}

uint32_t iso_speeds_step(struct iso_speeds *speeds)
{
	assert(iso_speeds_next_s(speeds) < HUGE_VAL);
	/* First, so that a move is not interrupted. */
	if (change_s(speeds) <= move_s(speeds))
		return step_change(speeds);
	return step_move(speeds);
}
