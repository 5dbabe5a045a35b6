/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"

#define SLOTS_MAX  8u
#define PARAMS_MAX 4u
#define EVENTS     64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the state says it is of, so that it may be restored. */
static bool config_of(const uint8_t *data, size_t size, struct iso_method_config *ret_config)
{
	uint32_t kind, workers, params;

	if (size < 24)
		return false;
	kind = (uint32_t)iso_get_le(data + 8, 4);
	workers = (uint32_t)iso_get_le(data + 12, 4);
	params = (uint32_t)iso_get_le(data + 16, 4);
	if (kind == 0 || kind > ISO_METHOD_KINDS || workers > SLOTS_MAX || params > PARAMS_MAX)
		return false;
	*ret_config = (struct iso_method_config){
		.kind = (enum iso_method_kind)kind,
		.workers = workers,
		.params = params,
		.depth_max = 2,
		.batch = 3,
		.delay_max = 2,
		.step = 0.125,
	};
	return iso_method_size(ret_config) > 0;
}

static struct iso_method *make(const struct iso_method_config *config)
{
	size_t bytes = iso_method_size(config);
	struct iso_method *method = NULL;
	void *memory = malloc(bytes);

	assert(memory != NULL);
	enum iso_status status = iso_method_init(memory, bytes, config, &method);
	assert(status == ISO_OK);
	return method;
}

/* A restored method must work: its assertions and the sanitizers watch. */
static void drive(struct iso_method *method, const struct iso_method_config *config)
{
	static const float gradient[PARAMS_MAX] = { 1, -1, 0.5f, 2 };
	static const uint32_t tasks[SLOTS_MAX] = { 1, 2, 0, 1, 1, 1, 1, 1 };
	struct iso_method_order order;

	for (uint32_t i = 0; i < config->workers; i++)
		iso_method_join(method, i, 1 + i % 2);
	for (int event = 0; event < EVENTS; event++) {
		if (iso_method_between_rounds(method))
			iso_method_begin(method, iso_method_traits(config->kind).wants_allocation
						     ? tasks
						     : NULL);
		if (!iso_method_next(method, &order) || order.act == ISO_METHOD_STOP)
			continue;
		struct iso_method_arrival arrival = {
			.worker = order.worker,
			.version = order.version,
			.gradient = config->params > 0 ? gradient : NULL,
		};
		(void)iso_method_arrive(method, &arrival);
	}
}

/* Any bytes: a refusal that changes nothing, or a state that saves as the same bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_method_config config;

	if (!config_of(data, size, &config))
		return 0;
	struct iso_method *method = make(&config);
	size_t fresh_size = iso_method_state_bytes(method);
	uint8_t *fresh = malloc(fresh_size);
	iso_method_save(method, fresh);

	if (iso_method_restore(method, data, size) == ISO_OK) {
		uint8_t *again = malloc(size);

		assert(iso_method_state_bytes(method) == size);
		iso_method_save(method, again);
		assert(memcmp(again, data, size) == 0);
		drive(method, &config);
		free(again);
	} else {
		uint8_t *after = malloc(fresh_size);

		assert(iso_method_state_bytes(method) == fresh_size);
		iso_method_save(method, after);
		assert(memcmp(after, fresh, fresh_size) == 0);
		free(after);
	}
	free(fresh);
	free(method);
	return 0;
}
