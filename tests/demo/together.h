/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_TOGETHER_H
#define ISO_DEMO_TOGETHER_H

#include <stdio.h>

#include "agent/base/error.h"
#include "tests/demo/checks.h"
#include "tests/demo/demo.h"

/*
 * The demo without a coordinator: the workers of neighbours learn by a plan, one node is
 * killed and returns, and what they have come to is compared with one machine
 * that has all of the data.
 */

/* Relative, of a node's parameters to their mean. */
#define TOGETHER_SPREAD 1e-3
/* Of the test accuracy of one machine. */
#define TOGETHER_ACCURACY 0.01
/* Shorter runs do not come near the optimum. */
#define TOGETHER_FROM_CPU_S 60

/* When the last node is killed, and how long it is away. */
#define TOGETHER_KILL_PART 12u /* of the run's length: at the twelfth part */
#define TOGETHER_AWAY_S	   3

/* The file plan.conf; that of a node's section training, and of one of its neighbours. */
void together_write_plan(FILE *out, const struct demo *demo);
void together_write_training(FILE *out, const struct demo *demo, unsigned index);
void together_write_neighbour(FILE *out, const struct demo *demo, unsigned index);

/* What the nodes say of it: the round is the one that all have done. */
void together_poll(json_t *const *statuses, const struct demo *demo, struct sample *sample);

/* After all have ended: reads their models, which takes a while. */
int together_compare(struct demo *demo, struct error *reterr);

void together_print(FILE *out, const struct demo *demo);

void together_agrees(const struct demo *demo, struct check *check);
void together_has_learnt(const struct demo *demo, struct check *check);
void together_came_back(const struct demo *demo, struct check *check);

#endif
