/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/html.h"

void html_text(FILE *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		switch (*p) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default:
			if (*p < ' ' || *p == 0x7f)
				fputs("\xef\xbf\xbd", out);
			else
				fputc(*p, out);
		}
	}
}
