/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/trade/share.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "lib/smaller.h"

#define UCPU_PER_CPU 1e6

/* More than any node owns; keeps the conversion to an integer defined. */
#define FLOW_MAX_UCPU 1e15

static bool fraction(double value)
{
	return value >= 0 && value <= 1; /* also refuses not-a-number */
}

enum iso_status iso_share_check(const struct iso_share_params *params)
{
	if (params->mode < ISO_SHARE_DIFFERENCE || params->mode > ISO_SHARE_NONE)
		return ISO_E_RANGE;
	if (!(params->gamma > 0 && params->gamma <= 1) || !fraction(params->dead_band) ||
	    !fraction(params->relay_allow))
		return ISO_E_RANGE;
	if (params->mode == ISO_SHARE_UNIFORM &&
	    (params->uniform_step_q32 <= 0 || params->uniform_step_q32 > ISO_PRICE_MAX))
		return ISO_E_RANGE;
	if (params->quant == NULL || params->base_age_ns == 0 || params->fresh_age_ns == 0)
		return ISO_E_RANGE;
	return ISO_OK;
}

static int16_t uniform_symbol(int64_t step_q32, int64_t price_q32)
{
	int64_t half = price_q32 < 0 ? -(step_q32 / 2) : step_q32 / 2;
	int64_t k = (price_q32 + half) / step_q32;

	if (k > INT16_MAX)
		return INT16_MAX;
	return k < -INT16_MAX ? -INT16_MAX : (int16_t)k;
}

struct iso_share_code iso_share_encode(const struct iso_share_params *params, int64_t price_q32,
				       int64_t reference_q32)
{
	struct iso_share_code code = { 0, 0, 0 };
	struct iso_share_price price = { 0, 0 };

	assert(price_q32 == iso_price_clamp(price_q32));
	assert(reference_q32 == iso_price_clamp(reference_q32));
	if (params->mode != ISO_SHARE_DIFFERENCE)
		assert(reference_q32 == 0);
	switch (params->mode) {
	case ISO_SHARE_DIFFERENCE:
	case ISO_SHARE_LOG:
		code.symbol = iso_quant_symbol(params->quant, price_q32 - reference_q32);
		break;
	case ISO_SHARE_UNIFORM:
		code.symbol = uniform_symbol(params->uniform_step_q32, price_q32);
		break;
	case ISO_SHARE_NONE: code.exact_q32 = price_q32; break;
	}

	/* The very function the other end uses, so that both know the same bits. */
	enum iso_status status =
	    iso_share_decode(params, code.symbol, code.exact_q32, reference_q32, &price);

	assert(status == ISO_OK);
	code.value_q32 = price.value_q32;
	return code;
}

enum iso_status iso_share_decode(const struct iso_share_params *params, int16_t symbol,
				 int64_t exact_q32, int64_t reference_q32,
				 struct iso_share_price *ret_price)
{
	struct iso_quant_interval interval;
	enum iso_status status = ISO_OK;
	int64_t value = 0, upper = 0;

	assert(reference_q32 == iso_price_clamp(reference_q32));
	switch (params->mode) {
	case ISO_SHARE_DIFFERENCE:
		status = iso_quant_value(params->quant, symbol, &value);
		if (status == ISO_OK)
			status = iso_quant_interval(params->quant, symbol, &interval);
		if (status != ISO_OK)
			return status;
		value += reference_q32;
		/* reference + 2^62 still fits: a reference is at most 2^61. */
		upper = reference_q32 + interval.high;
		break;
	case ISO_SHARE_LOG:
		status = iso_quant_value(params->quant, symbol, &value);
		if (status != ISO_OK)
			return status;
		break;
	case ISO_SHARE_UNIFORM:
		if (params->uniform_step_q32 <= ISO_PRICE_MAX / INT16_MAX)
			value = symbol * params->uniform_step_q32;
		else
			value =
			    iso_price_of_real(symbol * iso_price_real(params->uniform_step_q32));
		break;
	case ISO_SHARE_NONE: value = exact_q32; break;
	}
	value = iso_price_round(iso_price_clamp(value));
	upper = params->mode == ISO_SHARE_DIFFERENCE ? iso_price_round_up(iso_price_clamp(upper))
						     : value;
	*ret_price = (struct iso_share_price){ value, upper };
	return ISO_OK;
}

struct iso_share_crowd iso_share_crowd(const struct iso_cost *cost, const struct iso_box *box,
				       int64_t share_ucpu)
{
	return (struct iso_share_crowd){
		.curvature = iso_cost_marginal(cost, box, share_ucpu).curvature,
	};
}

void iso_share_crowd_add(struct iso_share_crowd *crowd, const struct iso_share_params *params,
			 const struct iso_share_heard *heard, uint64_t now_ns)
{
	if (!heard->valid)
		return;
	assert(heard->at_ns <= now_ns);
	if (now_ns - heard->at_ns > params->fresh_age_ns)
		return;

	double c = 1 / (crowd->curvature + heard->curvature);

	crowd->weights += c;
	crowd->prices_q32 += c * (double)heard->price.value_q32;
}

int64_t iso_share_relay(const struct iso_share_crowd *crowd, const struct iso_cost *cost,
			const struct iso_box *box)
{
	if (crowd->weights == 0)
		return 0;

	int64_t crowd_q32 = iso_price_clamp((int64_t)(crowd->prices_q32 / crowd->weights));
	int64_t low = iso_cost_marginal(cost, box, box->floor_ucpu).price_q32;
	int64_t high = iso_cost_marginal(cost, box, box->ceiling_ucpu).price_q32;

	/* A ceiling that fell below the floor turns the box around. */
	if (low > high) {
		int64_t swap = low;

		low = high;
		high = swap;
	}
	if (crowd_q32 < low)
		return crowd_q32 - low;
	return crowd_q32 > high ? crowd_q32 - high : 0;
}

struct iso_share_offer iso_share_offer(const struct iso_cost *cost, const struct iso_box *box,
				       int64_t share_ucpu, int64_t relay_q32)
{
	struct iso_marginal here = iso_cost_marginal(cost, box, share_ucpu);

	return (struct iso_share_offer){ iso_price_clamp(here.price_q32 + relay_q32),
					 here.price_q32, here.curvature };
}

/* What this node would give to close the certain gap. */
static int64_t certain_gap(const struct iso_share_params *params, int64_t own_q32,
			   int64_t upper_q32)
{
	int64_t gap = own_q32 - upper_q32;

	if (gap <= 0)
		return gap;

	int64_t band = (int64_t)(params->dead_band * fabs((double)own_q32));

	return gap > band ? gap - band : 0;
}

struct iso_share_decision iso_share_flow(const struct iso_share_params *params,
					 const struct iso_share_offer *offer, uint32_t degree,
					 const struct iso_share_heard *heard, int64_t room_ucpu,
					 double *remainder_ucpu)
{
	struct iso_share_decision decision = { .upper_q32 = heard->price.upper_q32 };
	uint32_t degree_max = degree > heard->degree ? degree : heard->degree;
	double weight = 2.0 / (1 + (degree_max > 0 ? degree_max : 1));

	assert(heard->valid);
	assert(room_ucpu >= 0);
	assert(offer->curvature > 0);
	assert(heard->curvature >= 0);
	/* The published forms compare two quantised prices, never an exact one with one of them. */
	decision.own_q32 = params->mode == ISO_SHARE_DIFFERENCE
			       ? offer->price_q32
			       : iso_share_encode(params, offer->price_q32, 0).value_q32;
	decision.gap_q32 = certain_gap(params, decision.own_q32, decision.upper_q32);

	/* Shares that would close the whole gap, were these two alone. */
	double close_ucpu =
	    iso_price_real(decision.gap_q32) / (offer->curvature + heard->curvature) * UCPU_PER_CPU;

	decision.wanted_ucpu = params->gamma * weight * close_ucpu;
	double remainder = fmax(*remainder_ucpu + decision.wanted_ucpu, -1);
	int64_t due = (int64_t)floor(fmin(remainder, FLOW_MAX_UCPU));
	/* One unit still lowers the total cost if the gap is more than half of what it closes. */
	int64_t useful = close_ucpu > 0.5 && close_ucpu < 1
			     ? 1
			     : (int64_t)floor(fmin(fmax(close_ucpu, 0), FLOW_MAX_UCPU));

	due = iso_smaller_i64(due, useful);
	decision.given_ucpu = iso_smaller_i64(iso_smaller_i64(due, room_ucpu), heard->head_ucpu);
	if (decision.gap_q32 < 0)
		decision.reason = ISO_SHARE_CHEAPER;
	else if (decision.gap_q32 == 0)
		decision.reason =
		    decision.own_q32 > decision.upper_q32 ? ISO_SHARE_DEAD_BAND : ISO_SHARE_CHEAPER;
	else if (due <= 0)
		decision.reason = ISO_SHARE_COLLECTING;
	else if (decision.given_ucpu > 0)
		decision.reason = ISO_SHARE_GAVE;
	else
		decision.reason = room_ucpu == 0 ? ISO_SHARE_FLOOR : ISO_SHARE_FULL;
	if (decision.reason != ISO_SHARE_GAVE)
		decision.given_ucpu = 0;
	*remainder_ucpu = fmin(remainder - (double)decision.given_ucpu, 1);
	assert(decision.given_ucpu >= 0);
	assert(decision.given_ucpu <= room_ucpu);
	return decision;
}

int64_t iso_share_head(const struct iso_share_params *params, int64_t ceiling_ucpu,
		       int64_t share_ucpu)
{
	int64_t top = ceiling_ucpu + (int64_t)(params->relay_allow * (double)ceiling_ucpu);

	return top > share_ucpu ? top - share_ucpu : 0;
}

const char *iso_share_reason_text(enum iso_share_reason reason)
{
	switch (reason) {
	case ISO_SHARE_SILENT: return "nothing new was heard";
	case ISO_SHARE_WAITING: return "the last transfer is not acknowledged yet";
	case ISO_SHARE_CHEAPER: return "its price is not certainly lower";
	case ISO_SHARE_DEAD_BAND: return "the gap is within the dead band";
	case ISO_SHARE_COLLECTING: return "the flow is below one unit and is kept";
	case ISO_SHARE_FLOOR: return "this node is at its floor";
	case ISO_SHARE_FULL: return "the neighbour has no head-room";
	case ISO_SHARE_GAVE: return "it gave";
	case ISO_SHARE_HELD: return "giving is held";
	case ISO_SHARE_ABORTED: return "the quota could not be lowered";
	case ISO_SHARE_LEAVING: return "the neighbour is leaving";
	case ISO_SHARE_LIMIT: return "it was given as much as its limit allows";
	}
	assert(!"reason");
	return "";
}
