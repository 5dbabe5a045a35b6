/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CRASH_H
#define ISO_CRASH_H

/*
 * Where a test may end the process as kill -9 would: at the named step of a
 * start (opened, linked), of a tick (begin, lowered, recorded, durable,
 * committed, raised, sending, sent) or of an operation (neighbours written,
 * admitting, admitted, answered).
 *
 * In isobard these are nothing: no code, no variable, no name.  Only the
 * program that tests/system builds from the same sources, and never installs,
 * has them (tests/system/crash.c says how to ask for one).
 */
#ifdef ISO_CRASH_POINTS
void crash_point(const char *step);
#else
static inline void crash_point(const char *step)
{
	(void)step;
}
#endif

#endif
