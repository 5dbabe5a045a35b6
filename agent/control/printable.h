/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PRINTABLE_H
#define ISO_PRINTABLE_H

#include <jansson.h>

/*
 * What another program wrote, for a terminal or a log: itself, or "(unprintable)"
 * where it has control characters, of ASCII or of UTF-8's C1.  NULL: no string.
 */
const char *printable(const json_t *string);

#endif
