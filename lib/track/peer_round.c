/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/checksum.h"
#include "lib/track/flow.h"
#include "lib/track/peer_state.h"

/*
 * Never there yet, and it may be that it has only just been started too.  Not where this node
 * has joined a run: nobody is kept waiting then for one that may be gone for good.
 */
static bool expected(const struct iso_peer *peer, const struct peer_edge *edge)
{
	return edge->state == ISO_PEER_IS_DOWN && edge->sessions == 0 && !peer->adopted &&
	       peer->now_ns < peer->grace_ns;
}

/*
 * No frame of data has gone out, and a neighbour may still turn up that is further on and that
 * y should be taken from.
 */
static bool beginning(const struct iso_peer *peer)
{
	bool wait = peer->adopting;

	if (!peer->virgin)
		return false;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		wait = wait || expected(peer, &peer->edges[i]);
	return wait;
}

static uint32_t degree(const struct iso_peer *peer)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		count += peer_counts(&peer->edges[i]) || expected(peer, &peer->edges[i]);
	assert(count <= ISO_PEER_NEIGHBOURS_MAX);
	return count;
}

/* Metropolis: the same at both ends, since both know the two degrees of the pair. */
static double pair_weight(uint32_t a, uint32_t b)
{
	return 1.0 / (1.0 + (a > b ? a : b));
}

void iso_peer_settle(struct iso_peer *peer, struct peer_edge *edge)
{
	uint32_t m = peer_params(peer);

	assert(edge->state == ISO_PEER_IS_LIVE);
	assert(edge->sent <= edge->settled + 1);
	assert(edge->received <= edge->sent + 1);
	if (edge->settled == edge->sent || edge->received < edge->sent)
		return;
	/* The own estimate is still the one of that frame. */
	assert(edge->received == edge->sent);
	assert(edge->newest.publish == peer->publish);
	edge->weight = pair_weight(edge->newest.degree, edge->peer_degree);
	double step_weight = peer->config.step * edge->weight;

	memcpy(edge->flux_before, edge->flux, m * sizeof(double));
	iso_track_flow(m, step_weight, peer->estimate + m, edge->heard + m, edge->flux);
	iso_track_flow(m, step_weight, peer->estimate, edge->heard, peer->pull);
	edge->settled++;
	edge->pulled = true;
}

/* Sends the estimates on an edge that has not had them, where nothing else is under way. */
void iso_peer_offer(struct iso_peer *peer, struct peer_edge *edge)
{
	/* Who comes when all is over at least takes y from it. */
	bool last = peer_is_over(peer) && edge->sent == 0;

	if ((peer->phase != PHASE_WAIT && !last) || beginning(peer) || peer_is_mute(peer))
		return;
	if (edge->state != ISO_PEER_IS_LIVE || edge->sent != edge->settled)
		return;
	assert(edge->used_publish <= peer->publish);
	/* A value that flows twice over an edge while its node stands still may be too much. */
	if (edge->used_publish == peer->publish && !last)
		return;
	/* Within a session there is a frame for every publish: the other end can follow. */
	assert(edge->sent == 0 || edge->used_publish + 1 == peer->publish);
	edge->earlier = edge->newest;
	edge->newest = (struct peer_sent){
		.publish = peer->publish,
		.degree = degree(peer),
		.snapshot = edge->sent == 0,
	};
	edge->sent++;
	edge->used_publish = peer->publish;
	edge->wants |= WANT_NEWEST;
	edge->since_ns = peer->now_ns;
	edge->again_ns = peer->now_ns + peer->config.resend_ns;
	peer->virgin = false;
	iso_peer_settle(peer, edge);
}

static void begin_gradient(struct iso_peer *peer)
{
	peer->phase = PHASE_GRADIENT;
	peer->compute_wanted = true;
}

void iso_peer_adopt_from(struct iso_peer *peer, struct peer_edge *edge)
{
	assert(peer->virgin);
	assert(edge->state == ISO_PEER_IS_LIVE);
	peer->adopting = true;
	peer->adopt_ready = false;
	peer->adopt_edge = (uint32_t)(edge - peer->edges);
	peer->deadline_ns = peer->now_ns + peer->config.wait_ns;
}

/* The snapshot has come. */
void iso_peer_adopt_take(struct iso_peer *peer, uint64_t round)
{
	assert(peer->adopting);
	/* HELLO said so, and no honest node goes back. */
	if (!peer_is_ahead(peer, round)) {
		iso_peer_adopt_stop(peer);
		return;
	}
	peer->adopt_round = round;
	peer->adopt_ready = true;
}

/* Nothing came of it: the own y it is. */
void iso_peer_adopt_stop(struct iso_peer *peer)
{
	assert(peer->adopting);
	peer->adopting = peer->adopt_ready = false;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		iso_peer_offer(peer, &peer->edges[i]);
}

/* The snapshot is there; a gradient that is being computed at the old y is let finish. */
static void adopt(struct iso_peer *peer)
{
	struct peer_edge *edge = &peer->edges[peer->adopt_edge];

	assert(peer->adopting);
	assert(peer->virgin);
	memcpy(peer->y, edge->heard, peer_params(peer) * sizeof(double));
	peer->round = peer->adopt_round;
	peer->adopted = true;
	peer->adopting = peer->adopt_ready = false;
	begin_gradient(peer);
}

static bool all_finite(const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i]))
			return false;
	return true;
}

static bool encode(struct iso_peer *peer)
{
	unsigned parity = (peer->publish + 1) & 1;
	uint32_t m = peer_params(peer);
	const struct iso_stream_config *stream = &peer->config.stream;
	uint8_t *out = peer->payload[parity];
	size_t first = iso_stream_encode(stream, peer->y, peer->estimate, out);

	if (first == 0)
		return false;
	size_t second = iso_stream_encode(stream, peer->z, peer->estimate + m, out + first);
	if (second == 0)
		return false;
	assert(first <= iso_stream_bytes_max(stream));
	assert(second <= iso_stream_bytes_max(stream));
	peer->payload_split[parity] = (uint32_t)first;
	peer->payload_bytes[parity] = first + second;
	peer->payload_checksum[parity] = iso_checksum(out, first + second);
	return true;
}

/* z of the new gradient; the estimates move.  false: a number is not finite. */
static bool publish(struct iso_peer *peer)
{
	uint32_t m = peer_params(peer);

	memcpy(peer->z, peer->gradient, m * sizeof(double));
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		const struct peer_edge *edge = &peer->edges[i];

		assert(edge->state != ISO_PEER_IS_LIVE || edge->sent == edge->settled);
		if (peer_counts(edge))
			iso_track_gain(m, edge->flux, peer->z);
	}
	if (!all_finite(peer->y, m) || !all_finite(peer->z, m))
		return false;
	if (peer->virgin) {
		/* Nobody has an estimate yet: it begins exact. */
		memcpy(peer->estimate, peer->y, m * sizeof(double));
		memcpy(peer->estimate + m, peer->z, m * sizeof(double));
	} else if (!encode(peer)) {
		return false;
	}
	peer->publish++;
	peer->phase = PHASE_WAIT;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		iso_peer_offer(peer, &peer->edges[i]);
	return true;
}

static double choose_alpha(struct iso_peer *peer)
{
	uint32_t m = peer_params(peer), age;
	double step = peer->config.step, curvature = iso_peer_curvature(peer, &age);

	if (peer->config.alpha > 0)
		return peer->config.alpha;
	assert(peer->adapt_ready);
	struct iso_track_motion motion = {
		.step = step,
		.curvature = curvature,
		.z_square = iso_track_square(m, peer->z),
		.pull_square = iso_track_square(m, peer->pull),
		.gradient_square = iso_track_square(m, peer->gradient),
	};
	double alpha = iso_track_adapt_round(&peer->adapt, &motion);
	double least = iso_peer_least_wish(peer);

	if (isfinite(least))
		alpha = iso_track_adapt_heed(&peer->adapt, least);
	/* L of others may have come since. */
	return fmin(alpha, iso_track_adapt_usual(step, curvature).alpha_max);
}

static void move(struct iso_peer *peer)
{
	uint32_t m = peer_params(peer);
	double step = peer->config.step;

	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		struct peer_edge *edge = &peer->edges[i];

		/* Of those that are late the last value goes on to count. */
		if ((edge->state == ISO_PEER_IS_HELD || edge->state == ISO_PEER_IS_DONE) &&
		    edge->heard_valid && !edge->pulled)
			iso_track_flow(m, step * edge->weight, peer->estimate, edge->heard,
				       peer->pull);
		edge->pulled = false;
		edge->curvature_age += edge->curvature_age < ISO_PEER_AGE_MAX;
	}
	peer->alpha_used = choose_alpha(peer);
	assert(peer->alpha_used > 0);
	iso_track_move(m, peer->pull, step * peer->alpha_used, peer->z, peer->y);
	memset(peer->pull, 0, m * sizeof(double));
	/* Stays where it is rather than to become one that cannot be said. */
	peer->round += peer->round < ISO_PEER_ROUND_MAX;
}

static bool awaited(const struct iso_peer *peer, const struct peer_edge *edge)
{
	if (edge->state == ISO_PEER_IS_LIVE)
		return edge->sent > edge->settled;
	return expected(peer, edge);
}

static bool round_is_over(const struct iso_peer *peer)
{
	bool alone = peer->config.neighbour_count > 0;

	if (peer->phase != PHASE_WAIT || peer->adopting)
		return false;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		if (awaited(peer, &peer->edges[i]))
			return false;
		if (peer_counts(&peer->edges[i]))
			alone = false;
	}
	/* All may be long done, and nobody left to say so. */
	return !alone || (peer->config.rounds > 0 && peer->round >= peer->config.rounds);
}

static void begin_ending(struct iso_peer *peer)
{
	peer->phase = PHASE_ENDING;
	peer->deadline_ns = peer->now_ns + peer->config.wait_ns;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		if (peer->edges[i].state == ISO_PEER_IS_LIVE) {
			peer->edges[i].wants |= WANT_BYE;
			peer->edges[i].again_ns = peer->now_ns + peer->config.resend_ns;
		}
}

static bool all_told(const struct iso_peer *peer)
{
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		const struct peer_edge *edge = &peer->edges[i];

		if (edge->state == ISO_PEER_IS_LIVE || edge->state == ISO_PEER_IS_HELD)
			return false;
	}
	return true;
}

/* What the node can do by itself after an input. */
void iso_peer_advance(struct iso_peer *peer)
{
	if (peer->adopt_ready && peer->phase == PHASE_WAIT)
		adopt(peer);
	/* The last neighbour may have turned up, or the time for it be over. */
	for (uint32_t i = 0; peer->virgin && i < peer->config.neighbour_count; i++)
		iso_peer_offer(peer, &peer->edges[i]);
	if (round_is_over(peer)) {
		if (peer->config.rounds == 0 || peer->round < peer->config.rounds)
			move(peer);
		if (peer->config.rounds > 0 && peer->round >= peer->config.rounds)
			begin_ending(peer);
		else
			begin_gradient(peer);
	}
	if (peer->phase == PHASE_ENDING &&
	    (all_told(peer) || peer->now_ns >= peer->deadline_ns)) {
		peer->phase = PHASE_ENDED;
		peer->ended_wanted = true;
		/* Who has not acknowledged it has wait from now on. */
		for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
			peer->edges[i].since_ns = peer->edges[i].again_ns = peer->now_ns;
	}
}

/* The first gradient says in which units alpha is. */
static void begin_adapting(struct iso_peer *peer)
{
	struct iso_track_adapt_config config =
	    iso_track_adapt_usual(peer->config.step, peer->curvature);
	enum iso_status status = iso_track_adapt_init(&config, &peer->adapt);

	assert(status == ISO_OK);
	(void)status;
	peer->adapt_ready = true;
}

/* The first gradient also says what numbers there can be; those that came before are judged. */
static void set_bounds(struct iso_peer *peer)
{
	iso_peer_bounds_set(peer);
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		struct peer_edge *edge = &peer->edges[i];

		if (edge->heard_valid && !iso_peer_is_credible(peer, edge))
			iso_peer_edge_bar(peer, edge);
	}
}

/* The estimates may be half moved: no frame must go out any more. */
static void stop(struct iso_peer *peer)
{
	peer->phase = PHASE_ENDED;
	peer->stopped = true;
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++)
		peer->edges[i].wants = 0;
}

enum iso_status iso_peer_gradient(struct iso_peer *peer, uint64_t now_ns, double loss,
				  double curvature)
{
	assert(now_ns >= peer->now_ns);
	assert(!peer->compute_wanted);
	peer->now_ns = now_ns;
	/* The end may have come in the meantime. */
	if (peer->phase == PHASE_ENDED)
		return ISO_OK;
	assert(peer->phase == PHASE_GRADIENT);
	if (!(curvature >= 1 / ISO_PEER_AMOUNT_MAX && curvature <= ISO_PEER_AMOUNT_MAX)) {
		stop(peer);
		return ISO_E_RANGE;
	}
	peer->loss = isfinite(loss) ? loss : (double)NAN;
	peer->curvature = curvature;
	if (!peer->adapt_ready)
		begin_adapting(peer);
	if (!peer->bounds_set)
		set_bounds(peer);
	if (peer->adopt_ready) {
		adopt(peer);
	} else if (!publish(peer)) {
		stop(peer);
		return ISO_E_RANGE;
	}
	iso_peer_advance(peer);
	return ISO_OK;
}
