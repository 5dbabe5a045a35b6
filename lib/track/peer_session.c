/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <string.h>

#include "lib/track/peer_state.h"

/*
 * A session is a pair of nonces, one of each end.  An end goes live when the other end
 * echoes its nonce, and takes a new nonce when it leaves the session: so both ends
 * leave when one does, and nothing that was sent in one session is taken for another.
 *
 * What an end's HELLO says of the session before (base and settled) belongs to its nonce for
 * good.  Both ends of a session thus decide by the same numbers whether F is kept, and
 * how many of the pairs count.
 */

static void take_nonce(struct iso_peer *peer, struct peer_edge *edge)
{
	edge->session += !peer_spent(edge);
	edge->peer = (struct iso_peer_nonce){ 0 };
	edge->sent = edge->received = edge->settled = 0;
	edge->newest = edge->earlier = (struct peer_sent){ 0 };
	edge->wants = peer_spent(edge) ? 0 : WANT_HELLO;
	edge->ack_flags = 0;
	edge->again_ns = peer->now_ns + peer->config.resend_ns;
	edge->since_ns = peer->now_ns;
}

/* F = 0, as at the other end if that comes to know. */
static void forget(struct iso_peer *peer, struct peer_edge *edge)
{
	memset(edge->flux, 0, peer_params(peer) * sizeof(double));
	edge->base_session = 0;
	edge->base = (struct iso_peer_nonce){ 0 };
	edge->base_settled = 0;
}

void iso_peer_edge_begin(struct iso_peer *peer, struct peer_edge *edge)
{
	edge->state = ISO_PEER_IS_DOWN;
	forget(peer, edge);
	edge->weight = 0;
	edge->heard_valid = false;
	edge->alpha = edge->curvature = 0;
	take_nonce(peer, edge);
}

static void leave_adoption(struct iso_peer *peer, const struct peer_edge *edge)
{
	if (peer->adopting && !peer->adopt_ready && &peer->edges[peer->adopt_edge] == edge)
		iso_peer_adopt_stop(peer);
}

void iso_peer_edge_hold(struct iso_peer *peer, struct peer_edge *edge)
{
	assert(edge->state == ISO_PEER_IS_LIVE);
	assert(edge->peer.boot != 0);
	assert(edge->settled <= edge->sent);
	edge->state = ISO_PEER_IS_HELD;
	edge->base_session = edge->session;
	edge->base = edge->peer;
	edge->base_settled = edge->settled;
	edge->holds++;
	take_nonce(peer, edge);
	assert(edge->base_session < edge->session);
	leave_adoption(peer, edge);
}

void iso_peer_edge_resync(struct iso_peer *peer, struct peer_edge *edge)
{
	edge->resyncs++;
	iso_peer_edge_hold(peer, edge);
}

void iso_peer_edge_drop(struct iso_peer *peer, struct peer_edge *edge)
{
	assert(edge->state != ISO_PEER_IS_DOWN);
	edge->drops++;
	iso_peer_edge_begin(peer, edge);
	leave_adoption(peer, edge);
}

/* Each time that it is barred is twice as long as the one before, up to about this. */
#define BAR_NS_MAX 3600000000000ull

/*
 * The neighbour is told in the session that this end leaves, so that it forgets F too if it is
 * honest.  If the bye is lost it hears nothing for so long that it drops by itself.
 */
void iso_peer_edge_bar(struct iso_peer *peer, struct peer_edge *edge)
{
	bool held = edge->state == ISO_PEER_IS_HELD;
	uint32_t session = held ? edge->base_session : edge->session;
	struct iso_peer_nonce other = held ? edge->base : edge->peer;
	uint64_t bar_ns = peer->config.wait_ns + peer->config.drop_ns;

	assert(session != 0);
	assert(other.boot != 0);
	for (uint64_t i = 0; i < edge->bars && bar_ns < BAR_NS_MAX; i++)
		bar_ns *= 2;
	iso_peer_edge_drop(peer, edge);
	if (peer->adopting && &peer->edges[peer->adopt_edge] == edge)
		iso_peer_adopt_stop(peer);
	edge->bars++;
	edge->barred_at_ns = peer->now_ns;
	edge->barred_until_ns = edge->again_ns = peer->now_ns + bar_ns;
	edge->farewell_session = session;
	edge->farewell = other;
	edge->wants = WANT_BYE;
}

/*
 * Another run of it need not do what the one before did, and by then this end's leaving
 * has been noticed.  Bars are not forgotten: should it go on, the next one is longer.
 */
void iso_peer_edge_pardon(struct iso_peer *peer, struct peer_edge *edge,
			  const struct iso_peer_frame *frame)
{
	uint64_t least_ns = peer->config.wait_ns + peer->config.drop_ns;

	assert(edge->barred_at_ns <= peer->now_ns);
	if (frame->kind != ISO_PEER_HELLO || frame->own.boot == edge->farewell.boot ||
	    peer->now_ns - edge->barred_at_ns < least_ns)
		return;
	edge->barred_until_ns = edge->again_ns = peer->now_ns;
}

void iso_peer_edge_done(struct iso_peer *peer, struct peer_edge *edge)
{
	assert(edge->state == ISO_PEER_IS_LIVE);
	edge->state = ISO_PEER_IS_DONE;
	edge->wants = 0;
	leave_adoption(peer, edge);
}

/* Both ends would resume the same session, and neither is more than one pair ahead. */
static bool resumable(const struct iso_peer *peer, const struct peer_edge *edge)
{
	struct iso_peer_nonce own = { peer->config.boot, edge->base_session };
	struct iso_peer_nonce theirs = { edge->peer.boot, edge->peer_base_session };
	uint64_t most = edge->base_settled, least = edge->peer_settled;

	if (edge->base_session == 0 || edge->peer_base_session == 0)
		return false;
	if (!peer_same(edge->base, theirs) || !peer_same(edge->peer_base, own))
		return false;
	if (most < least)
		most = edge->peer_settled, least = edge->base_settled;
	return most - least <= 1;
}

void iso_peer_edge_live(struct iso_peer *peer, struct peer_edge *edge)
{
	size_t bytes = peer_params(peer) * sizeof(double);

	assert(edge->state == ISO_PEER_IS_DOWN || edge->state == ISO_PEER_IS_HELD);
	assert(edge->peer.boot != 0);
	if (!resumable(peer, edge)) {
		edge->drops += edge->base_session != 0;
		memset(edge->flux, 0, bytes);
	} else if (edge->base_settled > edge->peer_settled) {
		memcpy(edge->flux, edge->flux_before, bytes);
	}
	edge->state = ISO_PEER_IS_LIVE;
	edge->sessions++;
	edge->wants = 0;
	edge->since_ns = peer->now_ns;
	edge->again_ns = peer->now_ns;
	/* Once: a slow node would else run after the others for ever. */
	if (peer->virgin && !peer->adopting && !peer->adopted &&
	    peer_is_ahead(peer, edge->peer_round))
		iso_peer_adopt_from(peer, edge);
	iso_peer_offer(peer, edge);
}

/*
 * The HELLO of a neighbour that may have begun anew while this end still has a session with it.
 * ISO_OK: go on as an end that has left the session.  ISO_E_BUSY: taken in, nothing more to do.
 */
static enum iso_status hello_in_session(struct iso_peer *peer, struct peer_edge *edge,
					const struct iso_peer_frame *frame)
{
	bool done = edge->state == ISO_PEER_IS_DONE;
	bool knows_us = peer_same(frame->echo, peer_nonce(peer, edge));

	if (frame->own.boot == edge->peer.boot) {
		if (frame->own.session < edge->peer.session)
			return ISO_E_STALE;
		if (frame->own.session > edge->peer.session) {
			if (done)
				iso_peer_edge_drop(peer, edge);
			else
				iso_peer_edge_hold(peer, edge);
			return ISO_OK;
		}
		/* It is on its way into this session. */
		edge->wants |= knows_us ? WANT_ACK : WANT_HELLO;
		return ISO_E_BUSY;
	}
	/* Another run, now or long ago: only now could it have heard this nonce. */
	if (knows_us) {
		iso_peer_edge_drop(peer, edge);
		return ISO_OK;
	}
	edge->wants |= WANT_HELLO;
	return ISO_E_BUSY;
}

/* F can never be resumed: the neighbour has left the session and would not, or not that one. */
static bool is_hopeless(const struct iso_peer *peer, const struct peer_edge *edge,
			const struct iso_peer_frame *frame)
{
	struct iso_peer_nonce own = { peer->config.boot, edge->base_session };

	assert(edge->state == ISO_PEER_IS_HELD);
	return frame->own.boot == edge->base.boot &&
	       (frame->base_session != edge->base.session || !peer_same(frame->base, own));
}

enum iso_status iso_peer_edge_hello(struct iso_peer *peer, struct peer_edge *edge,
				    const struct iso_peer_frame *frame)
{
	enum iso_status status;

	if (edge->state == ISO_PEER_IS_LIVE || edge->state == ISO_PEER_IS_DONE) {
		status = hello_in_session(peer, edge, frame);
		if (status != ISO_OK)
			return status == ISO_E_BUSY ? ISO_OK : status;
	}
	if (frame->own.boot == edge->peer_newest.boot &&
	    frame->own.session < edge->peer_newest.session)
		return ISO_E_STALE;
	if (edge->state == ISO_PEER_IS_HELD) {
		if (frame->own.boot == edge->base.boot &&
		    frame->own.session <= edge->base.session)
			return ISO_E_STALE;
		if (is_hopeless(peer, edge, frame))
			iso_peer_edge_drop(peer, edge);
	}
	edge->peer = edge->peer_newest = frame->own;
	edge->peer_base_session = frame->base_session;
	edge->peer_base = frame->base;
	edge->peer_settled = frame->settled;
	edge->peer_round = frame->round;
	if (peer_same(frame->echo, peer_nonce(peer, edge))) {
		iso_peer_edge_live(peer, edge);
		/* Any frame of this session tells the other end that it is live. */
		if (edge->wants == 0)
			edge->wants = WANT_ACK;
	} else {
		edge->wants |= WANT_HELLO;
	}
	return ISO_OK;
}
