/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HTML_H
#define ISO_HTML_H

#include <stdio.h>

/*
 * Text as it may stand in HTML, in an element or in a quoted attribute.  Control
 * characters become U+FFFD.  Everything that is not ours goes through here.
 */
void html_text(FILE *out, const char *text);

#endif
