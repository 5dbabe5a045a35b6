/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/track/peer_state.h"

static bool in_session(const struct iso_peer *peer, const struct peer_edge *edge,
		       const struct iso_peer_frame *frame)
{
	return edge->peer.boot != 0 && peer_same(frame->own, edge->peer) &&
	       peer_same(frame->echo, peer_nonce(peer, edge));
}

/* The session that this end has left and the other, as it seems, has not yet. */
static bool in_base(const struct iso_peer *peer, const struct peer_edge *edge,
		    const struct iso_peer_frame *frame)
{
	struct iso_peer_nonce own = { peer->config.boot, edge->base_session };

	return edge->state == ISO_PEER_IS_HELD && peer_same(frame->own, edge->base) &&
	       peer_same(frame->echo, own);
}

static void ack(struct peer_edge *edge, uint32_t flags)
{
	edge->wants |= WANT_ACK;
	edge->ack_flags = flags;
}

/* The other end has frames up to `theirs`: what it lacks goes out again. */
static void send_again(struct iso_peer *peer, struct peer_edge *edge, uint64_t theirs)
{
	assert(theirs <= edge->sent);
	if (theirs == edge->sent)
		return;
	if (theirs + 1 == edge->sent) {
		edge->wants |= WANT_NEWEST;
		return;
	}
	/* It can be the one before, as long as that is kept: not once it was a snapshot. */
	if (theirs + 2 == edge->sent && !edge->earlier.snapshot &&
	    edge->earlier.publish + 1 == peer->publish)
		edge->wants |= WANT_EARLIER | WANT_NEWEST;
	else
		iso_peer_edge_resync(peer, edge);
}

static void note(struct iso_peer *peer, struct peer_edge *edge, const struct iso_peer_frame *frame)
{
	edge->last_heard_ns = peer->now_ns;
	if (frame->alpha > 0)
		edge->alpha = frame->alpha;
	edge->loss = frame->loss;
	edge->peer_round = frame->round;
	edge->curvature = frame->curvature;
	edge->curvature_age = frame->age;
}

/* Moves their estimate; on failure it may be half moved, and the session is over. */
static enum iso_status take_payload(struct iso_peer *peer, struct peer_edge *edge,
				    const struct iso_peer_frame *frame, const uint8_t *payload)
{
	const struct iso_stream_config *stream = &peer->config.stream;
	size_t m = peer_params(peer);

	if (frame->kind == ISO_PEER_SNAPSHOT)
		return iso_peer_snapshot_read(payload, 2 * m, edge->heard);
	assert(edge->heard_valid);
	enum iso_status status = iso_stream_decode(stream, payload, frame->split, edge->heard);
	if (status != ISO_OK)
		return status;
	return iso_stream_decode(stream, payload + frame->split,
				 frame->payload_bytes - frame->split, edge->heard + m);
}

static enum iso_status on_data(struct iso_peer *peer, struct peer_edge *edge,
			       const struct iso_peer_frame *frame, const uint8_t *payload,
			       size_t size)
{
	enum iso_status status;

	if (frame->seq <= edge->received)
		return ISO_E_STALE;
	if (frame->seq > edge->received + 1) {
		ack(edge, ISO_PEER_WANT);
		return ISO_E_STALE;
	}
	status = iso_peer_payload_check(frame, payload, size);
	if (status != ISO_OK) {
		ack(edge, ISO_PEER_WANT);
		return status;
	}
	status = take_payload(peer, edge, frame, payload);
	if (status == ISO_OK && !iso_peer_is_credible(peer, edge))
		status = ISO_E_RANGE;
	if (status != ISO_OK) {
		edge->heard_valid = false;
		/* Beyond reason, or not finite, which no sender writes either. */
		if (status == ISO_E_RANGE)
			iso_peer_edge_bar(peer, edge);
		else
			iso_peer_edge_resync(peer, edge);
		return status;
	}
	edge->heard_valid = true;
	edge->received++;
	edge->peer_degree = frame->degree;
	if (peer->adopting && edge == &peer->edges[peer->adopt_edge])
		iso_peer_adopt_take(peer, frame->round);
	iso_peer_settle(peer, edge);
	iso_peer_offer(peer, edge);
	return ISO_OK;
}

/* Its round is the last: else what it said last would count for ever. */
static bool may_be_done(const struct iso_peer *peer, const struct iso_peer_frame *frame)
{
	return peer->config.rounds > 0 && frame->round >= peer->config.rounds;
}

static enum iso_status on_bye(struct iso_peer *peer, struct peer_edge *edge,
			      const struct iso_peer_frame *frame)
{
	if (frame->flags == ISO_PEER_LEAVING) {
		iso_peer_edge_drop(peer, edge);
	} else if (!may_be_done(peer, frame)) {
		iso_peer_edge_resync(peer, edge);
		return ISO_E_MALFORMED;
	} else if (frame->seq > edge->received) {
		ack(edge, ISO_PEER_WANT);
	} else {
		iso_peer_edge_done(peer, edge);
		ack(edge, ISO_PEER_DONE);
	}
	return ISO_OK;
}

static void on_poke(struct iso_peer *peer, struct peer_edge *edge,
		    const struct iso_peer_frame *frame)
{
	if (peer_is_over(peer))
		edge->wants |= WANT_BYE;
	ack(edge, frame->seq > edge->received ? ISO_PEER_WANT : 0);
	send_again(peer, edge, frame->ack);
}

static void on_ack(struct iso_peer *peer, struct peer_edge *edge,
		   const struct iso_peer_frame *frame)
{
	if (frame->flags == ISO_PEER_WANT)
		send_again(peer, edge, frame->ack);
	else if (frame->flags == ISO_PEER_DONE && peer_is_over(peer))
		iso_peer_edge_done(peer, edge);
}

static enum iso_status on_live(struct iso_peer *peer, struct peer_edge *edge,
			       const struct iso_peer_frame *frame, const uint8_t *payload,
			       size_t size)
{
	/* Nobody can have what was not sent, nor be more than one frame ahead. */
	if (frame->ack > edge->sent || frame->seq > edge->sent + 1) {
		iso_peer_edge_resync(peer, edge);
		return ISO_E_MALFORMED;
	}
	note(peer, edge, frame);
	switch (frame->kind) {
	case ISO_PEER_SNAPSHOT:
	case ISO_PEER_INNOVATION: return on_data(peer, edge, frame, payload, size);
	case ISO_PEER_POKE: on_poke(peer, edge, frame); return ISO_OK;
	case ISO_PEER_ACK: on_ack(peer, edge, frame); return ISO_OK;
	case ISO_PEER_BYE: return on_bye(peer, edge, frame);
	case ISO_PEER_HELLO: break;
	}
	assert(!"HELLO is told from the rest before");
	return ISO_E_MALFORMED;
}

static enum iso_status dispatch(struct iso_peer *peer, struct peer_edge *edge,
				const struct iso_peer_frame *frame, const uint8_t *payload,
				size_t size)
{
	if (frame->kind == ISO_PEER_HELLO) {
		/* Another run's may have been under way for long. */
		bool alive = edge->state != ISO_PEER_IS_HELD ||
			     frame->own.boot == edge->base.boot;
		enum iso_status status = iso_peer_edge_hello(peer, edge, frame);

		if (status == ISO_OK && alive)
			edge->last_heard_ns = peer->now_ns;
		return status;
	}
	if (frame->kind == ISO_PEER_BYE && frame->flags == ISO_PEER_LEAVING &&
	    in_base(peer, edge, frame)) {
		iso_peer_edge_drop(peer, edge);
		return ISO_OK;
	}
	if (!in_session(peer, edge, frame))
		return ISO_E_STALE;
	if (edge->state == ISO_PEER_IS_DONE) {
		if (frame->kind != ISO_PEER_BYE)
			return ISO_E_STALE;
		ack(edge, ISO_PEER_DONE);
		return ISO_OK;
	}
	/* The other end is live already. */
	if (edge->state != ISO_PEER_IS_LIVE)
		iso_peer_edge_live(peer, edge);
	return on_live(peer, edge, frame, payload, size);
}

enum iso_status iso_peer_receive(struct iso_peer *peer, uint64_t now_ns, uint32_t neighbour,
				 const uint8_t *head, size_t head_size, const uint8_t *payload,
				 size_t payload_size)
{
	struct peer_edge *edge = &peer->edges[neighbour];
	struct iso_peer_frame frame;
	enum iso_status status;

	assert(neighbour < peer->config.neighbour_count);
	assert(now_ns >= peer->now_ns);
	peer->now_ns = now_ns;
	edge->bytes_in += head_size + payload_size;
	status = iso_peer_frame_decode(head, head_size, &frame);
	if (status == ISO_OK &&
	    (frame.source != edge->node || frame.destination != peer->config.node))
		status = ISO_E_FOREIGN;
	if (status == ISO_OK &&
	    (frame.plan != peer->config.plan || frame.params != peer_params(peer)))
		status = ISO_E_CONFIG;
	if (status == ISO_OK && peer_barred(peer, edge))
		iso_peer_edge_pardon(peer, edge, &frame);
	if (status == ISO_OK && (peer_is_mute(peer) || peer_spent(edge) || peer_barred(peer, edge)))
		status = ISO_E_STALE;
	if (status == ISO_OK)
		status = dispatch(peer, edge, &frame, payload, payload_size);
	if (status == ISO_OK)
		edge->frames_in++;
	else
		edge->frames_bad++;
	iso_peer_advance(peer);
	return status;
}
