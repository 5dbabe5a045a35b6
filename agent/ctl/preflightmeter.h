/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTMETER_H
#define ISO_PREFLIGHTMETER_H

#include "agent/ctl/preflight.h"

/* Whether the eBPF meter can be loaded, and how many others are there already. */
void preflightmeter_check(struct preflight *preflight);

/*
 * What so many meters cost a machine that has switched tasks so often, on average;
 * switches_per_s 0: not known.
 */
void preflightmeter_say_cost(struct preflight *preflight, unsigned meters, double switches_per_s);

#endif
