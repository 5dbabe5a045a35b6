/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TEST_SCENARIO_H
#define ISO_TEST_SCENARIO_H

#include <stdio.h>

#include "tests/sim/ablate.h"
#include "tests/sim/world.h"

/* A row of the protocol's published tables, run on the real code over many seeds. */
struct scenario {
	const char *name;
	struct world_setup setup; /* seed left out */
	unsigned ablated;
	double curvature;	/* with SIM_CURVATURE */
	double until_s;
	double calm_s;		/* faults stop then; 0: never */
	uint64_t events;	/* instead of until_s: only the invariants are looked at */
	uint64_t seed;		/* the first */
	uint32_t seeds;
	const char *published;	/* the cells below, as published; NULL: not published */
	/* What must come out; within: percent of runs below 1 % throughout the last fifth. */
	uint8_t within_least, within_most;
	double worst_least;	/* the largest gap is at least this */
	/* For make check: so many runs, so long; 0: left out. */
	uint32_t small_seeds;
	double small_s;
	double small_worst_least; /* instead of the percentages: too few runs for them */
};

struct scenario_section {
	const char *title;
	const struct scenario *scenarios; /* up to one without name */
};
extern const struct scenario_section scenario_sections[]; /* up to one without title */

/* One run. */
struct scenario_run {
	double gap_worst, gap_mean, gap_end; /* of the last fifth */
	double distance_worst;
	double reached_s;	/* first time below 1 %; INFINITY: never */
	uint64_t transfers;	/* in the last fifth */
	uint64_t events, audits, skewed, reread;
	char violation[200];	/* empty: none */
};
void scenario_run(const struct scenario *scenario, uint64_t seed, struct scenario_run *ret_run);

/* All of its runs, by so many processes; true if what must come out has. */
bool scenario_measure(const struct scenario *scenario, unsigned jobs, FILE *out);

#endif
