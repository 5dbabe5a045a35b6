/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/unitdropin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUR_NAME   "50-CPUQuota.conf"
#define PERSISTENT "/etc/systemd/system.control/" /* systemctl set-property */

bool unitdropin_comes_later(const char *path)
{
	const char *slash = strrchr(path, '/');
	int order = strcmp(slash != NULL ? slash + 1 : path, OUR_NAME);

	if (order == 0)
		return strncmp(path, PERSISTENT, strlen(PERSISTENT)) == 0;
	return order > 0;
}

static bool is_quota(const char *line)
{
	static const char key[] = "CPUQuota";

	line += strspn(line, " \t");
	if (strncmp(line, key, strlen(key)) != 0)
		return false;
	line += strlen(key);
	return line[strspn(line, " \t")] == '=';
}

static int has_quota(const char *path, bool *ret_has, struct error *reterr)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	*ret_has = false;
	if (file == NULL && errno == ENOENT)
		return 0;
	if (file == NULL)
		return error_errno(reterr, -errno, "read '%.300s'", path);
	while (!*ret_has && getline(&line, &size, file) >= 0)
		*ret_has = is_quota(line);
	if (ferror(file))
		r = error_errno(reterr, -EIO, "read '%.300s'", path);
	free(line);
	fclose(file);
	return r;
}

int unitdropin_find(char *const *paths, const char **ret_path, struct error *reterr)
{
	const char *found = NULL;
	bool has;

	for (; *paths != NULL && found == NULL; paths++) {
		int r;

		if (!unitdropin_comes_later(*paths))
			continue;
		r = has_quota(*paths, &has, reterr);
		if (r < 0)
			return r;
		if (has)
			found = *paths;
	}
	*ret_path = found;
	return 0;
}
