/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_ONEJOB_H
#define ISO_TESTS_ONEJOB_H

#include "agent/conf/conf.h"
#include "agent/node/job.h"

/*
 * A job on the real hierarchy, as a node has it: the group "job" without a limit, and
 * a configuration that names neither it nor a unit yet.  Floor 0.01 CPU, ceiling
 * 1 CPU, a tick a second, on-exit = keep; a state directory of its own.
 */
extern char onejob_state[32];

void onejob_begin(struct conf *ret_conf);
void onejob_end(void);

/* Opens it as it is configured by now. */
struct job *onejob_open(const struct conf *conf);

#endif
