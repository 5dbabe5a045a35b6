/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTSANDBOX_H
#define ISO_PREFLIGHTSANDBOX_H

#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/* A row about what isobard, its guard and its worker will give up, and whether they can. */
void preflightsandbox_check(struct preflight *preflight, const struct conf *conf);

#endif
