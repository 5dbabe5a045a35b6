/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFCHECK_H
#define ISO_CONFCHECK_H

#include "agent/conf/conf.h"
#include "agent/conf/confplace.h"

/* Between the files of conf_check(): what the values of one configuration mean together. */

struct confcheck {
	struct conf *conf;
	struct confplace place;
};

/* -EINVAL: *reterr becomes "FILE: line 3: neighbour NAME: WHAT". */
int confcheck_at_neighbour(const struct confcheck *check, const struct conf_neighbour *neighbour,
			   const char *what);

/* Something one can connect to: no wildcard host, no port that only a server can choose. */
bool confcheck_is_destination(const char *address);

/* The section training, and what it means of the neighbours. */
int confcheck_training(struct confcheck *check);

/* Each neighbour has a limit, or is said to need none. */
int confcheck_limits(struct confcheck *check);

#endif
