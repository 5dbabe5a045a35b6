/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METER_MISSING_H
#define ISO_METER_MISSING_H

#include <stdbool.h>

#include "agent/base/error.h"

/*
 * Why eBPF cannot be had on a machine, in the words of whoever can change it.
 *
 * What can be told before trying: no BTF, a capability, lockdown, sched_switch
 * with other arguments, or a build without eBPF.  0, or -errno and *reterr names it.
 */
int meter_missing(struct error *reterr);

/* Its parts that need no machine of their own kind to be judged. */

/* Whether the file that holds it, below root, says that lockdown forbids to read kernel memory. */
bool meter_missing_lockdown(const char *root);

/*
 * sched_switch gained an argument in 5.18, first before prev and next and then
 * behind them; a vendor's kernel may have either.  0, or -ENOTSUP where a BTF describes
 * one that the programs would misread.
 */
struct btf;
int meter_missing_arguments(const struct btf *btf, struct error *reterr);

/*
 * After meter_missing() found nothing and loading failed with code all the same:
 * fills *reterr, or returns false if the verifier's log must tell.
 */
bool meter_missing_explains(int code, struct error *reterr);

#endif
