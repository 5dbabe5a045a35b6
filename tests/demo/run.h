/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_RUN_H
#define ISO_DEMO_RUN_H

#include "tests/demo/demo.h"

/* One run from start to report; returns the demo's exit status. */
int run(struct demo *demo);

#endif
