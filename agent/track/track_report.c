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

void track_log_edges(struct track *track)
{
	for (uint32_t i = 0; i < track->config.neighbours_count; i++) {
		struct track_edge *known = &track->edges[i];
		struct iso_peer_edge edge;

		iso_peer_edge(track->peer, i, &edge);
		if (edge.bars != known->bars)
			log_warn("neighbour %s sends numbers beyond all reason: it is not listened "
				 "to for %.0f s (its worker, or one behind it, is broken or "
				 "hostile, or step or alpha of the plan are too large)",
				 known->name, (double)edge.barred_ns / 1e9);
		known->bars = edge.bars;
		if (edge.state == known->state)
			continue;
		known->state = edge.state;
		log_info("neighbour %s is %s, round %llu of it, %llu of ours", known->name,
			 state_text(edge.state), (unsigned long long)edge.round,
			 (unsigned long long)iso_peer_round(track->peer));
	}
}

/* What is not sent now is sent the next time. */
static void tell_measure(struct workerlink *link, enum iso_worker_measure what, double value)
{
	if (isfinite(value))
		(void)workerlink_send(link,
				      &(struct iso_worker_record){ .type = ISO_WORKER_MEASURE,
								   .measure = { value, what } });
}

static enum iso_worker_phase phase_of(const struct iso_peer_status *status)
{
	if (status->ended)
		return ISO_WORKER_DONE;
	return status->live + status->held + status->done > 0 ? ISO_WORKER_TRAINS
							      : ISO_WORKER_ALONE;
}

static void tell(const struct track *track, struct workerlink *link, uint32_t threads,
		 const struct iso_peer_status *status)
{
	uint32_t there = status->live + status->done, count = 0;
	const struct evaluation_point *points = NULL;

	(void)workerlink_send(
	    link, &(struct iso_worker_record){
		      .type = ISO_WORKER_PROGRESS,
		      .progress = { gradient_pieces(track->gradient), threads, there > 0 } });
	(void)workerlink_send(link, &(struct iso_worker_record){
					.type = ISO_WORKER_ROUND,
					.round = { status->round, there, phase_of(status) } });
	if (track->evaluation != NULL)
		points = evaluation_points(track->evaluation, &count);
	if (count > 0)
		tell_measure(link, ISO_WORKER_ACCURACY, points[count - 1].accuracy);
	tell_measure(link, ISO_WORKER_LOSS_IS, status->loss);
	tell_measure(link, ISO_WORKER_SPREAD, status->spread);
	tell_measure(link, ISO_WORKER_ALPHA, status->alpha);
	tell_measure(link, ISO_WORKER_SENT_BYTES, (double)status->bytes_out);
}

void track_report(struct track *track, struct workerlink *link, uint32_t threads)
{
	struct iso_peer_status status;

	link_tick(track->link, clock_now_ns());
	track_log_edges(track);
	iso_peer_status(track->peer, &status);
	log_debug("round %llu: loss %.9f, spread %.3g, alpha %.3g, L %.3g, %u of %u neighbours",
		  (unsigned long long)status.round, status.loss, status.spread, status.alpha,
		  status.curvature, status.live, track->config.neighbours_count);
	if (link != NULL)
		tell(track, link, threads, &status);
}
