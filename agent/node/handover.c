/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "lib/quantity.h"

#define FILE_NAME "keep-limit"
#define HOLDS_NS  (300 * (uint64_t)ISO_NS_PER_S)

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
	int fd = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(reterr, -errno, "make '%s'", path.text);
	int r = dprintf(fd, "%" PRIu64 "\n", clock_boot_ns()) < 0 ? -errno : 0;

	close(fd);
	return r < 0 ? error_errno(reterr, r, "write '%s'", path.text) : 0;
}

bool handover_is_asked(const struct conf *conf)
{
	int fd = open(path_of(conf).text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t asked_ns, now_ns = clock_boot_ns();
	char text[32];

	/* One that cannot be asked for is no order. */
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return sscanf(text, "%" SCNu64, &asked_ns) == 1 && asked_ns <= now_ns &&
	       now_ns - asked_ns < HOLDS_NS;
}

void handover_done(const struct conf *conf)
{
	(void)unlink(path_of(conf).text);
}
