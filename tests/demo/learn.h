/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_LEARN_H
#define ISO_DEMO_LEARN_H

#include "tests/demo/compare.h"
#include "tests/demo/demo.h"

/*
 * The allocation ofta goes by what is known of the workers before it begins.  Where no
 * profile of an earlier run is there, a short run with another allocation comes first.
 */

#define LEARN_SECONDS 8u

/* Where the demo itself keeps a profile; static. */
const char *learn_path(void);

/* The runs are those of the options, or those compared; 0, or a status to end with. */
int learn_first(const struct compare *compare, const struct options *options, compare_fn *fn);

/* Removes what lies there. */
void learn_forget(void);

#endif
