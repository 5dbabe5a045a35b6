/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONF_RELOAD_H
#define ISO_CONF_RELOAD_H

#include "agent/base/error.h"
#include "agent/conf/conf.h"

/*
 * A configuration that was read anew while isobard runs.  What is looked at anew at each
 * tick may change:
 *
 *     log-level   ceiling   release-after   the section cost
 *     limit of the section trading and of neighbours
 *     administrators (where admin-listen is set)
 *
 * All else is what sockets, directories, the ledger and the worker were made with.
 */

/* Options as "ceiling" or "cost.weight", separated by ", "; what does not fit ends in "...". */
#define CONF_NAMES_BYTES 512
struct conf_changes {
	char taken[CONF_NAMES_BYTES];	/* in force from now on; empty: none */
	char restart[CONF_NAMES_BYTES]; /* changed in the file, but not here until a restart */
};

/* Whether a changed value of this option, of no repeated section, is taken. */
bool conf_reloads(const struct confutil_option *option);

/*
 * Takes what may change from fresh into *conf, all of it or nothing.  -EINVAL: what is
 * taken does not go with what stays; *conf is untouched then.
 */
int conf_take(struct conf *conf, const struct conf *fresh, struct conf_changes *ret_changes,
	      struct error *reterr);

#endif
