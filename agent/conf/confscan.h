/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFSCAN_H
#define ISO_CONFSCAN_H

#include "agent/base/error.h"

/*
 * A first look at a configuration file before libconfuse 3.3 sees it, for
 * what that lets pass or gets wrong: it counts the newline of a "#" or "//"
 * comment twice, so that every later line number is off; it accepts a file
 * that ends inside a comment or a section; after an unclosed string its
 * scanner stays inside it for the next file; it expands ${...} from the
 * environment; it drops a "*" outside of quotes; and "a|b = 1" reaches into
 * sections.
 *
 * Blanks out comments in place, keeping the lines.  -EINVAL: "line N: ...".
 */
int confscan(char *text, struct error *reterr);

#endif
