/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/control.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REPLY_BYTES (64u * 1024u)

static char directory[] = "/tmp/isobar-fuzz-XXXXXX";
static struct control *control;
static struct loop loop;
static unsigned calls;

/* Gives the request back: what the parser let through must also go out again. */
static json_t *echo(void *context, const json_t *request)
{
	(void)context;
	assert(json_is_object(request));
	calls++;
	return json_pack("{s:O}", "request", request);
}

static void close_server(void)
{
	control_close(control);
	(void)rmdir(directory);
}

static int open_server(void)
{
	static const struct control_command commands[] = {
		{ .name = "echo", .fn = echo },
		{ .name = "change", .changes_state = true, .fn = echo }
	};
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct error error;

	char *made = mkdtemp(directory);
	assert(made != NULL);
	const struct control_config config = {
		.directory = directory,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.idle_ns = UINT64_MAX / 4,
	};
	int r = control_open(&config, &loop, &control, &error);
	assert(r == 0);
	atexit(close_server);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", directory);
	r = connect(fd, (const struct sockaddr *)&address, sizeof(address));
	assert(r == 0);
	loop.sources[1]->fn(loop.sources[1], ZMQ_POLLIN);
	assert(loop.count == 3);
	return fd;
}

/* Each packet gets one reply, an object that says ok or why not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char reply[REPLY_BYTES];
	static int fd = -1;

	if (fd < 0)
		fd = open_server();
	/* An empty packet is the end; a long one would need a long reply. */
	if (size == 0 || size > REPLY_BYTES / 16)
		return 0;
	calls = 0;
	ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
	assert(count == (ssize_t)size);
	loop.sources[2]->fn(loop.sources[2], ZMQ_POLLIN);
	count = recv(fd, reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
	assert(count > 0 && (size_t)count <= sizeof(reply));

	json_t *json = json_loadb(reply, (size_t)count, JSON_REJECT_DUPLICATES, NULL);
	assert(json_is_object(json));
	const json_t *ok = json_object_get(json, "ok");
	assert(json_is_boolean(ok));
	assert(json_is_true(ok) == (calls == 1));
	if (json_is_false(ok))
		assert(json_is_string(json_object_get(json, "error")));
	json_decref(json);
	return 0;
}
