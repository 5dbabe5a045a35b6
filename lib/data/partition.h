/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_PARTITION_H
#define ISO_DATA_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/rng.h"
#include "lib/status.h"

/*
 * Which samples belong to which worker.  Pure functions of labels and seed:
 * every worker computes the whole partition and takes its own part.
 */

enum iso_partition_kind {
	ISO_PARTITION_IID = 1,   /* a random split into equal parts */
	ISO_PARTITION_DIRICHLET, /* equal parts, class proportions ~ Dirichlet(alpha) */
};

struct iso_partition_config {
	enum iso_partition_kind kind;
	uint32_t parts;
	uint32_t classes; /* labels are below it; at most 256 */
	double alpha;     /* Dirichlet: > 0; small is one-sided */
	uint64_t seed;
};

/* Samples each part gets: floor(samples / parts); the rest is left out. */
uint32_t iso_partition_size(const struct iso_partition_config *config, uint32_t samples);

/* uint32_t's of workspace. */
size_t iso_partition_workspace(const struct iso_partition_config *config, uint32_t samples);

/*
 * Fills ret_order[0 .. parts * size), of room for `samples`: part j owns
 * ret_order[j * size .. (j + 1) * size), with size = iso_partition_size(); the
 * order within a part is random.
 * Dirichlet (as in the experiments of Ringleader ASGD): the samples are
 * trimmed to a multiple of `parts` proportionally per class; part j draws
 * p ~ Dirichlet(alpha), takes largest-remainder rounding of p * size from the
 * shuffled pools of the classes, and tops deficits up from the classes with
 * most left.
 * ISO_E_RANGE: a configuration or label out of range, or fewer samples than parts.
 */
ISO_MUST_USE enum iso_status iso_partition(const struct iso_partition_config *config,
					   const uint8_t *labels, uint32_t samples,
					   uint32_t *workspace, uint32_t *ret_order);

#endif
