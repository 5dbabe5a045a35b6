/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <math.h>

#include "lib/bytes.h"
#include "lib/hot.h"
#include "lib/track/peer_state.h"

/*
 * What a node believes of what its neighbours say: a worker that is broken, or in hostile hands,
 * may send any number, and nobody checks it before.
 */

/* The largest magnitude; what is not finite is larger than all that is. */
static ISO_HOT double largest(const double *numbers, size_t count)
{
	uint64_t most = 0;

	/* The bits of magnitudes are in their order. */
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = iso_bits_of_double(numbers[i]) & (UINT64_MAX >> 1);

		most = bits > most ? bits : most;
	}
	return iso_double_of_bits(most);
}

/*
 * y is about as large as where the node began and as the step to the optimum of its own
 * objective, which is |gradient| / L or more; z is about as large as L times that.
 */
void iso_peer_bounds_set(struct iso_peer *peer)
{
	uint32_t m = peer_params(peer);
	double curvature = peer->curvature;
	double size = fmax(fmax(1, largest(peer->y, m)), largest(peer->gradient, m) / curvature);

	assert(curvature > 0);
	peer->y_max = fmin(ISO_PEER_NUMBER_RATIO_MAX * size, ISO_PEER_NUMBER_MAX);
	peer->z_max = fmin(ISO_PEER_NUMBER_RATIO_MAX * curvature * size, ISO_PEER_NUMBER_MAX);
	peer->bounds_set = true;
}

bool iso_peer_is_credible(const struct iso_peer *peer, const struct peer_edge *edge)
{
	uint32_t m = peer_params(peer);

	/* Said so that NaN fails too. */
	return largest(edge->heard, m) <= peer->y_max && largest(edge->heard + m, m) <= peer->z_max;
}

/*
 * Nobody learns from the same model with another curvature than that; whoever says so is
 * broken or lies, and would bring the steps of all nodes to nothing.
 */
static bool is_beyond(const struct iso_peer *peer, double curvature)
{
	return peer->curvature > 0 && curvature > ISO_PEER_CURVATURE_RATIO_MAX * peer->curvature;
}

/*
 * The maximum over all nodes, by hearsay.  What a node says of itself is new, what it was told
 * is a round older; what is too old is forgotten, so that L of a node that has
 * left does not go round for ever.
 */
double iso_peer_curvature(const struct iso_peer *peer, uint32_t *ret_age)
{
	double most = peer->curvature;
	uint32_t age = 0;

	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		const struct peer_edge *edge = &peer->edges[i];

		if (!peer_counts(edge) || edge->curvature_age + 1 >= ISO_PEER_AGE_MAX ||
		    is_beyond(peer, edge->curvature))
			continue;
		if (edge->curvature > most ||
		    (edge->curvature == most && edge->curvature_age + 1 < age)) {
			most = edge->curvature;
			age = edge->curvature_age + 1;
		}
	}
	assert(age < ISO_PEER_AGE_MAX);
	*ret_age = age;
	return most;
}

/* A neighbour whose curvature is believed wishes for no less than what goes with that. */
double iso_peer_least_wish(const struct iso_peer *peer)
{
	double least = INFINITY;
	double believed = peer->adapt.config.alpha_min / ISO_PEER_CURVATURE_RATIO_MAX;

	assert(peer->adapt_ready);
	for (uint32_t i = 0; i < peer->config.neighbour_count; i++) {
		const struct peer_edge *edge = &peer->edges[i];

		if (edge->state == ISO_PEER_IS_LIVE && edge->alpha >= believed)
			least = fmin(least, edge->alpha);
	}
	return least;
}
