/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sim/scenario.h"
#include "agent/sim/train.h"
#include "tests/fuzz/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever traces the scenario names, it gets this one. */
static void give_trace(struct scenario *scenario, const uint8_t *trace, size_t size)
{
	static int fd = -1;
	char path[FUZZ_MEMORY_PATH_BYTES];

	fuzz_memory_write(&fd, path, trace, size);
	memcpy(scenario->times.trace, path, sizeof(path));
	for (unsigned i = 0; i < scenario->group_count; i++)
		memcpy(scenario->groups[i].trace, path, sizeof(path));
}

static void make_a_world(const struct scenario *scenario)
{
	struct train_world *world;
	struct error error = { 0 };

	/* No data is read here, and no millions of workers made. */
	if (scenario->workers > 1000 || scenario->problem.kind == SCENARIO_DATA ||
	    scenario->problem.dimension > 1000)
		return;
	int r = train_open(scenario, 1, &world, &error);
	if (r < 0) {
		assert(r == -EINVAL);
		assert(strncmp(error.text, "f: ", 3) == 0);
		return;
	}
	for (int64_t w = 0; w < scenario->workers; w++) {
		const struct iso_law *law = &train_laws(world)[w];
		struct iso_rng rng = { (uint64_t)w };

		assert(iso_law_valid(law));
		assert(train_means(world)[w] > 0);
		if (law->kind == ISO_LAW_TRACE)
			assert(iso_law_draw(law, UINT64_MAX, &rng) > 0);
	}
	train_close(world);
}

/*
 * Any text is refused with a reason or gives a scenario whose parts fit together, and
 * so does any trace: what follows a form feed.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario *scenario;
	struct error error = { 0 };
	const uint8_t *feed = size > 0 ? memchr(data, '\f', size) : NULL;
	size_t text_size = feed != NULL ? (size_t)(feed - data) : size;
	const uint8_t *trace = data + text_size + (feed != NULL);
	char *text = malloc(text_size + 1);

	assert(text != NULL);
	if (text_size > 0)
		memcpy(text, data, text_size);
	text[text_size] = '\0';
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
	give_trace(scenario, trace, size - (size_t)(trace - data));
	make_a_world(scenario);
	free(scenario);
	return 0;
}
