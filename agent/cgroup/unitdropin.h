/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_UNITDROPIN_H
#define ISO_UNITDROPIN_H

#include <stdbool.h>

#include "agent/base/error.h"

/*
 * The files from which systemd takes a unit's quota at a daemon-reload
 * (systemd.unit(5), "drop-in").  They are read in the order of their names,
 * whatever directory they are in, and the last one counts; of two with the same
 * name, the one in the directory with precedence.  What is set at run time, as
 * we do, is 50-CPUQuota.conf.
 */

/* Whether a quota in this file would count more than one set at run time.  Pure. */
bool unitdropin_comes_later(const char *path);

/*
 * The first of the paths that does so and has a CPUQuota=; NULL: there is none, so
 * what is set at run time stays.  A file that has gone is skipped.  The list ends
 * with NULL.  -errno of one that cannot be read.
 */
int unitdropin_find(char *const *paths, const char **ret_path, struct error *reterr);

#endif
