/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_OUTPUT_H
#define ISO_OUTPUT_H

#include <stdbool.h>

#include "agent/base/error.h"

/*
 * Sends off what is buffered of the standard output.  0, or -errno if anything that
 * was written to it so far has not arrived: a disk that is full must not end in
 * half a table and success.
 */
int output_flush(struct error *reterr);

/* For the end of a program: says what was lost on stderr, and returns whether nothing was. */
bool output_finish(const char *program);

#endif
