/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/pupil.h"

#include <stdlib.h>

#include "tests/test.h"

struct iso_strategy *pupil_new(const struct iso_strategy_config *config)
{
	size_t size = iso_strategy_size(config);
	void *memory = malloc(size);
	struct iso_strategy *strategy = NULL;

	ck_assert_uint_gt(size, 0);
	ck_assert_ptr_nonnull(memory);
	ck_assert_ok(iso_strategy_init(memory, size, config, &strategy));
	for (uint32_t i = 0; i < config->workers; i++)
		iso_strategy_set_present(strategy, i, true);
	return strategy;
}

struct iso_strategy *pupil_with(enum iso_strategy_kind kind, uint32_t batch,
				const struct iso_ata_options *options)
{
	const struct iso_strategy_config config = {
		.kind = kind,
		.workers = PUPILS,
		.batch = batch,
		.width = { ISO_ATA_WIDTH_FINAL, 0.1, 1 },
		.options = *options,
		.seed = test_seed_base(),
	};

	return pupil_new(&config);
}

void pupil_allocate(struct iso_strategy *strategy, uint64_t round, uint32_t ret_tasks[PUPILS])
{
	uint32_t sum = 0;

	ck_assert_ok(iso_strategy_allocate(strategy, round, ret_tasks));
	for (uint32_t i = 0; i < PUPILS; i++)
		sum += ret_tasks[i];
	ck_assert_uint_gt(sum, 0);
}

void pupil_teach(struct iso_strategy *strategy, uint32_t worker, double count, double mean_s)
{
	const struct iso_ata_samples samples = { count, count * mean_s, 0 };

	ck_assert_ok(iso_strategy_import(strategy, worker, samples, 1e300));
}

void pupil_observe(struct iso_strategy *strategy, uint32_t worker, double time_s)
{
	iso_strategy_observe(strategy, worker, &(struct iso_ata_task){ time_s, 1, 0 });
}
