/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *reterr, int code, const char *format, ...)
{
	int saved_errno = errno;
	va_list ap;

	if (reterr != NULL) {
		reterr->code = code;
		va_start(ap, format);
		vsnprintf(reterr->text, sizeof(reterr->text), format, ap);
		va_end(ap);
	}
	errno = saved_errno;
	return code;
}

int error_errno(struct error *reterr, int code, const char *format, ...)
{
	int saved_errno = errno;
	char what[sizeof(reterr->text)];
	va_list ap;

	if (reterr != NULL) {
		va_start(ap, format);
		vsnprintf(what, sizeof(what), format, ap);
		va_end(ap);
		reterr->code = code;
		snprintf(reterr->text, sizeof(reterr->text), "%.380s: %s", what, strerror(-code));
	}
	errno = saved_errno;
	return code;
}

int error_wrap(struct error *reterr, const char *format, ...)
{
	int saved_errno = errno;
	char before[sizeof(reterr->text)], after[sizeof(reterr->text)];
	va_list ap;

	if (reterr == NULL)
		return 0;
	va_start(ap, format);
	vsnprintf(before, sizeof(before), format, ap);
	va_end(ap);
	memcpy(after, reterr->text, sizeof(after));
	snprintf(reterr->text, sizeof(reterr->text), "%.200s: %.300s", before, after);
	errno = saved_errno;
	return reterr->code;
}
