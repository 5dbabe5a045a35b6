/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_EVALUATE_PASS_H
#define ISO_EVALUATE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/train/dataset.h"
#include "agent/train/objective.h"

/* Loss and accuracy of one point over a whole set, a slice of samples at a time. */
struct pass;

/* The data are borrowed until pass_close().  0 or -ENOMEM. */
int pass_open(const struct objective *objective, const struct dataset *data,
	      struct pass **ret_pass);
/* Takes NULL; returns NULL. */
struct pass *pass_close(struct pass *pass);

/* Starts anew, at a copy of these parameters. */
void pass_start(struct pass *pass, const float *params);

/* One slice, about a millisecond; true when it was the last one. */
bool pass_step(struct pass *pass);

/* Of a pass that is done. */
struct pass_result {
	double loss; /* mean, without penalty */
	uint32_t correct, samples;
};
struct pass_result pass_result(const struct pass *pass);

#endif
