/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <math.h>

#include "lib/track/flow.h"
#include "lib/track/peer_state.h"

/* |heard y - own y| / |own y|, of the estimates that are exchanged. */
static double distance(const struct iso_peer *peer, const struct peer_edge *edge)
{
	uint32_t m = peer_params(peer);
	double apart = 0, own = iso_track_square(m, peer->estimate);

	if (!edge->heard_valid || peer->publish == 0)
		return NAN;
	for (uint32_t k = 0; k < m; k++) {
		double difference = edge->heard[k] - peer->estimate[k];

		apart += difference * difference;
	}
	if (apart == 0)
		return 0;
	return own > 0 ? sqrt(apart / own) : (double)INFINITY;
}

void iso_peer_edge(const struct iso_peer *peer, uint32_t neighbour, struct iso_peer_edge *ret_edge)
{
	const struct peer_edge *edge = &peer->edges[neighbour];

	assert(neighbour < peer->config.neighbour_count);
	*ret_edge = (struct iso_peer_edge){
		.node = edge->node,
		.state = edge->state,
		.round = edge->peer_round,
		.loss = edge->loss,
		.distance = distance(peer, edge),
		.weight = edge->weight,
		.settled = edge->settled,
		.sessions = edge->sessions,
		.holds = edge->holds,
		.drops = edge->drops,
		.resyncs = edge->resyncs,
		.bars = edge->bars,
		.barred_ns = peer_barred(peer, edge) ? edge->barred_until_ns - peer->now_ns : 0,
		.frames_in = edge->frames_in,
		.frames_bad = edge->frames_bad,
		.bytes_in = edge->bytes_in,
		.bytes_out = edge->bytes_out,
		.payload_out = edge->payload_out,
		.flux = edge->flux,
	};
}

void iso_peer_status(const struct iso_peer *peer, struct iso_peer_status *ret_status)
{
	uint32_t age;
	struct iso_peer_status status = {
		.round = peer->round,
		.adopted = peer->adopted,
		.computing = peer->phase == PHASE_GRADIENT,
		.ended = peer->phase == PHASE_ENDED,
		.loss = peer->loss,
		.alpha = peer->alpha_used,
		.curvature = iso_peer_curvature(peer, &age),
		.spread = NAN,
		.z_norm = sqrt(iso_track_square(peer_params(peer), peer->z)),
	};

	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		const struct peer_edge *edge = &peer->edges[i];

		status.live += edge->state == ISO_PEER_IS_LIVE;
		status.held += edge->state == ISO_PEER_IS_HELD;
		status.done += edge->state == ISO_PEER_IS_DONE;
		status.bytes_out += edge->bytes_out;
		status.payload_out += edge->payload_out;
		if (peer_counts(edge))
			status.spread = fmax(status.spread, distance(peer, edge));
	}
	status.alone = peer->phase == PHASE_WAIT && peer->config.neighbour_count > 0 &&
		       status.live + status.held + status.done == 0;
	*ret_status = status;
}

uint64_t iso_peer_round(const struct iso_peer *peer)
{
	return peer->round;
}

const double *iso_peer_model(const struct iso_peer *peer)
{
	return peer->y;
}

const double *iso_peer_tracked(const struct iso_peer *peer)
{
	return peer->z;
}
