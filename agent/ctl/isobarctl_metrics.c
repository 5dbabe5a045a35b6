/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/ctl/isobarctl.h"
#include "agent/export/collect.h"
#include "agent/export/metrics.h"

#define PATIENCE_NS 1000000000u

/* Those that are meant: by --socket, by --instance, or all there are. */
static int find(const struct ctl *ctl, struct collect *collect)
{
	char path[CONTROL_PATH_BYTES];
	struct error error;
	int r = CTL_DONE;

	if (ctl->socket == NULL && ctl->instance == NULL) {
		if (collect_find(ctl->run_directory, collect, &error) < 0) {
			fprintf(stderr, "isobarctl: %s\n", error.text);
			return CTL_FAILED;
		}
		if (collect->count > 0)
			return CTL_DONE;
	}
	r = ctl_socket(ctl, path);
	if (r != CTL_DONE)
		return r;
	(void)collect_add(collect, path, NULL);
	if (ctl->instance != NULL)
		snprintf(collect->agents[0].name, sizeof(collect->agents[0].name), "%s",
			 ctl->instance);
	return r;
}

int ctl_metrics(const struct ctl *ctl, int argc, char **argv)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	struct metrics_source sources[COLLECT_AGENTS_MAX];
	unsigned answered = 0;

	(void)argc;
	(void)argv;
	if (collect == NULL) {
		fputs("isobarctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	int r = find(ctl, collect);
	if (r == CTL_DONE)
		collect_ask(collect, "status", PATIENCE_NS);
	for (unsigned i = 0; i < collect->count; i++) {
		sources[i] = (struct metrics_source){
			.agent = collect->agents[i].name,
			.status = collect->agents[i].reply,
		};
		answered += collect->agents[i].reply != NULL;
		if (collect->agents[i].reply == NULL)
			fprintf(stderr, "isobarctl: '%s': %s\n", collect->agents[i].path,
				collect->agents[i].why);
	}
	if (r == CTL_DONE) {
		metrics_write(stdout, sources, collect->count);
		r = answered > 0 ? CTL_DONE : CTL_FAILED;
	}
	collect_drop(collect);
	free(collect);
	return r;
}
