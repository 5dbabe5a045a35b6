/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * ISO_CRASH_AT=STEP[:N]: the process kills itself when it reaches STEP for the
 * Nth time.  SIGKILL, so that nothing of it gets a chance to tidy up.
 */
void crash_point(const char *step)
{
	static unsigned long reached;
	const char *wanted = getenv("ISO_CRASH_AT");
	size_t length = strlen(step);

	if (wanted == NULL || strncmp(wanted, step, length) != 0 ||
	    (wanted[length] != '\0' && wanted[length] != ':'))
		return;
	unsigned long nth = wanted[length] == ':' ? strtoul(wanted + length + 1, NULL, 10) : 1;
	if (++reached < nth)
		return;
	(void)kill(getpid(), SIGKILL);
	for (;;) /* the signal may come a moment later: no step further */
		pause();
}
