/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define FILE_NAME "keep-limit"

struct path {
	char text[CONF_PATH_BYTES + sizeof(FILE_NAME)];
};

static struct path path_of(const struct conf *conf)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%s/" FILE_NAME, conf->run_directory);
	return path;
}

int handover_ask(const struct conf *conf, struct error *reterr)
{
	struct path path = path_of(conf);
	int fd = open(path.text, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(reterr, -errno, "make '%s'", path.text);
	close(fd);
	return 0;
}

bool handover_is_asked(const struct conf *conf)
{
	/* One that cannot be asked for is no order. */
	return faccessat(AT_FDCWD, path_of(conf).text, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void handover_done(const struct conf *conf)
{
	(void)unlink(path_of(conf).text);
}
