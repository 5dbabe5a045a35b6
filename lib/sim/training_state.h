/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAINING_STATE_H
#define ISO_SIM_TRAINING_STATE_H

/* What the files of the training driver share. */

#include "lib/sim/points.h"
#include "lib/sim/queue.h"
#include "lib/sim/speeds.h"
#include "lib/sim/training.h"

/* Between two changes of its speed a task is a line: what is left falls at this rate. */
struct iso_training_worker {
	struct iso_rng rng;
	double share, rate;   /* rate = share * speed: task seconds per second */
	double since_s;	      /* when what follows was true */
	double left_s;	      /* of the running task, in its own time */
	double wall_s, cpu_s; /* what it has taken so far */
	double size;	      /* of the running task */
	uint64_t round;	      /* that it belongs to */
	uint64_t version;     /* of the point it last got */
	uint64_t drawn;	      /* tasks begun, ever */
	uint32_t slot;	      /* of its point */
	uint32_t queued;      /* computations that follow the running one at the same point */
	bool running, present;
};

struct iso_training {
	struct iso_training_config config;
	bool by_rounds, allocated;
	bool diverged;
	double now_s;
	uint64_t begun; /* rounds, those before included */
	struct iso_training_worker *workers;
	struct iso_queue queue; /* ends; of those that do not run any more, too */
	struct iso_points points;
	uint32_t current_slot; /* of the point of current_version */
	uint64_t current_version;
	float *gradient;
	uint32_t *tasks;
	struct iso_rng rng; /* of the gradients */
	/* For the regret: means at the present speeds, and the best allocation for them. */
	double *means_s;
	uint32_t *best_tasks;
	void *ras;
	double best_s;
	bool best_stale;
	struct iso_training_totals totals;
};

/* Mixes an event into the digest. */
void iso_training_digest(struct iso_training *training, uint64_t what, uint64_t more);

/* training_regret.c: how the allocation of the round that begins compares with the best one. */
size_t iso_training_regret_bytes(const struct iso_training_config *config);
void iso_training_regret_init(struct iso_training *training, uint8_t *memory);
void iso_training_regret_speed(struct iso_training *training, uint32_t w);
void iso_training_regret_round(struct iso_training *training);

/* training_task.c: computations from their order to their end. */

/* Share, speed and presence of a worker may have changed in the meantime. */
void iso_training_look(struct iso_training *training, uint32_t w);
/* Brings the running task up to now. */
void iso_training_advance(struct iso_training *training, struct iso_training_worker *worker);
/* Says when it will end. */
void iso_training_schedule(struct iso_training *training, uint32_t w);
/* The running computation comes to nothing, and what was to follow it too; *count is of those. */
void iso_training_halt(struct iso_training *training, struct iso_training_worker *worker,
		       uint64_t *count);
/* Who has nothing to do gives up its point, where it will get another one anyway. */
void iso_training_rest(struct iso_training *training, struct iso_training_worker *worker);
/* Carries out the orders of the method. */
void iso_training_obey(struct iso_training *training);
/* The running computation of the worker ends now. */
void iso_training_end(struct iso_training *training, uint32_t w);

#endif
