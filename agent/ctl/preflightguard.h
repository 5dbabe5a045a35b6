/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTGUARD_H
#define ISO_PREFLIGHTGUARD_H

#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/*
 * Rows about leases: the guard's program, what it may do here, the watchdog,
 * and whether automatic burial of this node would be safe.  The watchdog is
 * not opened: that would arm it.
 */
void preflightguard_check(struct preflight *preflight, const struct conf *conf);

#endif
