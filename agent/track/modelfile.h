/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_MODELFILE_H
#define ISO_TRACK_MODELFILE_H

#include <stdint.h>

#include "agent/base/error.h"
#include "lib/model/model.h"

/*
 * FOLDER/model: the parameters that a worker has learnt by a plan.  Replaced as a whole;
 * isobar-worker(8) has its layout, for whoever wants to use the model elsewhere.
 */
struct modelfile {
	struct iso_model model;
	uint64_t round;
	uint64_t plan;	/* plan_digest() */
	double *params; /* [iso_model_params()]; owns, after a read */
};

/* 0, or -errno; on failure the old file is still there.  Everything is borrowed. */
int modelfile_write(const char *folder, const struct modelfile *file, struct error *reterr);

/*
 * -ENOENT: there is none.  -EBADMSG: it is damaged, or of another version; the message
 * names the file and why.  free() the params.
 */
int modelfile_read(const char *folder, struct modelfile *ret_file, struct error *reterr);

#endif
