/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/track/peer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/carve.h"
#include "lib/smaller.h"
#include "lib/track/peer_state.h"

static bool valid_config(const struct iso_peer_config *config)
{
	if (iso_stream_check(&config->stream) != ISO_OK || config->stream.n > ISO_PEER_PARAMS_MAX)
		return false;
	if (config->neighbour_count > ISO_PEER_NEIGHBOURS_MAX || config->boot == 0)
		return false;
	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		if (config->neighbours[i] == config->node)
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (config->neighbours[i] == config->neighbours[j])
				return false;
	}
	if (!(config->step > 0 && config->step < 2))
		return false;
	if (!(config->alpha >= 0 && config->alpha <= 0x1p500))
		return false;
	if (config->rounds > ISO_PEER_ROUND_MAX)
		return false;
	return config->resend_ns > 0 && config->wait_ns > config->resend_ns &&
	       config->drop_ns <= UINT64_MAX / 4 && config->wait_ns <= UINT64_MAX / 4;
}

/* A part of the memory: counts it, and takes it where there is some. */
struct layout {
	uint8_t *at; /* NULL: only count */
	size_t bytes;
};

static void *piece(struct layout *layout, size_t bytes)
{
	layout->bytes += iso_carve_bytes(bytes);
	return layout->at == NULL ? NULL : iso_carve(&layout->at, bytes);
}

/* All pieces in one list; the first call counts into things that are thrown away. */
static struct iso_peer *lay_out(struct layout *layout, const struct iso_peer_config *config)
{
	size_t vector = config->stream.n * sizeof(double);
	size_t payload = 2 * iso_stream_bytes_max(&config->stream);
	struct iso_peer dummy, *peer = piece(layout, sizeof(*peer));
	struct iso_peer *at = peer == NULL ? &dummy : peer;
	struct peer_edge edge, *edges;

	edges = at->edges = piece(layout, config->neighbour_count * sizeof(struct peer_edge));
	at->y = piece(layout, vector);
	at->z = piece(layout, vector);
	at->gradient = piece(layout, vector);
	at->pull = piece(layout, vector);
	at->estimate = piece(layout, 2 * vector);
	at->payload[0] = piece(layout, payload);
	at->payload[1] = piece(layout, payload);
	at->snapshot_scratch =
		piece(layout, iso_peer_snapshot_scratch(2 * (size_t)config->stream.n));
	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		struct peer_edge *to = edges == NULL ? &edge : &edges[i];

		to->flux = piece(layout, vector);
		to->flux_before = piece(layout, vector);
		to->heard = piece(layout, 2 * vector);
	}
	return peer;
}

size_t iso_peer_size(const struct iso_peer_config *config)
{
	struct layout layout = { 0 };

	if (!valid_config(config))
		return 0;
	(void)lay_out(&layout, config);
	return layout.bytes;
}

enum iso_status iso_peer_init(void *memory, size_t size, const struct iso_peer_config *config,
			      const double *y, uint64_t round, uint64_t now_ns,
			      struct iso_peer **ret_peer)
{
	size_t needed = iso_peer_size(config);
	struct layout layout = { .at = memory };

	if (needed == 0 || round > ISO_PEER_ROUND_MAX)
		return ISO_E_RANGE;
	if (size < needed)
		return ISO_E_SHORT;
	assert((uintptr_t)memory % _Alignof(uint64_t) == 0);
	memset(memory, 0, needed);
	struct iso_peer *peer = lay_out(&layout, config);
	assert(layout.bytes == needed);
	peer->config = *config;
	peer->config.neighbours = NULL;
	peer->phase = PHASE_GRADIENT;
	peer->compute_wanted = true;
	peer->virgin = true;
	peer->round = round;
	peer->now_ns = now_ns;
	peer->grace_ns = now_ns + config->wait_ns;
	peer->loss = NAN;
	peer->y_max = peer->z_max = ISO_PEER_NUMBER_MAX;
	memcpy(peer->y, y, config->stream.n * sizeof(double));
	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		struct peer_edge *edge = &peer->edges[i];

		edge->node = config->neighbours[i];
		edge->loss = NAN;
		iso_peer_edge_begin(peer, edge);
	}
	*ret_peer = peer;
	return ISO_OK;
}

/* When nothing will have been heard for so long that the edge is dropped. */
static uint64_t silent_ns(const struct iso_peer *peer, const struct peer_edge *edge)
{
	uint64_t heard = edge->last_heard_ns > edge->since_ns ? edge->last_heard_ns
							       : edge->since_ns;

	return heard + peer->config.drop_ns;
}

/* After the end only who comes is talked to: nobody may come any more. */
static bool courts(const struct iso_peer *peer, const struct peer_edge *edge)
{
	return !peer_spent(edge) && peer->phase != PHASE_ENDED;
}

static void tick_apart(struct iso_peer *peer, struct peer_edge *edge)
{
	if (edge->state == ISO_PEER_IS_HELD && peer->now_ns >= silent_ns(peer, edge))
		iso_peer_edge_drop(peer, edge);
	if (courts(peer, edge) && peer->now_ns >= edge->again_ns) {
		edge->wants |= WANT_HELLO;
		edge->again_ns = peer->now_ns + peer->config.resend_ns;
	}
}

static void tick_live(struct iso_peer *peer, struct peer_edge *edge)
{
	bool over = peer_is_over(peer);
	bool owed = edge->sent > edge->settled || peer->phase == PHASE_ENDED;

	if (!owed && !over)
		return;
	if (owed && peer->now_ns - edge->since_ns >= peer->config.wait_ns) {
		iso_peer_edge_hold(peer, edge);
	} else if (peer->now_ns >= edge->again_ns) {
		edge->wants |= over ? WANT_BYE : WANT_POKE;
		edge->again_ns = peer->now_ns + peer->config.resend_ns;
	}
}

void iso_peer_tick(struct iso_peer *peer, uint64_t now_ns)
{
	assert(now_ns >= peer->now_ns);
	peer->now_ns = now_ns;
	if (peer_is_mute(peer))
		return;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		struct peer_edge *edge = &peer->edges[i];

		if (edge->state == ISO_PEER_IS_LIVE)
			tick_live(peer, edge);
		else if (edge->state != ISO_PEER_IS_DONE)
			tick_apart(peer, edge);
	}
	if (peer->adopting && !peer->adopt_ready && now_ns >= peer->deadline_ns)
		iso_peer_adopt_stop(peer);
	iso_peer_advance(peer);
}

static uint64_t edge_wake_ns(const struct iso_peer *peer, const struct peer_edge *edge)
{
	uint64_t hello_ns = courts(peer, edge) ? edge->again_ns : UINT64_MAX;

	switch (edge->state) {
	case ISO_PEER_IS_DOWN: return hello_ns;
	case ISO_PEER_IS_HELD: return iso_smaller_u64(hello_ns, silent_ns(peer, edge));
	case ISO_PEER_IS_LIVE:
		if (edge->sent > edge->settled || peer->phase == PHASE_ENDED)
			return iso_smaller_u64(edge->again_ns,
					       edge->since_ns + peer->config.wait_ns);
		return peer->phase == PHASE_ENDING ? edge->again_ns : UINT64_MAX;
	case ISO_PEER_IS_DONE: break;
	}
	return UINT64_MAX;
}

uint64_t iso_peer_wake_ns(const struct iso_peer *peer)
{
	uint64_t wake_ns = UINT64_MAX;

	if (peer_is_mute(peer))
		return UINT64_MAX;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		wake_ns = iso_smaller_u64(wake_ns, edge_wake_ns(peer, &peer->edges[i]));
	if (peer->now_ns < peer->grace_ns && peer->phase != PHASE_ENDED)
		wake_ns = iso_smaller_u64(wake_ns, peer->grace_ns);
	if ((peer->adopting && !peer->adopt_ready) || peer->phase == PHASE_ENDING)
		wake_ns = iso_smaller_u64(wake_ns, peer->deadline_ns);
	return wake_ns;
}

bool iso_peer_next(struct iso_peer *peer, struct iso_peer_action *ret_action)
{
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		if (iso_peer_send_next(peer, i, ret_action))
			return true;
	if (peer->compute_wanted && peer->phase == PHASE_GRADIENT) {
		peer->compute_wanted = false;
		ret_action->what = ISO_PEER_COMPUTE;
		ret_action->round = peer->round;
		ret_action->y = peer->y;
		ret_action->gradient = peer->gradient;
		return true;
	}
	if (!peer->ended_wanted)
		return false;
	peer->ended_wanted = false;
	ret_action->what = ISO_PEER_ENDED;
	return true;
}
