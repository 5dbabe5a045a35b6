/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SANDBOX_CALLS_H
#define ISO_SANDBOX_CALLS_H

/*
 * Lists of system calls by name, each with NULL at its end.  A name that an
 * architecture or a library does not know is passed over.
 */

/* What any program of ours may do: files, memory, threads, sockets, time. */
extern const char *const sandbox_calls_common[];
/* To start other programs. */
extern const char *const sandbox_calls_starting[];
/* To become another user, to measure by eBPF. */
extern const char *const sandbox_calls_agent[];
/* Refused with EPERM where no other list has them; what stands nowhere is unknown. */
extern const char *const sandbox_calls_refused[];

#endif
