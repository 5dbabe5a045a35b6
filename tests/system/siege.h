/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_SIEGE_H
#define ISO_SYSTEM_SIEGE_H

#include <stdint.h>

#include "tests/system/hostile.h"

/* A ring of real agents, one of which is in hostile hands, with its key. */
#define SIEGE_HOSTILE 0u

/*
 * Four honest agents, of which the one that is furthest away is busy.  line: what the
 * hostile one's neighbours have in its section, or NULL.
 */
void siege_open(struct ring **ret_ring, struct hostile **ret_hostile, const char *line);
void siege_close(struct ring *ring, struct hostile *hostile);

/* What the honest nodes own, with what is on its way between them. */
int64_t siege_honest_ucpu(const struct ring *ring);

/* An attack, what, came to nothing: everybody trades on, with what belonged to them. */
void siege_check_unharmed(struct hostile *hostile, const char *what);

#endif
