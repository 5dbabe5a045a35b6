/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/checksum.h"

static void draw_demand(struct world *world, struct node *node)
{
	double factor = world->setup.demand > 0 ? world->setup.demand : 1;

	node->cost.demand_ucpu = (int64_t)(factor * (300000 + 900000 * world_unit(world)));
}

static void partition(struct world *world)
{
	bool side[WORLD_NODES_MAX];

	for (uint32_t i = 0; i < world->count; i++)
		side[i] = world_chance(world, 0.5);
	for (uint32_t i = 0; i < world->count; i++)
		for (uint32_t j = 0; j < world->count; j++)
			world->cut[i][j] = world->cut[i][j] || side[i] != side[j];
	world->counts.partitions++;
	world_push(world, (struct event){ .type = EVENT_HEAL }, 1 + world_exponential(world, 8));
}

static void on_weather(struct world *world)
{
	if (!world->calm) {
		if (world_chance(world, world->setup.partition * 0.1))
			partition(world);
		for (uint32_t i = 0; i < world->count; i++) {
			struct node *node = &world->nodes[i];

			if (world_chance(world, world->setup.change * 0.1))
				draw_demand(world, node);
			/* Hotplug takes the CPUs at once; the agent sees it at its next tick. */
			if (node->step == STEP_IDLE &&
			    world_chance(world, world->setup.change * 0.1)) {
				node->ceiling_ucpu = (int64_t)(400000 + 600000 * world_unit(world));
				world_touch(world, node);
				if (node->enforced_ucpu > node->ceiling_ucpu)
					world_enforce(world, node, node->ceiling_ucpu);
			}
		}
	}
	world_admin_step(world);
	if (world->setup.audit)
		world_audit(world);
	world_push(world, (struct event){ .type = EVENT_WEATHER }, 0.1);
}

static void on_cut(struct world *world)
{
	uint32_t half = world->count / 2;

	for (uint32_t i = 0; i < world->count; i++)
		for (uint32_t j = 0; j < world->count; j++)
			world->cut[i][j] = (i < half) != (j < half);
	world_push(world, (struct event){ .type = EVENT_HEAL }, world->setup.cut_s);
}

static void on_shift(struct world *world)
{
	for (uint32_t i = 0; i < world->count / 2; i++)
		world->nodes[i].cost.demand_ucpu += world->nodes[i].cost.demand_ucpu / 2;
}

static void on_event(struct world *world, const struct event *event)
{
	switch (event->type) {
	case EVENT_STEP:
		if (event->epoch == world->nodes[event->node].epoch)
			world_step(world, event->node);
		break;
	case EVENT_MESSAGE: world_receive(world, event); break;
	case EVENT_RESTART:
		if (event->epoch == world->nodes[event->node].epoch)
			world_restart(world, event->node);
		break;
	case EVENT_HEAL: memset(world->cut, 0, sizeof(world->cut)); break;
	case EVENT_WEATHER: on_weather(world); break;
	case EVENT_CUT: on_cut(world); break;
	case EVENT_SHIFT: on_shift(world); break;
	case EVENT_DEATH:
		world->nodes[event->node].dead = true;
		world_crash(world, event->node, true);
		break;
	case EVENT_GUARD: world_guard(world, event->node); break;
	case EVENT_LOOSEN:
		for (uint32_t i = 0; i < world->count; i++) {
			world->nodes[i].ceiling_ucpu = world->nodes[i].ceiling_ucpu * 5 / 3;
			world_touch(world, &world->nodes[i]);
		}
		break;
	case EVENT_OFFICE: world_office(world); break;
	}
}

void world_run(struct world *world, double until_s, uint64_t events_max)
{
	uint64_t until_ns = (uint64_t)(until_s * SECOND_NS);

	while (world->counts.events < events_max && !world->broken) {
		if (world->heap[0].at_ns > until_ns)
			return;

		struct event event = world_pop(world);
		enum step step = world->nodes[event.node].step;
		int64_t seen[3];

		world->now_ns = event.at_ns;
		world->counts.events++;
		on_event(world, &event);
		if (world->trace_from != 0 && world->counts.events >= world->trace_from)
			world->trace = stdout;
		if (world->trace != NULL)
			world_trace_event(world, &event, step);
		world_check(world);
		seen[0] = (int64_t)world->digest;
		seen[1] = (int64_t)world->now_ns;
		seen[2] = world->nodes[event.node].enforced_ucpu;
		world->digest = iso_checksum(seen, sizeof(seen));
	}
}

static void make_edges(struct world *world)
{
	static struct iso_graph_edge edges[WORLD_NODES_MAX * WORLD_NODES_MAX];
	struct iso_graph graph;
	enum iso_status status = ISO_E_RANGE;

	iso_graph_init(&graph, world->count, edges, WORLD_NODES_MAX * WORLD_NODES_MAX);
	switch (world->setup.topology) {
	case WORLD_RANDOM: status = iso_graph_random(&graph, world->count, &world->rng); break;
	case WORLD_RING: status = iso_graph_ring(&graph); break;
	case WORLD_LINE: status = iso_graph_line(&graph); break;
	case WORLD_STAR: status = iso_graph_star(&graph); break;
	case WORLD_COMPLETE: status = iso_graph_complete(&graph); break;
	case WORLD_EXPONENTIAL: status = iso_graph_exponential(&graph); break;
	}
	assert(status == ISO_OK);
	for (uint32_t k = 0; k < graph.edge_count; k++) {
		struct node *low = &world->nodes[edges[k].low],
			    *high = &world->nodes[edges[k].high];
		uint32_t a = low->config.peer_count++, b = high->config.peer_count++;

		low->peer_index[a] = edges[k].high;
		low->peer_edge[a] = b;
		high->peer_index[b] = edges[k].low;
		high->peer_edge[b] = a;
	}
}

static uint64_t age_ns(double given_s, double usual_s)
{
	if (isinf(given_s))
		return UINT64_MAX / 2;
	return (uint64_t)((given_s > 0 ? given_s : usual_s) * SECOND_NS);
}

static void make_node(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;
	enum iso_status status;
	size_t size;

	for (uint32_t k = 0; k < node->config.peer_count; k++)
		node->peers[k] = (struct iso_trade_peer){ 1000 + node->peer_index[k], 1 };
	node->config.peers = node->peers;
	node->config.cluster = 77;
	node->config.node = 1000 + i;
	node->config.epoch = 1;
	node->config.budget_ucpu = world->budget_ucpu;
	node->config.floor_ucpu = (int64_t)(20000 + 80000 * world_unit(world));
	node->config.share = (struct iso_share_params){
		.mode = world->setup.mode,
		.quant = &world->quant,
		.uniform_step_q32 = ISO_PRICE_ONE / 64,
		.gamma = 0.9,
		.dead_band = world->setup.dead_band,
		.relay_allow = 0.01,
		.stop_and_wait = !world->setup.no_wait,
		.base_age_ns = age_ns(world->setup.base_age_s, 32 * TICK_S),
		.fresh_age_ns = age_ns(world->setup.fresh_age_s, 10),
	};
	if (world->setup.lease_s > 0)
		node->config.lease = (struct iso_lease_params){
			.lease_ns = (uint64_t)(world->setup.lease_s * SECOND_NS),
			.promise_ns =
			    (uint64_t)((world->setup.lease_s * 1.05 + SLACK_S) * SECOND_NS),
			.guard_ns = (uint64_t)(GUARD_S * SECOND_NS),
		};
	if (world->setup.mutant == WORLD_SHORT_PROMISE)
		node->config.lease.promise_ns = node->config.lease.lease_ns + 1;
	node->ceiling_ucpu = (int64_t)(400000 + 600000 * world_unit(world));
	node->cost = (struct iso_cost){ .kind = world->setup.cost,
					.penalty = ISO_PENALTY_NONE,
					.weight = 0.5 + 1.5 * world_unit(world),
					.kappa = 1 };
	draw_demand(world, node);
	node->rate =
	    1 + (world->setup.drift > 0 ? world->setup.drift : 0.01) * (2 * world_unit(world) - 1);
	node->offset_ns = 1e12 * world_unit(world);
	size = iso_trade_size(&node->config);
	assert(size > 0);
	status = iso_trade_init(malloc(size), size, &node->config, &node->trade);
	assert(status == ISO_OK);
	status = iso_trade_genesis(&node->config, 1, PER_NODE_UCPU, &record);
	assert(status == ISO_OK);
	iso_record_encode(&record, node->cache + ISO_SLOT_BYTES);
	record.seq = 2;
	iso_record_encode(&record, node->cache);
	node->cached = record;
	world_sync_disk(world, node);
	world_push(world, (struct event){ .type = EVENT_RESTART, .node = i },
		   TICK_S * world_unit(world));
}

struct world *world_new(const struct world_setup *setup)
{
	struct world *world = calloc(1, sizeof(*world));
	const char *trace = getenv("ISO_TRACE");
	enum iso_status status = iso_quant_init(
	    setup->rho > 0 ? (uint32_t)(setup->rho * 65536) : ISO_QUANT_RHO_DEFAULT, &world->quant);

	assert(status == ISO_OK);
	assert(setup->nodes <= WORLD_NODES_MAX);
	world->setup = *setup;
	world->trace_from = trace != NULL ? strtoull(trace, NULL, 10) : 0;
	world->rng.state = setup->seed;
	world->count = setup->nodes;
	world->budget_ucpu = (int64_t)setup->nodes * PER_NODE_UCPU;
	world->nodes = calloc(setup->nodes, sizeof(*world->nodes));
	world->snapshots = calloc(setup->nodes, sizeof(*world->snapshots));
	make_edges(world);
	for (uint32_t i = 0; i < world->count; i++)
		make_node(world, i);
	world_admin_start(world);
	if (setup->office > 0)
		world_office_open(world);
	for (uint32_t i = 0; i < world->count; i++)
		world->snapshots[i] = (struct iso_audit_node){
			.record = world->nodes[i].durable,
			.holdings_ucpu = PER_NODE_UCPU,
			.floor_ucpu = world->nodes[i].config.floor_ucpu,
			.ceiling_ucpu = INT64_MAX,
		};
	world_push(world, (struct event){ .type = EVENT_WEATHER }, 0.5);
	if (setup->cut_s > 0) {
		world_push(world, (struct event){ .type = EVENT_CUT }, 30);
		world_push(world, (struct event){ .type = EVENT_SHIFT }, 80);
	}
	if (setup->tight_s > 0) {
		for (uint32_t i = 0; i < world->count; i++)
			world->nodes[i].ceiling_ucpu = world->nodes[i].ceiling_ucpu * 3 / 5;
		world_push(world, (struct event){ .type = EVENT_LOOSEN }, setup->tight_s);
	}
	if (setup->dies_s > 0)
		world_push(world, (struct event){ .type = EVENT_DEATH, .node = DEAD_NODE },
			   setup->dies_s);
	return world;
}

struct world *world_free(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++)
		free(world->nodes[i].trade);
	free(world->registry);
	free(world->nodes);
	free(world->snapshots);
	free(world->heap);
	free(world->messages);
	free(world->spare);
	free(world);
	return NULL;
}

void world_calm(struct world *world)
{
	world->calm = true;
	world->setup.admin = 0;
	memset(world->cut, 0, sizeof(world->cut));
	world->setup.stuck = 0;
	world->setup.full = 0;
}

const char *world_violation(const struct world *world)
{
	return world->broken ? world->violation : NULL;
}

const struct world_counts *world_counts(const struct world *world)
{
	return &world->counts;
}

double world_time_s(const struct world *world)
{
	return (double)world->now_ns / SECOND_NS;
}

uint64_t world_digest(const struct world *world)
{
	return world->digest;
}

struct iso_trade *world_node(struct world *world, uint32_t index)
{
	return world->nodes[index].trade;
}

int64_t world_enforced(const struct world *world, uint32_t index)
{
	return world->nodes[index].enforced_ucpu;
}

int64_t world_floor(const struct world *world, uint32_t index)
{
	return world->nodes[index].config.floor_ucpu;
}

int64_t world_budget(const struct world *world)
{
	return world->budget_ucpu;
}

void world_cut_off(struct world *world, uint32_t index, bool is_cut)
{
	world->nodes[index].is_cut = is_cut;
}

void world_backup(struct world *world, uint32_t index, uint8_t ret_journal[ISO_JOURNAL_BYTES])
{
	memcpy(ret_journal, world->nodes[index].disk, ISO_JOURNAL_BYTES);
}

void world_restore(struct world *world, uint32_t index, const uint8_t journal[ISO_JOURNAL_BYTES])
{
	struct node *node = &world->nodes[index];

	node->distrusted = true;
	world_crash(world, index, true);
	memcpy(node->disk, journal, ISO_JOURNAL_BYTES);
	memcpy(node->cache, journal, ISO_JOURNAL_BYTES);
	if (iso_record_recover(node->disk, &node->durable) != ISO_OK)
		world_violate(world, "the backup is damaged", index, 0);
	node->cached = node->durable;
	world_touch(world, node);
}
