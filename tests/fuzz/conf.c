/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/conf.h"
#include "agent/track/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(int r, const struct error *error)
{
	assert(r == error->code);
	assert(strncmp(error->text, "f: ", 3) == 0);
	assert(error->text[3] != '\0');
}

/* The same for a plan. */
static void parse_plan(const char *text)
{
	static struct plan plan;
	struct error error = { 0 };
	int r = plan_parse("f", text, &plan, &error);

	if (r != 0) {
		check_refusal(r, &error);
		return;
	}
	assert(plan.nodes_count >= 2);
	assert(plan.nodes_count <= PLAN_NODES_MAX);
	for (unsigned i = 0; i < plan.nodes_count; i++) {
		assert(plan.nodes[i].size >= 1);
		assert(plan_find(&plan, plan.nodes[i].name) == (int)i);
	}
	assert(plan.wait_ns <= plan.drop_ns);
	assert(plan.overlap == 0 || plan.overlap * plan.nodes_count >= 1);
	assert(plan_digest(&plan, 1) != plan_digest(&plan, 2));
}

/* Any text is refused with a reason or gives a configuration whose values agree. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conf conf;
	struct error error = { 0 };
	char *text = malloc(size + 1);

	assert(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	parse_plan(text);
	int r = conf_parse("f", text, &conf, &error);
	free(text);
	if (r != 0) {
		check_refusal(r, &error);
		return 0;
	}
	assert(conf.floor_ucpu <= conf.endowment_ucpu);
	assert(conf.floor_ucpu <= conf.ceiling_ucpu);
	assert(conf.ceiling_ucpu <= conf.budget_ucpu);
	assert(conf.endowment_ucpu <= conf.budget_ucpu);
	assert(conf.floor_ucpu * (conf.period_ns / 1000) / 1000000 >= CONF_QUOTA_US_MIN);
	assert(conf.cgroup[0] == '/');
	assert(conf.cgroup[1] != '\0');
	assert(conf.digest == conf_digest(&conf));
	assert(conf.neighbour_count <= CONF_NEIGHBOURS_MAX);
	for (unsigned i = 0; i < conf.neighbour_count; i++)
		assert(conf.neighbours[i].id != conf.id);
	assert(conf.training.coordinator[0] == '\0' || conf.training.plan[0] == '\0');
	return 0;
}
