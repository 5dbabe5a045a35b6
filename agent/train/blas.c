/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/blas.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void blas_without_threads(char **argv)
{
	const char *set = getenv("OPENBLAS_NUM_THREADS");
	char path[PATH_MAX];

	if (set != NULL && strcmp(set, "1") == 0)
		return;
	/* By its path: the name of the process stays what it is. */
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (size <= 0 || setenv("OPENBLAS_NUM_THREADS", "1", 1) < 0)
		return;
	path[size] = '\0';
	(void)execv(path, argv);
}
