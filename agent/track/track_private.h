/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_PRIVATE_H
#define ISO_TRACK_PRIVATE_H

#include "agent/track/gradient.h"
#include "agent/track/local.h"
#include "agent/track/plan.h"
#include "agent/track/probe.h"
#include "agent/track/track.h"
#include "agent/train/evaluate.h"
#include "lib/track/peer.h"

/* Between the files of track.h. */

/* What was last logged of a neighbour. */
struct track_edge {
	char name[PLAN_NAME_BYTES];
	enum iso_peer_state state;
	bool is_foreign; /* of another plan, said so */
	uint64_t bars;
};

struct track {
	struct track_config config;
	struct loop *loop;
	struct loop_source timer;
	struct plan plan;
	uint64_t plan_digest;
	struct local local;
	struct probe probe; /* L, before the first gradient is handed on */
	struct gradient *gradient;
	double *gradient_out; /* the peer's, while one is computed */
	const double *y;      /* ... and where */
	uint64_t round;
	void *memory; /* of the peer */
	struct iso_peer *peer;
	struct link *link;
	struct track_edge edges[LINK_NEIGHBOURS_MAX];

	struct dataset test;
	struct evaluation *evaluation; /* NULL: none */
	float *rounded;		       /* y as floats, for it */
	uint64_t evaluate_at_ns, save_at_ns, end_at_ns;
	uint64_t edges_logged_ns;
	uint64_t saved_round;
	uint64_t started_ns, first_round;
	bool is_ended;
	struct error failure; /* code 0: none */
};

/* Carries out what the peer wants, and arms the timer. */
void track_act(struct track *track, uint64_t now_ns);

/* The training cannot go on: ends the loop.  The reason is in track->failure. */
void track_fail(struct track *track);

/* Frames of the neighbours, from the link. */
bool track_on_frame(void *context, uint32_t neighbour, const struct link_part *parts,
		    unsigned count);

void track_on_timer(struct loop_source *source, short revents);

/* Where it starts: FOLDER/model, or the model's own first parameters. */
int track_first_params(struct track *track, double *ret_y, uint64_t *ret_round,
		       struct error *reterr);

/* Writes the model, if it is to be kept and is not yet; what fails is logged. */
void track_save(struct track *track);

/* Says whose state has changed; takes time linear in parameters times neighbours. */
void track_log_edges(struct track *track);

void track_start_evaluation(struct track *track, uint64_t now_ns);

#endif
