/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/times.h"

#include <assert.h>
#include <math.h>

#include "lib/draw.h"

#define PI 3.14159265358979323846

static bool is_positive(double value)
{
	return value > 0 && value < HUGE_VAL;
}

bool iso_law_valid(const struct iso_law *law)
{
	if (!(law->base >= 0 && law->base < HUGE_VAL) || !is_positive(law->scale))
		return false;
	switch (law->kind) {
	case ISO_LAW_CONSTANT:
	case ISO_LAW_EXPONENTIAL:
	case ISO_LAW_UNIFORM:
	case ISO_LAW_HALF_NORMAL: return true;
	case ISO_LAW_LOGNORMAL: /* beyond that, the mean is no number any more */
		return is_positive(law->shape) && law->shape <= 16;
	case ISO_LAW_GAMMA: return is_positive(law->shape);
	case ISO_LAW_TRACE:
		for (uint32_t i = 0; i < law->trace_count; i++)
			if (!is_positive(law->trace[i]))
				return false;
		return law->trace_count > 0;
	}
	return false;
}

static double draw_unit(const struct iso_law *law, uint64_t u, struct iso_rng *rng)
{
	switch (law->kind) {
	case ISO_LAW_CONSTANT: break;
	case ISO_LAW_EXPONENTIAL: return iso_draw_exponential(rng);
	case ISO_LAW_UNIFORM: return iso_rng_unit(rng);
	case ISO_LAW_HALF_NORMAL: return fabs(iso_draw_normal(rng));
	case ISO_LAW_LOGNORMAL: return exp(law->shape * iso_draw_normal(rng));
	case ISO_LAW_GAMMA: return iso_draw_gamma(rng, law->shape);
	case ISO_LAW_TRACE: return law->trace[(law->trace_from + u) % law->trace_count];
	}
	return 1;
}

double iso_law_draw(const struct iso_law *law, uint64_t u, struct iso_rng *rng)
{
	double time = law->base + law->scale * draw_unit(law, u, rng);

	assert(time >= 0);
	return time;
}

static double trace_moment(const struct iso_law *law, double about, int power)
{
	double sum = 0;

	for (uint32_t i = 0; i < law->trace_count; i++)
		sum += power == 1 ? law->trace[i] - about
				  : (law->trace[i] - about) * (law->trace[i] - about);
	return sum / law->trace_count;
}

static double unit_mean(const struct iso_law *law)
{
	switch (law->kind) {
	case ISO_LAW_CONSTANT:
	case ISO_LAW_EXPONENTIAL: break;
	case ISO_LAW_UNIFORM: return 0.5;
	case ISO_LAW_HALF_NORMAL: return sqrt(2 / PI);
	case ISO_LAW_LOGNORMAL: return exp(law->shape * law->shape / 2);
	case ISO_LAW_GAMMA: return law->shape;
	case ISO_LAW_TRACE: return trace_moment(law, 0, 1);
	}
	return 1;
}

static double unit_variance(const struct iso_law *law)
{
	double spread = law->shape * law->shape;

	switch (law->kind) {
	case ISO_LAW_CONSTANT: break;
	case ISO_LAW_EXPONENTIAL: return 1;
	case ISO_LAW_UNIFORM: return 1.0 / 12;
	case ISO_LAW_HALF_NORMAL: return 1 - 2 / PI;
	case ISO_LAW_LOGNORMAL: return expm1(spread) * exp(spread);
	case ISO_LAW_GAMMA: return law->shape;
	case ISO_LAW_TRACE: return trace_moment(law, trace_moment(law, 0, 1), 2);
	}
	return 0;
}

double iso_law_mean(const struct iso_law *law)
{
	assert(iso_law_valid(law));
	return law->base + law->scale * unit_mean(law);
}

double iso_law_variance(const struct iso_law *law)
{
	assert(iso_law_valid(law));
	return law->scale * law->scale * unit_variance(law);
}

enum iso_status iso_law_of_mean(enum iso_law_kind kind, double base, double mean, double shape,
				struct iso_law *ret_law)
{
	struct iso_law law = { .kind = kind, .base = base, .scale = mean };

	if (!is_positive(mean) || !(shape >= 0 && shape < HUGE_VAL))
		return ISO_E_RANGE;
	switch (kind) {
	case ISO_LAW_CONSTANT:
	case ISO_LAW_EXPONENTIAL: break;
	case ISO_LAW_UNIFORM:
		shape = shape > 0 ? shape : 0.5;
		if (shape > 1)
			return ISO_E_RANGE;
		law.base += mean * (1 - shape);
		law.scale = 2 * shape * mean;
		break;
	case ISO_LAW_HALF_NORMAL:
		law.scale = shape > 0 ? shape * sqrt(mean) : mean * sqrt(PI / 2);
		break;
	case ISO_LAW_LOGNORMAL:
		/* Of a mean up to 1 the logarithm is no variance: 0, NaN and so refused. */
		law.shape = shape > 0 ? shape : sqrt(log(mean));
		law.scale = mean * exp(-law.shape * law.shape / 2);
		break;
	case ISO_LAW_GAMMA:
		law.shape = shape > 0 ? shape : mean * mean;
		law.scale = mean / law.shape;
		break;
	case ISO_LAW_TRACE: return ISO_E_RANGE;
	}
	if (!iso_law_valid(&law))
		return ISO_E_RANGE;
	*ret_law = law;
	return ISO_OK;
}

/* i is 1-based, as in the papers. */
static double grown(const struct iso_times_rule *rule, uint32_t i)
{
	if (rule->growth == ISO_TIMES_GROUPS)
		return rule->scale * (double)((i - 1) / 5 * 5 + 1);
	/* Not pow() for the roots: its last bit differs between C libraries. */
	if (rule->power == 0.5)
		return rule->scale * sqrt((double)i);
	return rule->scale * pow((double)i, rule->power);
}

enum iso_status iso_times_fill(const struct iso_times_rule *rule, uint32_t n, uint32_t *order,
			       struct iso_law *ret_laws)
{
	static const enum iso_law_kind mixture[] = { ISO_LAW_EXPONENTIAL, ISO_LAW_UNIFORM,
						     ISO_LAW_HALF_NORMAL, ISO_LAW_LOGNORMAL,
						     ISO_LAW_GAMMA };
	struct iso_rng rng = { rule->seed };

	assert(!rule->shuffled || order != NULL);
	if (!(rule->shift >= 0))
		return ISO_E_RANGE;
	for (uint32_t i = 0; i < n && rule->shuffled; i++)
		order[i] = i;
	if (rule->shuffled)
		iso_draw_shuffle(&rng, order, n);
	for (uint32_t i = 0; i < n; i++) {
		double mean = grown(rule, i + 1);
		enum iso_law_kind kind = rule->mixed ? mixture[i % 5] : rule->kind;
		enum iso_status status =
		    iso_law_of_mean(kind, rule->shift * mean, mean, rule->shape,
				    &ret_laws[rule->shuffled ? order[i] : i]);

		if (status != ISO_OK)
			return status;
	}
	return ISO_OK;
}
