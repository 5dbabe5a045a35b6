/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_CURVATURE_H
#define ISO_TRACK_CURVATURE_H

#include "agent/track/local.h"

/*
 * L of a node's objective: its gradient is Lipschitz with it.  From the mean squared
 * length of the samples, which is at least the largest eigenvalue of their second moment, and
 * the largest second derivative of the loss.  For a network with a hidden layer there
 * is no such bound: then it is that of its last layer on the samples themselves, a
 * scale.  0: no memory.
 */
double curvature_of(const struct local *local);

#endif
