/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/control_server.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/loop.h"
#include "tests/test.h"

struct server server;

static json_t *on_ask(void *context, const json_t *request)
{
	return json_pack("{s:s, s:O}", "who", context, "you",
			 json_object_get(request, "you") != NULL ? json_object_get(request, "you")
								 : json_null());
}

static json_t *on_set(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return json_object();
}

static json_t *on_broken(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return NULL;
}

static json_t *on_refuse(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return control_refuse("not \xff today");
}

/* A reply of about as many bytes as asked for. */
static json_t *on_large(void *context, const json_t *request)
{
	size_t bytes = (size_t)json_integer_value(json_object_get(request, "bytes"));
	char *text = malloc(bytes + 1);

	(void)context;
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	json_t *reply = json_pack("{s:s}", "text", text);
	free(text);
	return reply;
}

/* Nobody is ever answered here: tests/unit/admin.c has the rest. */
static json_t *on_later(void *context, const json_t *request, const struct control_token *token)
{
	(void)context;
	(void)request;
	(void)token;
	return NULL;
}

static char who[] = "server";

static const struct control_command commands[] = {
	{ .name = "ask", .fn = on_ask },
	{ .name = "set", .changes_state = true, .fn = on_set },
	{ .name = "broken", .fn = on_broken },
	{ .name = "refuse", .fn = on_refuse },
	{ .name = "large", .fn = on_large },
	{ .name = "later", .later = on_later },
};

struct control_config server_configure(void)
{
	return (struct control_config){
		.directory = server.directory,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.context = who,
	};
}

void server_start(const struct control_config *config)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	server.pid = fork();
	if (server.pid == 0) {
		static struct loop loop;
		struct control *control;

		if (control_open(config, &loop, &control, &server.error) < 0) {
			fprintf(stderr, "%s\n", server.error.text);
			_exit(1);
		}
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		loop_run(&loop);
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

void server_stop(int signal)
{
	int status;

	if (server.pid <= 0)
		return;
	kill(server.pid, signal);
	ck_assert_int_eq(waitpid(server.pid, &status, 0), server.pid);
	/* It was alive until we ended it. */
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), signal);
	server.pid = 0;
}

void server_set_up(void)
{
	snprintf(server.directory, sizeof(server.directory), "/tmp/isobar-control-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(server.directory));
	ck_assert_int_eq(chmod(server.directory, 0755), 0);
	snprintf(server.path, sizeof(server.path), "%s/control", server.directory);
	server.pid = 0;
}

void server_tear_down(void)
{
	char command[96];

	server_stop(SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", server.directory);
	ck_assert_int_eq(system(command), 0);
}

json_t *server_call(const char *text)
{
	json_t *request = json_loads(text, 0, NULL), *reply = NULL;

	ck_assert_ptr_nonnull(request);
	int r = control_call(server.path, request, 5 * SECOND_NS, &reply, &server.error);
	ck_assert_msg(r == 0, "%s", server.error.text);
	json_decref(request);
	return reply;
}

void server_reply_is(json_t *reply, const char *expected)
{
	char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_str_eq(text, expected);
	free(text);
	json_decref(reply);
}

int server_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), bytes = 1 << 18;

	memcpy(address.sun_path, server.path, strlen(server.path) + 1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return fd;
}

const char *server_raw_call(int fd, const void *bytes, size_t size)
{
	static char reply[4096];
	struct pollfd item = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
	ck_assert_int_eq(poll(&item, 1, 5000), 1);
	ssize_t n = recv(fd, reply, sizeof(reply) - 1, 0);
	if (n <= 0)
		return NULL;
	reply[n] = '\0';
	return reply;
}
