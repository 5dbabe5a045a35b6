/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_PROBE_H
#define ISO_TRACK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How curved an objective is where a node starts: the largest eigenvalue of its Hessian, by
 * the power method on differences of gradients, twice that for what comes later.  The
 * bound that holds everywhere (curvature.h) is often ten times as much, and steps are
 * as small as L is large.
 */
struct probe {
	uint32_t params;
	double bound; /* never more */
	double *base; /* the gradient where it starts */
	double base_loss;
	double *point; /* where the next gradient is wanted */
	const double *y;
	double length; /* of the difference between y and point */
	double largest;
	unsigned left;
	bool is_done;
};

/* 0 or -ENOMEM.  bound > 0. */
int probe_open(uint32_t params, double bound, struct probe *ret_probe);
/* A zeroed one is fine. */
void probe_close(struct probe *probe);

/*
 * With the gradient and loss at y, which stays there until it is done.  Returns where to
 * compute the next gradient, [params]; NULL: it is done.
 */
const double *probe_begin(struct probe *probe, const double *y, const double *gradient,
			  double loss);
/* With that gradient. */
const double *probe_next(struct probe *probe, const double *gradient);

/* Once it is done: L > 0. */
double probe_curvature(const struct probe *probe);

#endif
