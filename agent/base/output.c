/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/output.h"

#include <errno.h>
#include <stdio.h>

int output_flush(struct error *reterr)
{
	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return 0;
	/* A write of before has left no reason, only that it failed. */
	return error_errno(reterr, errno != 0 ? -errno : -EIO, "standard output");
}

bool output_finish(const char *program)
{
	struct error error;

	if (output_flush(&error) == 0)
		return true;
	fprintf(stderr, "%s: %s\n", program, error.text);
	return false;
}
