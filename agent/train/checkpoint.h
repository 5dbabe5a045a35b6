/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CHECKPOINT_H
#define ISO_CHECKPOINT_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/evaluate.h"
#include "lib/sgd/dispatch.h"
#include "lib/sgd/method.h"

/*
 * All that a training run knows, as one file FOLDER/checkpoint.  Written to a
 * new file, synced and renamed, so that there is always a whole one; a
 * checksum over everything finds the disk's own errors.
 */

#define CHECKPOINT_NAME_BYTES  64u
#define CHECKPOINT_WORKERS_MAX 4096u
#define CHECKPOINT_STATE_MAX   (1u << 20) /* bytes of the strategy's states, each */

/*
 * What became of a worker's tasks, over all terms:
 *
 *	started = used + buffered + ignored + stopped + lost + held
 */
struct checkpoint_ledger {
	uint64_t started;
	uint64_t used;	   /* in the step that it caused */
	uint64_t buffered; /* kept for a later step */
	uint64_t ignored;  /* by the method: too late, or replaced */
	uint64_t stopped;  /* by the method, before it was there */
	uint64_t lost;	   /* with the worker, with a restart, or to another worker */
	/* Results beside these. */
	uint64_t late;	    /* of tasks that were counted already */
	uint64_t abandoned; /* stopped on the way */
	uint64_t not_finite;
	uint64_t cpu_ns;	   /* of all its results */
	uint64_t discarded_cpu_ns; /* ... in vain */
};

struct checkpoint_worker {
	char name[CHECKPOINT_NAME_BYTES];
	struct checkpoint_ledger ledger;
};

struct checkpoint {
	uint64_t term;		/* of the coordinator that wrote it */
	uint64_t elapsed_ns;	/* of training, over all terms */
	uint64_t data_checksum; /* of the workers' training set; 0: not known */
	double train_loss;
	uint64_t allocations; /* rounds begun */
	uint64_t serial;      /* tasks started, as the dispatcher counts them */
	uint64_t ignored_cpu_ns, greedy_cpu_ns;
	uint64_t user_task; /* checksum of the shared object; 0: a model of ours */
	struct iso_method_totals tasks_before; /* what the method's own state does not count */
	/* Of all terms. */
	struct iso_dispatch_totals results;
	uint64_t method_bytes;
	uint32_t method, strategy; /* enum iso_method_kind, enum cconf_strategy */
	uint32_t model, features, classes, hidden;
	uint32_t params_count, workers_count, evaluations_count;
	uint32_t strategy_bytes, worker_bytes; /* of the strategy, and for each worker */
	/* Owns, after a read; else as the writer likes. */
	uint8_t *method_state;
	uint8_t *strategy_state;
	uint8_t *worker_states; /* workers_count of them */
	struct checkpoint_worker *workers;
	struct evaluation_point *evaluations;
};

/* 0, or -errno; on failure the old checkpoint is still there.  Everything is borrowed. */
int checkpoint_write(const char *folder, const struct checkpoint *checkpoint, struct error *reterr);

/*
 * -ENOENT: there is none.  -EBADMSG: it is damaged, and the message names file,
 * offset and reason; it is never used, nor replaced by a default.  On success
 * checkpoint_free() the result.
 */
int checkpoint_read(const char *folder, struct checkpoint *ret_checkpoint, struct error *reterr);

/* The file's bytes, for the two above and the tests: how many, and into out. */
uint64_t checkpoint_bytes(const struct checkpoint *checkpoint);
void checkpoint_encode(const struct checkpoint *checkpoint, uint8_t *out);

/* -EBADMSG or -ENOMEM, with "offset N: why".  Clears the checksum in bytes on its way. */
int checkpoint_decode(uint8_t *bytes, uint64_t size, struct checkpoint *ret_checkpoint,
		      struct error *reterr);

/* Frees what a read has allocated and zeroes it. */
void checkpoint_free(struct checkpoint *checkpoint);

#endif
