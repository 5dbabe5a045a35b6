/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTJOB_H
#define ISO_PREFLIGHTJOB_H

#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/*
 * Rows about the job: what systemd says of its unit, whether its group may be
 * limited and can be, and who would be: the processes by name, so that a wrong
 * group is noticed before it is limited.
 */
void preflightjob_check(struct preflight *preflight, const struct conf *conf);

#endif
