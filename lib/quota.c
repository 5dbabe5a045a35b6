/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quota.h"

#include <assert.h>
#include <string.h>

#include "lib/quantity.h"

/*
 * Numbers below were measured on two CPUs, period 100 ms, with a pool that
 * two busy processes empty: a write from 5 ms before to 1 ms after the
 * boundary lets them use 6-10 ms more (the pool's slices of 5 ms per CPU, which
 * survive the boundary), in the middle of the period the whole quota.
 */
#define PHASE_PERIOD_NS_MIN 10000001ull /* shorter: a refill is worth less than a slice */
#define LEAD_PARTS          50u         /* write P/50 before the boundary: 2 ms of 100 ms */
#define LEAD_NS_MAX         5000000ull
#define GUARD_PARTS         500u        /* the kernel's timer comes late: 200 us of 100 ms */
#define MISSES_MAX          1u          /* wake-ups too late for the boundary; then act anyway */
#define LOOKS_MAX           3u
#define DEAD_BAND_PARTS     200u        /* 0.5 % */
#define DEBT_HORIZON_NS     20000000ull /* debt of 20 ms of the share is let be: 0.2 % of 10 s */
#define PAY_LEFT_PARTS      8u          /* while paying the job keeps 1/8 of its quota */
#define COST_NS_MAX         50000000ll
#define ENTITLED_UCPU_MAX   1000000000000ull
#define GAP_NS_MAX          (3600 * 1000000000ull)

struct iso_quota {
	uint64_t period_ns, lead_ns, guard_ns, raise_gap_ns;
	uint64_t period_us, quota_min_us;

	bool started, has_used;
	uint64_t now_ns, used_ns, entitled_ucpu;
	int64_t debt_ns;        /* >= -credit_ns */
	int64_t credit_ns;      /* paid ahead for what the raise after the pay-back will cost */

	uint64_t written_us;    /* 0: unknown or unlimited */
	uint64_t raised_at_ns;
	bool raised_ever;
	uint64_t pay_until_ns;  /* a boundary; 0: not paying */
	int64_t cost_ns;        /* what a raise costs, learnt */
	bool sampling;          /* since the last raise; from sample_debt_ns */
	int64_t sample_debt_ns;
	unsigned misses;
	uint64_t asked_ns;      /* the wake-up of the last step */

	/* The boundary is in [arc_start, arc_start + arc_width) modulo the period. */
	uint64_t arc_start_ns, arc_width_ns;
	bool has_sample, saturated;
	unsigned looks;         /* early readings, to see soon whether the job is throttled */
	uint64_t sample_at_ns, periods, periods_throttled;
};

static void assert_valid(const struct iso_quota *q)
{
	assert(q->period_ns >= 1000000);
	assert(q->period_ns <= 1000000000);
	assert(q->arc_width_ns <= q->period_ns);
	assert(q->arc_start_ns < q->period_ns);
	assert(q->credit_ns >= 0);
	assert(q->debt_ns >= -q->credit_ns);
	assert(q->cost_ns >= 0);
	assert(q->cost_ns <= COST_NS_MAX);
}

size_t iso_quota_size(void)
{
	return sizeof(struct iso_quota);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

enum iso_status iso_quota_init(void *memory, size_t size, const struct iso_quota_config *config,
			       struct iso_quota **ret_quota)
{
	struct iso_quota *q = memory;

	assert(memory != NULL);
	assert(config != NULL);
	assert(ret_quota != NULL);
	if (config->period_us < 1000 || config->period_us > 1000000)
		return ISO_E_RANGE;
	if (config->quota_min_us < 1000)
		return ISO_E_RANGE;
	if (size < sizeof(*q))
		return ISO_E_SHORT;
	memset(q, 0, sizeof(*q));
	q->period_us = config->period_us;
	q->period_ns = q->period_us * 1000;
	q->quota_min_us = config->quota_min_us;
	q->raise_gap_ns = config->raise_gap_ns;
	q->lead_ns = min_u64(q->period_ns / LEAD_PARTS, LEAD_NS_MAX);
	q->guard_ns = min_u64(q->period_ns / GUARD_PARTS, 500000);
	q->arc_width_ns = q->period_ns;
	q->cost_ns = 5000000; /* one slice of the pool */
	assert_valid(q);
	*ret_quota = q;
	return ISO_OK;
}

/* share x duration, exact to 1 ns; the duration is at most GAP_NS_MAX, so nothing overflows. */
static int64_t entitlement_ns(uint64_t share_ucpu, uint64_t duration_ns)
{
	assert(duration_ns <= GAP_NS_MAX);
	return (int64_t)(share_ucpu / ISO_UCPU_PER_CPU * duration_ns +
			 share_ucpu % ISO_UCPU_PER_CPU * duration_ns / ISO_UCPU_PER_CPU);
}

static void integrate(struct iso_quota *q, const struct iso_quota_event *event)
{
	uint64_t elapsed_ns = event->now_ns - q->now_ns;
	int64_t used_ns;

	/* A suspended host or a meter that began anew says nothing about debt. */
	if (!q->started || !q->has_used || !event->has_used || elapsed_ns > GAP_NS_MAX ||
	    event->used_ns < q->used_ns || event->used_ns - q->used_ns > INT64_MAX / 4) {
		q->debt_ns = q->credit_ns = 0;
		q->sampling = false;
		return;
	}
	used_ns = (int64_t)(event->used_ns - q->used_ns);
	q->debt_ns += used_ns - entitlement_ns(q->entitled_ucpu, elapsed_ns);
	if (q->debt_ns < -q->credit_ns)
		q->debt_ns = -q->credit_ns;
}

static bool phase_known(const struct iso_quota *q)
{
	return q->arc_width_ns <= q->lead_ns;
}

/* Time from the start of the arc to at_ns, modulo the period. */
static uint64_t arc_offset(const struct iso_quota *q, uint64_t at_ns)
{
	return (at_ns % q->period_ns + q->period_ns - q->arc_start_ns) % q->period_ns;
}

/*
 * Keeps what the arc shares with [start, start + width).  Two arcs of a circle
 * can share a piece at either end: the longer one is kept, since the other is
 * mostly the guard's doing.  With nothing in common all is open again.
 */
static void arc_intersect(struct iso_quota *q, uint64_t start_ns, uint64_t width_ns)
{
	uint64_t offset_ns = arc_offset(q, start_ns);
	uint64_t tail_ns = 0, head_ns = 0;

	if (width_ns >= q->period_ns)
		return;
	if (offset_ns < q->arc_width_ns)
		tail_ns = min_u64(q->arc_width_ns - offset_ns, width_ns);
	if (offset_ns + width_ns > q->period_ns)
		head_ns = min_u64(offset_ns + width_ns - q->period_ns, q->arc_width_ns);
	if (tail_ns == 0 && head_ns == 0) {
		q->arc_width_ns = q->period_ns;
		return;
	}
	/* Narrow enough: from here on evidence only contradicts, it does not fit noise. */
	if (phase_known(q))
		return;
	if (q->arc_width_ns == q->period_ns || tail_ns >= head_ns)
		q->arc_start_ns = start_ns % q->period_ns;
	if (q->arc_width_ns == q->period_ns)
		q->arc_width_ns = width_ns;
	else
		q->arc_width_ns = tail_ns >= head_ns ? tail_ns : head_ns;
}

/*
 * Two readings of nr_periods, m periods and a rest apart, say whether a
 * boundary fell into the rest: m + 1 counted means yes.  m counted means no,
 * if the timer never paused, which is sure when every period was throttled.
 */
static void learn_phase(struct iso_quota *q, const struct iso_quota_event *event)
{
	uint64_t elapsed_ns = event->now_ns - q->sample_at_ns;
	uint64_t whole = elapsed_ns / q->period_ns, rest_ns = elapsed_ns % q->period_ns;
	uint64_t counted = event->periods - q->periods;
	uint64_t throttled = event->periods_throttled - q->periods_throttled;
	bool usable = q->has_sample && event->periods >= q->periods &&
		      event->periods_throttled >= q->periods_throttled;

	if (!event->has_periods || q->period_ns < PHASE_PERIOD_NS_MIN)
		return;
	if (usable && counted > 0)
		q->saturated = throttled >= counted;
	if (usable && counted == whole + 1)
		arc_intersect(q, event->now_ns - rest_ns - q->guard_ns, rest_ns + q->guard_ns);
	else if (usable && counted > whole + 1)
		q->arc_width_ns = q->period_ns; /* another period than ours was in force */
	else if (usable && counted == whole && q->saturated && rest_ns > q->guard_ns)
		arc_intersect(q, event->now_ns - q->guard_ns, q->period_ns - rest_ns + q->guard_ns);
	q->looks += q->looks < LOOKS_MAX;
	q->has_sample = true;
	q->sample_at_ns = event->now_ns;
	q->periods = event->periods;
	q->periods_throttled = event->periods_throttled;
}

/* From at_ns to the middle of the next arc in which the boundary is: (0, period]. */
static uint64_t to_boundary_ns(const struct iso_quota *q, uint64_t at_ns)
{
	uint64_t past_ns = arc_offset(q, at_ns + q->period_ns - q->arc_width_ns / 2);

	return q->period_ns - past_ns;
}

static bool is_aligned(const struct iso_quota *q)
{
	uint64_t ahead_ns;

	if (q->period_ns < PHASE_PERIOD_NS_MIN || !phase_known(q))
		return true;
	ahead_ns = to_boundary_ns(q, q->now_ns);
	return ahead_ns <= 3 * q->lead_ns || q->period_ns - ahead_ns <= q->lead_ns / 2;
}

uint64_t iso_quota_align(const struct iso_quota *q, uint64_t at_ns)
{
	uint64_t ahead_ns;

	assert_valid(q);
	if (q->period_ns < PHASE_PERIOD_NS_MIN || !phase_known(q))
		return at_ns;
	ahead_ns = to_boundary_ns(q, at_ns);
	if (ahead_ns < q->lead_ns)
		ahead_ns += q->period_ns;
	return at_ns + ahead_ns - q->lead_ns;
}

/*
 * Where to look next while the phase is unknown: the reading after this one
 * should split the arc in two, so its rest has to end in the middle.
 */
static uint64_t search_at_ns(const struct iso_quota *q)
{
	uint64_t to_middle_ns;

	if (q->arc_width_ns == q->period_ns)
		return q->now_ns + q->period_ns / 2;
	to_middle_ns = to_boundary_ns(q, q->now_ns);
	return q->now_ns + (to_middle_ns > q->guard_ns ? to_middle_ns : q->period_ns);
}

static uint64_t share_quota_us(const struct iso_quota *q)
{
	return q->entitled_ucpu / ISO_UCPU_PER_CPU * q->period_us +
	       q->entitled_ucpu % ISO_UCPU_PER_CPU * q->period_us / ISO_UCPU_PER_CPU;
}

static uint64_t clamp_quota_us(const struct iso_quota *q, int64_t wanted_ns)
{
	uint64_t most_us = share_quota_us(q);

	if (wanted_ns <= (int64_t)(q->quota_min_us * 1000))
		return q->quota_min_us;
	return min_u64((uint64_t)wanted_ns / 1000, most_us);
}

/*
 * In the middle of a period a write opens a second quota.  So it gets only
 * what the share still allows until the boundary, where the next write is.
 */
static uint64_t rest_of_period_us(const struct iso_quota *q)
{
	uint64_t ahead_ns = to_boundary_ns(q, q->now_ns);

	return clamp_quota_us(q, entitlement_ns(q->entitled_ucpu, ahead_ns) - q->debt_ns);
}

/* The share's quota, less what is owed, in as few periods as leave the job a part of it. */
static uint64_t paying_us(struct iso_quota *q)
{
	int64_t full_ns = (int64_t)share_quota_us(q) * 1000;
	int64_t horizon_ns = entitlement_ns(q->entitled_ucpu, DEBT_HORIZON_NS);
	int64_t owed_ns = q->debt_ns + q->credit_ns;
	int64_t part_ns, periods;
	uint64_t boundary_ns = q->now_ns + to_boundary_ns(q, q->now_ns);

	/* Between boundaries a sound job is ahead of its share by up to one quota. */
	if (q->period_ns >= PHASE_PERIOD_NS_MIN && !phase_known(q))
		owed_ns -= full_ns;
	if (q->pay_until_ns != 0 && boundary_ns < q->pay_until_ns)
		return min_u64(q->written_us != 0 ? q->written_us : UINT64_MAX,
			       share_quota_us(q));
	q->pay_until_ns = 0;
	if (owed_ns <= horizon_ns || owed_ns + q->cost_ns <= q->credit_ns)
		return share_quota_us(q);
	owed_ns += q->cost_ns - q->credit_ns;
	q->credit_ns = q->cost_ns;
	part_ns = full_ns - full_ns / PAY_LEFT_PARTS;
	periods = (owed_ns + part_ns - 1) / part_ns;
	q->pay_until_ns = boundary_ns + (uint64_t)periods * q->period_ns;
	return clamp_quota_us(q, full_ns - owed_ns / periods);
}

static bool may_raise(const struct iso_quota *q)
{
	return !q->raised_ever || q->now_ns - q->raised_at_ns >= q->raise_gap_ns;
}

/* The quota to ask for now; the caller compares it with what is written. */
static uint64_t choose_us(struct iso_quota *q)
{
	bool too_high = q->written_us == 0 || q->written_us > share_quota_us(q);
	uint64_t wanted_us;

	if (!is_aligned(q) && too_high) {
		q->pay_until_ns = 0;
		return rest_of_period_us(q);
	}
	/* On a busy host every wake-up may come late: then any time is better than none. */
	if (!is_aligned(q) && (q->now_ns < q->asked_ns || ++q->misses <= MISSES_MAX))
		return q->written_us;
	q->misses = 0;
	wanted_us = paying_us(q);
	if (too_high)
		return min_u64(wanted_us, share_quota_us(q));
	if (wanted_us > q->written_us &&
	    (wanted_us - q->written_us <= share_quota_us(q) / DEAD_BAND_PARTS || !may_raise(q)))
		return q->written_us;
	return wanted_us;
}

/* What one raise costs is learnt from the debt before it and one period later. */
static void learn_cost(struct iso_quota *q)
{
	int64_t jump_ns;

	if (!q->sampling || q->now_ns - q->raised_at_ns < q->period_ns / 2 || !is_aligned(q))
		return;
	q->sampling = false;
	jump_ns = q->debt_ns - q->sample_debt_ns;
	if (q->saturated)
		q->cost_ns += (jump_ns - q->cost_ns) / 4;
	if (q->cost_ns < 0)
		q->cost_ns = 0;
	if (q->cost_ns > COST_NS_MAX)
		q->cost_ns = COST_NS_MAX;
	if (q->pay_until_ns == 0) {
		q->credit_ns = 0;
		q->debt_ns = q->debt_ns > 0 ? q->debt_ns : 0;
	}
}

static uint64_t wake_at_ns(const struct iso_quota *q, uint64_t wanted_us)
{
	uint64_t next_ns = iso_quota_align(q, q->now_ns + q->lead_ns);
	uint64_t full_us = share_quota_us(q);
	bool open = full_us - wanted_us > full_us / DEAD_BAND_PARTS || q->sampling ||
		    q->debt_ns > entitlement_ns(q->entitled_ucpu, DEBT_HORIZON_NS);

	if (q->has_sample && !phase_known(q) && q->period_ns >= PHASE_PERIOD_NS_MIN) {
		if (q->saturated)
			return search_at_ns(q);
		if (q->looks < LOOKS_MAX)
			return q->now_ns + q->period_ns + q->period_ns / 2;
	}
	if (q->pay_until_ns > next_ns + q->lead_ns && !q->sampling)
		return q->pay_until_ns - q->lead_ns;
	if (!open)
		return UINT64_MAX;
	return phase_known(q) ? next_ns : q->now_ns + q->period_ns;
}

enum iso_status iso_quota_step(struct iso_quota *q, const struct iso_quota_event *event,
			       struct iso_quota_update *ret_update)
{
	uint64_t wanted_us;

	assert(event != NULL);
	assert(ret_update != NULL);
	assert_valid(q);
	assert(event->now_ns >= q->now_ns);
	if (event->entitled_ucpu > ENTITLED_UCPU_MAX ||
	    event->entitled_ucpu * q->period_us / ISO_UCPU_PER_CPU < q->quota_min_us)
		return ISO_E_RANGE;

	integrate(q, event);
	learn_phase(q, event);
	q->started = true;
	q->has_used = event->has_used;
	q->used_ns = event->used_ns;
	q->now_ns = event->now_ns;
	q->entitled_ucpu = event->entitled_ucpu;
	learn_cost(q);

	wanted_us = choose_us(q);
	if (q->pay_until_ns == 0 && !q->sampling && wanted_us <= q->written_us) {
		q->credit_ns = 0;
		q->debt_ns = q->debt_ns > 0 ? q->debt_ns : 0;
	}
	assert(wanted_us >= q->quota_min_us);
	assert(wanted_us <= share_quota_us(q));
	ret_update->write = wanted_us != q->written_us;
	ret_update->quota_us = wanted_us;
	q->asked_ns = wake_at_ns(q, wanted_us);
	ret_update->wake_at_ns = q->asked_ns;
	ret_update->debt_ns = q->debt_ns > 0 ? (uint64_t)q->debt_ns : 0;
	assert(ret_update->wake_at_ns > q->now_ns);
	assert_valid(q);
	return ISO_OK;
}

void iso_quota_wrote(struct iso_quota *q, uint64_t now_ns, uint64_t quota_us)
{
	assert_valid(q);
	if (q->written_us != 0 && quota_us > q->written_us) {
		q->raised_at_ns = now_ns;
		q->raised_ever = true;
		q->sampling = q->has_used;
		q->sample_debt_ns = q->debt_ns;
	}
	q->written_us = quota_us;
}
