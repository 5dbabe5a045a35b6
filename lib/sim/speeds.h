/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_SPEEDS_H
#define ISO_SIM_SPEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * What happens to simulated workers over time: their share of CPU moves, they
 * become slower or faster, join late and leave.  Everything is constant
 * between two changes.
 *
 * A worker gets on at share * speed.  The share is known, and time on the CPU
 * is counted in it: a task takes the same whatever the share.  The speed is
 * hidden (a hot processor, a noisy neighbour): it changes the time on the CPU as well.
 */
struct iso_speeds;

enum iso_speed_change_kind {
	ISO_SPEED_SPEED = 1, /* the speed becomes value, >= 0 */
	ISO_SPEED_SHARE,     /* the share becomes value, > 0 */
	ISO_SPEED_LEAVE,     /* with what it computes */
	ISO_SPEED_JOIN,	     /* who joins before he leaves is absent until then */
};

struct iso_speed_change {
	enum iso_speed_change_kind kind;
	double at_s;	      /* >= 0 */
	uint32_t first, last; /* workers, from 0 */
	double value;
};

struct iso_speeds_config {
	uint32_t workers;
	const struct iso_speed_change *changes; /* by time; borrowed */
	uint32_t change_count;
	double share; /* of everybody at first, > 0 */
	/*
	 * Shares that move as in trading: at each multiple of every_s, random
	 * pairs of workers divide what they have together anew, each keeping
	 * at least share_least and at most share_most.  The sum stays.
	 */
	double every_s; /* 0: they do not */
	double share_least, share_most;
	uint64_t seed;
};

struct iso_speed {
	double share, speed;
	bool present;
};

size_t iso_speeds_size(const struct iso_speeds_config *config);

/* ISO_E_RANGE: a number makes no sense, or the changes are not in order. */
ISO_MUST_USE enum iso_status iso_speeds_init(void *memory, size_t size,
					     const struct iso_speeds_config *config,
					     struct iso_speeds **ret_speeds);

struct iso_speed iso_speeds_of(const struct iso_speeds *speeds, uint32_t worker);

/* When the next change is; HUGE_VAL: never again. */
double iso_speeds_next_s(const struct iso_speeds *speeds);

/* Whether listed changes are still to come; shares may move without end. */
bool iso_speeds_will_change(const struct iso_speeds *speeds);

/* The next change of one worker, already in effect afterwards.  There must be one. */
uint32_t iso_speeds_step(struct iso_speeds *speeds);

#endif
