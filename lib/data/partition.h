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
	ISO_PARTITION_IID = 1,	 /* a random split */
	ISO_PARTITION_DIRICHLET, /* a split with class proportions ~ Dirichlet(alpha) */
	ISO_PARTITION_OVERLAP,	 /* equal random parts, each of a fraction of all samples */
	ISO_PARTITION_BLOCKS,	 /* the samples as they come, one block after the other */
};
#define ISO_PARTITION_KIND_LAST ISO_PARTITION_BLOCKS

struct iso_partition_config {
	enum iso_partition_kind kind;
	uint32_t parts;
	uint32_t classes;      /* Dirichlet: labels are below it; at most 256 */
	double alpha;	       /* Dirichlet: > 0; small is one-sided */
	double overlap;	       /* overlap: the fraction, 1 / parts .. 1 */
	const uint32_t *sizes; /* [parts], relative, each > 0; NULL: equal parts.  Not overlap */
	uint64_t seed;
};

/*
 * ISO_E_RANGE: a number that is not as above, more parts than samples, or a part that
 * would have no sample.  All else here wants a configuration that passes.
 */
ISO_MUST_USE enum iso_status iso_partition_check(const struct iso_partition_config *config,
						 uint32_t samples);

/* Where a part lies in ret_order of iso_partition(). */
struct iso_part {
	uint32_t first, count;
};

/*
 * Equal parts have floor(samples / parts), others floor(samples * size / sum of the
 * sizes): what rounding leaves is in none.  Overlapping ones have the nearest number
 * to their fraction, or what is needed to reach the next.  Part `part` < parts.
 */
struct iso_part iso_partition_part(const struct iso_partition_config *config, uint32_t samples,
				   uint32_t part);

/* The smallest count of them. */
uint32_t iso_partition_least(const struct iso_partition_config *config, uint32_t samples);

/*
 * The samples that are in some part: iso_partition() puts each of them once into the
 * first so many places of ret_order.
 */
uint32_t iso_partition_used(const struct iso_partition_config *config, uint32_t samples);

/* uint32_t's of workspace, and of ret_order. */
size_t iso_partition_workspace(const struct iso_partition_config *config, uint32_t samples);
size_t iso_partition_room(const struct iso_partition_config *config, uint32_t samples);

/*
 * Fills ret_order[iso_partition_room()]: the samples of a part are where
 * iso_partition_part() says, in random order but for blocks.
 * Dirichlet (as in the experiments of Ringleader ASGD): the samples are
 * trimmed to what the parts have together, proportionally per class; part j draws
 * p ~ Dirichlet(alpha), takes largest-remainder rounding of p * size from the
 * shuffled pools of the classes, and tops deficits up from the classes with
 * most left.
 * Overlap: the shuffled samples make a circle, and part j has those from its
 * (j / parts)-th on.  So each part is a random choice, yet all samples are in
 * equally many parts, give or take one, and the mean over the parts is that over
 * the samples.
 * Blocks are how the code of S-ADDOPT and Push-SAGA splits its images; the seed is not used.
 * ISO_E_RANGE: iso_partition_check(), or a label out of range.  labels are read for
 * Dirichlet only.
 */
ISO_MUST_USE enum iso_status iso_partition(const struct iso_partition_config *config,
					   const uint8_t *labels, uint32_t samples,
					   uint32_t *workspace, uint32_t *ret_order);

#endif
