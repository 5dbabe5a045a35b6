/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SWITCHTIME_H
#define ISO_SWITCHTIME_H

/*
 * What a switch to another process takes, in us of CPU time, with all that comes
 * with it: two processes on one CPU pass a byte to and fro by pipes.  They are where
 * the caller is.  Waits for a child of its own; a failure says so and ends the process.
 */
double switchtime_us(void);

#endif
