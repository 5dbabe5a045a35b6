/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_PUPIL_H
#define TESTS_UNIT_PUPIL_H

#include "lib/ata/strategy.h"

/* A strategy and what it is told.  The caller frees it; all workers are there. */
struct iso_strategy *pupil_new(const struct iso_strategy_config *config);

/* Makes the worker known: so many samples, all of so many seconds. */
void pupil_teach(struct iso_strategy *strategy, uint32_t worker, double count, double mean_s);

/* One task of cost 1, of no round. */
void pupil_observe(struct iso_strategy *strategy, uint32_t worker, double time_s);

#endif
