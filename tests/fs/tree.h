/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_TREE_H
#define ISO_TESTS_TREE_H

#include <stddef.h>

/*
 * A root of plain files in a temporary directory: /proc, /sys and control
 * groups as some host has them.  Paths are absolute within it.
 */

/* Makes an empty one and returns its path; tree_end() removes it. */
const char *tree_start(void);
void tree_end(void);

/* Writes a file, with the directories above it. */
void tree_file(const char *path, const char *text);
void tree_directory(const char *path);
void tree_read(const char *path, char *ret_text, size_t size);

/* /proc/self/mountinfo, /proc/cgroups, /proc/self/cgroup and /sys/.../online (0-3) of a host. */
void tree_v1_host(void);
void tree_v2_host(void);
void tree_hybrid_host(void); /* cpu on v1, a cgroup2 mount beside it */

#endif
