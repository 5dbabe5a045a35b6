/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_WATCH_H
#define ISO_DEMO_WATCH_H

#include "tests/demo/demo.h"

/* Signals that end a run, and SIGCHLD: blocked here and in what is forked from here. */
void watch_block_signals(void);

/*
 * Waits for a child to end and hands on the signals that come meanwhile.  Its
 * exit status; 1, and says so, if a signal ended it.
 */
int watch_child(pid_t pid);

/* Opens demo->signal_fd; 0 or -errno. */
int watch_open(struct demo *demo);

/*
 * Waits until at_ns and takes what the observer says meanwhile.  -EINTR:
 * somebody wants the run to end, demo->signal says how.  -ECHILD: a program
 * ended that should not have.
 */
int watch_until(struct demo *demo, uint64_t at_ns);

/* Takes the rest of what the observer says, after it has ended. */
void watch_drain_observer(struct demo *demo);

#endif
