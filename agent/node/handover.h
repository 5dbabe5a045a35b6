/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HANDOVER_H
#define ISO_HANDOVER_H

#include <stdbool.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"

/*
 * An agent that ends because another one takes over, as at an upgrade, must not
 * do what on-exit says: for as long as neither runs the job would be free.  The
 * order is a file in the run directory, which the next start takes away; so it
 * holds for an agent that hangs and is killed, and is gone after a boot.  It has
 * the CLOCK_BOOTTIME at which it was given in it, and holds for five minutes: if
 * the other agent never came, a later end is one like any other.
 */

/* -ENOENT: there is no run directory, so no agent has run since the boot. */
int handover_ask(const struct conf *conf, struct error *reterr);

/* And that not too long ago. */
bool handover_is_asked(const struct conf *conf);

/* The other one has taken over. */
void handover_done(const struct conf *conf);

#endif
