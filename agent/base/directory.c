/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/directory.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static int make_one(const char *path, mode_t mode, struct error *reterr)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return 0;
	int code = errno;
	/* A parent on a read-only file system says EROFS, and is there all the same. */
	if (stat(path, &st) < 0)
		return error_errno(reterr, -code, "create '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return error_errno(reterr, -ENOTDIR, "create '%s'", path);
	return 0;
}

int directory_make(const char *path, mode_t mode, struct error *reterr)
{
	char part[PATH_MAX];
	size_t length = strlen(path);

	assert(path[0] == '/');
	if (length >= sizeof(part))
		return error_errno(reterr, -ENAMETOOLONG, "create '%.80s'", path);
	memcpy(part, path, length + 1);
	for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = make_one(part, 0755, reterr);

		*slash = '/';
		if (r < 0)
			return r;
	}
	return make_one(path, mode, reterr);
}
