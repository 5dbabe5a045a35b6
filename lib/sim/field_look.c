/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/checksum.h"
#include "lib/sim/field_state.h"
#include "lib/track/flow.h"
#include "lib/track/step.h"

#define SHARE_TOLERANCE 1e-9

double iso_field_share(const struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	assert(field->config.sites != NULL);
	return field->share[node];
}

double iso_field_price(const struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	assert(field->config.sites != NULL);
	return field->price[node];
}

const double *iso_field_y(const struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	return field_at(field->y, field, node);
}

const double *iso_field_z(const struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	return field_at(field->z, field, node);
}

bool iso_field_is_dropped(const struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	return field_is(field, node, FIELD_DROPPED);
}

/* One component; what the sum is compared with grows with all that was added up. */
static double track_error(const struct iso_field *field, uint32_t c)
{
	double difference = 0, scale = 0;

	for (uint32_t i = 0; i < field->nodes; i++) {
		size_t at = (size_t)i * field->m + c;
		double due = field->gradient[at];

		if (field_is(field, i, FIELD_DROPPED))
			continue;
		if (field->config.zero_start)
			due -= field->lack[at];
		difference += field->z[at] - due;
		scale += fabs(field->gradient[at]);
	}
	for (uint32_t e = 0; e < field->edges; e++)
		scale += 2 * fabs(field->flux[(size_t)e * field->m + c]);
	return scale > 0 ? fabs(difference) / scale : fabs(difference);
}

void iso_field_sums(const struct iso_field *field, struct iso_field_sums *ret_sums)
{
	struct iso_field_sums sums = {
		/* Each of its terms was rounded once, and each z once an edge. */
		.track_bound = 2 * DBL_EPSILON * ((double)field->nodes + 2 * field->edges),
	};

	if (field->config.sites != NULL) {
		double sum = 0;

		for (uint32_t i = 0; i < field->nodes; i++)
			sum += field->share[i];
		sums.share_error = fabs(sum - field->budget_cpu) / field->budget_cpu;
	}
	for (uint32_t c = 0; c < field->m; c++)
		sums.track_error = fmax(sums.track_error, track_error(field, c));
	*ret_sums = sums;
}

const char *iso_field_violation(const struct iso_field *field)
{
	struct iso_field_sums sums;

	iso_field_sums(field, &sums);
	if (!(sums.share_error <= SHARE_TOLERANCE))
		return "the sum of shares is not the budget";
	if (!(sums.track_error <= sums.track_bound) && !field->diverged)
		return "the sum of z is not that of the gradients";
	return NULL;
}

void iso_field_counts(const struct iso_field *field, struct iso_field_counts *ret_counts)
{
	*ret_counts = field->counts;
}

uint64_t iso_field_digest(const struct iso_field *field)
{
	const struct {
		const double *values;
		size_t count;
	} parts[] = {
		{ field->share, field->config.sites != NULL ? field->nodes : 0 },
		{ field->y, (size_t)field->nodes * field->m },
		{ field->z, (size_t)field->nodes * field->m },
	};
	uint64_t digest = field->nodes;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t link[2] = { digest, 0 };

		if (parts[i].count == 0)
			continue;
		link[1] = iso_checksum(parts[i].values, parts[i].count * sizeof(double));
		digest = iso_checksum(link, sizeof(link));
	}
	return digest;
}

double iso_field_share_cost(const struct iso_field *field)
{
	double cost = 0;

	assert(field->config.sites != NULL);
	for (uint32_t i = 0; i < field->nodes; i++)
		cost += iso_cost_value_real(&field->config.sites[i].cost, field->share[i]);
	return cost;
}

double iso_field_share_gap(const struct iso_field *field)
{
	return (iso_field_share_cost(field) - field->best_cost) / fabs(field->best_cost);
}

double iso_field_share_step_max(const struct iso_site *sites, uint32_t count, double lambda_max,
				double rho)
{
	double curvature = ISO_CURVATURE_MIN;

	assert(lambda_max > 0);
	for (uint32_t i = 0; i < count; i++)
		curvature =
		    fmax(curvature, iso_cost_curvature_bound(&sites[i].cost, &sites[i].box));
	return 2 / (lambda_max * curvature * iso_track_sector(rho));
}

void iso_field_mean(const struct iso_field *field, double *ret_mean)
{
	uint32_t count = 0;

	memset(ret_mean, 0, sizeof(double) * field->m);
	for (uint32_t i = 0; i < field->nodes; i++) {
		if (field_is(field, i, FIELD_DROPPED))
			continue;
		iso_track_gain(field->m, field_at(field->y, field, i), ret_mean);
		count++;
	}
	for (uint32_t c = 0; c < field->m && count > 0; c++)
		ret_mean[c] /= count;
}

double iso_field_spread(const struct iso_field *field, const double *mean)
{
	double most = 0;

	for (uint32_t i = 0; i < field->nodes; i++) {
		const double *y = field_at(field->y, field, i);
		double square = 0;

		if (field_is(field, i, FIELD_DROPPED))
			continue;
		for (uint32_t c = 0; c < field->m; c++)
			square += (y[c] - mean[c]) * (y[c] - mean[c]);
		most = fmax(most, square);
	}
	return sqrt(most);
}

double iso_field_objective(struct iso_field *field, const double *y)
{
	double sum = 0;
	uint32_t count = 0;

	assert(field->m > 0);
	for (uint32_t i = 0; i < field->nodes; i++) {
		if (field_is(field, i, FIELD_DROPPED))
			continue;
		sum += field->config.gradient(field->config.context, i, y, field->scratch);
		count++;
	}
	return count > 0 ? sum / count : 0;
}

struct iso_track_motion iso_field_motion(const struct iso_field *field, double curvature)
{
	return (struct iso_track_motion){
		.step = field->config.step,
		.curvature = curvature,
		.z_square = field->z_square,
		.pull_square = field->pull_square,
	};
}
