/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_OBJECTIVE_H
#define ISO_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/train/dataset.h"
#include "lib/isobar/task.h"
#include "lib/model/model.h"

/*
 * What is learnt, whoever wrote it: a built-in model or a user's task.  The
 * rest of the worker and of the evaluation knows only this.
 */
struct objective {
	const struct isobar_task *task; /* borrowed; NULL: the built-in model */
	struct iso_model model;
	struct isobar_task_shape shape; /* as the task is told */
	uint32_t params;
	size_t workspace_bytes; /* of the task, for as many samples as there may be */
};

/* The model must be valid. */
struct objective objective_of_model(const struct iso_model *model);

/*
 * Asks the task whether it can learn from such data, how many parameters it has and
 * what memory it needs.  NULL, or why not, in text; *ret_objective is then untouched.
 */
#define OBJECTIVE_TEXT_BYTES 128
const char *objective_of_task(const struct isobar_task *task, const struct isobar_task_shape *shape,
			      char text[OBJECTIVE_TEXT_BYTES], struct objective *ret_objective);

/* Whether targets are class numbers. */
bool objective_wants_classes(const struct objective *objective);

/* Whether a batch may have the rows of a sparse data set as they lie: a task wants floats. */
bool objective_takes_sparse(const struct objective *objective, const struct dataset *data);

/* For a batch of up to `count` samples, <= ISOBAR_TASK_SAMPLES_MAX. */
size_t objective_workspace_bytes(const struct objective *objective, uint32_t count);

void objective_init(const struct objective *objective, uint64_t seed, float *ret_params);

/* As iso_model_gradient() and iso_model_loss(). */
double objective_gradient(const struct objective *objective, const float *params,
			  const struct iso_model_batch *batch, void *workspace,
			  float *ret_gradient);
double objective_loss(const struct objective *objective, const float *params,
		      const struct iso_model_batch *batch, void *workspace, uint32_t *ret_correct);

#endif
