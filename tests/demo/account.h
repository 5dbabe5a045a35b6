/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_ACCOUNT_H
#define ISO_DEMO_ACCOUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tests/demo/demo.h"

/*
 * What training cost and what became of it, from the coordinator's newest
 * status: the figures by which methods and allocations are compared.  Unknown is NAN.
 */
enum account_gradients {
	ACCOUNT_USED = 0,
	ACCOUNT_BUFFERED,
	ACCOUNT_IGNORED,
	ACCOUNT_STOPPED,
	ACCOUNT_LOST,
	ACCOUNT_IN_FLIGHT,
	ACCOUNT_GRADIENTS,
};

enum account_waste {
	ACCOUNT_WASTE_IGNORED = 0,
	ACCOUNT_WASTE_LATE,
	ACCOUNT_WASTE_ABANDONED,
	ACCOUNT_WASTE_NOT_FINITE,
	ACCOUNT_WASTES,
};

struct account {
	const char *method, *allocation; /* borrowed from the status */
	double updates, rounds, wall_s, accuracy, loss;
	double worker_s, greedy_s; /* CPU; what the greedy rule would have taken */
	double wasted_s, waste_s[ACCOUNT_WASTES];
	double started, gradients[ACCOUNT_GRADIENTS];
	double started_by_worker; /* sum of what each worker's account says */
	double delay_mean, delay_max, delay_limit;
	double round_tasks; /* B */
};

struct account account_of(const struct demo *demo);

void account_print(FILE *out, const struct demo *demo);

/* The same for machines; unknown is null.  The caller owns it. */
json_t *account_describe(const struct demo *demo);

#endif
