/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_PORTS_H
#define ISO_DEMO_PORTS_H

#include "agent/base/error.h"

#define PORTS_MAX 32

/* Different TCP ports of the loopback address that nobody listens on now. */
int ports_find(unsigned count, unsigned *ret_ports, struct error *reterr);

#endif
