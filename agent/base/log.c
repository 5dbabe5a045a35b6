/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
	int level_max;
	bool with_prefix;
} logger = { .level_max = LOG_INFO };

void log_init(int level_max, bool with_prefix)
{
	logger.level_max = level_max;
	logger.with_prefix = with_prefix;
}

void log_at(int level, const char *format, ...)
{
	int saved_errno = errno;
	char line[1024];
	va_list ap;

	if (level > logger.level_max)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);

	/* One write per line, so that lines never interleave. */
	if (logger.with_prefix)
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "%s\n", line);
	errno = saved_errno;
}
