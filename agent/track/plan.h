/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRACK_PLAN_H
#define ISO_TRACK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/confutil.h"
#include "lib/model/model.h"

/*
 * /etc/isobar/plan.conf as a plain struct: what the workers of several nodes learn
 * together without a coordinator.  The file is the same on all of them; neighbours
 * compare its digest before they take anything from each other.
 */

#define PLAN_NAME_BYTES 64
#define PLAN_NODES_MAX	256u

enum plan_partition { PLAN_PARTITION_IID, PLAN_PARTITION_DIRICHLET };

/* Those of enum iso_stream_mode, counted from 0. */
enum plan_quantiser {
	PLAN_QUANTISER_NONE,
	PLAN_QUANTISER_SINGLE,
	PLAN_QUANTISER_UNIFORM,
	PLAN_QUANTISER_LOG,
	PLAN_QUANTISER_INNOVATION,
};

struct plan_node {
	char name[PLAN_NAME_BYTES];
	int64_t size; /* of its part, relative to the others' */
	int line;
};

struct plan {
	char name[PLAN_NAME_BYTES];

	int model; /* enum iso_model_kind - 1 */
	int64_t hidden;
	double l2;

	int partition; /* enum plan_partition */
	double dirichlet_alpha;
	double overlap; /* fraction of all samples that each node has; 0: parts are disjoint */
	int64_t seed;
	int64_t samples; /* of the data, that are used at all; 0: all */
	int64_t batch;	 /* samples of a gradient; 0: the whole part */

	int quantiser; /* enum plan_quantiser */
	double rho;
	int64_t bits;
	double uniform_step;
	bool adaptive; /* coarser while much changes */

	double step;		    /* T */
	double alpha;		    /* gradient weight; 0: adaptive */
	int64_t rounds;		    /* 0: until it is stopped */
	uint64_t wait_ns;	    /* a neighbour that is silent for longer is not waited for */
	uint64_t drop_ns;	    /* ... is left out of the graph until it comes back */
	uint64_t evaluate_every_ns; /* 0: never */
	uint64_t save_every_ns;	    /* 0: at the end only */

	unsigned nodes_count; /* at least 2 */
	struct plan_node nodes[PLAN_NODES_MAX];
};

/*
 * -EINVAL: "FILE: line 12: ..."; other errors are those of reading the file.
 * *ret_plan is untouched on failure.  The struct is large: keep it static or on the
 * heap.
 */
int plan_load(const char *path, struct plan *ret_plan, struct error *reterr);
/* Same, from memory; name stands for the file in messages. */
int plan_parse(const char *name, const char *text, struct plan *ret_plan, struct error *reterr);

/* The number of a node, which is that of its part; -ENOENT: the plan does not have it. */
int plan_find(const struct plan *plan, const char *node);

/*
 * XXH3 of all in it that must be the same for two workers to learn one model, and of the
 * checksum of the data; neither the intervals nor the waiting times are in it.
 */
uint64_t plan_digest(const struct plan *plan, uint64_t data_checksum);

const char *plan_model_text(const struct plan *plan);
const char *plan_quantiser_text(const struct plan *plan);

/* Every option there is, for the manual and the sample file. */
const struct confutil_schema *plan_schema(void);

#endif
