/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_TIMELINE_H
#define TESTS_UNIT_TIMELINE_H

#include "lib/sgd/method.h"

/*
 * Each rule as a time line.  Events:
 *      j0      worker 0 joins; j0*2: with two threads
 *      l0      it leaves
 *      t0*2    it has two threads from now on
 *      b2,1    a round begins with this allocation; b: without one
 *      a0@3=5  its gradient 5 at x^3 arrives
 *      v0@3    its computation at x^3 is lost
 *      m0>1    one of its computations is moved to worker 1
 *      n0, y0  it is not admitted, or again
 * What follows, in this order:
 *      used, kept, void   what became of the gradient
 *      -0<3    STOP worker 0 at points older than x^3
 *      +0@3    START worker 0 at x^3; +0@3*2: two
 *      x=5     if it moved
 *      .       the round is over, begin() is due
 */

struct line {
	const char *event;
	const char *outcome;
};

/* Zeroed, until the end of the test: exactly so many bytes, so that sanitizers see each overrun. */
void *timeline_memory(size_t size);

/* One parameter; depth_max 4 and step 1 unless given. */
struct iso_method *timeline_make(struct iso_method_config config);

/* Plays the lines up to an event of NULL; each outcome must be as said. */
struct iso_method_totals timeline_play(struct iso_method *method, const struct line *lines);

double timeline_x(const struct iso_method *method);

#endif
