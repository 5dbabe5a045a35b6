/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTFILES_H
#define ISO_PREFLIGHTFILES_H

#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/*
 * A row for each file or directory of the configuration, that file itself included, that
 * somebody else than root and the user who asks may change; one if there is none.
 */
void preflightfiles_check(struct preflight *preflight, const struct conf *conf, const char *file);

#endif
