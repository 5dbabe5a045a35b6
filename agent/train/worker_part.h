/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_PART_H
#define ISO_WORKER_PART_H

#include <stdint.h>

#include "agent/train/dataset.h"
#include "agent/train/usertask.h"
#include "agent/train/worker_compute.h"
#include "lib/wire/train.h"

/* Which samples are this worker's, as the coordinator's welcome says. */
struct part {
	uint32_t *order; /* owns; of the whole set, part by part */
	char why[OBJECTIVE_TEXT_BYTES];
};

/*
 * Fills *ret_lesson, which borrows from the part, the data and the user's task
 * (may be NULL).  Returns NULL, or why this worker cannot take part, valid until the
 * next call; then *ret_lesson is untouched.
 */
const char *part_take(struct part *part, const struct iso_train_welcome *welcome,
		      const struct dataset *data, const struct usertask *task,
		      struct lesson *ret_lesson);

/* What a user's task and a coordinator are told of the data: 0 if targets are values. */
uint32_t part_classes(const struct dataset *data);

/* A zeroed part is fine. */
void part_close(struct part *part);

#endif
