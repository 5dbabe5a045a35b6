/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/clock.h"

#define INTERVAL_S 0.2

void progress_show(const char *format, ...)
{
	static double shown_s;
	double now_s = clock_cpu_s();
	va_list arguments;

	if (now_s - shown_s < INTERVAL_S || !isatty(STDERR_FILENO))
		return;
	shown_s = now_s;
	progress_clear();
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
