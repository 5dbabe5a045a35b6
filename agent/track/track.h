/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_TRACK_H
#define ISO_TRACK_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/link.h"
#include "agent/train/dataset.h"
#include "agent/train/worker_pool.h"

struct workerlink;

/*
 * The worker's side of a training without coordinator: the node's gradients, the
 * protocol with the workers of its neighbours (lib/track/peer.h) over a link of its own,
 * evaluation, and the model on disk.
 */
struct track;

struct track_config {
	const char *plan; /* file */
	const char *name; /* of this node, as the plan has it */
	const char *listen;
	const struct curve_keypair *keypair;
	const struct link_neighbour *neighbours; /* their workers */
	uint32_t neighbours_count;
	const struct dataset *data;
	const char *data_spec;	     /* the same, for the test half */
	const char *state_directory; /* NULL: the model is not kept */
	struct pool *pool;
	bool ends; /* quits the loop after the last round; else it stays, for its agent */
};

/* Everything in config is borrowed until track_close(). */
int track_open(void *zmq_context, struct loop *loop, const struct track_config *config,
	       struct track **ret_track, struct error *reterr);

/* Saves the model.  Takes NULL; returns NULL. */
struct track *track_close(struct track *track);

/* The pool may have results. */
void track_on_results(struct track *track);

/* Once a second: tells the agent how it stands, if there is one, and the log. */
void track_report(struct track *track, struct workerlink *link, uint32_t threads);

/*
 * After the loop has ended: 0; else why it could not go on, in *reterr.
 */
int track_outcome(const struct track *track, struct error *reterr);

#endif
