/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_PROGRESS_H
#define ISO_SIM_PROGRESS_H

/*
 * How far a command is, for who waits at a terminal: one line of stderr that is written over,
 * five times a second of CPU at most.  Nothing where stderr is no terminal.
 */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_clear(void);

#endif
