/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFPLACE_H
#define ISO_CONFPLACE_H

#include "agent/conf/confutil.h"

/*
 * Where in a file something stands that does not fit with the rest of it: for the checks after
 * confutil_parse(), which set *reterr and then say where.
 */
struct confplace {
	const char *name; /* of the file, for messages */
	const struct confutil_schema *schema;
	const struct confutil_lines *lines;
	struct error *reterr;
};

/* The line of an option, 0: the file does not set it. */
int confplace_line(const struct confplace *place, const char *section, const char *option);

/* -EINVAL: *reterr becomes "NAME: line N: ...", or "NAME: ..." with line 0. */
int confplace_at_line(const struct confplace *place, int line);
int confplace_at_option(const struct confplace *place, const char *section, const char *option);

#endif
