/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/track.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/track/modelfile.h"
#include "agent/track/track_private.h"
#include "lib/smaller.h"

/* Time for the last frames to go out. */
#define FAREWELL_NS 300000000ull

/* Neighbours are looked at no more often. */
#define EDGES_LOG_NS 50000000ull

void track_fail(struct track *track)
{
	assert(track->failure.code < 0);
	track->is_ended = true;
	loop_quit(track->loop);
}

int track_outcome(const struct track *track, struct error *reterr)
{
	if (track->failure.code < 0)
		*reterr = track->failure;
	return track->failure.code;
}

void track_save(struct track *track)
{
	const char *folder = track->config.state_directory;
	uint64_t round = iso_peer_round(track->peer);
	struct modelfile file = {
		.model = track->local.model,
		.round = round,
		.plan = track->plan_digest,
	};
	struct error error;

	if (folder == NULL || round == track->saved_round || track->failure.code != 0)
		return;
	/* It is only read. */
	memcpy(&file.params, &(const double *){ iso_peer_model(track->peer) }, sizeof(file.params));
	if (modelfile_write(folder, &file, &error) < 0)
		log_error("model of round %llu is not kept: %s", (unsigned long long)round,
			  error.text);
	else
		track->saved_round = round;
}

void track_start_evaluation(struct track *track, uint64_t now_ns)
{
	const double *y = iso_peer_model(track->peer);

	if (track->evaluation == NULL)
		return;
	for (uint32_t i = 0; i < track->local.params; i++)
		track->rounded[i] = (float)y[i];
	evaluation_start(track->evaluation, track->rounded, iso_peer_round(track->peer),
			 now_ns - track->started_ns, now_ns);
}

static void log_evaluation(const struct track *track)
{
	uint32_t count;
	const struct evaluation_point *points = evaluation_points(track->evaluation, &count);

	if (count > 0)
		log_info("round %llu: accuracy %.4f, loss %.6f on the test data",
			 (unsigned long long)points[count - 1].round, points[count - 1].accuracy,
			 points[count - 1].loss);
}

/* The last round is done, and all neighbours know. */
static void end(struct track *track, uint64_t now_ns)
{
	struct iso_peer_status status;

	iso_peer_status(track->peer, &status);
	log_info("the last round, %llu, is done after %.1f s: loss %.9f, spread %.3g, %llu bytes "
		 "sent",
		 (unsigned long long)status.round, (double)(now_ns - track->started_ns) / 1e9,
		 status.loss, status.spread, (unsigned long long)status.bytes_out);
	track->is_ended = true;
	track_save(track);
	track->save_at_ns = track->evaluate_at_ns = UINT64_MAX;
	if (track->evaluation != NULL) {
		track_start_evaluation(track, now_ns);
		evaluation_finish(track->evaluation);
		log_evaluation(track);
	}
	if (track->config.ends)
		track->end_at_ns = now_ns + FAREWELL_NS;
}

static void send_frame(struct track *track, const struct iso_peer_action *action)
{
	const struct link_part parts[LINK_PARTS_MAX] = {
		{ action->head, ISO_PEER_HEAD_BYTES },
		{ action->payload, action->payload_size },
	};

	/* What does not go out is as lost as what the network loses: the peer asks again. */
	(void)link_send_parts(track->link, action->neighbour, parts,
			      action->payload_size > 0 ? 2 : 1);
}

static void fail_gradient(struct track *track, int code)
{
	if (code == -EDOM)
		error_set(&track->failure, code,
			  "round %llu: loss, gradient or model are no finite numbers any more: "
			  "step or alpha of the plan are too large, or a neighbour's worker "
			  "sends wrong numbers",
			  (unsigned long long)track->round);
	else
		error_errno(&track->failure, code, "gradient of round %llu",
			    (unsigned long long)track->round);
	track_fail(track);
}

static void start_gradient(struct track *track, const double *at)
{
	int r = gradient_start(track->gradient, track->round, at);

	if (r < 0)
		fail_gradient(track, r);
}

static void begin_gradient(struct track *track, const struct iso_peer_action *action)
{
	track->gradient_out = action->gradient;
	track->y = action->y;
	track->round = action->round;
	start_gradient(track, action->y);
}

static void arm(struct track *track, uint64_t now_ns)
{
	uint64_t at_ns = iso_smaller_u64(iso_peer_wake_ns(track->peer), track->end_at_ns);

	at_ns = iso_smaller_u64(at_ns, iso_smaller_u64(track->evaluate_at_ns, track->save_at_ns));
	if (track->evaluation != NULL)
		at_ns = iso_smaller_u64(at_ns, evaluation_wake_ns(track->evaluation, now_ns));
	/* The descriptor is ours and valid, so it can be armed. */
	(void)timer_arm(track->timer.fd, at_ns);
}

void track_act(struct track *track, uint64_t now_ns)
{
	struct iso_peer_action action;

	while (track->failure.code == 0 && iso_peer_next(track->peer, &action)) {
		switch (action.what) {
		case ISO_PEER_SEND: send_frame(track, &action); break;
		case ISO_PEER_COMPUTE: begin_gradient(track, &action); break;
		case ISO_PEER_ENDED: end(track, now_ns); break;
		}
	}
	arm(track, now_ns);
}

/* Once a neighbour, until it changes its mind: it goes on saying so. */
static void complain(struct track *track, uint32_t neighbour, enum iso_status status)
{
	struct track_edge *edge = &track->edges[neighbour];
	bool is_foreign =
	    status == ISO_E_CONFIG || status == ISO_E_FOREIGN || status == ISO_E_VERSION;

	if (is_foreign && !edge->is_foreign)
		log_warn("neighbour %s: %s; it is not listened to (our digest of plan and data is "
			 "%016llx)",
			 edge->name,
			 status == ISO_E_CONFIG	   ? "its plan or its data differ from ours"
			 : status == ISO_E_VERSION ? "it speaks another version"
						   : "it calls itself or us by another name",
			 (unsigned long long)track->plan_digest);
	if (is_foreign || status == ISO_OK)
		edge->is_foreign = is_foreign;
}

bool track_on_frame(void *context, uint32_t neighbour, const struct link_part *parts,
		    unsigned count)
{
	struct track *track = context;
	uint64_t now_ns = clock_now_ns();
	bool has_payload = count > 1;

	enum iso_status status =
	    iso_peer_receive(track->peer, now_ns, neighbour, parts[0].bytes, parts[0].size,
			     has_payload ? parts[1].bytes : NULL, has_payload ? parts[1].size : 0);
	complain(track, neighbour, status);
	if (status == ISO_E_RANGE)
		track_log_edges(track);
	track_act(track, now_ns);
	/* One that comes twice shows that the neighbour is there. */
	return status == ISO_OK || status == ISO_E_STALE;
}

/* Hands on a gradient with the loss at the same point. */
static int hand_on(struct track *track, uint64_t now_ns, const double *gradient, double loss)
{
	memcpy(track->gradient_out, gradient, track->local.params * sizeof(*gradient));
	return iso_peer_gradient(track->peer, now_ns, loss, probe_curvature(&track->probe)) ==
		       ISO_OK
		   ? 0
		   : -EDOM;
}

/* The first gradient waits for some more of them, which tell L. */
static int go_on_probing(struct track *track, uint64_t now_ns)
{
	struct probe *probe = &track->probe;
	const double *values = gradient_values(track->gradient);
	const double *next =
	    probe->y == NULL ? probe_begin(probe, track->y, values, gradient_loss(track->gradient))
			     : probe_next(probe, values);

	if (next != NULL) {
		start_gradient(track, next);
		return 0;
	}
	log_info("curvature %.3g, at most %.3g", probe_curvature(probe), probe->bound);
	return hand_on(track, now_ns, probe->base, probe->base_loss);
}

void track_on_results(struct track *track)
{
	uint64_t now_ns = clock_now_ns();
	int r = gradient_take(track->gradient);

	if (r == 0 || track->failure.code != 0)
		return;
	if (r == 1)
		r = track->probe.is_done ? hand_on(track, now_ns, gradient_values(track->gradient),
						   gradient_loss(track->gradient))
					 : go_on_probing(track, now_ns);
	if (r < 0)
		fail_gradient(track, r);
	else
		track_act(track, now_ns);
}

void track_on_timer(struct loop_source *source, short revents)
{
	struct track *track =
	    (struct track *)(void *)((char *)source - offsetof(struct track, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	timer_consume(source->fd);
	if (now_ns >= track->end_at_ns) {
		loop_quit(track->loop);
		return;
	}
	if (track->evaluation != NULL && evaluation_is_running(track->evaluation) &&
	    evaluation_step(track->evaluation, now_ns))
		log_evaluation(track);
	if (now_ns >= track->evaluate_at_ns) {
		if (!evaluation_is_running(track->evaluation))
			track_start_evaluation(track, now_ns);
		track->evaluate_at_ns = now_ns + track->plan.evaluate_every_ns;
	}
	if (now_ns >= track->save_at_ns) {
		track_save(track);
		track->save_at_ns = now_ns + track->plan.save_every_ns;
	}
	iso_peer_tick(track->peer, now_ns);
	track_act(track, now_ns);
	/* Who falls silent does so at a tick. */
	if (now_ns - track->edges_logged_ns >= EDGES_LOG_NS) {
		track->edges_logged_ns = now_ns;
		track_log_edges(track);
	}
}
