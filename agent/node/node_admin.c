/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/node/node_private.h"

/*
 * What an administrator tells a running node: to stop trading, to go on, and what
 * to log.  Stopping is an empty file in the state directory, so that a restart in
 * between changes nothing; the log level is the configuration's again then.
 */
#define FILE_NAME "frozen"

bool node_is_frozen(int state_fd)
{
	/* One that cannot be asked for is no order to stop. */
	return faccessat(state_fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int store(int state_fd, bool frozen)
{
	int fd;

	if (!frozen)
		return unlinkat(state_fd, FILE_NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
	fd = openat(state_fd, FILE_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static json_t *set_frozen(struct node *node, bool frozen)
{
	int r = node->is_frozen == frozen ? 0 : store(node->state_fd, frozen);

	/* The file is as it was asked for then, and who knows what a restart finds. */
	if (r == 0 && fsync(node->state_fd) < 0)
		return control_refuse("'%s/%s': %s; it is not in force, but may be after a "
				      "restart: try the same again",
				      node->conf->state_directory, FILE_NAME, strerror(errno));
	if (r < 0)
		return control_refuse("'%s/%s': %s; nothing has changed",
				      node->conf->state_directory, FILE_NAME, strerror(-r));
	if (node->is_frozen != frozen)
		log_info("node %s: %s", node->conf->node,
			 frozen ? "frozen: an administrator has stopped trading; the share stays "
				  "as it is and is enforced"
				: "an administrator lets it trade again");
	node->is_frozen = frozen;
	return json_pack("{s:b}", "frozen", frozen);
}

json_t *node_command_freeze(void *context, const json_t *request)
{
	(void)request;
	return set_frozen(context, true);
}

json_t *node_command_thaw(void *context, const json_t *request)
{
	(void)request;
	return set_frozen(context, false);
}

json_t *node_command_log_level(void *context, const json_t *request)
{
	const struct node *node = context;
	const json_t *level = json_object_get(request, "level");
	int value = log_level();

	if (level != NULL && !log_level_parse(json_string_value(level), &value))
		return control_refuse("level: expected error, warning, info or debug");
	if (value != log_level()) {
		/* At the level that says more: so it is seen in any case. */
		log_set_level(value > log_level() ? value : log_level());
		log_info("node %s: logs %s and above from now on", node->conf->node,
			 log_level_text(value));
		log_set_level(value);
	}
	return json_pack("{s:s}", "level", log_level_text(value));
}
