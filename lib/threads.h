/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_THREADS_H
#define ISO_THREADS_H

#include <stdint.h>

/* How far below a whole CPU the share may fall before a thread is given up. */
#define ISO_THREADS_SLACK_UCPU 250000u

/*
 * Threads that a share can feed: its whole CPUs, at least one, at most max
 * (>= 1).  More threads than that would burn the quota early in each period
 * and then stand still together.  current (0: none yet) gives hysteresis: a
 * share that sways around a whole number does not change the answer.
 */
uint32_t iso_threads_for(uint64_t share_ucpu, uint32_t current, uint32_t max);

#endif
