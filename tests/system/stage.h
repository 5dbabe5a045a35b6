/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_STAGE_H
#define ISO_SYSTEM_STAGE_H

#include <check.h>

#include "tests/demo/files.h"
#include "tests/demo/groups.h"

/* What tests with real agents stand on: cgroups of their own, ports, what was built. */
extern struct groups stage_groups;

/* A suite of such tests, one stage a test; the program is skipped where none can be. */
Suite *stage_suite_create(const char *name);
void stage_suite_add(Suite *suite, const char *name, int timeout_s, const TTest *test);

void stage_pause_ms(unsigned ms);

/* Of loopback TCP; another one at each call. */
unsigned stage_free_port(void);

/* How many lines of the file "log" in a directory have these words. */
unsigned stage_log_count(const char *directory, const char *words);

/* A file within the build directory; returns ret_path. */
const char *stage_build_path(const char *file, char ret_path[DEMO_PATH_BYTES]);

#endif
