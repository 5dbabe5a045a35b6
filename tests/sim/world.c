/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/checksum.h"

#define SECOND_NS     1000000000.0
#define TICK_S	      0.2
#define SYNC_S	      0.005
#define PER_NODE_UCPU 500000
#define QUOTA_UCPU    10 /* one µs per period of 100 ms */
#define INBOX_MAX     512u

/* Where a node is in its tick; each is one event, so that anything may happen between two. */
enum step {
	STEP_IDLE = 0,
	STEP_LOWER,
	STEP_WRITE,
	STEP_SYNC,
	STEP_COMMIT,
	STEP_SEND,
	STEP_RESYNC,
	STEP_COUNT,
};

enum event_type { EVENT_STEP = 1, EVENT_MESSAGE, EVENT_RESTART, EVENT_HEAL, EVENT_WEATHER };

struct event {
	uint64_t at_ns;
	uint64_t order;
	enum event_type type;
	uint32_t node;
	uint32_t epoch; /* of the node when a step was scheduled; a crash outdates it */
	uint32_t message;
};

struct message {
	uint32_t source, destination;
	uint64_t amount; /* WORLD_AMOUNTS only */
	uint8_t bytes[ISO_EDGE_BYTES];
};

struct node {
	struct iso_trade *trade;
	struct iso_trade_config config;
	struct iso_trade_peer peers[ISO_DEGREE_MAX];
	uint32_t peer_index[ISO_DEGREE_MAX]; /* node at the other end */
	uint32_t peer_edge[ISO_DEGREE_MAX];  /* number of this edge there */
	struct iso_cost cost;
	int64_t ceiling_ucpu;
	double rate, offset_ns;
	bool up, powered, distrusted;
	uint32_t epoch;
	enum step step;
	struct iso_trade_plan plan;
	uint64_t written_seq, durable_seq;
	int64_t enforced_ucpu, lower_late_ucpu;
	uint8_t disk[ISO_JOURNAL_BYTES], cache[ISO_JOURNAL_BYTES];
	struct iso_record durable; /* what the disk would give */
	uint32_t inbox[INBOX_MAX], inbox_count;
	uint64_t told[ISO_DEGREE_MAX];	   /* WORLD_AMOUNTS: S in the last message */
	uint64_t believed[ISO_DEGREE_MAX]; /* WORLD_AMOUNTS: sum of the amounts that came */
};

struct world {
	struct world_setup setup;
	struct iso_rng rng;
	struct iso_quant quant;
	uint32_t count;
	int64_t budget_ucpu;
	struct node *nodes;
	bool cut[WORLD_NODES_MAX][WORLD_NODES_MAX];
	uint64_t now_ns, order, digest;
	struct event *heap;
	uint32_t heap_count, heap_max;
	struct message *messages;
	uint32_t *spare, spare_count, message_max;
	struct world_counts counts;
	struct iso_audit_node *snapshots;
	bool calm;
	bool broken;
	char violation[200];
};

static double unit(struct world *world)
{
	return iso_rng_unit(&world->rng);
}

static double exponential(struct world *world, double mean)
{
	return -mean * log(1 - unit(world));
}

static bool chance(struct world *world, double probability)
{
	return probability > 0 && unit(world) < probability;
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void push(struct world *world, struct event event, double delay_s)
{
	uint32_t i = world->heap_count++;

	if (i == world->heap_max) {
		world->heap_max = world->heap_max != 0 ? 2 * world->heap_max : 1024;
		world->heap = realloc(world->heap, world->heap_max * sizeof(*world->heap));
	}
	event.at_ns = world->now_ns + (uint64_t)(delay_s * SECOND_NS);
	event.order = world->order++;
	for (; i > 0 && earlier(&event, &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
		world->heap[i] = world->heap[(i - 1) / 2];
	world->heap[i] = event;
}

static struct event pop(struct world *world)
{
	struct event first = world->heap[0], last = world->heap[--world->heap_count];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= world->heap_count)
			break;
		if (child + 1 < world->heap_count &&
		    earlier(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (earlier(&last, &world->heap[child]))
			break;
		world->heap[i] = world->heap[child];
		i = child;
	}
	world->heap[i] = last;
	return first;
}

static uint32_t message_new(struct world *world)
{
	if (world->spare_count == 0) {
		uint32_t old = world->message_max;

		world->message_max = old != 0 ? 2 * old : 256;
		world->messages =
		    realloc(world->messages, world->message_max * sizeof(*world->messages));
		world->spare = realloc(world->spare, world->message_max * sizeof(*world->spare));
		for (uint32_t k = old; k < world->message_max; k++)
			world->spare[world->spare_count++] = k;
	}
	return world->spare[--world->spare_count];
}

static void message_free(struct world *world, uint32_t message)
{
	world->spare[world->spare_count++] = message;
}

static void next_step(struct world *world, uint32_t i, enum step step, double delay_s)
{
	world->nodes[i].step = step;
	push(world, (struct event){ .type = EVENT_STEP, .node = i, .epoch = world->nodes[i].epoch },
	     delay_s);
}

static uint64_t clock_ns(const struct world *world, const struct node *node)
{
	return (uint64_t)(node->rate * (double)world->now_ns + node->offset_ns);
}

static void violate(struct world *world, const char *what, uint32_t node, int64_t by)
{
	if (world->broken)
		return;
	world->broken = true;
	snprintf(world->violation, sizeof(world->violation),
		 "ISO_SEED=%" PRIu64 " event %" PRIu64 " t=%.3fs node %u: %s (%" PRId64 ")",
		 world->setup.seed, world->counts.events, world_time_s(world), node, what, by);
}

/* I1-I5 of the ledger, from what the disks and the kernels hold at this instant. */
static void check(struct world *world)
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
				violate(world, "I3 received what was not durably sent", i,
					(int64_t)(got - sent));
			in_flight += (int64_t)(sent - got);
		}
		if (node->distrusted)
			continue;
		if (node->enforced_ucpu > x)
			violate(world, "I2 enforced above the share", i, node->enforced_ucpu - x);
		if (node->enforced_ucpu > node->ceiling_ucpu)
			violate(world, "I2 enforced above the ceiling", i,
				node->enforced_ucpu - node->ceiling_ucpu);
		if (x < node->config.floor_ucpu)
			violate(world, "I5 share below the floor", i, x);
	}
	if (enforced > world->budget_ucpu)
		violate(world, "I1 enforced above the budget", 0, enforced - world->budget_ucpu);
	if (shares + in_flight != endowments || endowments != world->budget_ucpu)
		violate(world, "I4 units lost or made", 0, shares + in_flight - endowments);
}

static void set_enforced(struct world *world, struct node *node, int64_t ucpu)
{
	node->enforced_ucpu = ucpu / QUOTA_UCPU * QUOTA_UCPU;
	world->counts.quota_writes++;
}

static void deliver(struct world *world, struct node *node, uint32_t index)
{
	struct message *message = &world->messages[index];

	if (world->setup.mutant == WORLD_AMOUNTS) {
		struct iso_edge_frame frame;
		uint32_t k = 0;

		while (node->peer_index[k] != message->source)
			k++;
		assert(iso_edge_decode(message->bytes, ISO_EDGE_BYTES, &frame) == ISO_OK);
		node->believed[k] += message->amount;
		frame.sent = node->believed[k];
		iso_edge_encode(&frame, message->bytes);
	}
	enum iso_status status = iso_trade_receive(node->trade, clock_ns(world, node),
						   world->nodes[message->source].config.node,
						   message->bytes, ISO_EDGE_BYTES);

	if (status == ISO_E_HALTED && !node->distrusted)
		violate(world, "halted without cause", (uint32_t)(node - world->nodes), 0);
	message_free(world, index);
}

static void step_begin(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_trade_input input = {
		.now_ns = clock_ns(world, node),
		.enforced_ucpu = node->enforced_ucpu,
		.ceiling_ucpu = node->ceiling_ucpu,
		.cost = node->cost,
	};
	enum iso_status status = iso_trade_begin(node->trade, &input, &node->plan);

	assert(status == ISO_OK);
	world->counts.credits += node->plan.credited_ucpu > 0;
	world->counts.debits += node->plan.debited_ucpu > 0;
	next_step(world, i, STEP_LOWER, 0.0002);
}

static void step_lower(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	node->lower_late_ucpu = INT64_MAX;
	if (node->plan.lower && world->setup.mutant == WORLD_LOWER_LATE) {
		node->lower_late_ucpu = node->plan.limit_ucpu;
		(void)!iso_trade_lowered(node->trade, node->plan.limit_ucpu);
	} else if (node->plan.lower && chance(world, world->setup.stuck)) {
		/* Read back higher than asked for, so the tick's gifts are taken back. */
		if (iso_trade_lowered(node->trade, node->enforced_ucpu) != ISO_E_RANGE)
			violate(world, "a failed lowering was accepted", i, 0);
		iso_trade_abort(node->trade, &node->plan);
		world->counts.aborts++;
	} else if (node->plan.lower) {
		set_enforced(world, node, node->plan.limit_ucpu);
		if (iso_trade_lowered(node->trade, node->enforced_ucpu) != ISO_OK)
			violate(world, "a lowering was refused", i, 0);
	}
	next_step(world, i, STEP_WRITE, 0.0002 + exponential(world, 0.0005));
}

static void step_write(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;

	node->written_seq = node->durable_seq;
	if (node->plan.record) {
		iso_trade_record(node->trade, &record);
		iso_record_encode(&record, node->cache + record.seq % 2 * ISO_SLOT_BYTES);
		node->written_seq = record.seq;
	}
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_COMMIT, 0.0001);
	else
		next_step(world, i, STEP_SYNC, exponential(world, SYNC_S));
}

static void sync_disk(struct world *world, struct node *node)
{
	memcpy(node->disk, node->cache, sizeof(node->disk));
	if (iso_record_recover(node->disk, &node->durable) != ISO_OK)
		violate(world, "a synced journal is damaged", (uint32_t)(node - world->nodes), 0);
}

static void step_commit(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	int64_t target;

	node->durable_seq = node->written_seq;
	target = iso_trade_commit(node->trade, node->durable_seq);
	if (target / QUOTA_UCPU * QUOTA_UCPU > node->enforced_ucpu &&
	    node->lower_late_ucpu == INT64_MAX && world->setup.mutant != WORLD_SEND_EARLY)
		set_enforced(world, node, target);
	for (uint32_t k = 0; k < node->inbox_count; k++)
		deliver(world, node, node->inbox[k]);
	node->inbox_count = 0;
	next_step(world, i, STEP_SEND, 0.0001);
}

static void send_copy(struct world *world, const struct message *message)
{
	double delay_s = 0.001 + exponential(world, world->setup.delay_s);

	if (chance(world, world->setup.loss) || world->cut[message->source][message->destination]) {
		world->counts.lost++;
		return;
	}
	if (chance(world, world->setup.tail))
		delay_s += exponential(world, 1);

	uint32_t index = message_new(world);

	world->messages[index] = *message;
	push(
	    world,
	    (struct event){ .type = EVENT_MESSAGE, .node = message->destination, .message = index },
	    delay_s);
}

static void step_send(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct message message = { .source = i };
	struct iso_edge_frame frame;
	uint64_t peer;

	for (uint32_t k = 0; k < iso_trade_edges(node->trade); k++) {
		if (iso_trade_message(node->trade, k, &peer, message.bytes) != ISO_OK)
			continue;
		message.destination = node->peer_index[k];
		if (world->setup.mutant == WORLD_AMOUNTS) {
			assert(iso_edge_decode(message.bytes, ISO_EDGE_BYTES, &frame) == ISO_OK);
			message.amount = frame.sent - node->told[k];
			node->told[k] = frame.sent;
		}
		world->counts.messages++;
		send_copy(world, &message);
		if (chance(world, world->setup.duplicate)) {
			world->counts.duplicated++;
			send_copy(world, &message);
		}
	}
	if (node->lower_late_ucpu != INT64_MAX)
		set_enforced(world, node, node->lower_late_ucpu);
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_SYNC, exponential(world, SYNC_S));
	else
		next_step(world, i, STEP_IDLE, TICK_S * (0.8 + 0.4 * unit(world)));
}

static void step_sync(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	if (memcmp(node->disk, node->cache, sizeof(node->disk)) != 0)
		sync_disk(world, node);
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_IDLE, TICK_S * (0.8 + 0.4 * unit(world)));
	else
		next_step(world, i, STEP_COMMIT, 0.0001);
}

/* The agent has started: read the journal, make it durable, take it up. */
static void step_resync(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;

	if (iso_record_recover(node->cache, &record) != ISO_OK) {
		violate(world, "the journal cannot be recovered", i, 0);
		return;
	}
	if (record.seq < node->durable.seq)
		violate(world, "recovered an older state than was durable", i, 0);
	if (world->setup.mutant != WORLD_TRUST_CACHE)
		sync_disk(world, node);
	enum iso_status status = iso_trade_open(node->trade, &record);

	assert(status == ISO_OK);
	node->durable_seq = record.seq;
	for (uint32_t k = 0; k < record.edge_count; k++) {
		node->told[k] = record.edges[k].sent;
		node->believed[k] = record.edges[k].received;
	}
	node->up = true;
	if (world->setup.mutant != WORLD_TRUST_CACHE) {
		step_begin(world, i);
		return;
	}
	/* Claim that the new incarnation is durable without writing it. */
	step_begin(world, i);
	if (node->plan.lower) {
		set_enforced(world, node, node->plan.limit_ucpu);
		(void)!iso_trade_lowered(node->trade, node->enforced_ucpu);
	}
	iso_trade_record(node->trade, &record);
	node->written_seq = record.seq;
	node->lower_late_ucpu = INT64_MAX;
	node->epoch++; /* forget the step that step_begin scheduled */
	next_step(world, i, STEP_COMMIT, 0.0001);
}

static void crash(struct world *world, uint32_t i, bool power)
{
	struct node *node = &world->nodes[i];

	(power ? world->counts.powers : world->counts.kills)[node->step]++;
	if (node->up)
		iso_trade_close(node->trade);
	for (uint32_t k = 0; k < node->inbox_count; k++)
		message_free(world, node->inbox[k]);
	node->inbox_count = 0;
	node->up = false;
	node->epoch++;
	if (power) {
		bool torn = false;

		/* Any subset of the sectors that were not synced has reached the disk. */
		for (uint32_t k = 0; k < ISO_JOURNAL_BYTES; k += ISO_SECTOR_BYTES) {
			if (memcmp(node->disk + k, node->cache + k, ISO_SECTOR_BYTES) == 0)
				continue;
			torn = true;
			if (chance(world, 0.5))
				memcpy(node->disk + k, node->cache + k, ISO_SECTOR_BYTES);
		}
		memcpy(node->cache, node->disk, sizeof(node->cache));
		world->counts.torn += torn;

		struct iso_record before = node->durable;

		if (iso_record_recover(node->disk, &node->durable) != ISO_OK)
			violate(world, "power loss damaged the journal", i, 0);
		else if (node->durable.seq < before.seq)
			violate(world, "power loss took back a durable record", i, 0);
		node->enforced_ucpu = 0;
		node->powered = false;
	}
	push(world, (struct event){ .type = EVENT_RESTART, .node = i, .epoch = node->epoch },
	     power ? 0.5 + exponential(world, 2) : 0.05 + exponential(world, 0.5));
}

static void on_step(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	if (!world->calm && chance(world, world->setup.crash)) {
		crash(world, i, chance(world, 0.5));
		return;
	}
	switch (node->step) {
	case STEP_IDLE: step_begin(world, i); break;
	case STEP_LOWER: step_lower(world, i); break;
	case STEP_WRITE: step_write(world, i); break;
	case STEP_SYNC: step_sync(world, i); break;
	case STEP_COMMIT: step_commit(world, i); break;
	case STEP_SEND: step_send(world, i); break;
	case STEP_RESYNC: step_resync(world, i); break;
	case STEP_COUNT: abort();
	}
}

static void on_restart(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	/* After a boot the cgroup is made with the floor before any task enters it. */
	if (!node->powered) {
		int64_t least = node->config.floor_ucpu < node->ceiling_ucpu
				    ? node->config.floor_ucpu
				    : node->ceiling_ucpu;

		set_enforced(world, node, least);
	}
	node->powered = true;
	next_step(world, i, STEP_RESYNC, 0.001);
}

static void on_message(struct world *world, const struct event *event)
{
	struct node *node = &world->nodes[event->node];

	/* Between begin and commit a message waits in the socket. */
	if (!node->up || (node->step != STEP_IDLE && node->inbox_count == INBOX_MAX))
		message_free(world, event->message);
	else if (node->step != STEP_IDLE)
		node->inbox[node->inbox_count++] = event->message;
	else
		deliver(world, node, event->message);
}

static void draw_demand(struct world *world, struct node *node)
{
	node->cost.demand_ucpu = (int64_t)(300000 + 900000 * unit(world));
}

static void partition(struct world *world)
{
	bool side[WORLD_NODES_MAX];

	for (uint32_t i = 0; i < world->count; i++)
		side[i] = chance(world, 0.5);
	for (uint32_t i = 0; i < world->count; i++)
		for (uint32_t j = 0; j < world->count; j++)
			world->cut[i][j] = world->cut[i][j] || side[i] != side[j];
	world->counts.partitions++;
	push(world, (struct event){ .type = EVENT_HEAL }, 1 + exponential(world, 8));
}

/* Snapshots taken at unrelated moments, repaired into a cut, then proven. */
static void audit(struct world *world)
{
	struct iso_audit_result result;
	uint32_t i = (uint32_t)iso_rng_below(&world->rng, world->count), rounds = 0;
	struct node *node = &world->nodes[i];

	/* One node's snapshot is renewed at each weather event, so that the set is skewed. */
	if (node->up && node->step == STEP_IDLE)
		iso_trade_snapshot(node->trade, node->enforced_ucpu, INT64_MAX,
				   &world->snapshots[i]);
	if (!chance(world, 0.05))
		return;

	struct iso_audit_node *copy = calloc(world->count, sizeof(*copy));

	memcpy(copy, world->snapshots, world->count * sizeof(*copy));
	while (iso_audit_reread(copy, world->count, &i) == ISO_OK && rounds++ < 1000) {
		/* What its agent would answer, or find in the journal after a restart. */
		node = &world->nodes[i];
		copy[i].record = node->durable;
		copy[i].holdings_ucpu = iso_record_holdings(&node->durable);
		copy[i].enforced_ucpu = node->enforced_ucpu;
	}
	iso_audit_run(copy, world->count, world->budget_ucpu, &result);
	/* The kernels were read at other moments than the ledgers; their sum is I1's business. */
	for (uint32_t k = 0; k < result.findings && k < ISO_AUDIT_FINDINGS_MAX; k++)
		if (result.finding[k].check != ISO_AUDIT_ENFORCED &&
		    result.finding[k].check != ISO_AUDIT_TOTAL)
			violate(world, iso_audit_text(result.finding[k].check), i, 0);
	world->counts.audits++;
	world->counts.reread += rounds;
	world->counts.skewed += rounds != 0;
	free(copy);
}

static void on_weather(struct world *world)
{
	if (!world->calm) {
		if (chance(world, world->setup.partition * 0.1))
			partition(world);
		for (uint32_t i = 0; i < world->count; i++) {
			struct node *node = &world->nodes[i];

			if (chance(world, world->setup.change * 0.1))
				draw_demand(world, node);
			/* Hotplug takes the CPUs at once; the agent sees it at its next tick. */
			if (node->step == STEP_IDLE && chance(world, world->setup.change * 0.1)) {
				node->ceiling_ucpu = (int64_t)(400000 + 600000 * unit(world));
				if (node->enforced_ucpu > node->ceiling_ucpu)
					set_enforced(world, node, node->ceiling_ucpu);
			}
		}
	}
	if (world->setup.audit)
		audit(world);
	push(world, (struct event){ .type = EVENT_WEATHER }, 0.1);
}

static void on_event(struct world *world, const struct event *event)
{
	switch (event->type) {
	case EVENT_STEP:
		if (event->epoch == world->nodes[event->node].epoch)
			on_step(world, event->node);
		break;
	case EVENT_MESSAGE: on_message(world, event); break;
	case EVENT_RESTART:
		if (event->epoch == world->nodes[event->node].epoch)
			on_restart(world, event->node);
		break;
	case EVENT_HEAL: memset(world->cut, 0, sizeof(world->cut)); break;
	case EVENT_WEATHER: on_weather(world); break;
	}
}

void world_run(struct world *world, double until_s, uint64_t events_max)
{
	uint64_t until_ns = (uint64_t)(until_s * SECOND_NS);

	for (uint64_t n = 0; n < events_max && !world->broken; n++) {
		if (world->heap[0].at_ns > until_ns)
			return;

		struct event event = pop(world);
		int64_t seen[3];

		world->now_ns = event.at_ns;
		world->counts.events++;
		on_event(world, &event);
		check(world);
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
	node->config.floor_ucpu = (int64_t)(20000 + 80000 * unit(world));
	node->config.share = (struct iso_share_params){
		.mode = world->setup.mode,
		.quant = &world->quant,
		.uniform_step_q32 = ISO_PRICE_ONE / 64,
		.gamma = 0.9,
		.dead_band = 0.005,
		.relay_allow = 0.01,
		.stop_and_wait = true,
		.base_age_ns = (uint64_t)(32 * TICK_S * SECOND_NS),
		.fresh_age_ns = 10000000000u,
	};
	node->ceiling_ucpu = (int64_t)(400000 + 600000 * unit(world));
	node->cost = (struct iso_cost){ .kind = world->setup.cost,
					.penalty = ISO_PENALTY_NONE,
					.weight = 0.5 + 1.5 * unit(world),
					.kappa = 1 };
	draw_demand(world, node);
	node->rate = 1 + 0.01 * (2 * unit(world) - 1);
	node->offset_ns = 1e12 * unit(world);
	size = iso_trade_size(&node->config);
	assert(size > 0);
	status = iso_trade_init(malloc(size), size, &node->config, &node->trade);
	assert(status == ISO_OK);
	status = iso_trade_genesis(&node->config, 1, PER_NODE_UCPU, &record);
	assert(status == ISO_OK);
	iso_record_encode(&record, node->cache + ISO_SLOT_BYTES);
	record.seq = 2;
	iso_record_encode(&record, node->cache);
	sync_disk(world, node);
	push(world, (struct event){ .type = EVENT_RESTART, .node = i }, TICK_S * unit(world));
}

struct world *world_new(const struct world_setup *setup)
{
	struct world *world = calloc(1, sizeof(*world));
	enum iso_status status = iso_quant_init(ISO_QUANT_RHO_DEFAULT, &world->quant);

	assert(status == ISO_OK);
	assert(setup->nodes <= WORLD_NODES_MAX);
	world->setup = *setup;
	world->rng.state = setup->seed;
	world->count = setup->nodes;
	world->budget_ucpu = (int64_t)setup->nodes * PER_NODE_UCPU;
	world->nodes = calloc(setup->nodes, sizeof(*world->nodes));
	world->snapshots = calloc(setup->nodes, sizeof(*world->snapshots));
	make_edges(world);
	for (uint32_t i = 0; i < world->count; i++)
		make_node(world, i);
	for (uint32_t i = 0; i < world->count; i++)
		world->snapshots[i] = (struct iso_audit_node){
			.record = world->nodes[i].durable,
			.holdings_ucpu = PER_NODE_UCPU,
			.floor_ucpu = world->nodes[i].config.floor_ucpu,
			.ceiling_ucpu = INT64_MAX,
		};
	push(world, (struct event){ .type = EVENT_WEATHER }, 0.5);
	return world;
}

struct world *world_free(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++)
		free(world->nodes[i].trade);
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
	memset(world->cut, 0, sizeof(world->cut));
	world->setup.stuck = 0;
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

void world_backup(struct world *world, uint32_t index, uint8_t ret_journal[ISO_JOURNAL_BYTES])
{
	memcpy(ret_journal, world->nodes[index].disk, ISO_JOURNAL_BYTES);
}

void world_restore(struct world *world, uint32_t index, const uint8_t journal[ISO_JOURNAL_BYTES])
{
	struct node *node = &world->nodes[index];

	node->distrusted = true;
	crash(world, index, true);
	memcpy(node->disk, journal, ISO_JOURNAL_BYTES);
	memcpy(node->cache, journal, ISO_JOURNAL_BYTES);
	if (iso_record_recover(node->disk, &node->durable) != ISO_OK)
		violate(world, "the backup is damaged", index, 0);
}
