/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_PUPIL_H
#define TESTS_UNIT_PUPIL_H

#include "lib/ata/strategy.h"

/* A strategy and what it is told.  The caller frees it; all workers are there. */
struct iso_strategy *pupil_new(const struct iso_strategy_config *config);

/* One of so many workers, that ends as soon as the width allows. */
#define PUPILS 4
struct iso_strategy *pupil_with(enum iso_strategy_kind kind, uint32_t batch,
				const struct iso_ata_options *options);

/* Something is allocated to some of them. */
void pupil_allocate(struct iso_strategy *strategy, uint64_t round, uint32_t ret_tasks[PUPILS]);

/* Makes the worker known: so many samples, all of so many seconds. */
void pupil_teach(struct iso_strategy *strategy, uint32_t worker, double count, double mean_s);

/* One task of cost 1, of no round. */
void pupil_observe(struct iso_strategy *strategy, uint32_t worker, double time_s);

#endif
