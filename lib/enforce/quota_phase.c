/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/quota_phase.h"

#include <assert.h>
#include <string.h>

#include "lib/smaller.h"

#define LEAD_PARTS  50u  /* 2 ms of 100 ms */
#define LEAD_NS_MAX 5000000ull
#define GUARD_PARTS 500u /* 200 us of 100 ms */
#define GUARD_NS_MAX 500000ull
#define LOOKS_MAX   3u

static void assert_valid(const struct quota_phase *phase)
{
	assert(phase->period_ns > 0);
	assert(phase->arc_width_ns <= phase->period_ns);
	assert(phase->arc_start_ns < phase->period_ns);
}

void iso_quota_phase_init(struct quota_phase *phase, uint64_t period_ns, bool is_long)
{
	memset(phase, 0, sizeof(*phase));
	phase->period_ns = period_ns;
	phase->lead_ns = iso_smaller_u64(period_ns / LEAD_PARTS, LEAD_NS_MAX);
	phase->guard_ns = iso_smaller_u64(period_ns / GUARD_PARTS, GUARD_NS_MAX);
	phase->is_long = is_long;
	phase->arc_width_ns = period_ns;
	assert_valid(phase);
}

bool iso_quota_phase_known(const struct quota_phase *phase)
{
	return phase->arc_width_ns <= phase->lead_ns;
}

/* Time from the start of the arc to at_ns, modulo the period. */
static uint64_t arc_offset(const struct quota_phase *phase, uint64_t at_ns)
{
	return (at_ns % phase->period_ns + phase->period_ns - phase->arc_start_ns) %
	       phase->period_ns;
}

/*
 * Keeps what the arc shares with [start, start + width).  Two arcs of a circle
 * can share a piece at either end: the longer one is kept, since the other is
 * mostly the guard's doing.  With nothing in common all is open again.
 */
static void arc_intersect(struct quota_phase *phase, uint64_t start_ns, uint64_t width_ns)
{
	uint64_t offset_ns = arc_offset(phase, start_ns);
	uint64_t tail_ns = 0, head_ns = 0;

	if (width_ns >= phase->period_ns)
		return;
	if (offset_ns < phase->arc_width_ns)
		tail_ns = iso_smaller_u64(phase->arc_width_ns - offset_ns, width_ns);
	if (offset_ns + width_ns > phase->period_ns)
		head_ns =
		    iso_smaller_u64(offset_ns + width_ns - phase->period_ns, phase->arc_width_ns);
	if (tail_ns == 0 && head_ns == 0) {
		phase->arc_width_ns = phase->period_ns;
		return;
	}
	/* Narrow enough: from here on evidence only contradicts, it does not fit noise. */
	if (iso_quota_phase_known(phase))
		return;
	if (phase->arc_width_ns == phase->period_ns || tail_ns >= head_ns)
		phase->arc_start_ns = start_ns % phase->period_ns;
	if (phase->arc_width_ns == phase->period_ns)
		phase->arc_width_ns = width_ns;
	else
		phase->arc_width_ns = tail_ns >= head_ns ? tail_ns : head_ns;
}

/*
 * Two readings of nr_periods, m periods and a rest apart, say whether a
 * boundary fell into the rest: m + 1 counted means yes.  m counted means no,
 * if the timer never paused, which is sure when every period was throttled.
 */
void iso_quota_phase_learn(struct quota_phase *phase, uint64_t now_ns, uint64_t periods,
		       uint64_t throttled)
{
	uint64_t elapsed_ns = now_ns - phase->sample_at_ns;
	uint64_t whole = elapsed_ns / phase->period_ns, rest_ns = elapsed_ns % phase->period_ns;
	uint64_t counted = periods - phase->periods;
	uint64_t guard_ns = phase->guard_ns;
	uint64_t far_ns = now_ns + phase->period_ns; /* the same phase, and no way below 0 */
	bool usable = phase->has_sample && periods >= phase->periods &&
		      throttled >= phase->periods_throttled;

	assert_valid(phase);
	assert(!phase->has_sample || now_ns >= phase->sample_at_ns);
	if (usable && counted > 0)
		phase->saturated = throttled - phase->periods_throttled >= counted;
	if (usable && counted == whole + 1)
		arc_intersect(phase, far_ns - rest_ns - guard_ns, rest_ns + guard_ns);
	else if (usable && counted > whole + 1)
		phase->arc_width_ns = phase->period_ns; /* another period was in force */
	else if (usable && counted == whole && phase->saturated && rest_ns > guard_ns)
		arc_intersect(phase, far_ns - guard_ns, phase->period_ns - rest_ns + guard_ns);
	if (!phase->has_sample || counted > 0)
		phase->counted_at_ns = now_ns;
	phase->looks += phase->looks < LOOKS_MAX;
	phase->has_sample = true;
	phase->sample_at_ns = now_ns;
	phase->periods = periods;
	phase->periods_throttled = throttled;
	assert_valid(phase);
}

uint64_t iso_quota_phase_to_boundary_ns(const struct quota_phase *phase, uint64_t at_ns)
{
	uint64_t past_ns = arc_offset(phase, at_ns + phase->period_ns - phase->arc_width_ns / 2);

	assert(past_ns < phase->period_ns);
	return phase->period_ns - past_ns;
}

uint64_t iso_quota_phase_align(const struct quota_phase *phase, uint64_t at_ns)
{
	uint64_t ahead_ns;

	if (phase->period_ns < QUOTA_PHASE_PERIOD_NS_MIN || !iso_quota_phase_known(phase))
		return at_ns;
	ahead_ns = iso_quota_phase_to_boundary_ns(phase, at_ns);
	if (ahead_ns < phase->lead_ns)
		ahead_ns += phase->period_ns;
	return at_ns + ahead_ns - phase->lead_ns;
}

/*
 * The next of start, middle and end of the arc: one of the two halves then
 * holds the boundary for sure, also with a job that is not throttled.
 */
static uint64_t scan_ns(const struct quota_phase *phase, uint64_t now_ns)
{
	uint64_t offset_ns = arc_offset(phase, now_ns), half_ns = phase->arc_width_ns / 2;

	if (offset_ns < half_ns)
		return now_ns + half_ns - offset_ns;
	if (offset_ns < 2 * half_ns)
		return now_ns + 2 * half_ns - offset_ns;
	return now_ns + phase->period_ns - offset_ns;
}

/* The reading after this one should split the arc in two: its rest ends in the middle. */
static uint64_t bisect_ns(const struct quota_phase *phase, uint64_t now_ns)
{
	uint64_t to_middle_ns;

	if (phase->arc_width_ns == phase->period_ns)
		return now_ns + phase->period_ns / 2;
	to_middle_ns = iso_quota_phase_to_boundary_ns(phase, now_ns);
	return now_ns + (to_middle_ns > phase->guard_ns ? to_middle_ns : phase->period_ns);
}

uint64_t iso_quota_phase_search_ns(const struct quota_phase *phase, uint64_t now_ns)
{
	if (!phase->has_sample || iso_quota_phase_known(phase) ||
	    phase->period_ns < QUOTA_PHASE_PERIOD_NS_MIN)
		return 0;
	if (!phase->is_long && phase->saturated)
		return bisect_ns(phase, now_ns);
	if (!phase->is_long)
		return phase->looks < LOOKS_MAX ? now_ns + phase->period_ns + phase->period_ns / 2 :
						  0;
	/* While nothing runs no period is counted, and there is nothing to see. */
	if (now_ns - phase->counted_at_ns > 2 * phase->period_ns)
		return now_ns + phase->period_ns;
	if (phase->arc_width_ns == phase->period_ns)
		return now_ns + phase->period_ns / LEAD_PARTS;
	return scan_ns(phase, now_ns);
}
