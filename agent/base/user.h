/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_USER_H
#define ISO_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/base/error.h"

/*
 * Whom a program becomes that was started as root and needs nothing of it.  option
 * is what names the user, for messages: "--user", or a key of a configuration.
 */

/* Whether group 0 is one of its groups, its own or another, or nobody knows them. */
bool user_has_group_of_root(const char *name, gid_t primary);

/*
 * Becomes that user, with its groups and without any capability, for good; who is not
 * root stays who it is, and warns unless it is that user.  Before the first thread.
 * -ENOENT: there is none; -EPERM: it is root, or has the group of root, or that is more
 * than this process may.
 */
int user_become(const char *option, const char *name, struct error *reterr);

/*
 * directory_make() for a program that is going to become that user: where it makes
 * the directory, that user owns it, and its parents are root's with 0755.  One that
 * is there is left as it is.  Nothing is made, nor is that an error, in or below a
 * directory, or through a link, that is not root's alone to change: somebody could
 * have another directory given away, and that user can make it later by directory_make()
 * if it may.  path: absolute.
 */
int user_make_directory(const char *path, mode_t mode, const char *option, const char *name,
			struct error *reterr);

#endif
