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
		 "ISO_SEED=%" PRIu64 " event %" PRIu64 " t=%.3fs node %u: %s (%" PRId64
		 "); ISO_RUNS=1 and ISO_TRACE=EVENT print what happens from there",
		 world->setup.seed, world->counts.events, world_time_s(world), node, what, by);
}

void world_touch(struct world *world, struct node *node)
{
	if (node->touched)
		return;
	node->touched = true;
	world->touched[world->touched_count++] = (uint32_t)(node - world->nodes);
}

static uint64_t durable_sent(const struct node *node, uint32_t k)
{
	return k < node->durable.edge_count ? node->durable.edges[k].sent : 0;
}

static uint64_t durable_received(const struct node *node, uint32_t k)
{
	return k < node->durable.edge_count ? node->durable.edges[k].received : 0;
}

static void check_edge(struct world *world, const struct node *from, uint32_t k)
{
	const struct node *to = &world->nodes[from->peer_index[k]];
	uint64_t sent = durable_sent(from, k), got = durable_received(to, from->peer_edge[k]);

	if (sent < got && !from->distrusted)
		world_violate(world, "I3 received what was not durably sent",
			      (uint32_t)(from - world->nodes), (int64_t)(got - sent));
}

void world_check_limits(struct world *world, uint32_t i, bool may_own_less)
{
	const struct node *node = &world->nodes[i];
	int64_t x = iso_record_holdings(&node->durable);

	if (node->enforced_ucpu > x)
		world_violate(world, "I2 enforced above the share", i, node->enforced_ucpu - x);
	if (node->enforced_ucpu > node->ceiling_ucpu)
		world_violate(world, "I2 enforced above the ceiling", i,
			      node->enforced_ucpu - node->ceiling_ucpu);
	if (x < node->config.floor_ucpu && !may_own_less)
		world_violate(world, "I5 share below the floor", i, x);
}

static void check_node(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct world_part *sums = &world->sums, *part = &node->part, before = *part;
	int64_t x = iso_record_holdings(&node->durable);

	/* A journal put back from an old copy breaks the promise until it is noticed. */
	*part = (struct world_part){ .enforced = node->distrusted ? 0 : node->enforced_ucpu,
				     .share = x,
				     .endowment = node->durable.endowment_ucpu };
	for (uint32_t k = 0; k < node->config.peer_count; k++) {
		part->sent_less_received +=
		    (int64_t)(durable_sent(node, k) - durable_received(node, k));
		check_edge(world, node, k);
		check_edge(world, &world->nodes[node->peer_index[k]], node->peer_edge[k]);
	}
	sums->enforced += part->enforced - before.enforced;
	sums->share += part->share - before.share;
	sums->endowment += part->endowment - before.endowment;
	sums->sent_less_received += part->sent_less_received - before.sent_less_received;
	if (node->distrusted)
		return;
	world_check_limits(world, i, false);
}

/*
 * I1-I5 of the ledger, from what the disks and the kernels hold at this instant.
 * They are statements about these alone, so only a node where one of them has
 * changed is looked at; in most events none has.
 */
void world_check(struct world *world)
{
	const struct world_part *sums = &world->sums;

	if (world->touched_count == 0)
		return;
	if (world->registry != NULL) {
		world_office_check(world);
		return;
	}
	if (world->governed) {
		world_check_lives(world);
		return;
	}
	for (uint32_t n = 0; n < world->touched_count; n++) {
		world->nodes[world->touched[n]].touched = false;
		check_node(world, world->touched[n]);
	}
	world->touched_count = 0;
	if (sums->enforced > world->budget_ucpu)
		world_violate(world, "I1 enforced above the budget", 0,
			      sums->enforced - world->budget_ucpu);
	if (sums->share + sums->sent_less_received != sums->endowment ||
	    sums->endowment != world->budget_ucpu)
		world_violate(world, "I4 units lost or made", 0,
			      sums->share + sums->sent_less_received - sums->endowment);
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

/* Those whose shares are to be best; the others' is lost to them. */
static bool counts(const struct world *world, uint32_t i)
{
	return !world->nodes[i].dead && !world->nodes[i].is_off &&
	       (world->registry == NULL || world->registry->members[i].state == ISO_REGISTRY_LIVE);
}

/* What they own, or will have once it has arrived. */
static double owned(const struct world *world)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < world->count; i++) {
		const struct iso_record *record = &world->nodes[i].durable;

		if (!counts(world, i))
			continue;
		sum += iso_record_holdings(record);
		for (uint32_t k = 0; k < record->edge_count; k++)
			if (counts(world, world_index(record->edges[k].peer)))
				sum += world_in_flight(world, i, k);
	}
	return (double)sum;
}

/* The price at which the living would take just what there is. */
static double clearing_price(const struct world *world, double available)
{
	double low = -1e6, high = 1e6, ceilings = 0;

	for (uint32_t i = 0; i < world->count; i++)
		ceilings += counts(world, i) ? (double)world->nodes[i].ceiling_ucpu : 0;
	for (int round = 0; round < 100; round++) {
		double lambda = (low + high) / 2, sum = 0;

		for (uint32_t i = 0; i < world->count; i++)
			sum += counts(world, i) ? share_at(&world->nodes[i], lambda) : 0;
		if (sum < fmin(available, ceilings))
			low = lambda;
		else
			high = lambda;
	}
	return high;
}

double world_gap(const struct world *world, double *ret_distance)
{
	double available = owned(world), lambda = clearing_price(world, available);
	double best = 0, now = 0, distance = 0;

	for (uint32_t i = 0; i < world->count; i++) {
		const struct node *node = &world->nodes[i];
		double share = share_at(node, lambda);

		if (!counts(world, i))
			continue;
		best += iso_cost_value(&node->cost, (int64_t)share);
		now += iso_cost_value(&node->cost, node->enforced_ucpu);
		distance += fabs((double)node->enforced_ucpu - share);
	}
	if (ret_distance != NULL)
		*ret_distance = distance / 2 / available;
	return (now - best) / fabs(best);
}
