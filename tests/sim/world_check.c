/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_violate(struct world *world, const char *what, uint32_t node, int64_t by)
{
	if (world->broken)
		return;
	world->broken = true;
	snprintf(world->violation, sizeof(world->violation),
		 "ISO_SEED=%" PRIu64 " event %" PRIu64 " t=%.3fs node %u: %s (%" PRId64 ")",
		 world->setup.seed, world->counts.events, world_time_s(world), node, what, by);
}

/* I1-I5 of the ledger, from what the disks and the kernels hold at this instant. */
void world_check(struct world *world)
{
	int64_t enforced = 0, shares = 0, in_flight = 0, endowments = 0;

	for (uint32_t i = 0; i < world->count; i++) {
		const struct node *node = &world->nodes[i];
		int64_t x = iso_record_holdings(&node->durable);

		/* A journal put back from an old copy breaks the promise until it is noticed. */
		enforced += node->distrusted ? 0 : node->enforced_ucpu;
		shares += x;
		endowments += node->durable.endowment_ucpu;
		for (uint32_t k = 0; k < node->config.peer_count; k++) {
			const struct iso_record *peer = &world->nodes[node->peer_index[k]].durable;
			uint64_t sent =
			    k < node->durable.edge_count ? node->durable.edges[k].sent : 0;
			uint64_t got = node->peer_edge[k] < peer->edge_count
					   ? peer->edges[node->peer_edge[k]].received
					   : 0;

			if (sent < got && !node->distrusted)
				world_violate(world, "I3 received what was not durably sent", i,
					      (int64_t)(got - sent));
			in_flight += (int64_t)(sent - got);
		}
		if (node->distrusted)
			continue;
		if (node->enforced_ucpu > x)
			world_violate(world, "I2 enforced above the share", i,
				      node->enforced_ucpu - x);
		if (node->enforced_ucpu > node->ceiling_ucpu)
			world_violate(world, "I2 enforced above the ceiling", i,
				      node->enforced_ucpu - node->ceiling_ucpu);
		if (x < node->config.floor_ucpu)
			world_violate(world, "I5 share below the floor", i, x);
	}
	if (enforced > world->budget_ucpu)
		world_violate(world, "I1 enforced above the budget", 0,
			      enforced - world->budget_ucpu);
	if (shares + in_flight != endowments || endowments != world->budget_ucpu)
		world_violate(world, "I4 units lost or made", 0, shares + in_flight - endowments);
}

/* Snapshots taken at unrelated moments, repaired into a cut, then proven. */
void world_audit(struct world *world)
{
	struct iso_audit_result result;
	uint32_t i = (uint32_t)iso_rng_below(&world->rng, world->count), rounds = 0;
	struct node *node = &world->nodes[i];

	/* One node's snapshot is renewed at each weather event, so that the set is skewed. */
	if (node->up && node->step == STEP_IDLE)
		iso_trade_snapshot(node->trade, node->enforced_ucpu, INT64_MAX,
				   &world->snapshots[i]);
	if (!world_chance(world, 0.05))
		return;

	const struct iso_audit_terms terms = { .budget_ucpu = world->budget_ucpu };
	struct iso_audit_node *copy = calloc(world->count, sizeof(*copy));

	memcpy(copy, world->snapshots, world->count * sizeof(*copy));
	while (iso_audit_reread(copy, world->count, &terms, &i) == ISO_OK && rounds++ < 1000) {
		/* What its agent would answer, or find in the journal after a restart. */
		node = &world->nodes[i];
		copy[i].record = node->durable;
		copy[i].holdings_ucpu = iso_record_holdings(&node->durable);
		copy[i].enforced_ucpu = node->enforced_ucpu;
	}
	iso_audit_run(copy, world->count, &terms, &result);
	/* The kernels were read at other moments than the ledgers; their sum is I1's business. */
	for (uint32_t k = 0; k < result.findings && k < ISO_AUDIT_FINDINGS_MAX; k++)
		if (result.finding[k].check != ISO_AUDIT_ENFORCED &&
		    result.finding[k].check != ISO_AUDIT_TOTAL)
			world_violate(world, iso_audit_text(result.finding[k].check), i, 0);
	world->counts.audits++;
	world->counts.reread += rounds;
	world->counts.skewed += rounds != 0;
	free(copy);
}

/* The share at which a node's marginal cost is lambda, within its box. */
static double share_at(const struct node *node, double lambda)
{
	double d = (double)node->cost.demand_ucpu * 1e-6, w = node->cost.weight, x = d;

	switch (node->cost.kind) {
	case ISO_COST_QUADRATIC: x = d + lambda * node->cost.kappa / w; break;
	case ISO_COST_LATENCY: x = lambda < 0 ? d * sqrt(w / -lambda) : 1e9; break;
	case ISO_COST_PROPORTIONAL: x = lambda < 0 ? w * d / -lambda : 1e9; break;
	}
	return fmin(fmax(x * 1e6, (double)node->config.floor_ucpu), (double)node->ceiling_ucpu);
}

double world_gap(const struct world *world)
{
	double low = -1e6, high = 1e6, best = 0, now = 0, ceilings = 0;

	for (uint32_t i = 0; i < world->count; i++)
		ceilings += (double)world->nodes[i].ceiling_ucpu;
	for (int round = 0; round < 200; round++) {
		double lambda = (low + high) / 2, sum = 0;

		for (uint32_t i = 0; i < world->count; i++)
			sum += share_at(&world->nodes[i], lambda);
		if (sum < fmin((double)world->budget_ucpu, ceilings))
			low = lambda;
		else
			high = lambda;
	}
	for (uint32_t i = 0; i < world->count; i++) {
		const struct node *node = &world->nodes[i];

		best += iso_cost_value(&node->cost, (int64_t)share_at(node, high));
		now += iso_cost_value(&node->cost, node->enforced_ucpu);
	}
	return (now - best) / fabs(best);
}
