/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METER_CENSUS_H
#define ISO_METER_CENSUS_H

#include "agent/base/error.h"

/*
 * How many meters measure by eBPF on this machine, whoever's they are and in
 * whatever container: each is in every context switch.  Returns 0 or -errno: -EPERM
 * without CAP_SYS_ADMIN, -ENOTSUP if built without eBPF.
 */
int meter_census(unsigned *ret_meters, struct error *reterr);

#endif
