/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_ACCOUNT_H
#define ISO_DEMO_ACCOUNT_H

#include <jansson.h>
#include <stdio.h>

#include "tests/demo/demo.h"

/*
 * What training cost and what became of it, from the coordinator's newest
 * status: the figures by which methods and allocations are compared.
 */
void account_print(FILE *out, const struct demo *demo);

/* The same for machines; unknown is null.  The caller owns it. */
json_t *account_describe(const struct demo *demo);

#endif
