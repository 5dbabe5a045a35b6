/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CHECKPOINT_H
#define ISO_CHECKPOINT_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/evaluate.h"
#include "lib/ata/score.h"
#include "lib/sgd/round.h"

/*
 * All that a training run knows, as one file FOLDER/checkpoint.  Written to a
 * new file, synced and renamed, so that there is always a whole one; a
 * checksum over everything finds the disk's own errors.
 */

#define CHECKPOINT_NAME_BYTES  64u
#define CHECKPOINT_WORKERS_MAX 4096u

struct checkpoint_worker {
	char name[CHECKPOINT_NAME_BYTES];
	struct iso_ata_samples samples;
	uint64_t tasks_done;
};

struct checkpoint {
	uint64_t term;	     /* of the coordinator that wrote it */
	uint64_t round;	     /* the last one that is in the parameters */
	uint64_t elapsed_ns; /* of training, over all terms */
	uint64_t rng;
	uint64_t data_checksum; /* of the workers' training set; 0: not known */
	double train_loss;
	struct iso_round_totals totals;
	uint32_t features, classes;
	uint32_t params_count, workers_count, evaluations_count;
	float *params;			   /* owns, in one read; else as the writer likes */
	struct checkpoint_worker *workers; /* same */
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
