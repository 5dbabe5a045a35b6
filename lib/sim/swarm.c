/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sim/swarm.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/checksum.h"
#include "lib/rng.h"
#include "lib/trade/trade.h"

struct swarm_node {
	struct iso_trade *trade;
	uint64_t tick_at_ns;
	uint64_t durable_seq;
	int64_t enforced_ucpu;
	int64_t share_ucpu;
	uint32_t first_port;
	uint32_t port_count;
	uint32_t ticks;
};

/* One end of an edge; ports of a node are numbered like its edges. */
struct swarm_port {
	uint32_t peer; /* node at the other end */
	uint32_t back; /* its port */
};

/* A message under way. */
struct swarm_letter {
	uint64_t due_ns; /* 0: none */
	uint8_t bytes[ISO_EDGE_BYTES];
};

struct iso_swarm {
	struct iso_share_params share;
	const struct iso_site *sites;
	double loss, delay, jitter;
	struct iso_rng rng; /* of network and clocks */
	uint32_t count;
	uint32_t port_count;
	uint32_t letters; /* per port; 0: messages arrive at once */
	int64_t budget_ucpu;
	uint64_t now_ns;
	uint64_t in_flight_ucpu; /* as the plans of the nodes tell it */
	struct iso_swarm_counts counts;
	struct swarm_node *nodes;
	struct swarm_port *ports;
	struct swarm_letter *letter; /* [port][letters]: what is on its way to it */
	uint32_t *heap;		     /* nodes, the next tick first */
};

static uint64_t node_id(uint32_t node)
{
	return (uint64_t)node + 1;
}

/* As many as can be on their way at once, until the receiver's next tick. */
static uint32_t letters_of(const struct iso_swarm_config *config)
{
	if (config->delay == 0)
		return 0;
	return 1 +
	       (uint32_t)ceil((1.5 * config->delay + 1 + config->jitter) / (1 - config->jitter));
}

static bool config_possible(const struct iso_swarm_config *config)
{
	if (iso_share_check(&config->share) != ISO_OK)
		return false;
	return config->loss >= 0 && config->loss <= 0.99 && config->delay >= 0 &&
	       config->delay <= 100 && config->jitter >= 0 && config->jitter <= 0.9 &&
	       config->share_ucpu > 0 && config->share_ucpu <= ISO_UNITS_MAX / config->graph->nodes;
}

static struct iso_trade_config trade_config(const struct iso_swarm_config *config, uint32_t node,
					    uint32_t degree, const struct iso_trade_peer *peers)
{
	return (struct iso_trade_config){
		.cluster = 1,
		.node = node_id(node),
		.epoch = 1,
		.budget_ucpu = config->share_ucpu * config->graph->nodes,
		.floor_ucpu = config->sites[node].box.floor_ucpu,
		.share = config->share,
		.edges_max = degree,
		.peers = peers,
		.peer_count = peers != NULL ? degree : 0,
	};
}

static size_t trade_bytes(const struct iso_swarm_config *config, uint32_t node, uint32_t degree)
{
	struct iso_trade_config trade = trade_config(config, node, degree, NULL);

	return iso_carve_bytes(iso_trade_size(&trade));
}

/* Everything but the nodes' own states. */
static size_t frame_bytes(const struct iso_swarm_config *config)
{
	size_t nodes = config->graph->nodes, ports = 2 * (size_t)config->graph->edge_count;

	return iso_carve_bytes(sizeof(struct iso_swarm)) +
	       iso_carve_bytes(nodes * sizeof(struct swarm_node)) +
	       iso_carve_bytes(ports * sizeof(struct swarm_port)) +
	       iso_carve_bytes(ports * letters_of(config) * sizeof(struct swarm_letter)) +
	       iso_carve_bytes(nodes * sizeof(uint32_t));
}

size_t iso_swarm_size(const struct iso_swarm_config *config, const uint32_t *degrees)
{
	size_t bytes;

	if (!config_possible(config))
		return 0;
	bytes = frame_bytes(config);
	for (uint32_t i = 0; i < config->graph->nodes; i++) {
		const struct iso_box *box = &config->sites[i].box;

		/* 0 would stand for the default. */
		if (degrees[i] == 0 || degrees[i] > ISO_DEGREE_MAX ||
		    box->floor_ucpu > box->ceiling_ucpu || box->floor_ucpu > config->share_ucpu)
			return 0;
		bytes += trade_bytes(config, i, degrees[i]);
	}
	return bytes;
}

static bool ticks_before(const struct iso_swarm *swarm, uint32_t a, uint32_t b)
{
	uint64_t a_ns = swarm->nodes[a].tick_at_ns, b_ns = swarm->nodes[b].tick_at_ns;

	return a_ns < b_ns || (a_ns == b_ns && a < b);
}

/* The node at a place of the heap ticks later now: it sinks to where it belongs. */
static void sink(struct iso_swarm *swarm, uint32_t place)
{
	uint32_t node = swarm->heap[place];

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= swarm->count)
			break;
		if (child + 1 < swarm->count &&
		    ticks_before(swarm, swarm->heap[child + 1], swarm->heap[child]))
			child++;
		if (ticks_before(swarm, node, swarm->heap[child]))
			break;
		swarm->heap[place] = swarm->heap[child];
		place = child;
	}
	swarm->heap[place] = node;
}

static void make_ports(struct iso_swarm *swarm, const struct iso_graph *graph,
		       const uint32_t *degrees)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < swarm->count; i++) {
		swarm->nodes[i].first_port = first;
		first += degrees[i];
	}
	assert(first == swarm->port_count);
	for (uint32_t k = 0; k < graph->edge_count; k++) {
		struct swarm_node *low = &swarm->nodes[graph->edges[k].low];
		struct swarm_node *high = &swarm->nodes[graph->edges[k].high];
		uint32_t a = low->first_port + low->port_count++;
		uint32_t b = high->first_port + high->port_count++;

		swarm->ports[a] = (struct swarm_port){ graph->edges[k].high, b };
		swarm->ports[b] = (struct swarm_port){ graph->edges[k].low, a };
	}
}

/* Makes and opens the node at `memory`; returns the bytes it takes. */
static size_t make_node(struct iso_swarm *swarm, const struct iso_swarm_config *config, uint32_t i,
			void *memory)
{
	struct swarm_node *node = &swarm->nodes[i];
	struct iso_trade_peer peers[ISO_DEGREE_MAX];
	struct iso_trade_config trade = trade_config(config, i, node->port_count, peers);
	size_t bytes = trade_bytes(config, i, node->port_count);
	struct iso_record record;
	enum iso_status status;

	for (uint32_t k = 0; k < node->port_count; k++)
		peers[k] =
		    (struct iso_trade_peer){ node_id(swarm->ports[node->first_port + k].peer), 1 };
	status = iso_trade_init(memory, bytes, &trade, &node->trade);
	assert(status == ISO_OK);
	status = iso_trade_genesis(&trade, 1, config->share_ucpu, &record);
	assert(status == ISO_OK);
	/* The peers are read here for the last time. */
	status = iso_trade_open(node->trade, &record);
	assert(status == ISO_OK);
	node->durable_seq = record.seq;
	node->share_ucpu = config->share_ucpu;
	node->enforced_ucpu = config->share_ucpu < config->sites[i].box.ceiling_ucpu
				  ? config->share_ucpu
				  : config->sites[i].box.ceiling_ucpu;
	node->tick_at_ns = iso_rng_below(&swarm->rng, ISO_SWARM_ROUND_NS);
	return bytes;
}

enum iso_status iso_swarm_init(void *memory, size_t size, const struct iso_swarm_config *config,
			       const uint32_t *degrees, struct iso_swarm **ret_swarm)
{
	size_t needed = iso_swarm_size(config, degrees);
	struct iso_swarm *swarm = memory;
	uint8_t *at = memory;

	assert((uintptr_t)memory % _Alignof(struct iso_swarm) == 0);
	if (needed == 0)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	memset(memory, 0, needed);
	swarm->share = config->share;
	swarm->sites = config->sites;
	swarm->loss = config->loss;
	swarm->delay = config->delay;
	swarm->jitter = config->jitter;
	swarm->rng.state = config->seed;
	swarm->count = config->graph->nodes;
	swarm->port_count = 2 * config->graph->edge_count;
	swarm->letters = letters_of(config);
	swarm->budget_ucpu = config->share_ucpu * config->graph->nodes;
	(void)iso_carve(&at, sizeof(*swarm));
	swarm->nodes = iso_carve(&at, swarm->count * sizeof(*swarm->nodes));
	swarm->ports = iso_carve(&at, swarm->port_count * sizeof(*swarm->ports));
	swarm->letter =
	    iso_carve(&at, (size_t)swarm->port_count * swarm->letters * sizeof(*swarm->letter));
	swarm->heap = iso_carve(&at, swarm->count * sizeof(*swarm->heap));
	make_ports(swarm, config->graph, degrees);
	for (uint32_t i = 0; i < swarm->count; i++) {
		at += make_node(swarm, config, i, at);
		swarm->heap[i] = i;
	}
	for (uint32_t place = swarm->count / 2; place-- > 0;)
		sink(swarm, place);
	assert(at == (uint8_t *)memory + needed);
	*ret_swarm = swarm;
	return ISO_OK;
}

static void take_in(struct iso_swarm *swarm, uint32_t node, uint32_t sender, const uint8_t *bytes)
{
	enum iso_status status = iso_trade_receive(swarm->nodes[node].trade, swarm->now_ns,
						   node_id(sender), bytes, ISO_EDGE_BYTES);

	if (status == ISO_OK)
		swarm->counts.received++;
	else
		swarm->counts.dropped++;
}

static struct swarm_letter *letter_at(const struct iso_swarm *swarm, uint32_t port, uint32_t n)
{
	return &swarm->letter[(size_t)port * swarm->letters + n];
}

static void take_in_letters(struct iso_swarm *swarm, uint32_t i)
{
	const struct swarm_node *node = &swarm->nodes[i];

	for (uint32_t k = 0; k < node->port_count; k++) {
		uint32_t port = node->first_port + k;

		for (uint32_t n = 0; n < swarm->letters; n++) {
			struct swarm_letter *letter = letter_at(swarm, port, n);

			if (letter->due_ns == 0 || letter->due_ns > swarm->now_ns)
				continue;
			letter->due_ns = 0;
			take_in(swarm, i, swarm->ports[port].peer, letter->bytes);
		}
	}
}

static void post(struct iso_swarm *swarm, uint32_t sender, struct swarm_port to,
		 const uint8_t bytes[ISO_EDGE_BYTES])
{
	struct swarm_letter *letter;

	swarm->counts.sent++;
	if (swarm->loss > 0 && iso_rng_unit(&swarm->rng) < swarm->loss) {
		swarm->counts.lost++;
		return;
	}
	if (swarm->letters == 0) {
		take_in(swarm, to.peer, sender, bytes);
		return;
	}
	letter = letter_at(swarm, to.back, swarm->nodes[sender].ticks % swarm->letters);
	swarm->counts.dropped += letter->due_ns != 0;
	letter->due_ns = swarm->now_ns + (uint64_t)((0.5 + iso_rng_unit(&swarm->rng)) *
						    swarm->delay * ISO_SWARM_ROUND_NS);
	memcpy(letter->bytes, bytes, ISO_EDGE_BYTES);
}

static void send_all(struct iso_swarm *swarm, uint32_t i)
{
	const struct swarm_node *node = &swarm->nodes[i];
	uint8_t bytes[ISO_EDGE_BYTES];
	uint64_t peer = 0;

	for (uint32_t k = 0; k < node->port_count; k++) {
		struct swarm_port port = swarm->ports[node->first_port + k];
		enum iso_status status = iso_trade_message(node->trade, k, &peer, bytes);

		assert(status == ISO_OK);
		assert(peer == node_id(port.peer));
		post(swarm, i, port, bytes);
	}
}

static void tick(struct iso_swarm *swarm, uint32_t i)
{
	struct swarm_node *node = &swarm->nodes[i];
	struct iso_trade_input input = {
		.now_ns = swarm->now_ns,
		.enforced_ucpu = node->enforced_ucpu,
		.ceiling_ucpu = swarm->sites[i].box.ceiling_ucpu,
		.cost = swarm->sites[i].cost,
	};
	struct iso_trade_plan plan;
	struct iso_record record;
	enum iso_status status;

	take_in_letters(swarm, i);
	status = iso_trade_begin(node->trade, &input, &plan);
	assert(status == ISO_OK);
	if (plan.lower) {
		node->enforced_ucpu = plan.limit_ucpu;
		status = iso_trade_lowered(node->trade, node->enforced_ucpu);
		assert(status == ISO_OK);
	}
	if (plan.record) {
		iso_trade_record(node->trade, &record);
		node->durable_seq = record.seq;
		swarm->counts.records++;
	}
	node->enforced_ucpu = iso_trade_commit(node->trade, node->durable_seq);
	node->share_ucpu = plan.share_ucpu;
	swarm->in_flight_ucpu += (uint64_t)(plan.debited_ucpu - plan.credited_ucpu);
	swarm->counts.given_ucpu += (uint64_t)plan.debited_ucpu;
	swarm->counts.ticks++;
	node->ticks++;
	send_all(swarm, i);
}

void iso_swarm_round(struct iso_swarm *swarm)
{
	uint64_t until_ns = (swarm->counts.rounds + 1) * ISO_SWARM_ROUND_NS;

	for (;;) {
		uint32_t i = swarm->heap[0];
		struct swarm_node *node = &swarm->nodes[i];
		double early = 2 * iso_rng_unit(&swarm->rng) - 1;

		if (node->tick_at_ns >= until_ns)
			break;
		swarm->now_ns = node->tick_at_ns;
		tick(swarm, i);
		node->tick_at_ns += (uint64_t)((1 + swarm->jitter * early) * ISO_SWARM_ROUND_NS);
		sink(swarm, 0);
	}
	swarm->counts.rounds++;
}

void iso_swarm_counts(const struct iso_swarm *swarm, struct iso_swarm_counts *ret_counts)
{
	*ret_counts = swarm->counts;
}

double iso_swarm_cost(const struct iso_swarm *swarm)
{
	double cost = 0;

	for (uint32_t i = 0; i < swarm->count; i++)
		cost += iso_site_cost(&swarm->sites[i], swarm->nodes[i].enforced_ucpu);
	return cost;
}

uint64_t iso_swarm_digest(const struct iso_swarm *swarm)
{
	uint64_t digest = swarm->count;

	for (uint32_t i = 0; i < swarm->count; i++) {
		const uint64_t link[2] = { digest, (uint64_t)swarm->nodes[i].share_ucpu };

		digest = iso_checksum(link, sizeof(link));
	}
	return digest;
}

/* What is in flight by the counters of both ends; false if more came than was sent. */
static bool count_in_flight(const struct iso_swarm *swarm, int64_t *ret_ucpu)
{
	*ret_ucpu = 0;
	for (uint32_t i = 0; i < swarm->count; i++) {
		const struct swarm_node *node = &swarm->nodes[i];

		for (uint32_t k = 0; k < node->port_count; k++) {
			struct swarm_port port = swarm->ports[node->first_port + k];
			const struct swarm_node *peer = &swarm->nodes[port.peer];
			struct iso_trade_edge here, there;

			if (iso_trade_edge(node->trade, k, &here) != ISO_OK ||
			    iso_trade_edge(peer->trade, port.back - peer->first_port, &there) !=
				ISO_OK ||
			    here.sent < there.received)
				return false;
			*ret_ucpu += (int64_t)(here.sent - there.received);
		}
	}
	return true;
}

const char *iso_swarm_violation(const struct iso_swarm *swarm)
{
	int64_t shares = 0, enforced = 0, in_flight = 0;

	for (uint32_t i = 0; i < swarm->count; i++) {
		const struct swarm_node *node = &swarm->nodes[i];

		if (node->share_ucpu < swarm->sites[i].box.floor_ucpu)
			return "a share is below its floor";
		if (node->enforced_ucpu > node->share_ucpu)
			return "more is enforced than owned";
		shares += node->share_ucpu;
		enforced += node->enforced_ucpu;
	}
	if (enforced > swarm->budget_ucpu)
		return "more is enforced than the budget";
	if (!count_in_flight(swarm, &in_flight))
		return "more has arrived on an edge than was sent";
	if (in_flight != (int64_t)swarm->in_flight_ucpu)
		return "the ledgers and the plans differ about what is in flight";
	if (shares + in_flight != swarm->budget_ucpu)
		return "shares and what is in flight are not the budget";
	return NULL;
}
