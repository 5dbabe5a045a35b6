/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/loop.h"
#include "agent/control/control.h"

/*
 * Stands for a node: answers from files in a directory, which also holds the
 * socket.  NAME.1.json is the first answer to NAME, NAME.2.json the second and so
 * on; without them NAME.json is.
 */

struct node {
	const char *directory;
	unsigned asked;
};

static json_t *answer(struct node *node, const char *name)
{
	char path[512];
	json_t *json;

	node->asked++;
	snprintf(path, sizeof(path), "%s/%s.%u.json", node->directory, name, node->asked);
	json = json_load_file(path, 0, NULL);
	if (json != NULL)
		return json;
	snprintf(path, sizeof(path), "%s/%s.json", node->directory, name);
	json = json_load_file(path, 0, NULL);
	return json != NULL ? json : control_refuse("there is no %s here", name);
}

static json_t *on_status(void *context, const json_t *request)
{
	(void)request;
	return answer(context, "status");
}

static json_t *on_history(void *context, const json_t *request)
{
	(void)request;
	return answer(context, "history");
}

static json_t *on_ledger(void *context, const json_t *request)
{
	(void)request;
	return answer(context, "ledger");
}

int main(int argc, char **argv)
{
	static const struct control_command commands[] = {
		{ .name = "history", .fn = on_history },
		{ .name = "status", .fn = on_status },
		{ .name = "ledger", .fn = on_ledger },
	};
	static struct loop loop;
	struct node node = { .directory = argc == 2 ? argv[1] : "." };
	struct control_config config = {
		.directory = node.directory,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.context = &node,
	};
	struct control *control;
	struct error error;

	if (control_open(&config, &loop, &control, &error) < 0) {
		fprintf(stderr, "answer: %s\n", error.text);
		return EXIT_FAILURE;
	}
	int r = loop_run(&loop);
	control = control_close(control);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
