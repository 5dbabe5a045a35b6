/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/method.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/sgd/rule.h"

/* One line for each method: what it is called, what a driver must know, who decides. */
/* clang-format off */
static const struct kind {
	const char *text;
	struct iso_method_traits traits;
	const struct iso_rule *rule;
} kinds[] = {
	[ISO_METHOD_MINIBATCH] = {
		"minibatch", { .by_rounds = true, .wants_allocation = true }, &iso_rule_minibatch },
	[ISO_METHOD_RENNALA] = {
		"rennala", { .by_rounds = true, .stops = true }, &iso_rule_rennala },
	[ISO_METHOD_MALENIA] = {
		"malenia", { .by_rounds = true, .own_data = true, .stops = true },
		&iso_rule_malenia },
	[ISO_METHOD_SGD_ATA] = {
		"sgd-ata", { .by_rounds = true, .wants_allocation = true, .own_data = true },
		&iso_rule_sgd_ata },
	[ISO_METHOD_ASGD] = { "asgd", { .can_cap = true }, &iso_rule_async },
	[ISO_METHOD_DELAY_ADAPTIVE] = { "delay-adaptive", { .can_cap = true }, &iso_rule_async },
	[ISO_METHOD_NAIVE_OPTIMAL] = { "naive-optimal", { 0 }, &iso_rule_async },
	[ISO_METHOD_RINGMASTER] = { "ringmaster", { .can_cap = true }, &iso_rule_async },
	[ISO_METHOD_RINGMASTER_STOPS] = {
		"ringmaster-stops", { .can_cap = true, .stops = true }, &iso_rule_async_stops },
	[ISO_METHOD_RINGLEADER] = {
		"ringleader", { .own_data = true, .can_cap = true }, &iso_rule_ringleader },
	[ISO_METHOD_IA2SGD] = { "ia2sgd", { .own_data = true }, &iso_rule_ia2sgd },
};
/* clang-format on */
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == ISO_METHOD_KINDS + 1, "every kind has a line");

static bool kind_valid(enum iso_method_kind kind)
{
	return kind >= ISO_METHOD_MINIBATCH && (unsigned)kind <= ISO_METHOD_KINDS;
}

const char *iso_method_text(enum iso_method_kind kind)
{
	assert(kind_valid(kind));
	return kinds[kind].text;
}

struct iso_method_traits iso_method_traits(enum iso_method_kind kind)
{
	assert(kind_valid(kind));
	return kinds[kind].traits;
}

static bool finite_from_zero(double value)
{
	return value >= 0 && value < HUGE_VAL;
}

static bool config_valid(const struct iso_method_config *config)
{
	if (!kind_valid(config->kind))
		return false;
	if (config->workers == 0 || config->workers == ISO_RULE_NONE || config->depth_max == 0)
		return false;
	if (config->capped && !kinds[config->kind].traits.can_cap)
		return false;
	if ((uint64_t)config->workers * config->depth_max >= ISO_RULE_NONE)
		return false;
	/* Tables are workers x params floats; this keeps every size far below overflow. */
	if ((uint64_t)config->workers * config->params >= (uint64_t)1 << 48)
		return false;
	if (config->kind == ISO_METHOD_RENNALA || config->kind == ISO_METHOD_MALENIA)
		if (config->batch == 0)
			return false;
	if (config->kind == ISO_METHOD_RINGMASTER || config->kind == ISO_METHOD_RINGMASTER_STOPS)
		if (config->delay_max == 0)
			return false;
	return finite_from_zero(config->step) && finite_from_zero(config->decay);
}

/* Where the arrays go; with memory NULL it only adds up how much they need. */
struct layout {
	uint8_t *memory;
	size_t bytes;
};

static void *take(struct layout *layout, size_t bytes)
{
	void *piece = NULL;

	if (layout->memory != NULL && bytes > 0)
		piece = layout->memory + layout->bytes;
	layout->bytes += iso_carve_bytes(bytes);
	return piece;
}

static void lay_table(struct layout *layout, const struct iso_method_config *config,
		      struct iso_rule_table *table)
{
	size_t workers = config->workers, params = config->params;

	table->entries = take(layout, workers * sizeof(*table->entries));
	table->means = take(layout, workers * params * sizeof(*table->means));
	table->sum = take(layout, params * sizeof(*table->sum));
}

static void lay_out(struct layout *layout, const struct iso_method_config *config,
		    struct iso_method *method)
{
	const struct iso_rule *rule = kinds[config->kind].rule;
	size_t workers = config->workers, params = config->params;

	method->x = take(layout, params * sizeof(*method->x));
	method->workers = take(layout, workers * sizeof(*method->workers));
	if (rule->round_sum)
		method->sum = take(layout, params * sizeof(*method->sum));
	if (rule->table)
		lay_table(layout, config, &method->table);
	if (rule->table_next)
		lay_table(layout, config, &method->table_next);
	if (rule->flights)
		method->flights =
		    take(layout, workers * config->depth_max * sizeof(*method->flights));
}

size_t iso_method_size(const struct iso_method_config *config)
{
	struct layout layout = { 0 };
	struct iso_method unused;

	if (!config_valid(config))
		return 0;
	(void)take(&layout, sizeof(struct iso_method));
	lay_out(&layout, config, &unused);
	return layout.bytes;
}

enum iso_status iso_method_init(void *memory, size_t size, const struct iso_method_config *config,
				struct iso_method **ret_method)
{
	struct layout layout = { .memory = memory };
	size_t needed = iso_method_size(config);

	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % 8 == 0);
	memset(memory, 0, needed);
	struct iso_method *method = take(&layout, sizeof(*method));
	lay_out(&layout, config, method);
	assert(layout.bytes == needed);
	method->config = *config;
	method->rule = kinds[config->kind].rule;
	method->between = kinds[config->kind].traits.by_rounds || config->capped;
	method->orders = (struct iso_rule_queue){ ISO_RULE_NONE, ISO_RULE_NONE };
	method->idle = method->orders;
	method->by_age = method->orders;
	*ret_method = method;
	return ISO_OK;
}

void iso_method_set_point(struct iso_method *method, const float *x)
{
	assert(method->totals.started == 0);
	assert(method->totals.updates == 0);
	for (uint32_t i = 0; i < method->config.params; i++)
		method->x[i] = (double)x[i];
}

void iso_method_point(const struct iso_method *method, float *ret_x)
{
	for (uint32_t i = 0; i < method->config.params; i++)
		ret_x[i] = (float)method->x[i];
}

const double *iso_method_exact_point(const struct iso_method *method)
{
	return method->x;
}

uint64_t iso_method_version(const struct iso_method *method)
{
	return method->totals.updates;
}

struct iso_method_totals iso_method_totals(const struct iso_method *method)
{
	return method->totals;
}

struct iso_method_worker iso_method_worker(const struct iso_method *method, uint32_t worker)
{
	const struct iso_rule_worker *from = iso_rule_worker_at(method, worker);

	return (struct iso_method_worker){
		.present = iso_rule_present(from),
		.in_flight = from->in_flight,
		.tasks_left = method->config.capped ? from->tasks : 0,
	};
}

bool iso_method_between_rounds(const struct iso_method *method)
{
	return method->between;
}
