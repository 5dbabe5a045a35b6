/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_ADAPT_H
#define ISO_TRACK_ADAPT_H

#include <stdint.h>

#include "lib/status.h"

/*
 * The adaptive gradient weight: start small, double while the iteration comes to rest,
 * back off when it does not.  It looks at the unrest, which is 0 at the optimum and nowhere
 * else, and judges it by its peak in windows of rounds, since a single node's unrest also
 * rises when news from far away arrive:
 *
 *     unrest = sqrt(|z|^2 + (L |pull| / T)^2)
 *
 * A peak far above that of the calmest window under the same alpha is backed off from, too:
 * an alpha that is only a little too large makes all grow so slowly that no window is much
 * worse than the one before.
 *
 * Where gradients are computed in floats, what is left of them in z at rest is rounding, which
 * says nothing about alpha: an unrest below REST of the gradient counts as that much.
 *
 * Over the 299 combinations of step.h, T = 1/2, with iso_track_adapt_usual(), to an error of
 * 1e-8 of that at the start: 4.5 times the rounds of the best constants (geometric mean, from
 * the first alpha on, what did not end counted as 60000) with one alpha for all, 3.9 with
 * one for each node; the safe constants, which need lambda2 of the graph, take 1.7.  21 and 8
 * did not end within 60000 rounds, safe constants in 2.  Gradients in floats, to 1e-4: 5.0 and
 * 4.3 of 1.7, and 12, 2 and 0 did not end.  None diverged.  So where lambda2 is known, the safe
 * constants are better.
 *
 * Tried and worse: to halve alpha where pull and gradient cancel each other, as they do when
 * it is too large.  The study took 2.6 and 3.6 times the rounds then, but of real nodes that
 * learnt images the accuracy stood still from the first seconds on.
 *
 * A lock-step field feeds it the motion of all nodes together and uses the one alpha.  Real
 * nodes have one each, fed with their own motion; frames carry the wish, and a
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
	double calmest;	    /* the least peak while alpha was calmest_alpha */
	double calmest_alpha;
	uint64_t doubled;
	uint64_t backed_off;
};

/* ISO_E_RANGE: a number outside what is said above, or not finite. */
ISO_MUST_USE enum iso_status iso_track_adapt_init(const struct iso_track_adapt_config *config,
						  struct iso_track_adapt *ret_adapt);

/*
 * What peers and simulator use (and iso_track_adapt_init accepts), all of it scaled by L:
 * step T > 0, curvature L > 0.
 */
struct iso_track_adapt_config iso_track_adapt_usual(double step, double curvature);

/* What a round did.  Squares (iso_track_square) are of one node, or summed over all. */
struct iso_track_motion {
	double step;		/* T > 0 */
	double curvature;	/* L > 0 */
	double z_square;	/* |z|^2 */
	double pull_square;	/* |pull|^2 */
	double gradient_square; /* |grad g|^2, if computed in floats; 0: in doubles */
};

double iso_track_unrest(const struct iso_track_motion *motion);

/* One round is over; returns the alpha to wish for.  Backs off from what is not finite. */
double iso_track_adapt_round(struct iso_track_adapt *adapt, const struct iso_track_motion *motion);

/*
 * Neighbours wish for `least` (the smallest of them): the own wish is lowered to
 * at most twice that, so that a back-off spreads, fading.  Returns the alpha to use now,
 * the least of all.
 */
double iso_track_adapt_heed(struct iso_track_adapt *adapt, double least);

#endif
