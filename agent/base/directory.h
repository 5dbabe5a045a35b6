/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DIRECTORY_H
#define ISO_DIRECTORY_H

#include <sys/types.h>

#include "agent/base/error.h"

/*
 * Makes a directory and the parents that it lacks; one that is there is fine.
 * Parents get 0755: /run is empty after each boot, and what stands in the way
 * of a start at that time should not be a mkdir.  path: absolute, shorter than
 * PATH_MAX.  -errno: "create 'PARENT': why", or -ENOTDIR where a file is in the way.
 */
int directory_make(const char *path, mode_t mode, struct error *reterr);

#endif
