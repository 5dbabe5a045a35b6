/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WHOLEFILE_H
#define ISO_WHOLEFILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Small files that are replaced as a whole: whatever happens, a crash or a
 * power cut, there is the old content or the new one.  The new one is made
 * durable as NAME.new in the same folder, and then takes the name; what an
 * attempt that died left there is overwritten, but no link is followed.
 *
 * folder: a descriptor of the folder, borrowed for the call.  name: without a
 * slash.  mode: as of open, so the umask counts.  All return 0 or -errno; what
 * they have made of NAME.new is removed on failure.
 */

/* Both steps. */
int wholefile_replace(int folder, const char *name, mode_t mode, const void *bytes, size_t size);

/* The same for a path, whose folder must be readable. */
int wholefile_replace_path(const char *path, mode_t mode, const void *bytes, size_t size);

/* The first step: NAME.new is durable, NAME is what it was. */
int wholefile_prepare(int folder, const char *name, mode_t mode, const void *bytes, size_t size);

/*
 * The second step: NAME is what NAME.new was, durable.  Where only the last
 * sync fails NAME is new already, though a power cut may bring the old one back.
 */
int wholefile_commit(int folder, const char *name);

#endif
