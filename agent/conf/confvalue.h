/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFVALUE_H
#define ISO_CONFVALUE_H

#include <stddef.h>

#include "agent/base/error.h"
#include "agent/conf/confutil.h"

/*
 * One value as a person wrote it, into the field that its row describes;
 * owner is the struct that row's offset counts from.  -EINVAL: "name: 'text'
 * ...; expected ..." and the field is untouched.
 */
int confvalue_set(const struct confutil_option *option, const char *text, void *owner,
		  struct error *reterr);

/* A NAME that fits into size bytes with its NUL. */
int confvalue_check_name(const char *text, size_t size, struct error *reterr);

#endif
