/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_UNITSAVED_H
#define ISO_UNITSAVED_H

#include "agent/cgroup/unit.h"

/*
 * The quota that a unit had before us, in a file, so that an agent that was
 * killed and comes back does not take its own for it.  It belongs to one unit
 * of one boot, since runtime properties end with that.
 *
 * *quota is what the unit has now: kept if there is none kept yet, and else
 * replaced by what is.  -EBADMSG: the file is damaged.  -ENOSPC, -EDQUOT, -EROFS:
 * it cannot be kept now.
 */
int unitsaved_keep(const char *path, const char *unit, struct unit_quota *quota,
		   struct error *reterr);

#endif
