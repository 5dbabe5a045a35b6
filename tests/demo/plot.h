/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_PLOT_H
#define ISO_DEMO_PLOT_H

#include "agent/base/error.h"
#include "tests/demo/demo.h"

/* An SVG of shares, demand and accuracy over time, drawn by gnuplot. */
int plot_write(const char *path, const struct demo *demo, struct error *reterr);

#endif
