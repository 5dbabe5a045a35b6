/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TEST_ABLATE_H
#define ISO_TEST_ABLATE_H

#include <stdbool.h>

/*
 * Rules of lib/share that the scenarios switch off to show what they are for.
 * Only programs with the copies that ablate.sed makes have these switches.
 */
enum sim_ablation {
	SIM_NO_RELAY = 1,	/* no neighbourhood price: mu is 0 */
	SIM_UNCERTAIN = 2,	/* act on the decoded price, not on the largest it may be */
	SIM_NO_REMAINDER = 4,	/* flows below one unit are forgotten */
	SIM_NO_CAP = 8,		/* a transfer may close more than the gap */
	SIM_CURVATURE = 16,	/* times sim_curvature */
};
extern unsigned sim_ablated;
extern double sim_curvature;

static inline bool broken(enum sim_ablation rule)
{
	return (sim_ablated & rule) != 0;
}

#endif
