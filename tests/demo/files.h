/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_FILES_H
#define ISO_DEMO_FILES_H

#include <stdio.h>
#include <sys/types.h>

#include "agent/base/error.h"

/* Small things with files that several parts of the demo need. */

#define DEMO_PATH_BYTES 512

/* $TMPDIR, or /tmp. */
const char *temporary_directory(void);

/* "directory/name"; a path too long for the buffer ends the program: it is our own. */
void path_join(char ret_path[DEMO_PATH_BYTES], const char *directory, const char *name);

/* One write() of the text into a file that is there (a kernel file, mostly). */
int file_put(const char *path, const char *text, struct error *reterr);

/* At most size - 1 bytes, NUL-terminated; -errno. */
int file_get(const char *path, char *ret_text, size_t size);

int file_copy(const char *from, const char *to, mode_t mode, struct error *reterr);

/* Removes a directory with all that is in it; one that is not there is fine. */
int tree_remove(const char *directory, struct error *reterr);

/* Prints the last lines of a file, each behind the prefix. */
void file_print_tail(FILE *to, const char *path, const char *prefix, unsigned lines);

#endif
