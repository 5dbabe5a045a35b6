/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_LOCAL_H
#define ISO_TRACK_LOCAL_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/track/plan.h"
#include "agent/train/dataset.h"
#include "lib/model/model.h"

/*
 * The local objective g_i of one node of a plan: its samples, and the model on them.
 * Its loss counts weight times, so that the mean of all nodes' g_i is the loss over all
 * of their samples together, however unequal the parts are.
 */
struct local {
	const struct dataset *data;
	struct iso_model model;
	uint32_t params;
	uint32_t *order; /* owns */
	const uint32_t *samples;
	uint32_t samples_count;
	double weight;
};

/*
 * Every node partitions all of the data and takes its own part, number node of the
 * plan.  The data are borrowed until local_close().  -EINVAL: plan and data do not
 * fit; -ENOMEM.
 */
int local_open(const struct plan *plan, uint32_t node, const struct dataset *data,
	       struct local *ret_local, struct error *reterr);

/* A zeroed one is fine. */
void local_close(struct local *local);

#endif
