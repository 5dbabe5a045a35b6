/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHTNET_H
#define ISO_PREFLIGHTNET_H

#include <stdbool.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "agent/ctl/preflight.h"

/* Whether addresses would work, tried with plain sockets that are closed at once. */

/* 0 if something could listen there; -EADDRINUSE, -EADDRNOTAVAIL, ...; names are not looked up. */
int preflightnet_bind(const char *address, struct error *reterr);

/* 0 if something listens there now, within a second. */
int preflightnet_connect(const char *address, struct error *reterr);

/* Whether somebody listens on a control socket. */
bool preflightnet_answers(const char *path);

/* A row of that name: whether isobard or its worker can listen there, or does. */
void preflightnet_check(struct preflight *preflight, const struct conf *conf, const char *what,
			const char *address);

#endif
