/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_ADAPT_H
#define ISO_TRACK_ADAPT_H

#include <stdint.h>

#include "lib/status.h"

/*
 * The adaptive gradient weight: start small, double while the iteration comes to rest,
 * back off when it does not.  It looks at one number a round, the unrest, which is 0 at
 * the optimum and nowhere else, and judges it by its peak in windows of rounds, since
 * a single node's unrest also rises when news from far away arrive.
 *
 * Where objectives are convex no alpha diverges (step.h), but a large one is slow: the pull
 * of the neighbours and the gradient term then cancel each other almost.  The balance,
 * |pull - T alpha z|^2 / (|pull|^2 + |T alpha z|^2), tells: it is near 1 as long as the
 * common mode is the slow one, and small when alpha is too large.  Below
 * BALANCE_LOW alpha is halved, above BALANCE_HIGH it may be doubled.
 *
 * Over the 299 combinations of step.h, T = 1/2, from alpha = 1/32L, windows of 16 rounds:
 * 2.6 times the rounds of the best constants (geometric mean; the start included) with one
 * alpha for all, 3.6 with one for each node; one combination, a line of 20 nodes convex
 * in the sum alone, did not end within 60000 rounds.  Without the balance it was
 * 4.5 and 4.1, and 21 and 14 did not end.
 *
 * A lock-step field feeds it the unrest of all nodes together and uses the one alpha.  Real
 * nodes have one each, fed with their own unrest; frames carry the wish, and a
 * node uses the least of its own and its neighbours' (iso_track_adapt_heed).
 * Weights that differ from node to node move no fixed point.
 */
struct iso_track_adapt_config {
	double alpha_first; /* within the two below */
	double alpha_min;   /* never less: the safe alpha where one is known; > 0 */
	double alpha_max;   /* never more */
	uint32_t window;    /* rounds of one judgement, >= 2 */
};

struct iso_track_adapt {
	struct iso_track_adapt_config config;
	double alpha;	    /* the wish */
	double ceiling;	    /* where it ended badly, halved */
	double peak;	    /* of the window that runs */
	double peak_before; /* of the one before; negative: none yet */
	uint32_t round;	    /* within the window */
	uint32_t rises;	    /* windows in a row that peaked higher than their predecessor */
	uint32_t calm;	    /* windows since the last back-off */
	double moved;	    /* squares summed over the window: iso_track_adapt_balance() */
	double parts;
	uint64_t doubled;
	uint64_t halved;
	uint64_t backed_off;
};

/* ISO_E_RANGE: a number outside what is said above, or not finite. */
ISO_MUST_USE enum iso_status iso_track_adapt_init(const struct iso_track_adapt_config *config,
						  struct iso_track_adapt *ret_adapt);

/*
 * sqrt(|z|^2 + (L |pull| / T)^2), both terms in the unit of a gradient.  The squares
 * (iso_track_square) are of one node, or means over all nodes.
 */
double iso_track_unrest(double z_square, double pull_square, double step, double curvature);

/*
 * Before the round's end: what it moved, |pull - T alpha z|^2 (iso_track_moved), and of
 * which parts, |pull|^2 and |T alpha z|^2, of one node or summed over all.  Optional: a window
 * without it counts as balanced.
 */
void iso_track_adapt_balance(struct iso_track_adapt *adapt, double moved_square, double pull_square,
			     double gradient_square);

/* One round is over; returns the alpha to wish for.  Unrest that is not finite is backed off from.
 */
double iso_track_adapt_round(struct iso_track_adapt *adapt, double unrest);

/*
 * Neighbours wish for `least` (the smallest of them): the own wish is lowered to
 * at most twice that, so that a back-off spreads, fading.  Returns the alpha to use now,
 * the least of all.
 */
double iso_track_adapt_heed(struct iso_track_adapt *adapt, double least);

#endif
