/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_GRADIENT_H
#define ISO_TRACK_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/track/local.h"
#include "agent/train/worker_pool.h"

/*
 * The gradient of a node's whole objective, computed by the threads of the pool in
 * pieces while their owner does something else, and added up in the order of the
 * samples: it does not depend on the number of threads.
 */
struct gradient;

/*
 * Gives the pool a lesson; local and pool are borrowed until gradient_close(), and
 * nobody else submits tasks meanwhile.  batch: samples of a gradient, drawn
 * anew for each; 0: all.
 */
int gradient_open(const struct local *local, uint32_t batch, uint64_t seed, struct pool *pool,
		  struct gradient **ret_gradient, struct error *reterr);

/* Waits for what is being computed.  Takes NULL; returns NULL. */
struct gradient *gradient_close(struct gradient *gradient);

/*
 * Starts one at y[params], which is copied.  None may be running.  number tells the
 * mini-batches of one gradient from those of another.  0 or -ENOMEM.
 */
int gradient_start(struct gradient *gradient, uint64_t number, const double *y);
bool gradient_is_running(const struct gradient *gradient);

/*
 * Takes what the pool has ready.  1: it is complete; 0: not yet; -ENOMEM: not computed;
 * -EDOM: loss or gradient is not finite.  Neither runs any longer then.
 */
int gradient_take(struct gradient *gradient);

/* Of one that is complete, valid until the next start: [params], and g_i itself. */
const double *gradient_values(const struct gradient *gradient);
double gradient_loss(const struct gradient *gradient);

/* Computing time of all threads since gradient_open(), and pieces computed. */
uint64_t gradient_on_cpu_ns(const struct gradient *gradient);
uint64_t gradient_pieces(const struct gradient *gradient);

#endif
