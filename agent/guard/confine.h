/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFINE_H
#define ISO_CONFINE_H

/*
 * The guard's own sandbox, once all is open and locked: what its loop needs, and
 * no more.  As agent/base/sandbox.h, but without any library.  For good.
 *
 * No system call ends it: what is not on the list fails with ENOSYS.  0; -ENOTSUP:
 * there is no filter on this kernel or for this architecture, and -errno: the
 * kernel refuses; all the rest is in force then.
 */
int confine_self(void);

#endif
