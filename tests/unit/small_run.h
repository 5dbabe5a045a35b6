/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_SMALL_RUN_H
#define ISO_TESTS_SMALL_RUN_H

#include "agent/train/coordinator_runstate.h"

/*
 * A coordinator's run with three workers a, b and c of one CPU each, without network and
 * clock, for tests that look at what it decides.
 */
#define MS 1000000ull

extern char folder[64]; /* with its checkpoint */
extern struct cconf conf;
extern struct error run_error;
extern struct run *run;
extern uint64_t now_ns;
extern const struct dataset test; /* 4 samples, 3 features, 2 classes */

/* Before and after each test. */
void make_folder(void);
void remove_folder(void);

/* The configuration: what each run needs, and `more`. */
void configure(const char *more);
/* A run with it that all three have joined. */
void open_run(const char *more);

/* Takes what was ordered; the first task of each worker needs so long. */
void compute(const uint64_t on_cpu_ns[3]);

#endif
