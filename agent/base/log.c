/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
	int level_max;
	bool with_prefix;
	unsigned long lost;
} logger = { .level_max = LOG_INFO };

void log_init(int level_max, bool with_prefix)
{
	logger.level_max = level_max;
	logger.with_prefix = with_prefix;
}

void log_set_level(int level_max)
{
	logger.level_max = level_max;
}

int log_level(void)
{
	return logger.level_max;
}

static const struct {
	const char *text;
	int level;
} levels[] = {
	{ "error", LOG_ERR },
	{ "warning", LOG_WARNING },
	{ "info", LOG_INFO },
	{ "debug", LOG_DEBUG },
};

bool log_level_parse(const char *text, int *ret_level)
{
	for (size_t i = 0; text != NULL && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(text, levels[i].text) == 0) {
			*ret_level = levels[i].level;
			return true;
		}
	return false;
}

const char *log_level_text(int level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (levels[i].level == level)
			return levels[i].text;
	return "?";
}

int log_level_of(int choice)
{
	assert(choice >= 0 && (size_t)choice < sizeof(levels) / sizeof(levels[0]));
	return levels[choice].level;
}

void log_prepare(void)
{
	int fd;

	/* Nobody reads any more: that must not be the end of whoever enforces limits. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* Else what is opened next would be taken for stderr, and logged into. */
	do
		fd = open("/dev/null", O_RDWR); /* inherited, as the three are */
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* One write per line, so that lines never interleave; false if it would have to wait. */
static bool put(int level, const char *text)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[1100];
	int size;

	if (logger.with_prefix)
		size = snprintf(line, sizeof(line), "<%d>%s\n", level, text);
	else
		size = snprintf(line, sizeof(line), "%s\n", text);
	if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
		return false;
	return write(STDERR_FILENO, line, (size_t)size) == size;
}

void log_at(int level, const char *format, ...)
{
	int saved_errno = errno;
	char text[1024], lost[64];
	va_list ap;

	if (level > logger.level_max)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (logger.lost > 0) {
		snprintf(lost, sizeof(lost), "%lu lines were lost here", logger.lost);
		if (put(LOG_WARNING, lost))
			logger.lost = 0;
	}
	if (logger.lost > 0 || !put(level, text))
		logger.lost++;
	errno = saved_errno;
}
