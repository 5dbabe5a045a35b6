/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/peer_world.h"

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/draw.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const enum iso_stream_mode peer_exact_modes[2] = { ISO_STREAM_NONE, ISO_STREAM_INNOVATION };

static uint64_t between(struct peer_world *world, uint64_t low, uint64_t high)
{
	return low + iso_rng_below(&world->rng, high - low + 1);
}

static bool chance(struct peer_world *world, double of)
{
	return of > 0 && iso_rng_unit(&world->rng) < of;
}

void peer_world_open(struct peer_world *world, uint64_t seed, uint32_t nodes,
		     enum iso_stream_mode mode)
{
	ck_assert_uint_le(nodes, PEER_NODES_MAX);
	*world = (struct peer_world){
		.rng = { seed },
		.nodes_count = nodes,
		.delay_min_ns = MS / 10,
		.delay_max_ns = 2 * MS,
		.config = {
			.plan = 0x9e3779b97f4a7c15u,
			.stream = { .mode = mode, .n = PEER_PARAMS, .bits = 8, .rho = 0.125 },
			.step = 0.5,
			.alpha = 0.2,
			.wait_ns = 60 * MS,
			.drop_ns = 300 * MS,
			.resend_ns = 8 * MS,
		},
	};
	if (mode == ISO_STREAM_UNIFORM)
		world->config.stream.step = 1.0 / 1024;
	for (uint32_t k = 0; k < PEER_PARAMS; k++)
		world->y_first[k] = 4 * iso_rng_unit(&world->rng) - 2;
	for (uint32_t i = 0; i < nodes; i++) {
		struct peer_node *node = &world->nodes[i];

		node->compute_ns = 2 * MS;
		node->curvature = 1.5;
		node->compute_at_ns = UINT64_MAX;
		for (uint32_t k = 0; k < PEER_PARAMS; k++) {
			node->a[k] = 0.5 + iso_rng_unit(&world->rng);
			node->b[k] = 10 * iso_rng_unit(&world->rng) - 5;
		}
	}
}

void peer_world_close(struct peer_world *world)
{
	while (world->packets != NULL) {
		struct peer_packet *packet = world->packets;

		world->packets = packet->next;
		free(packet->owned);
		free(packet);
	}
	for (uint32_t i = 0; i < world->nodes_count; i++)
		peer_world_kill(world, i);
}

void peer_world_link(struct peer_world *world, uint32_t a, uint32_t b)
{
	struct peer_node *first = &world->nodes[a], *second = &world->nodes[b];

	first->neighbours[first->neighbour_count++] = b;
	second->neighbours[second->neighbour_count++] = a;
}

void peer_world_ring(struct peer_world *world)
{
	for (uint32_t i = 0; i < world->nodes_count; i++)
		peer_world_link(world, i, (i + 1) % world->nodes_count);
}

void peer_world_open_ring(struct peer_world *world, uint64_t seed, uint32_t nodes,
			  enum iso_stream_mode mode)
{
	peer_world_open(world, seed, nodes, mode);
	peer_world_ring(world);
}

void peer_world_random(struct peer_world *world)
{
	uint32_t n = world->nodes_count;

	peer_world_ring(world);
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 2; b < n; b++)
			if ((a > 0 || b < n - 1) && iso_rng_below(&world->rng, 4) == 0)
				peer_world_link(world, a, b);
}

static void post_one(struct peer_world *world, struct peer_packet packet)
{
	struct peer_packet *copy = malloc(sizeof(*copy)), **at = &world->packets;

	*copy = packet;
	copy->payload = copy->owned = malloc(packet.payload_size + 1);
	if (packet.payload_size > 0)
		memcpy(copy->owned, packet.payload, packet.payload_size);
	copy->at_ns = world->now_ns + between(world, world->delay_min_ns, world->delay_max_ns);
	copy->order = world->order++;
	while (*at != NULL && (*at)->at_ns <= copy->at_ns)
		at = &(*at)->next;
	copy->next = *at;
	*at = copy;
}

/* Such as a sender with a bug would write: the checksums are right. */
static void damage(struct peer_world *world, struct peer_packet *packet, uint8_t *payload)
{
	(void)packet;
	payload[0] ^= 0x40;
	world->damage = false;
}

static void change(struct peer_world *world, struct peer_packet *packet, peer_tamper *how)
{
	uint8_t *payload = malloc(packet->payload_size + 1);

	if (packet->payload_size > 0)
		memcpy(payload, packet->payload, packet->payload_size);
	packet->payload = packet->owned = payload;
	how(world, packet, payload);
	if (packet->payload_size > 0)
		iso_put_le(packet->head + 144, iso_checksum(payload, packet->payload_size), 8);
	iso_put_le(packet->head + 160, iso_checksum(packet->head, 160), 8);
}

static void post(struct peer_world *world, uint32_t from, const struct iso_peer_action *action)
{
	struct peer_packet packet = {
		.from = from,
		.to = world->nodes[from].neighbours[action->neighbour],
		.payload = action->payload,
		.payload_size = action->payload_size,
	};
	bool damaged = world->damage && action->payload_size > 0 &&
		       action->head[6] == ISO_PEER_INNOVATION;

	memcpy(packet.head, action->head, sizeof(packet.head));
	world->sent++;
	if (world->cut[from][packet.to] || chance(world, world->loss)) {
		world->lost++;
		return;
	}
	if (damaged)
		change(world, &packet, damage);
	else if (world->nodes[from].hostile)
		change(world, &packet, world->tamper);
	post_one(world, packet);
	if (chance(world, world->twice))
		post_one(world, packet);
	free(packet.owned);
}

static void carry_out(struct peer_world *world, uint32_t index)
{
	struct peer_node *node = &world->nodes[index];
	struct iso_peer_action action;

	while (iso_peer_next(node->peer, &action)) {
		switch (action.what) {
		case ISO_PEER_SEND: post(world, index, &action); break;
		case ISO_PEER_COMPUTE:
			if (node->compute_at_ns != UINT64_MAX ||
			    action.round != iso_peer_round(node->peer))
				ck_abort_msg("two gradients at once");
			node->compute_at_ns =
				world->now_ns +
				between(world, node->compute_ns / 2, node->compute_ns * 3 / 2);
			node->gradient_to = action.gradient;
			node->gradient_at = action.y;
			break;
		case ISO_PEER_ENDED:
			ck_assert(!node->ended);
			node->ended = true;
			break;
		}
	}
}

void peer_world_start_at(struct peer_world *world, uint32_t index, const double *y, uint64_t round)
{
	struct peer_node *node = &world->nodes[index];
	struct iso_peer_config config = world->config;
	uint64_t ids[PEER_NODES_MAX];

	ck_assert(!node->up);
	for (uint32_t i = 0; i < node->neighbour_count; i++)
		ids[i] = 100 + node->neighbours[i];
	config.node = 100 + index;
	config.neighbours = ids;
	config.neighbour_count = node->neighbour_count;
	config.boot = iso_rng_next(&world->rng) | 1;
	size_t size = iso_peer_size(&config);
	ck_assert_uint_gt(size, 0);
	ck_assert_ok(iso_peer_init(malloc(size), size, &config, y, round, world->now_ns,
				   &node->peer));
	node->up = true;
	node->ended = false;
	node->boots++;
	node->compute_at_ns = UINT64_MAX;
	carry_out(world, index);
}

void peer_world_start(struct peer_world *world, uint32_t node)
{
	peer_world_start_at(world, node, world->y_first, 0);
}

void peer_world_start_all(struct peer_world *world)
{
	for (uint32_t i = 0; i < world->nodes_count; i++)
		peer_world_start(world, i);
}

void peer_world_kill(struct peer_world *world, uint32_t index)
{
	struct peer_node *node = &world->nodes[index];

	free(node->peer);
	node->peer = NULL;
	node->up = false;
	node->compute_at_ns = UINT64_MAX;
}

static uint32_t index_of(const struct peer_node *node, uint32_t other)
{
	for (uint32_t i = 0; i < node->neighbour_count; i++)
		if (node->neighbours[i] == other)
			return i;
	ck_abort_msg("no such neighbour");
}

static void check_opposite(const double *a, const double *b)
{
	for (uint32_t k = 0; k < PEER_PARAMS; k++)
		if (a[k] != -b[k])
			ck_abort_msg("F of an edge is not opposite: %.17g, %.17g", a[k], b[k]);
}

/* What an end holds in the session that both are in. */
static void check_pair(struct peer_world *world, const struct iso_peer *one,
		       const struct peer_edge *a, const struct iso_peer *two,
		       const struct peer_edge *b)
{
	if (a->state != ISO_PEER_IS_LIVE || b->state != ISO_PEER_IS_LIVE)
		return;
	if (!peer_same(a->peer, peer_nonce(two, b)) || !peer_same(b->peer, peer_nonce(one, a)))
		return;
	world->checked_pairs++;
	if (a->settled == b->settled)
		check_opposite(a->flux, b->flux);
	else if (a->settled == b->settled + 1)
		check_opposite(a->flux_before, b->flux);
	else if (b->settled == a->settled + 1)
		check_opposite(b->flux_before, a->flux);
	else
		ck_abort_msg("one end is more than a pair ahead");
	/* Who has heard all that was sent has the same estimate to the bit. */
	if (a->sent > 0 && b->received == a->sent && a->newest.publish == one->publish &&
	    memcmp(b->heard, one->estimate, 2 * PEER_PARAMS * sizeof(double)) != 0)
		ck_abort_msg("estimates have come apart");
}

static void check(struct peer_world *world, uint32_t index)
{
	struct peer_node *node = &world->nodes[index];

	if (!node->up)
		return;
	for (uint32_t i = 0; i < node->neighbour_count; i++) {
		struct peer_node *other = &world->nodes[node->neighbours[i]];

		if (!other->up || node->hostile || other->hostile)
			continue;
		const struct peer_edge *a = &node->peer->edges[i];
		const struct peer_edge *b = &other->peer->edges[index_of(other, index)];

		check_pair(world, node->peer, a, other->peer, b);
		check_pair(world, other->peer, b, node->peer, a);
	}
}

void peer_world_check_rest(const struct peer_world *world)
{
	for (uint32_t i = 0; i < world->nodes_count; i++) {
		const struct peer_node *node = &world->nodes[i];

		for (uint32_t j = 0; node->up && j < node->neighbour_count; j++) {
			const struct peer_node *other = &world->nodes[node->neighbours[j]];

			if (other->up)
				check_opposite(node->peer->edges[j].flux,
					       other->peer->edges[index_of(other, i)].flux);
		}
	}
}

static void deliver(struct peer_world *world)
{
	struct peer_packet *packet = world->packets;
	struct peer_node *node = &world->nodes[packet->to];

	world->packets = packet->next;
	if (node->up) {
		(void)!iso_peer_receive(node->peer, world->now_ns, index_of(node, packet->from),
					packet->head, sizeof(packet->head), packet->payload,
					packet->payload_size);
		carry_out(world, packet->to);
		check(world, packet->to);
	}
	free(packet->owned);
	free(packet);
}

static void compute(struct peer_world *world, uint32_t index)
{
	struct peer_node *node = &world->nodes[index];
	double loss = 0;

	node->compute_at_ns = UINT64_MAX;
	for (uint32_t k = 0; k < PEER_PARAMS; k++) {
		double off = node->gradient_at[k] - node->b[k];

		node->gradient_to[k] = node->a[k] * off;
		if (node->noise > 0)
			node->gradient_to[k] += node->noise * iso_draw_normal(&world->rng);
		loss += node->a[k] * off * off / 2;
	}
	if (iso_peer_gradient(node->peer, world->now_ns, loss, node->curvature) != ISO_OK)
		ck_abort_msg("diverged");
	carry_out(world, index);
	check(world, index);
}

static void tick(struct peer_world *world, uint32_t index)
{
	iso_peer_tick(world->nodes[index].peer, world->now_ns);
	carry_out(world, index);
	check(world, index);
	/* A node that asks to be woken at once again would never let time pass. */
	if (iso_peer_wake_ns(world->nodes[index].peer) <= world->now_ns)
		ck_abort_msg("wakes at a time that has come");
}

/* The next thing to happen, if it is before that time. */
static bool step(struct peer_world *world, uint64_t end_ns)
{
	uint64_t at_ns = world->packets == NULL ? UINT64_MAX : world->packets->at_ns;
	uint32_t who = UINT32_MAX;
	bool is_compute = false;

	for (uint32_t i = 0; i < world->nodes_count; i++) {
		const struct peer_node *node = &world->nodes[i];

		if (!node->up)
			continue;
		if (node->compute_at_ns < at_ns)
			at_ns = node->compute_at_ns, who = i, is_compute = true;
		if (iso_peer_wake_ns(node->peer) < at_ns)
			at_ns = iso_peer_wake_ns(node->peer), who = i, is_compute = false;
	}
	if (at_ns > end_ns)
		return false;
	if (at_ns > world->now_ns)
		world->now_ns = at_ns;
	if (who == UINT32_MAX)
		deliver(world);
	else if (is_compute)
		compute(world, who);
	else
		tick(world, who);
	return true;
}

void peer_world_run(struct peer_world *world, uint64_t ns)
{
	uint64_t end_ns = world->now_ns + ns;

	while (step(world, end_ns))
		;
	world->now_ns = end_ns;
}

bool peer_world_run_out(struct peer_world *world, uint64_t ns)
{
	uint64_t end_ns = world->now_ns + ns;

	for (;;) {
		bool all = true;

		for (uint32_t i = 0; i < world->nodes_count; i++)
			all = all && (!world->nodes[i].up || world->nodes[i].ended);
		if (all)
			return true;
		if (!step(world, end_ns))
			return false;
	}
}

double peer_world_gap(const struct peer_world *world, const bool *counts)
{
	double gap = 0;

	for (uint32_t k = 0; k < PEER_PARAMS; k++) {
		double top = 0, bottom = 0;

		for (uint32_t i = 0; i < world->nodes_count; i++)
			if (counts[i]) {
				top += world->nodes[i].a[k] * world->nodes[i].b[k];
				bottom += world->nodes[i].a[k];
			}
		for (uint32_t i = 0; i < world->nodes_count; i++)
			if (counts[i] && world->nodes[i].up)
				gap = fmax(gap, fabs(iso_peer_model(world->nodes[i].peer)[k] -
						     top / bottom));
	}
	return gap;
}

double peer_world_gap_up(const struct peer_world *world)
{
	bool counts[PEER_NODES_MAX];

	for (uint32_t i = 0; i < world->nodes_count; i++)
		counts[i] = world->nodes[i].up;
	return peer_world_gap(world, counts);
}

void peer_world_settle(struct peer_world *world, uint64_t ns)
{
	peer_world_run(world, ns);
	ck_assert_double_lt(peer_world_gap_up(world), 1e-9);
}

struct iso_peer_edge peer_world_edge(const struct peer_world *world, uint32_t node, uint32_t other)
{
	struct iso_peer_edge edge;

	iso_peer_edge(world->nodes[node].peer, index_of(&world->nodes[node], other), &edge);
	return edge;
}

struct iso_peer_status peer_world_status(const struct peer_world *world, uint32_t node)
{
	struct iso_peer_status status;

	iso_peer_status(world->nodes[node].peer, &status);
	return status;
}
