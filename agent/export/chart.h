/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CHART_H
#define ISO_CHART_H

#include <stdint.h>
#include <stdio.h>

#include "agent/export/history.h"

/*
 * The hour before now_slot as a drawing in SVG, to stand in a page: the share, the
 * quota, the demand as lines, what is on CPU as an area.  Colours come from the
 * page's style, by class; lines differ in width and dashes as well.  label says
 * what it shows to those who do not see it.  A series of which nothing is known is
 * a line of text.
 */
void chart_write(FILE *out, const struct history_series *series, uint64_t now_slot,
		 const char *label);

/* The least of 1, 2, 2.5 or 5 times a power of ten that is not below value; 0.01 at least. */
double chart_top(double value);

#endif
