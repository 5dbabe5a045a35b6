/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_REPORT_H
#define ISO_DEMO_REPORT_H

#include <stdio.h>

#include "tests/demo/checks.h"
#include "tests/demo/demo.h"

/* What was seen and what held, for people and as JSON. */
void report_print(FILE *out, const struct demo *demo, const struct check *checks, unsigned count);

int report_write_json(const char *path, const struct demo *demo, const struct check *checks,
		      unsigned count, struct error *reterr);

#endif
