/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_SETUP_H
#define ISO_DEMO_SETUP_H

#include "agent/base/error.h"
#include "tests/demo/demo.h"

/*
 * A demo that is killed leaves directories isobar-demo-PID-ANYTHING in the temporary
 * directory; a kept one has no PID.
 */
#define SETUP_PREFIX "isobar-demo-"

/* The temporary directory of this run, and cgroups if we may have some. */
int setup_places(struct demo *demo, struct error *reterr);

/* Node names, ports, keys and configuration files of all programs. */
int setup_files(struct demo *demo, struct error *reterr);

/*
 * Removes both places.  Returns how many things had been left to it that the
 * run should have ended itself: processes, cgroups with something in them.
 */
unsigned setup_remove(struct demo *demo);

/* Removes what a demo that was killed left behind; says so. */
void setup_sweep(const struct demo *demo);

#endif
