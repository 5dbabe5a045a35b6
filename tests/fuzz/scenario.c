/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sim/scenario.h"
#include "agent/sim/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_a_world(const struct scenario *scenario)
{
	struct train_world *world;
	struct error error = { 0 };

	/* No files are read here, and no millions of workers made. */
	if (scenario->workers > 1000 || scenario->times.law == SCENARIO_TRACE ||
	    scenario->problem.kind == SCENARIO_DATA || scenario->problem.dimension > 1000)
		return;
	for (unsigned i = 0; i < scenario->group_count; i++)
		if (scenario->groups[i].law == SCENARIO_TRACE)
			return;
	int r = train_open(scenario, 1, &world, &error);
	if (r < 0) {
		assert(r == -EINVAL);
		assert(strncmp(error.text, "f: ", 3) == 0);
		return;
	}
	for (int64_t w = 0; w < scenario->workers; w++) {
		assert(iso_law_valid(&train_laws(world)[w]));
		assert(train_means(world)[w] > 0);
	}
	train_close(world);
}

/* Any text is refused with a reason or gives a scenario whose parts fit together. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario *scenario;
	struct error error = { 0 };
	char *text = malloc(size + 1);

	assert(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	int r = scenario_parse("f", text, NULL, 0, &scenario, &error);
	free(text);
	if (r != 0) {
		assert(r == error.code);
		assert(strncmp(error.text, "f: ", 3) == 0);
		assert(error.text[3] != '\0');
		return 0;
	}
	assert(scenario->workers >= 1 && scenario->curve_count >= 1);
	assert(scenario->time > 0 || scenario->rounds > 0 || scenario->updates > 0);
	make_a_world(scenario);
	free(scenario);
	return 0;
}
