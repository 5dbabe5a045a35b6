/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/quota.h"

#include <assert.h>
#include <string.h>

#include "lib/enforce/quota_phase.h"
#include "lib/quantity.h"
#include "lib/smaller.h"

/*
 * Numbers below were measured on two CPUs, period 100 ms, with a pool that
 * two busy processes empty: a write from 5 ms before to 1 ms after the
 * boundary lets them use 6-10 ms more (the pool's slices of 5 ms per CPU, which
 * survive the boundary), in the middle of the period the whole quota.
 */
#define MISSES_MAX          1u          /* wake-ups too late for the boundary; then act anyway */
#define DEAD_BAND_PARTS     200u        /* 0.5 % */
#define DEBT_HORIZON_NS     14000000ull /* debt of 14 ms of the share is let be: 0.14 % of 10 s */
#define PAY_LEFT_PARTS      8u          /* while paying the job keeps 1/8 of its quota */
#define COST_NS_MAX         50000000ll
#define ENTITLED_UCPU_MAX   1000000000000ull
#define GAP_NS_MAX          (3600 * 1000000000ull)

/*
 * No window of WINDOW_NS may hold more than PROMISE_PERCENT of the share.  It can
 * hold the quotas of WINDOW_NS / P + 1 periods, the first spent at the end of
 * its period, the last at the start: where P is more than 1 % of the window
 * ("long") that alone would be too much, and the quota is that much smaller.
 */
#define WINDOW_NS           10000000000ull
#define PROMISE_PERCENT     101u
#define HELD_MAX            4u

struct iso_quota {
	struct quota_phase phase;
	uint64_t period_ns, raise_gap_ns;
	uint64_t period_us, quota_min_us;

	bool started, has_used;
	uint64_t now_ns, used_ns, entitled_ucpu;

	/* Quotas of the share over the last period, rising: the first is the least. */
	struct {
		uint64_t since_ns, quota_us;
	} held[HELD_MAX];
	unsigned held_count;

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
};

static bool is_long(const struct iso_quota *q)
{
	return WINDOW_NS / 1000 + q->period_us > WINDOW_NS / 1000 * PROMISE_PERCENT / 100;
}

static void assert_valid(const struct iso_quota *q)
{
	assert(q->period_ns >= 1000000);
	assert(q->period_ns <= 1000000000);
	assert(q->credit_ns >= 0);
	assert(q->debt_ns >= -q->credit_ns);
	assert(q->cost_ns >= 0);
	assert(q->cost_ns <= COST_NS_MAX);
}

size_t iso_quota_size(void)
{
	return sizeof(struct iso_quota);
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
	iso_quota_phase_init(&q->phase, q->period_ns, is_long(q));
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

/* A long period's boundary is worth waiting for: a second quota there is much of a window. */
static bool must_learn(const struct iso_quota *q)
{
	return is_long(q) && q->phase.has_sample && !iso_quota_phase_known(&q->phase);
}

static bool is_aligned(const struct iso_quota *q)
{
	uint64_t ahead_ns;

	if (must_learn(q))
		return false;
	if (q->period_ns < QUOTA_PHASE_PERIOD_NS_MIN || !iso_quota_phase_known(&q->phase))
		return true;
	ahead_ns = iso_quota_phase_to_boundary_ns(&q->phase, q->now_ns);
	return ahead_ns <= 3 * q->phase.lead_ns || q->period_ns - ahead_ns <= q->phase.lead_ns / 2;
}

uint64_t iso_quota_align(const struct iso_quota *q, uint64_t at_ns)
{
	assert_valid(q);
	return iso_quota_phase_align(&q->phase, at_ns);
}

/* The quota of the share as it is now; a long period gets less, see WINDOW_NS. */
static uint64_t entitled_quota_us(const struct iso_quota *q)
{
	uint64_t full_us = q->entitled_ucpu / ISO_UCPU_PER_CPU * q->period_us +
			   q->entitled_ucpu % ISO_UCPU_PER_CPU * q->period_us / ISO_UCPU_PER_CPU;

	if (is_long(q))
		full_us = full_us * (WINDOW_NS / 1000) / (WINDOW_NS / 1000 + q->period_us);
	return full_us > q->quota_min_us ? full_us : q->quota_min_us;
}

static uint64_t held_until_ns(const struct iso_quota *q)
{
	return q->held[1].since_ns + q->period_ns - q->phase.lead_ns;
}

/*
 * A job spends a period's quota at its start, so a raise shows in a window
 * before the share that allows it does.  It waits for one whole period of it:
 * the quota is that of the least share since.  Too many changes to remember
 * only make it lower.
 */
static void hold_down(struct iso_quota *q)
{
	uint64_t quota_us = entitled_quota_us(q);

	while (q->held_count > 0 && q->held[q->held_count - 1].quota_us > quota_us)
		q->held_count--;
	if (q->held_count < HELD_MAX &&
	    (q->held_count == 0 || q->held[q->held_count - 1].quota_us < quota_us)) {
		q->held[q->held_count].since_ns = q->now_ns;
		q->held[q->held_count++].quota_us = quota_us;
	}
	while (q->held_count > 1 && (!is_long(q) || q->now_ns >= held_until_ns(q)))
		memmove(q->held, q->held + 1, --q->held_count * sizeof(q->held[0]));
}

static uint64_t share_quota_us(const struct iso_quota *q)
{
	assert(q->held_count > 0);
	return q->held[0].quota_us;
}

static uint64_t clamp_quota_us(const struct iso_quota *q, int64_t wanted_ns)
{
	uint64_t most_us = share_quota_us(q);

	if (wanted_ns <= (int64_t)(q->quota_min_us * 1000))
		return q->quota_min_us;
	return iso_smaller_u64((uint64_t)wanted_ns / 1000, most_us);
}

/*
 * In the middle of a period a write opens a second quota.  So it gets only
 * what the share still allows until the boundary, where the next write is.
 */
static uint64_t rest_of_period_us(const struct iso_quota *q)
{
	uint64_t ahead_ns = iso_quota_phase_to_boundary_ns(&q->phase, q->now_ns);

	return clamp_quota_us(q, entitlement_ns(q->entitled_ucpu, ahead_ns) - q->debt_ns);
}

/* The share's quota, less what is owed, in as few periods as leave the job a part of it. */
static uint64_t paying_us(struct iso_quota *q)
{
	int64_t full_ns = (int64_t)share_quota_us(q) * 1000;
	int64_t horizon_ns = entitlement_ns(q->entitled_ucpu, DEBT_HORIZON_NS);
	int64_t owed_ns = q->debt_ns + q->credit_ns;
	int64_t part_ns, periods;
	uint64_t boundary_ns = q->now_ns + iso_quota_phase_to_boundary_ns(&q->phase, q->now_ns);

	/* Between boundaries a sound job is ahead of its share by up to one quota. */
	if (q->period_ns >= QUOTA_PHASE_PERIOD_NS_MIN && !iso_quota_phase_known(&q->phase))
		owed_ns -= full_ns;
	if (q->pay_until_ns != 0 && boundary_ns < q->pay_until_ns)
		return iso_smaller_u64(q->written_us != 0 ? q->written_us : UINT64_MAX,
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
	if (must_learn(q))
		return q->written_us;
	/* On a busy host every wake-up may come late: then any time is better than none. */
	if (!is_aligned(q) && (q->now_ns < q->asked_ns || ++q->misses <= MISSES_MAX))
		return q->written_us;
	q->misses = 0;
	wanted_us = paying_us(q);
	if (too_high)
		return iso_smaller_u64(wanted_us, share_quota_us(q));
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
	if (q->phase.saturated || jump_ns > q->cost_ns)
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
	uint64_t next_ns = iso_quota_align(q, q->now_ns + q->phase.lead_ns);
	uint64_t search_ns = iso_quota_phase_search_ns(&q->phase, q->now_ns);
	uint64_t full_us = share_quota_us(q);
	bool open = full_us - wanted_us > full_us / DEAD_BAND_PARTS || q->sampling ||
		    q->debt_ns > entitlement_ns(q->entitled_ucpu, DEBT_HORIZON_NS);

	if (search_ns != 0)
		return search_ns;
	if (q->pay_until_ns > next_ns + q->phase.lead_ns && !q->sampling)
		return q->pay_until_ns - q->phase.lead_ns;
	if (!open)
		next_ns = UINT64_MAX;
	else if (!iso_quota_phase_known(&q->phase))
		next_ns = q->now_ns + q->period_ns;
	if (q->held_count > 1)
		next_ns = iso_smaller_u64(next_ns, iso_quota_align(q, held_until_ns(q)));
	return next_ns;
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
	if (event->has_periods)
		iso_quota_phase_learn(&q->phase, event->now_ns, event->periods,
				  event->periods_throttled);
	q->started = true;
	q->has_used = event->has_used;
	q->used_ns = event->used_ns;
	q->now_ns = event->now_ns;
	q->entitled_ucpu = event->entitled_ucpu;
	hold_down(q);
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
