/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ERROR_H
#define ISO_ERROR_H

/*
 * What went wrong, in words a person will read.  It lives on the caller's
 * stack and allocates nothing.  The leaf says what failed and why; each
 * caller prefixes what it was doing: "load isobard.conf: line 12: ...".
 */
struct error {
	int code;       /* negative errno, or -EINVAL where only the text matters */
	char text[512];
};

/* Fills *reterr and returns code.  reterr may be NULL; errno is left alone. */
__attribute__((format(printf, 3, 4))) int error_set(struct error *reterr, int code,
						    const char *format, ...);

/* Same, and appends ": " and the text of -code. */
__attribute__((format(printf, 3, 4))) int error_errno(struct error *reterr, int code,
						      const char *format, ...);

/* Puts "<format>: " before the text that is there; returns reterr->code (0 for NULL). */
__attribute__((format(printf, 2, 3))) int error_wrap(struct error *reterr, const char *format,
						     ...);

#endif
