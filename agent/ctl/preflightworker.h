/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTWORKER_H
#define ISO_PREFLIGHTWORKER_H

#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/* Rows about the training worker: what it needs to start, and its plan if it has one. */
void preflightworker_check(struct preflight *preflight, const struct conf *conf);

#endif
