/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/collect.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "agent/control/printable.h"

/* A backlog that is full says so and tells no event when it is not: try again. */
#define RETRY_NS 10000000u

enum phase { CALL_CONNECT, CALL_SEND, CALL_WAIT, CALL_DONE };

/* One question under way. */
struct call {
	struct collect_agent *agent;
	int fd;
	enum phase phase;
};

struct round {
	char request[96];
	char reply[CONTROL_PACKET_BYTES_MAX]; /* one at a time: a packet comes whole */
	unsigned count;
	struct call calls[COLLECT_AGENTS_MAX];
	struct pollfd polled[COLLECT_AGENTS_MAX];
};

static int by_name(const void *a, const void *b)
{
	const struct collect_agent *one = a, *other = b;

	return strcmp(one->name, other->name);
}

int collect_find(const char *directory, struct collect *ret_collect, struct error *reterr)
{
	struct dirent *entry;
	struct stat st;

	ret_collect->count = 0;
	ret_collect->is_full = false;
	DIR *open_directory = opendir(directory);
	if (open_directory == NULL)
		return errno == ENOENT ? 0 : error_errno(reterr, -errno, "read '%s'", directory);
	while ((entry = readdir(open_directory)) != NULL) {
		struct collect_agent agent = { .reply = NULL };
		int n = snprintf(agent.path, sizeof(agent.path), "%s/%s/control", directory,
				 entry->d_name);

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(agent.name) ||
		    n < 0 || n >= (int)sizeof(agent.path) || stat(agent.path, &st) < 0 ||
		    !S_ISSOCK(st.st_mode))
			continue;
		if (ret_collect->count == COLLECT_AGENTS_MAX) {
			ret_collect->is_full = true;
			break;
		}
		memcpy(agent.name, entry->d_name, strlen(entry->d_name) + 1);
		ret_collect->agents[ret_collect->count++] = agent;
	}
	closedir(open_directory);
	qsort(ret_collect->agents, ret_collect->count, sizeof(ret_collect->agents[0]), by_name);
	return 0;
}

int collect_add(struct collect *collect, const char *path, struct error *reterr)
{
	size_t size = strlen(path) + 1;

	if (size > CONTROL_PATH_BYTES)
		return error_errno(reterr, -ENAMETOOLONG, "'%.120s'", path);
	if (collect->count == COLLECT_AGENTS_MAX)
		return error_set(reterr, -ENOSPC, "more than %d sockets", COLLECT_AGENTS_MAX);
	struct collect_agent *agent = &collect->agents[collect->count++];
	*agent = (struct collect_agent){ .reply = NULL };
	memcpy(agent->path, path, size);
	/* The end of a long path tells more than its beginning. */
	const char *tail = size > sizeof(agent->name) ? path + size - sizeof(agent->name) : path;
	snprintf(agent->name, sizeof(agent->name), "%s", tail);
	return 0;
}

static void end(struct call *call, const char *why)
{
	if (call->fd >= 0)
		close(call->fd);
	call->fd = -1;
	call->phase = CALL_DONE;
	snprintf(call->agent->why, sizeof(call->agent->why), "%s", why);
}

/* What came is an answer, a refusal, or nothing of ours. */
static void take(struct call *call, const char *bytes, size_t size)
{
	json_t *reply = json_loadb(bytes, size, 0, NULL);
	const char *error = printable(json_object_get(reply, "error"));

	if (json_is_true(json_object_get(reply, "ok"))) {
		call->agent->reply = reply;
		end(call, "");
		return;
	}
	end(call, error != NULL ? error : "the answer is no JSON object");
	json_decref(reply);
}

static void try_connect(struct call *call)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, call->agent->path, strlen(call->agent->path) + 1);
	if (connect(call->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		call->phase = CALL_SEND;
	else if (errno != EAGAIN && errno != EINTR)
		end(call, strerror(errno));
}

static void try_send(struct round *round, struct call *call)
{
	ssize_t n = send(call->fd, round->request, strlen(round->request),
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	/* A server that is full answers and hangs up before it reads. */
	if (n >= 0 || errno == EPIPE || errno == ECONNRESET)
		call->phase = CALL_WAIT;
	else if (errno != EAGAIN && errno != EINTR)
		end(call, strerror(errno));
}

static void try_receive(struct round *round, struct call *call)
{
	ssize_t n = recv(call->fd, round->reply, sizeof(round->reply), MSG_DONTWAIT | MSG_TRUNC);

	/* The error of the hang-up is told once, before the answer that came first. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(call->fd, round->reply, sizeof(round->reply), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		end(call, strerror(errno));
	else if (n == 0)
		end(call, "it hung up without an answer");
	else if (n > (ssize_t)sizeof(round->reply))
		end(call, "the answer is too long");
	else
		take(call, round->reply, (size_t)n);
}

static void step(struct round *round, struct call *call)
{
	if (call->phase == CALL_CONNECT)
		try_connect(call);
	if (call->phase == CALL_SEND)
		try_send(round, call);
	if (call->phase == CALL_WAIT)
		try_receive(round, call);
}

static void begin(struct round *round, struct collect_agent *agent)
{
	struct call *call = &round->calls[round->count++];

	json_decref(agent->reply);
	agent->reply = NULL;
	*call = (struct call){ .agent = agent, .phase = CALL_CONNECT };
	call->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (call->fd < 0)
		end(call, strerror(errno));
	else
		step(round, call);
}

/* Waits until something may have moved; false when nobody is left or the time is over. */
static bool wait_round(struct round *round, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns(), until_ns = deadline_ns;
	unsigned open_calls = 0;

	for (unsigned i = 0; i < round->count; i++) {
		const struct call *call = &round->calls[i];

		/* A negative descriptor is not looked at. */
		round->polled[i] = (struct pollfd){
			.fd = call->phase == CALL_CONNECT ? -1 : call->fd,
			.events = call->phase == CALL_SEND ? POLLOUT : POLLIN,
		};
		open_calls += call->phase != CALL_DONE;
		if (call->phase == CALL_CONNECT && now_ns + RETRY_NS < until_ns)
			until_ns = now_ns + RETRY_NS;
	}
	if (open_calls == 0 || now_ns >= deadline_ns)
		return false;
	/* Interrupted is as good as woken. */
	(void)poll(round->polled, round->count, (int)((until_ns - now_ns) / 1000000) + 1);
	return true;
}

static void ask(struct collect_agent *agents, unsigned count, const char *command,
		uint64_t timeout_ns)
{
	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	struct round *round = malloc(sizeof(*round));

	if (round == NULL) {
		for (unsigned i = 0; i < count; i++) {
			json_decref(agents[i].reply);
			agents[i].reply = NULL;
			snprintf(agents[i].why, sizeof(agents[i].why), "out of memory");
		}
		return;
	}
	int n = snprintf(round->request, sizeof(round->request), "{\"command\":\"%s\"}", command);
	assert(n > 0 && n < (int)sizeof(round->request));
	round->count = 0;
	for (unsigned i = 0; i < count; i++)
		begin(round, &agents[i]);
	while (wait_round(round, deadline_ns))
		for (unsigned i = 0; i < round->count; i++)
			if (round->calls[i].phase != CALL_DONE)
				step(round, &round->calls[i]);
	for (unsigned i = 0; i < round->count; i++)
		if (round->calls[i].phase != CALL_DONE)
			end(&round->calls[i], "no answer in time");
	free(round);
}

void collect_ask(struct collect *collect, const char *command, uint64_t timeout_ns)
{
	ask(collect->agents, collect->count, command, timeout_ns);
}

void collect_ask_one(struct collect_agent *agent, const char *command, uint64_t timeout_ns)
{
	ask(agent, 1, command, timeout_ns);
}

void collect_drop(struct collect *collect)
{
	for (unsigned i = 0; i < collect->count; i++) {
		json_decref(collect->agents[i].reply);
		collect->agents[i].reply = NULL;
	}
}
