/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>

#include "tests/sim/world_state.h"

void world_trace(struct world *world, FILE *out)
{
	world->trace = out;
}

static const char *const steps[] = {
	[STEP_IDLE] = "begin",	  [STEP_LOWER] = "lower",   [STEP_WRITE] = "write",
	[STEP_SYNC] = "sync",	  [STEP_COMMIT] = "commit", [STEP_SEND] = "send",
	[STEP_RESYNC] = "resync",
};

static void print_edges(FILE *out, const struct node *node)
{
	for (uint32_t k = 0; k < node->durable.edge_count; k++) {
		const struct iso_record_edge *edge = &node->durable.edges[k];

		if (edge->sent != 0 || edge->received != 0)
			fprintf(out, " %" PRIu64 ":S=%" PRIu64 ",R=%" PRIu64, edge->peer,
				edge->sent, edge->received);
	}
}

/* What an event has left behind; step: what the node was about to do before. */
void world_trace_event(const struct world *world, const struct event *event, enum step step)
{
	const struct node *node = &world->nodes[event->node];
	FILE *out = world->trace;

	fprintf(out, "%9" PRIu64 " t=%.6f ", world->counts.events, world_time_s(world));
	switch (event->type) {
	case EVENT_STEP:
		fprintf(out, "node %u %s%s", event->node, steps[step],
			node->up || step == STEP_RESYNC ? "" : ", crashed");
		break;
	case EVENT_MESSAGE: fprintf(out, "node %u gets a message", event->node); break;
	case EVENT_RESTART: fprintf(out, "node %u starts", event->node); break;
	case EVENT_HEAL: fprintf(out, "partitions heal"); break;
	case EVENT_WEATHER: fprintf(out, "weather"); break;
	case EVENT_CUT: fprintf(out, "halves are cut apart"); break;
	case EVENT_SHIFT: fprintf(out, "demands shift"); break;
	case EVENT_DEATH: fprintf(out, "node %u dies", event->node); break;
	case EVENT_LOOSEN: fprintf(out, "ceilings rise"); break;
	case EVENT_OFFICE:
		fprintf(out, "administrator: entry %" PRIu64 ", budget %" PRId64,
			world->registry->seq, world->registry->budget_ucpu);
		break;
	case EVENT_GUARD: fprintf(out, "the guard of node %u wakes", event->node); break;
	}
	if (event->type <= EVENT_RESTART) {
		fprintf(out, ": seq %" PRIu64 " share %" PRId64 " enforced %" PRId64,
			node->durable.seq, iso_record_holdings(&node->durable),
			node->enforced_ucpu);
		print_edges(out, node);
	}
	fputc('\n', out);
}
