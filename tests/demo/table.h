/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_TABLE_H
#define ISO_DEMO_TABLE_H

#include <stdio.h>

#include "tests/demo/demo.h"

/*
 * Shows the newest sample: on a terminal it redraws the table in place once a
 * second; elsewhere it prints a block every five seconds.
 */
void table_show(FILE *out, const struct demo *demo, const struct sample *sample);

#endif
