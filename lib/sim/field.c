/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/field.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/sim/field_state.h"

#define SHARE_TOLERANCE 1e-9

static bool is_step(double value)
{
	return value > 0 && value <= 1e12;
}

static bool sites_fit(const struct iso_field_config *config)
{
	int64_t floors_ucpu = 0, ceilings_ucpu = 0;

	for (uint32_t i = 0; i < config->graph->nodes; i++) {
		const struct iso_site *site = &config->sites[i];

		if (iso_cost_check(&site->cost) != ISO_OK ||
		    site->box.floor_ucpu > site->box.ceiling_ucpu)
			return false;
		floors_ucpu += site->box.floor_ucpu;
		ceilings_ucpu += site->box.ceiling_ucpu;
	}
	return floors_ucpu <= config->budget_ucpu && config->budget_ucpu <= ceilings_ucpu;
}

static bool shares_fit(const struct iso_field_config *config)
{
	double budget = 1e-6 * (double)config->budget_ucpu, sum = 0;

	if (config->shares_cpu == NULL)
		return true;
	for (uint32_t i = 0; i < config->graph->nodes; i++)
		sum += config->shares_cpu[i];
	return fabs(sum - budget) <= SHARE_TOLERANCE * budget;
}

static bool config_fits(const struct iso_field_config *config)
{
	if (config->sites == NULL && config->params == 0)
		return false;
	if (config->weights != ISO_WEIGHTS_METROPOLIS && config->weights != ISO_WEIGHTS_MAX_DEGREE)
		return false;
	if (config->switching != NULL && iso_switching_check(config->switching) != ISO_OK)
		return false;
	if (config->sites != NULL &&
	    (config->budget_ucpu <= 0 || !is_step(config->share_step) || config->price.n != 1 ||
	     iso_stream_check(&config->price) != ISO_OK || !sites_fit(config) ||
	     !shares_fit(config)))
		return false;
	return config->params == 0 ||
	       (config->gradient != NULL && is_step(config->step) && is_step(config->alpha) &&
		config->vector.n == config->params && iso_stream_check(&config->vector) == ISO_OK);
}

/* Lays it all out behind `memory`; with NULL it counts only. */
static size_t lay_out(uint8_t *memory, const struct iso_field_config *config,
		      struct iso_field *field)
{
	size_t nodes = config->graph->nodes, edges = config->graph->edge_count;
	size_t shares = config->sites != NULL ? nodes : 0, vectors = nodes * config->params;
	size_t lacks = config->zero_start ? vectors : 0, values = config->params > 0 ? nodes : 0;
	size_t bytes = iso_carve_bytes(sizeof(*field));
	const struct {
		void *into;
		size_t count;
		size_t each;
	} pieces[] = {
		{ &field->node, nodes, sizeof(*field->node) },
		{ &field->share, shares, sizeof(double) },
		{ &field->price, shares, sizeof(double) },
		{ &field->price_sent, shares, sizeof(double) },
		{ &field->y, vectors, sizeof(double) },
		{ &field->z, vectors, sizeof(double) },
		{ &field->gradient, vectors, sizeof(double) },
		{ &field->y_sent, vectors, sizeof(double) },
		{ &field->z_sent, vectors, sizeof(double) },
		{ &field->pull, vectors, sizeof(double) },
		{ &field->inflow, vectors, sizeof(double) },
		{ &field->lack, lacks, sizeof(double) },
		{ &field->value, values, sizeof(double) },
		{ &field->scratch, config->params, sizeof(double) },
		{ &field->flux, edges * config->params, sizeof(double) },
		{ &field->weight, edges, sizeof(double) },
		{ &field->up, edges, sizeof(*field->up) },
		{ &field->missed, edges, sizeof(*field->missed) },
		{ &field->degree, nodes, sizeof(*field->degree) },
		{ &field->marks, nodes, sizeof(*field->marks) },
		{ &field->bits, nodes, sizeof(*field->bits) },
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		if (memory != NULL) {
			void *piece = memory + bytes;

			memcpy(pieces[i].into, &piece, sizeof(piece));
		}
		bytes += iso_carve_bytes(pieces[i].count * pieces[i].each);
	}
	return bytes;
}

size_t iso_field_size(const struct iso_field_config *config)
{
	struct iso_field field;

	return config_fits(config) ? lay_out(NULL, config, &field) : 0;
}

bool iso_field_take_gradient(struct iso_field *field, uint32_t node)
{
	double *gradient = field_at(field->gradient, field, node);

	field->value[node] = field->config.gradient(field->config.context, node,
						    field_at(field->y, field, node), gradient);
	for (uint32_t c = 0; c < field->m; c++)
		if (!isfinite(gradient[c]))
			return false;
	return isfinite(field->value[node]);
}

void iso_field_make_z(struct iso_field *field, uint32_t node)
{
	const double *gradient = field_at(field->gradient, field, node);
	const double *inflow = field_at(field->inflow, field, node);
	double *z = field_at(field->z, field, node);

	for (uint32_t c = 0; c < field->m; c++)
		z[c] = gradient[c] + inflow[c];
	if (!field->config.zero_start)
		return;

	const double *lack = field_at(field->lack, field, node);

	for (uint32_t c = 0; c < field->m; c++)
		z[c] -= lack[c];
}

void iso_field_take_price(struct iso_field *field, uint32_t node)
{
	const struct iso_site *site = &field->config.sites[node];

	field->price[node] = iso_cost_slope_real(&site->cost, &site->box, field->share[node]).first;
}

static void start_shares(struct iso_field *field)
{
	const struct iso_field_config *config = &field->config;

	field->budget_cpu = 1e-6 * (double)config->budget_ucpu;
	field->best_cost = iso_site_optimum(config->sites, field->nodes, config->budget_ucpu).cost;
	for (uint32_t i = 0; i < field->nodes; i++) {
		field->share[i] = config->shares_cpu != NULL ? config->shares_cpu[i]
							     : field->budget_cpu / field->nodes;
		iso_field_take_price(field, i);
	}
}

static bool start_models(struct iso_field *field)
{
	size_t bytes = sizeof(double) * field->nodes * field->m;

	if (field->config.start != NULL)
		memcpy(field->y, field->config.start, bytes);
	for (uint32_t i = 0; i < field->nodes; i++) {
		if (!iso_field_take_gradient(field, i))
			return false;
		if (field->config.zero_start)
			memcpy(field_at(field->lack, field, i), field_at(field->gradient, field, i),
			       sizeof(double) * field->m);
		iso_field_make_z(field, i);
	}
	return true;
}

enum iso_status iso_field_init(void *memory, size_t size, const struct iso_field_config *config,
			       struct iso_field **ret_field)
{
	struct iso_field *field = memory;
	size_t needed = iso_field_size(config);

	assert((uintptr_t)memory % _Alignof(uint64_t) == 0);
	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	memset(memory, 0, needed);
	field->config = *config;
	field->nodes = config->graph->nodes;
	field->edges = config->graph->edge_count;
	field->m = config->params;
	field->weigh_anew = true;
	(void)lay_out(memory, config, field);
	for (uint32_t i = 0; i < field->nodes; i++)
		field->node[i].standing = FIELD_PRESENT;
	if (config->sites != NULL)
		start_shares(field);
	if (config->params > 0 && !start_models(field))
		return ISO_E_RANGE;
	iso_field_find_edges(field);
	*ret_field = field;
	return ISO_OK;
}

void iso_field_set_rates(struct iso_field *field, double step, double alpha)
{
	assert(is_step(step));
	assert(is_step(alpha));
	field->config.step = step;
	field->config.alpha = alpha;
}

void iso_field_silence(struct iso_field *field, uint32_t node)
{
	assert(node < field->nodes);
	if (!field_is(field, node, FIELD_PRESENT))
		return;
	field->node[node] = (struct field_node){ .standing = FIELD_SILENT };
	field->any_away = true;
}

/* y of the first neighbour that is there, as it was last sent. */
static void take_over(struct iso_field *field, uint32_t node)
{
	for (uint32_t e = 0; e < field->edges; e++) {
		struct iso_graph_edge edge = field->config.graph->edges[e];
		uint32_t other = edge.low == node ? edge.high : edge.low;

		if ((edge.low != node && edge.high != node) ||
		    !field_is(field, other, FIELD_PRESENT))
			continue;
		memcpy(field_at(field->y, field, node), field_at(field->y_sent, field, other),
		       sizeof(double) * field->m);
		return;
	}
}

static void count_away(struct iso_field *field)
{
	field->any_away = false;
	for (uint32_t i = 0; i < field->nodes && !field->any_away; i++)
		field->any_away = !field_is(field, i, FIELD_PRESENT);
}

void iso_field_return(struct iso_field *field, uint32_t node, bool forgot)
{
	assert(node < field->nodes);
	bool was_dropped = field_is(field, node, FIELD_DROPPED);

	field->node[node] = (struct field_node){ .standing = FIELD_PRESENT };
	count_away(field);
	if (!was_dropped)
		return;
	field->weigh_anew = true;
	for (uint32_t e = 0; e < field->edges; e++)
		if (field->config.graph->edges[e].low == node ||
		    field->config.graph->edges[e].high == node)
			field->missed[e] = UINT32_MAX;
	if (field->m == 0)
		return;
	if (forgot)
		take_over(field, node);
	memset(field_at(field->inflow, field, node), 0, sizeof(double) * field->m);
	field->diverged = !iso_field_take_gradient(field, node) || field->diverged;
	iso_field_make_z(field, node);
	/* What neighbours hear first of it is exact. */
	memcpy(field_at(field->y_sent, field, node), field_at(field->y, field, node),
	       sizeof(double) * field->m);
	memcpy(field_at(field->z_sent, field, node), field_at(field->z, field, node),
	       sizeof(double) * field->m);
}
