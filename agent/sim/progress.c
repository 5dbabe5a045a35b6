/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/clock.h"

#define INTERVAL_S 0.2
#define COLUMNS	   80 /* of a terminal that does not say how many it has */

/* What fits: a line that the terminal breaks is not written over, and piles up. */
static int columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return COLUMNS - 1;
	return size.ws_col - 1;
}

void progress_show(const char *format, ...)
{
	static double shown_s;
	double now_s = clock_cpu_s();
	char line[256];
	va_list arguments;

	if (now_s - shown_s < INTERVAL_S || !isatty(STDERR_FILENO))
		return;
	shown_s = now_s;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	progress_clear();
	fprintf(stderr, "%.*s", columns(), line);
}

void progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
