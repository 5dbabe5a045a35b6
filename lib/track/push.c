/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/push.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/hot.h"
#include "lib/rng.h"

/* Matrices have a row of m doubles for each node, slots a row for each sample. */
struct iso_push {
	struct iso_push_config config;
	struct iso_rng rng;
	size_t numbers; /* nodes * m */
	double *theta;
	double *z;
	double *w; /* NULL: this method has none */
	double *g;
	double *mixed;
	double *mass; /* Y, one a node */
	double *mass_mixed;
	double *drawn; /* one row */
	double *slots; /* NULL: this method has none, as the next two */
	double *slot_mean;
	size_t *slot_first; /* each node's first slot */
};

static bool has_tracker(enum iso_push_method method)
{
	return method != ISO_PUSH_GP && method != ISO_PUSH_SGP;
}

static bool has_slots(enum iso_push_method method)
{
	return method == ISO_PUSH_SAGA || method == ISO_PUSH_SAGA_CTA;
}

static bool is_sampling(enum iso_push_method method)
{
	return method != ISO_PUSH_GP && method != ISO_PUSH_ADDOPT;
}

static void assert_config(const struct iso_push_config *config)
{
	assert(config->method >= ISO_PUSH_GP);
	assert(config->method <= ISO_PUSH_SAGA_CTA);
	assert(config->m >= 1);
	assert(config->arcs);
	if (is_sampling(config->method)) {
		assert(config->sample_gradient);
		assert(config->samples);
	} else {
		assert(config->gradient);
	}
}

const char *iso_push_name(enum iso_push_method method)
{
	switch (method) {
	case ISO_PUSH_GP: return "gp";
	case ISO_PUSH_SGP: return "sgp";
	case ISO_PUSH_ADDOPT: return "addopt";
	case ISO_PUSH_S_ADDOPT: return "s-addopt";
	case ISO_PUSH_SAGA: return "push-saga";
	case ISO_PUSH_SAGA_CTA: return "push-saga-cta";
	}
	assert(false);
	return NULL;
}

static uint64_t count_samples(const struct iso_push_config *config)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < config->arcs->nodes; i++) {
		assert(config->samples[i] >= 1);
		count += config->samples[i];
	}
	return count;
}

uint64_t iso_push_samples(const struct iso_push_config *config)
{
	assert_config(config);
	return is_sampling(config->method) ? config->arcs->nodes : count_samples(config);
}

uint64_t iso_push_numbers(const struct iso_push_config *config)
{
	uint64_t per_arc = (uint64_t)config->m + 1;
	uint64_t arcs = 0;

	assert_config(config);
	if (has_tracker(config->method))
		per_arc += config->m;
	for (uint32_t k = 0; k < config->arcs->arc_count; k++)
		arcs += config->arcs->arcs[k].from != config->arcs->arcs[k].to;
	return arcs * per_arc;
}

size_t iso_push_size(const struct iso_push_config *config)
{
	size_t nodes = config->arcs->nodes;
	size_t row = (size_t)config->m * sizeof(double);
	size_t matrices = has_tracker(config->method) ? 5 : 4;
	size_t size = iso_carve_bytes(sizeof(struct iso_push));

	assert_config(config);
	size += matrices * iso_carve_bytes(nodes * row);
	size += 2 * iso_carve_bytes(nodes * sizeof(double)) + iso_carve_bytes(row);
	if (has_slots(config->method)) {
		size += iso_carve_bytes(count_samples(config) * row);
		size += iso_carve_bytes(nodes * row) + iso_carve_bytes(nodes * sizeof(size_t));
	}
	return size;
}

static struct iso_push *lay_out(uint8_t *memory, const struct iso_push_config *config)
{
	size_t nodes = config->arcs->nodes;
	size_t row = (size_t)config->m * sizeof(double);
	uint8_t *at = memory;
	struct iso_push *push = iso_carve(&at, sizeof(*push));

	*push = (struct iso_push){
		.config = *config,
		.rng = { config->seed },
		.numbers = nodes * config->m,
	};
	push->theta = iso_carve(&at, nodes * row);
	push->z = iso_carve(&at, nodes * row);
	push->g = iso_carve(&at, nodes * row);
	push->mixed = iso_carve(&at, nodes * row);
	push->w = has_tracker(config->method) ? iso_carve(&at, nodes * row) : NULL;
	push->mass = iso_carve(&at, nodes * sizeof(double));
	push->mass_mixed = iso_carve(&at, nodes * sizeof(double));
	push->drawn = iso_carve(&at, row);
	if (has_slots(config->method)) {
		push->slots = iso_carve(&at, count_samples(config) * row);
		push->slot_mean = iso_carve(&at, nodes * row);
		push->slot_first = iso_carve(&at, nodes * sizeof(size_t));
	}
	assert((size_t)(at - memory) == iso_push_size(config));
	return push;
}

static ISO_HOT void add(size_t n, double factor, const double *what, double *sum)
{
	for (size_t k = 0; k < n; k++)
		sum[k] += factor * what[k];
}

static ISO_HOT void divide(size_t n, double by, const double *what, double *ret)
{
	for (size_t k = 0; k < n; k++)
		ret[k] = what[k] / by;
}

static uint32_t draw_sample(struct iso_push *push, uint32_t node)
{
	return (uint32_t)iso_rng_below(&push->rng, push->config.samples[node]);
}

static double *slot_of(struct iso_push *push, uint32_t node, uint32_t sample)
{
	return push->slots + (push->slot_first[node] + sample) * push->config.m;
}

/* SAGA's estimate g of a node's gradient; replaces the slot of the sample it drew. */
static ISO_HOT void take_saga(struct iso_push *push, uint32_t node, const double *at, double *g)
{
	const struct iso_push_config *config = &push->config;
	uint32_t sample = draw_sample(push, node);
	double *slot = slot_of(push, node, sample);
	double *mean = push->slot_mean + (size_t)node * config->m;
	double count = config->samples[node];

	config->sample_gradient(config->context, node, sample, at, push->drawn);
	for (uint32_t k = 0; k < config->m; k++) {
		double change = push->drawn[k] - slot[k];

		g[k] = change + mean[k];
		mean[k] += change / count;
		slot[k] = push->drawn[k];
	}
}

static void take_gradient(struct iso_push *push, uint32_t node, const double *at, double *g)
{
	const struct iso_push_config *config = &push->config;

	switch (config->method) {
	case ISO_PUSH_GP:
	case ISO_PUSH_ADDOPT: config->gradient(config->context, node, at, g); return;
	case ISO_PUSH_SGP:
	case ISO_PUSH_S_ADDOPT:
		config->sample_gradient(config->context, node, draw_sample(push, node), at, g);
		return;
	case ISO_PUSH_SAGA:
	case ISO_PUSH_SAGA_CTA: take_saga(push, node, at, g); return;
	}
	assert(false);
}

/* Slots at the start, and one of them as the first g. */
static void fill_slots(struct iso_push *push, uint32_t node)
{
	const struct iso_push_config *config = &push->config;
	size_t row = (size_t)node * config->m;

	memset(push->slot_mean + row, 0, config->m * sizeof(double));
	for (uint32_t s = 0; s < config->samples[node]; s++) {
		double *slot = slot_of(push, node, s);

		config->sample_gradient(config->context, node, s, push->theta + row, slot);
		add(config->m, 1.0 / config->samples[node], slot, push->slot_mean + row);
	}
	memcpy(push->g + row, slot_of(push, node, draw_sample(push, node)),
	       config->m * sizeof(double));
}

enum iso_status iso_push_init(void *memory, size_t size, const struct iso_push_config *config,
			      const double *theta, struct iso_push **ret_push)
{
	uint32_t nodes = config->arcs->nodes, m = config->m;
	size_t slot = 0;
	struct iso_push *push;

	if (size < iso_push_size(config))
		return ISO_E_SHORT;
	push = lay_out(memory, config);
	memcpy(push->theta, theta, push->numbers * sizeof(double));
	memcpy(push->z, theta, push->numbers * sizeof(double));
	for (uint32_t i = 0; i < nodes; i++) {
		push->mass[i] = 1;
		if (has_slots(config->method)) {
			push->slot_first[i] = slot;
			slot += config->samples[i];
			fill_slots(push, i);
		} else {
			take_gradient(push, i, push->z + (size_t)i * m, push->g + (size_t)i * m);
		}
	}
	if (push->w)
		memcpy(push->w, push->g, push->numbers * sizeof(double));
	*ret_push = push;
	return ISO_OK;
}

/* matrix = B matrix */
static void mix(struct iso_push *push, double **matrix)
{
	double *mixed = push->mixed;

	iso_arcs_mix(push->config.arcs, push->config.m, *matrix, mixed);
	push->mixed = *matrix;
	*matrix = mixed;
}

static void move_theta(struct iso_push *push, double a)
{
	const double *direction = push->w ? push->w : push->g;

	if (push->config.method == ISO_PUSH_SAGA) {
		add(push->numbers, -a, direction, push->theta);
		mix(push, &push->theta);
	} else {
		mix(push, &push->theta);
		add(push->numbers, -a, direction, push->theta);
	}
}

static void push_mass(struct iso_push *push)
{
	double *mixed = push->mass_mixed;
	uint32_t m = push->config.m;

	iso_arcs_mix(push->config.arcs, 1, push->mass, mixed);
	push->mass_mixed = push->mass;
	push->mass = mixed;
	for (uint32_t i = 0; i < push->config.arcs->nodes; i++) {
		assert(push->mass[i] > 0); /* of the self loop */
		divide(m, push->mass[i], push->theta + (size_t)i * m, push->z + (size_t)i * m);
	}
}

static void take_gradients(struct iso_push *push)
{
	uint32_t m = push->config.m;

	for (uint32_t i = 0; i < push->config.arcs->nodes; i++)
		take_gradient(push, i, push->z + (size_t)i * m, push->g + (size_t)i * m);
}

void iso_push_step(struct iso_push *push, double a)
{
	bool mixes_last = push->config.method == ISO_PUSH_SAGA;

	assert(a > 0);
	move_theta(push, a);
	push_mass(push);
	if (!push->w) {
		take_gradients(push);
		return;
	}
	if (!mixes_last)
		mix(push, &push->w);
	add(push->numbers, -1, push->g, push->w);
	take_gradients(push);
	add(push->numbers, 1, push->g, push->w);
	if (mixes_last)
		mix(push, &push->w);
}

const double *iso_push_estimate(const struct iso_push *push, uint32_t node)
{
	assert(node < push->config.arcs->nodes);
	return push->z + (size_t)node * push->config.m;
}

void iso_push_mean(const struct iso_push *push, double *ret_mean)
{
	uint32_t nodes = push->config.arcs->nodes, m = push->config.m;

	memset(ret_mean, 0, m * sizeof(double));
	for (uint32_t i = 0; i < nodes; i++)
		add(m, 1.0 / nodes, push->theta + (size_t)i * m, ret_mean);
}
