/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/strategy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 3u
#define ROUNDS	40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two bytes say what it is a state of. */
static struct iso_strategy_config config_of(const uint8_t *data)
{
	unsigned on = data[1];
	struct iso_strategy_config config = {
		.kind = (enum iso_strategy_kind)(1 + data[0] % ISO_STRATEGY_ATA_POOLED),
		.workers = WORKERS,
		.batch = 5,
		.width = { ISO_ATA_WIDTH_FINAL, 0.1, 1 },
		.by_rate = true,
		.options = {
			.explore_tasks = (on & 1) != 0 ? 3 : 0,
			.discount = (on & 2) != 0 ? 0.9 : 0,
			.smoothing = (on & 4) != 0 ? 0.5 : 0,
			.every_rounds = (on & 8) != 0 ? 4 : 0,
			.calibrate_tasks = (on & 16) != 0 ? 4 : 0,
			.cluster = (on & 32) != 0 ? 0.1 : 0,
			.drift = (on & 64) != 0 ? 24 : 0,
			.probe_rounds = (on & 128) != 0 ? 7 : 0,
		},
	};

	return config;
}

/* A restored strategy must work: its assertions and the sanitizers watch. */
static void drive(struct iso_strategy *strategy, uint64_t round)
{
	uint32_t tasks[WORKERS];

	for (uint32_t i = 0; i < WORKERS; i++) {
		iso_strategy_set_present(strategy, i, true);
		iso_strategy_set_rate(strategy, i, 0.001 + i);
	}
	for (int k = 0; k < ROUNDS; k++) {
		enum iso_status status = iso_strategy_allocate(strategy, ++round, tasks);

		assert(status == ISO_OK);
		for (uint32_t i = 0; i < WORKERS; i++) {
			struct iso_ata_task task = { 0.01 * (i + 1.0) * (k > 20 ? 9 : 1), 1,
						     round };

			for (uint32_t u = 0; u < tasks[i] && u < 5; u++)
				iso_strategy_observe(strategy, i, &task);
		}
	}
}

/* What has been restored saves as something that restores to the same. */
static void check_saved(struct iso_strategy *strategy, uint8_t *before, uint8_t *after)
{
	enum iso_status status;
	size_t size = iso_strategy_state_bytes(strategy);

	iso_strategy_save(strategy, before);
	status = iso_strategy_restore(strategy, before);
	assert(status == ISO_OK);
	iso_strategy_save(strategy, after);
	assert(memcmp(before, after, size) == 0);
	size = iso_strategy_worker_bytes(strategy);
	for (uint32_t i = 0; i < WORKERS; i++) {
		iso_strategy_save_worker(strategy, i, before);
		status = iso_strategy_restore_worker(strategy, i, before);
		assert(status == ISO_OK);
		iso_strategy_save_worker(strategy, i, after);
		assert(memcmp(before, after, size) == 0);
	}
}

/* Any bytes: a refusal that changes nothing, or a state to go on from. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_strategy *strategy = NULL;
	uint8_t before[512], after[512];
	const uint8_t *at = data + 2;

	if (size < 2)
		return 0;
	const struct iso_strategy_config config = config_of(data);
	size_t bytes = iso_strategy_size(&config);
	void *memory = malloc(bytes);
	enum iso_status status = iso_strategy_init(memory, bytes, &config, &strategy);
	assert(status == ISO_OK);
	size_t whole = iso_strategy_state_bytes(strategy);
	size_t each = iso_strategy_worker_bytes(strategy);
	assert(whole <= sizeof(before));
	assert(each <= sizeof(before));
	if (size == 2 + whole + WORKERS * each) {
		iso_strategy_save(strategy, before);
		if (iso_strategy_restore(strategy, at) != ISO_OK) {
			iso_strategy_save(strategy, after);
			assert(memcmp(before, after, whole) == 0);
		}
		for (uint32_t i = 0; i < WORKERS; i++) {
			const uint8_t *from = at + whole + i * each;

			iso_strategy_save_worker(strategy, i, before);
			if (iso_strategy_restore_worker(strategy, i, from) != ISO_OK) {
				iso_strategy_save_worker(strategy, i, after);
				assert(memcmp(before, after, each) == 0);
			}
		}
		check_saved(strategy, before, after);
		/* The third number of the whole's is the round. */
		uint64_t round;
		iso_strategy_save(strategy, before);
		memcpy(&round, before + 16, sizeof(round));
		drive(strategy, round);
	}
	free(memory);
	return 0;
}
