/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/track.h"

#include <math.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/track/track_private.h"
#include "agent/train/workerlink.h"

/* How the training stands: for the agent and the log. */

static const char *state_text(enum iso_peer_state state)
{
	switch (state) {
	case ISO_PEER_IS_DOWN: return "not there";
	case ISO_PEER_IS_LIVE: return "in step";
	case ISO_PEER_IS_HELD: return "late: the rounds go on without it";
	case ISO_PEER_IS_DONE: return "done with its last round";
	}
	return "unknown";
}

static void log_edges(struct track *track)
{
	for (uint32_t i = 0; i < track->config.neighbours_count; i++) {
		struct track_edge *known = &track->edges[i];
		struct iso_peer_edge edge;

		iso_peer_edge(track->peer, i, &edge);
		if (edge.state == known->state)
			continue;
		known->state = edge.state;
		log_info("neighbour %s is %s, round %llu of it, %llu of ours", known->name,
			 state_text(edge.state), (unsigned long long)edge.round,
			 (unsigned long long)iso_peer_round(track->peer));
	}
}

void track_report(struct track *track, struct workerlink *link, uint32_t threads)
{
	struct iso_peer_status status;

	link_tick(track->link, clock_now_ns());
	log_edges(track);
	iso_peer_status(track->peer, &status);
	log_debug("round %llu: loss %.9f, spread %.3g, alpha %.3g, L %.3g, %u of %u neighbours",
		  (unsigned long long)status.round, status.loss, status.spread, status.alpha,
		  status.curvature, status.live, track->config.neighbours_count);
	if (link == NULL)
		return;
	(void)workerlink_send(link, &(struct iso_worker_record){
					.type = ISO_WORKER_PROGRESS,
					.progress = { gradient_pieces(track->gradient), threads,
						      status.live + status.done > 0 } });
}
