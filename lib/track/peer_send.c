/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <math.h>

#include "lib/checksum.h"
#include "lib/track/peer_state.h"

static uint32_t degree_of(const struct peer_edge *edge, uint64_t seq)
{
	if (seq == 0)
		return 0;
	return seq == edge->sent ? edge->newest.degree : edge->earlier.degree;
}

static double wish(const struct iso_peer *peer)
{
	if (peer->config.alpha > 0)
		return peer->config.alpha;
	return peer->adapt_ready ? peer->adapt.alpha : 0;
}

static struct iso_peer_frame frame_of(const struct iso_peer *peer, const struct peer_edge *edge,
				      enum iso_peer_kind kind, uint64_t seq)
{
	uint32_t age;
	double curvature = iso_peer_curvature(peer, &age);

	return (struct iso_peer_frame){
		.kind = kind,
		.age = age,
		.plan = peer->config.plan,
		.source = peer->config.node,
		.destination = edge->node,
		.own = peer_nonce(peer, edge),
		.echo = edge->peer,
		.seq = seq,
		.ack = edge->received,
		.round = peer->round,
		.degree = degree_of(edge, seq),
		.params = peer_params(peer),
		.alpha = wish(peer),
		.curvature = curvature,
		.loss = isnan(peer->loss) ? (double)NAN : peer->loss,
	};
}

static void snapshot(struct iso_peer *peer, struct iso_peer_frame *frame,
		     struct iso_peer_action *action)
{
	size_t count = 2 * (size_t)peer_params(peer);

	action->payload = iso_peer_snapshot_view(peer->estimate, count, peer->snapshot_scratch);
	action->payload_size = 8 * count;
	if (peer->snapshot_publish != peer->publish) {
		peer->snapshot_publish = peer->publish;
		peer->snapshot_checksum = iso_checksum(action->payload, action->payload_size);
	}
	frame->payload_checksum = peer->snapshot_checksum;
	frame->split = (uint32_t)(8 * count / 2);
}

static void innovation(const struct iso_peer *peer, uint64_t publish, struct iso_peer_frame *frame,
		       struct iso_peer_action *action)
{
	unsigned parity = publish & 1;

	assert(publish == peer->publish || publish + 1 == peer->publish);
	action->payload = peer->payload[parity];
	action->payload_size = peer->payload_bytes[parity];
	frame->payload_checksum = peer->payload_checksum[parity];
	frame->split = peer->payload_split[parity];
}

static void data(struct iso_peer *peer, struct peer_edge *edge, bool earlier,
		 struct iso_peer_action *action)
{
	const struct peer_sent *sent = earlier ? &edge->earlier : &edge->newest;
	uint64_t seq = edge->sent - earlier;
	struct iso_peer_frame frame =
		frame_of(peer, edge, sent->snapshot ? ISO_PEER_SNAPSHOT : ISO_PEER_INNOVATION, seq);

	assert(edge->state == ISO_PEER_IS_LIVE);
	assert(seq >= 1);
	if (sent->snapshot) {
		assert(sent->publish == peer->publish);
		snapshot(peer, &frame, action);
	} else {
		innovation(peer, sent->publish, &frame, action);
	}
	frame.payload_bytes = action->payload_size;
	iso_peer_frame_encode(&frame, action->head);
}

static void hello(const struct iso_peer *peer, const struct peer_edge *edge,
		  struct iso_peer_action *action)
{
	struct iso_peer_frame frame = frame_of(peer, edge, ISO_PEER_HELLO, 0);

	frame.ack = 0;
	frame.base_session = edge->base_session;
	frame.base = edge->base;
	frame.settled = edge->base_settled;
	iso_peer_frame_encode(&frame, action->head);
}

static void plain(const struct iso_peer *peer, const struct peer_edge *edge,
		  enum iso_peer_kind kind, uint32_t flags, struct iso_peer_action *action)
{
	struct iso_peer_frame frame = frame_of(peer, edge, kind, edge->sent);

	frame.flags = flags;
	/* The neighbour is taken to be in the session still that this end has left. */
	if (flags == ISO_PEER_LEAVING) {
		frame.own.session = edge->farewell_session;
		frame.echo = edge->farewell;
	}
	iso_peer_frame_encode(&frame, action->head);
}

/* Takes one thing that is wanted; the order is that of the values. */
static enum peer_want take_want(struct peer_edge *edge)
{
	unsigned lowest = edge->wants & -edge->wants;

	edge->wants &= ~lowest;
	return (enum peer_want)lowest;
}

bool iso_peer_send_next(struct iso_peer *peer, uint32_t neighbour,
			struct iso_peer_action *ret_action)
{
	struct peer_edge *edge = &peer->edges[neighbour];

	if (edge->wants == 0)
		return false;
	ret_action->what = ISO_PEER_SEND;
	ret_action->neighbour = neighbour;
	ret_action->payload = NULL;
	ret_action->payload_size = 0;
	switch (take_want(edge)) {
	case WANT_HELLO: hello(peer, edge, ret_action); break;
	case WANT_EARLIER: data(peer, edge, true, ret_action); break;
	case WANT_NEWEST: data(peer, edge, false, ret_action); break;
	case WANT_ACK:
		plain(peer, edge, ISO_PEER_ACK, edge->ack_flags, ret_action);
		edge->ack_flags = 0;
		break;
	case WANT_POKE: plain(peer, edge, ISO_PEER_POKE, 0, ret_action); break;
	case WANT_BYE:
		plain(peer, edge, ISO_PEER_BYE,
		      edge->state == ISO_PEER_IS_DOWN ? ISO_PEER_LEAVING : ISO_PEER_DONE,
		      ret_action);
		break;
	}
	edge->bytes_out += ISO_PEER_HEAD_BYTES + ret_action->payload_size;
	edge->payload_out += ret_action->payload_size;
	return true;
}
