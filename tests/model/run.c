/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * make model: the large state spaces, one after the other.  With arguments,
 * one of your own: run debits=2 crashes=1 ceiling=2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/search.h"

/* A state takes about 100 bytes: what keeps a search below 4 GiB. */
#define STATES_MAX 38000000u
/* Of all setups together. */
#define STATES_MIN 10000000u

#define CLUSTER .share = 2, .floor = 1, .ceiling = 4, .dark = 1, .debit_max = 2, .torn = true

/* Where a node has no share at all, its group is empty and a cut leaves it no quota. */
#define BY_ONES .share = 2, .floor = 1, .ceiling = 4, .debit_max = 1, .torn = true
#define LEASED	.share = 2, .floor = 1, .ceiling = 4, .dark = 1, .debit_max = 1, .torn = true

static const struct model_setup setups[] = {
	{ CLUSTER, .name = "T3 C2", .debits = 3, .crashes = 2 },
	{ CLUSTER, .name = "T3 C1 L2", .debits = 3, .crashes = 1, .losses = 2 },
	{ CLUSTER, .name = "T2 C3", .debits = 2, .crashes = 3 },
	{ CLUSTER, .name = "T2 C2 L1", .debits = 2, .crashes = 2, .losses = 1 },
	{ CLUSTER, .name = "T1 C3 L1", .debits = 1, .crashes = 3, .losses = 1 },
	{ CLUSTER, .name = "T4 L1", .debits = 4, .losses = 1 },
	{ .share = 2,
	  .floor = 1,
	  .ceiling = 4,
	  .dark = 1,
	  .debit_max = 1,
	  .torn = true,
	  .name = "T4 C1 by ones",
	  .debits = 4,
	  .crashes = 1 },
	{ .share = 2,
	  .floor = 1,
	  .ceiling = 2,
	  .dark = 1,
	  .debit_max = 2,
	  .torn = true,
	  .name = "T2 C2 L1, ceiling 2, 1 stuck quota",
	  .debits = 2,
	  .crashes = 2,
	  .losses = 1,
	  .stuck = 1 },
	{ .share = 2,
	  .floor = 1,
	  .ceiling = 4,
	  .dark = 0,
	  .debit_max = 2,
	  .torn = true,
	  .name = "T2 C2 L1, no quota after a cut",
	  .debits = 2,
	  .crashes = 2,
	  .losses = 1 },
	{ CLUSTER, .name = "T2 C2, 1 failed fdatasync", .debits = 2, .crashes = 2, .failures = 1 },
	{ CLUSTER, .name = "T1 C2 L1, 1 failed fdatasync", .debits = 1, .crashes = 2, .losses = 1,
	  .failures = 1 },
	{ CLUSTER, .name = "T2 C1 L1, full disk twice", .debits = 2, .crashes = 1, .losses = 1,
	  .full = 2 },
	{ CLUSTER, .name = "T1 L1, nothing folded", .debits = 1, .losses = 1, .exact = true },
	{ CLUSTER, .name = "mint and burn, T2 C1", .script = MODEL_MINTS_BURNS, .late = 1,
	  .debits = 2, .crashes = 1 },
	{ CLUSTER, .name = "mint and burn, T1 C2, 1 stuck quota", .script = MODEL_MINTS_BURNS,
	  .late = 1, .debits = 1, .crashes = 2, .stuck = 1 },
	{ CLUSTER, .name = "given up and voided, T1 C1", .script = MODEL_GIVES_UP, .late = 1,
	  .debits = 1, .crashes = 1 },
	{ CLUSTER, .name = "drain and undo, T2 C1", .script = MODEL_DRAINS, .late = 1, .debits = 2,
	  .crashes = 1 },
	{ BY_ONES, .name = "leave, T1 C1 L1", .script = MODEL_LEAVES, .late = 1, .debits = 1,
	  .crashes = 1, .losses = 1 },
	{ BY_ONES, .name = "leave and rejoin, C1", .script = MODEL_LEAVES_REJOINS, .crashes = 1 },
	{ LEASED, .name = "burial by leases, T1, 1 delay, late", .script = MODEL_BURIES, .late = 1,
	  .debits = 1, .delays = 1 },
	{ LEASED, .name = "burial by leases, C1, 1 delay, late", .script = MODEL_BURIES, .late = 1,
	  .crashes = 1, .delays = 1 },
	{ LEASED, .name = "burial by leases, C2", .script = MODEL_BURIES, .crashes = 2 },
	{ LEASED, .name = "burial by leases, T1 C1", .script = MODEL_BURIES, .debits = 1,
	  .crashes = 1 },
	{ LEASED, .name = "burial and rejoin, C1", .script = MODEL_BURIES_REJOINS, .crashes = 1 },
	{ LEASED, .name = "burial and rejoin, T1", .script = MODEL_BURIES_REJOINS, .debits = 1 },
	{ BY_ONES, .name = "one leaves, the other is buried, 1 delay",
	  .script = MODEL_LEAVES_BURIES, .delays = 1 },
	{ BY_ONES, .name = "declared, a new machine, T1 C1", .script = MODEL_DECLARES_REJOINS,
	  .debits = 1, .crashes = 1 },
	{ CLUSTER, .name = "two declared one by one, T2 C1", .script = MODEL_DECLARES_TWO,
	  .late = 1, .debits = 2, .crashes = 1 },
};
#define SETUPS (sizeof(setups) / sizeof(setups[0]))

static int explore(const struct model_setup *setup, struct model_result *total)
{
	struct model_result result;
	int failed;

	model_search(setup, STATES_MAX, &result);
	model_print_result(stdout, setup, &result);
	if (result.wrong != NULL)
		printf("%s\n%s", result.wrong, result.trace != NULL ? result.trace : "");
	fflush(stdout);
	failed = !result.complete || result.wrong != NULL;
	total->states += result.states;
	total->transitions += result.transitions;
	total->rests += result.rests;
	total->seconds += result.seconds;
	if (result.depth > total->depth)
		total->depth = result.depth;
	if (result.bytes > total->bytes)
		total->bytes = result.bytes;
	if (result.nodes > total->nodes)
		total->nodes = result.nodes;
	model_result_done(&result);
	return failed;
}

static bool set(struct model_setup *setup, const char *argument)
{
	const struct {
		const char *name;
		uint8_t *value;
	} fields[] = {
		{ "debits", &setup->debits },	  { "crashes", &setup->crashes },
		{ "failures", &setup->failures }, { "losses", &setup->losses },
		{ "stuck", &setup->stuck },	  { "largest", &setup->debit_max },
		{ "share", &setup->share },	  { "floor", &setup->floor },
		{ "ceiling", &setup->ceiling },	  { "dark", &setup->dark },
		{ "script", &setup->script },	  { "late", &setup->late },
		{ "delays", &setup->delays },	  { "full", &setup->full },
	};
	size_t length = strcspn(argument, "=");

	for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
		if (strlen(fields[k].name) != length ||
		    strncmp(fields[k].name, argument, length) != 0 || argument[length] == '\0')
			continue;
		*fields[k].value = (uint8_t)strtoul(argument + length + 1, NULL, 10);
		return true;
	}
	fprintf(stderr, "run: '%s' is not NAME=NUMBER of a setup (tests/model/setup.h)\n",
		argument);
	return false;
}

int main(int argc, char **argv)
{
	struct model_setup own = { CLUSTER, .name = "as asked" };
	struct model_result total = { .complete = true };
	int failed = 0;

	for (int k = 1; k < argc; k++)
		if (!set(&own, argv[k]))
			return 2;
	model_print_heading(stdout);
	fflush(stdout);
	if (argc > 1)
		return explore(&own, &total);
	for (size_t k = 0; k < SETUPS; k++)
		failed |= explore(&setups[k], &total);
	model_print_result(stdout, &(struct model_setup){ .name = "together" }, &total);
	if (total.states < STATES_MIN) {
		printf("too few states: %u are wanted\n", STATES_MIN);
		failed = 1;
	}
	return failed;
}
