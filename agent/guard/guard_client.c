/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/guard_client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/cgroup/limit_file.h"
#include "agent/guard/guard_spawn.h"
#include "agent/guard/guard_talk.h"
#include "agent/guard/guard_wire.h"

#define ANSWER_NS     1000000000u
#define ANSWER_NS_MIN 10000000u
#define END_MS	      1000
#define RETRY_NS      1000000000u
#define RUSH_MAX      3 /* deaths in a row, each within RETRY_NS of the start */

struct guard_client {
	struct guard_client_config config;
	struct cgroup_writer writer;
	struct guard_status status;
	struct guard_process process;
	int dir_fd; /* the group, opened for ourselves: a copy would share the agent's lock */
	unsigned hierarchy;
	struct limit_file own; /* for when there is no guard */
	struct loop *loop;
	struct loop_source source;
	uint64_t deadline_ns; /* as the node has it, or as a guard was found with */
	uint64_t number;
	uint64_t retry_at_ns;
	uint64_t started_ns; /* when the last one was there */
	unsigned rush;
	uint32_t lowered_seen;
	bool is_sticky;
	pid_t outdated; /* one that stays all the same, which has been said; 0: none */
	bool has_lowered;
	struct cgroup_limit lowered;
};

const char *guard_state_name(enum guard_state state)
{
	switch (state) {
	case GUARD_OK: return "ok";
	case GUARD_RESTARTING: return "restarting";
	case GUARD_NONE: return "none";
	}
	return "unknown";
}

const char *guard_watchdog_name(enum guard_watchdog watchdog)
{
	switch (watchdog) {
	case GUARD_WATCHDOG_NONE: return "none";
	case GUARD_WATCHDOG_ARMED: return "armed";
	case GUARD_WATCHDOG_TOO_SLOW: return "too slow";
	case GUARD_WATCHDOG_FAILED: return "failed";
	}
	return "unknown";
}

static bool is_ok(const struct guard_client *client)
{
	return client->status.state == GUARD_OK;
}

/*
 * Less where the lease ends soon: the second half of guard_ns is for ending a
 * guard that hangs and lowering in its place.
 */
static uint64_t patience_ns(const struct guard_client *client)
{
	uint64_t now_ns = clock_boot_ns(), half_ns = client->config.guard_ns / 2;
	uint64_t least_ns = half_ns / 2 > ANSWER_NS_MIN ? half_ns / 2 : ANSWER_NS_MIN;
	uint64_t deadline_ns = client->status.deadline_ns, left_ns;

	if (deadline_ns <= now_ns)
		return ANSWER_NS;
	left_ns = deadline_ns - now_ns;
	if (left_ns > ANSWER_NS + half_ns)
		return ANSWER_NS;
	return left_ns > half_ns + least_ns ? left_ns - half_ns : least_ns;
}

static void note(struct guard_client *client, const struct guard_reply *reply)
{
	struct guard_status *status = &client->status;

	status->pid = (pid_t)reply->pid;
	status->deadline_ns = reply->deadline_ns;
	status->realtime = (reply->flags & GUARD_REALTIME) != 0;
	status->locked = (reply->flags & GUARD_LOCKED) != 0;
	status->watchdog = (enum guard_watchdog)reply->watchdog;
	/* One that stays with the settings it had may be armed for a longer slack. */
	status->auto_burial = status->watchdog == GUARD_WATCHDOG_ARMED &&
			      reply->watchdog_s <= client->config.watchdog_s;
	status->watchdog_s = reply->watchdog_s;
	client->is_sticky = (reply->flags & GUARD_STICKY) != 0;
	if (reply->lowered == client->lowered_seen || reply->period_us == 0)
		return;
	client->lowered_seen = reply->lowered;
	client->has_lowered = true;
	status->lowered++;
	client->lowered = (struct cgroup_limit){
		.unlimited = reply->unlimited != 0,
		.quota_us = reply->quota_us,
		.period_us = reply->period_us,
	};
}

/* One exchange.  0: it answered, and reply->error says what; -errno: it did not. */
static int ask(struct guard_client *client, struct guard_request *request, int dir_fd,
	       struct guard_reply *reply, struct error *reterr)
{
	int r;

	request->number = ++client->number;
	r = guard_talk(client->process.fd, request, dir_fd, patience_ns(client), reply, reterr);
	if (r == 0)
		note(client, reply);
	return r;
}

/* What is in force is at most the floor after this, as far as the kernel lets. */
static void lower_directly(struct guard_client *client)
{
	int r = limit_file_lower(&client->own, client->config.floor_ucpu);

	if (r < 0)
		log_error("guard: there is none, and the limit cannot be lowered: %s",
			  strerror(-r));
	/* Or by a guard that had no time to say so. */
	if (r >= 0 && limit_file_read(&client->own, &client->lowered) == 0) {
		client->has_lowered = true;
		client->status.lowered += r > 0;
	}
}

static void on_end(struct loop_source *source, short revents);

static void unwatch(struct guard_client *client)
{
	if (client->loop != NULL)
		loop_remove(client->loop, &client->source);
}

static int watch(struct guard_client *client)
{
	if (client->loop == NULL || client->process.pidfd < 0)
		return 0;
	client->source = (struct loop_source){
		.fd = client->process.pidfd, .events = ZMQ_POLLIN, .fn = on_end,
	};
	return loop_add(client->loop, &client->source);
}

/* The first words with a guard.  -EUCLEAN: it is to be replaced. */
static int meet(struct guard_client *client, struct error *reterr)
{
	struct guard_request hello = { .kind = GUARD_HELLO };
	struct guard_reply reply;
	int r;

	client->lowered_seen = 0;
	r = ask(client, &hello, -1, &reply, reterr);
	if (r < 0)
		return r;
	if (reply.pid != (uint32_t)client->process.pid)
		return error_set(reterr, -EPROTO, "process %u answers in its place", reply.pid);
	/* It outlived an agent: its lease is ours. */
	if (reply.deadline_ns > client->deadline_ns)
		client->deadline_ns = reply.deadline_ns;
	bool is_outdated = guard_is_outdated(&client->process);
	if (guard_is_replaced(&reply, &client->config, is_outdated))
		return error_set(reterr, -EUCLEAN, "its program or its settings are others by now");
	is_outdated = is_outdated || guard_is_other(&reply, &client->config);
	if (is_outdated && client->outdated != client->process.pid)
		log_warn("guard: process %d: its program or its settings are others by now, but "
			 "its watchdog cannot be disarmed: it stays until the next boot",
			 (int)client->process.pid);
	client->outdated = is_outdated ? client->process.pid : 0;
	return 0;
}

/* Finds one or starts one. */
static int acquire(struct guard_client *client, struct error *reterr)
{
	struct error error;
	int r = guard_find(client->config.run_directory, &client->process, &error);

	if (r == 0) {
		r = meet(client, &error);
		if (r == 0)
			return 0;
		log_warn("guard: process %d: %s; replacing it", (int)client->process.pid,
			 error.text);
		if (!guard_end(&client->process, r == -EUCLEAN ? END_MS : 0))
			return error_set(reterr, -EBUSY, "process %d cannot be ended",
					 (int)client->process.pid);
	}
	lower_directly(client);
	r = guard_spawn(&client->config, &client->process, reterr);
	if (r < 0)
		return r;
	client->status.deadline_ns = 0;
	r = meet(client, reterr);
	if (r < 0) {
		(void)guard_end(&client->process, 0);
		return error_wrap(reterr, "start %s", client->config.executable);
	}
	return 0;
}

static int attach_group(struct guard_client *client, int *ret_result, struct error *reterr)
{
	struct guard_request request = {
		.kind = GUARD_ATTACH,
		.floor_ucpu = client->config.floor_ucpu,
		.lease_ns = client->config.lease_ns,
		.guard_ns = client->config.guard_ns,
		.hierarchy = client->hierarchy,
		.stays = client->config.stays,
	};
	struct guard_reply reply;
	int r = ask(client, &request, client->dir_fd, &reply, reterr);

	if (r == 0)
		*ret_result = reply.error;
	return r;
}

static int tell_deadline(struct guard_client *client, struct error *reterr)
{
	struct guard_request request = { .kind = GUARD_RENEW, .deadline_ns = client->deadline_ns };
	struct guard_reply reply;
	int r = ask(client, &request, -1, &reply, reterr);

	if (r == 0 && reply.error < 0)
		log_error("guard: process %d: the deadline is refused: %s",
			  (int)client->process.pid, strerror(-reply.error));
	return r;
}

static void give_up(struct guard_client *client, const struct error *error)
{
	struct guard_status *status = &client->status;

	if (status->state != GUARD_NONE || strcmp(status->reason, error->text) != 0)
		log_error("guard: %s; only the floor is enforced; trying again each second",
			  error->text);
	status->state = GUARD_NONE;
	snprintf(status->reason, sizeof(status->reason), "%.255s", error->text);
	status->deadline_ns = 0;
	status->watchdog = GUARD_WATCHDOG_NONE;
	status->realtime = status->locked = status->auto_burial = false;
	client->retry_at_ns = clock_boot_ns() + RETRY_NS;
	/* One that cannot even be killed is remembered: nothing starts beside it. */
	if (client->process.pidfd < 0)
		status->pid = 0;
}

/* A guard that has the group and the deadline; or the state says why there is none. */
static void restore(struct guard_client *client)
{
	struct error error = { 0 };
	int result = 0, r = 0;

	if (client->process.pidfd >= 0 && !guard_wait(&client->process, 0))
		r = error_set(&error, -EBUSY, "process %d cannot be ended",
			      (int)client->process.pid);
	if (r == 0)
		r = acquire(client, &error);
	bool is_there = r == 0;
	if (r == 0)
		r = attach_group(client, &result, &error);
	if (r == 0 && client->deadline_ns != client->status.deadline_ns)
		r = tell_deadline(client, &error);
	if (r < 0) {
		/* One that hangs in between: the next can only start when it is dead. */
		if (is_there)
			(void)guard_end(&client->process, 0);
		lower_directly(client);
		give_up(client, &error);
		return;
	}
	client->started_ns = clock_boot_ns();
	client->status.state = GUARD_OK;
	client->status.reason[0] = '\0';
	(void)watch(client);
	log_info("guard: process %d%s%s", (int)client->process.pid,
		 client->status.realtime || client->config.priority == 0 ? "" :
									   ", not real-time",
		 client->status.locked ? "" : ", its memory not locked");
}

/* The guard is dead or as good as dead: make sure that it is, and lower in its place. */
static void lost(struct guard_client *client, const struct error *error)
{
	struct guard_status *status = &client->status;

	log_warn("guard: process %d: %s; the limit goes to the floor until another one runs",
		 (int)client->process.pid, error->text);
	unwatch(client);
	status->state = GUARD_RESTARTING;
	status->auto_burial = false;
	status->restarts++;
	snprintf(status->reason, sizeof(status->reason), "%.255s", error->text);
	(void)guard_end(&client->process, 0);
	lower_directly(client);
	client->rush = clock_boot_ns() - client->started_ns < RETRY_NS ? client->rush + 1 : 0;
	if (client->rush > RUSH_MAX)
		give_up(client, error);
	else
		restore(client);
}

static void on_end(struct loop_source *source, short revents)
{
	struct guard_client *client =
		(struct guard_client *)((char *)source - offsetof(struct guard_client, source));
	struct error error;

	(void)revents;
	error_set(&error, -ECONNRESET, "it has ended");
	lost(client, &error);
}

static int attach(void *context, int dir_fd, unsigned version)
{
	struct guard_client *client = context;
	struct limit_file own;
	struct error error;
	int result = 0, fd, r;

	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = limit_file_open(fd, version, &own);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (client->dir_fd >= 0)
		close(client->dir_fd);
	limit_file_close(&client->own);
	client->dir_fd = fd;
	client->own = own;
	client->hierarchy = version;
	if (!is_ok(client)) {
		restore(client);
	} else if (attach_group(client, &result, &error) < 0) {
		lost(client, &error);
		result = 0;
	}
	return result;
}

static int write_limit(void *context, const struct cgroup_limit *wanted)
{
	struct guard_client *client = context;
	struct guard_request request = {
		.kind = GUARD_WRITE,
		.quota_us = wanted->quota_us,
		.period_us = wanted->period_us,
		.unlimited = wanted->unlimited,
	};
	struct guard_reply reply;
	struct error error;

	for (unsigned attempt = 0; attempt < 2 && is_ok(client); attempt++) {
		if (ask(client, &request, -1, &reply, &error) == 0) {
			client->has_lowered = client->has_lowered && reply.error < 0;
			return reply.error;
		}
		lost(client, &error);
	}
	if (is_ok(client))
		return -EAGAIN; /* a new one each time: the next tick tries again */
	if (!limit_above_floor(wanted, client->config.floor_ucpu)) {
		client->has_lowered = false;
		return limit_file_write(&client->own, wanted);
	}
	lower_directly(client);
	return -ETIME;
}

static bool was_lowered(void *context, struct cgroup_limit *ret_limit)
{
	struct guard_client *client = context;
	struct guard_request hello = { .kind = GUARD_HELLO };
	struct guard_reply reply;
	struct error error;

	/* It may have been a moment ago, and have been its last deed. */
	if (is_ok(client) && ask(client, &hello, -1, &reply, &error) < 0)
		lost(client, &error);
	if (!client->has_lowered)
		return false;
	client->has_lowered = false;
	*ret_limit = client->lowered;
	return true;
}

int guard_client_open(const struct guard_client_config *config, struct guard_client **ret_client,
		      struct error *reterr)
{
	struct guard_client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		return error_errno(reterr, -ENOMEM, "guard");
	client->config = *config;
	client->writer = (struct cgroup_writer){ attach, write_limit, was_lowered, client };
	client->status.state = GUARD_NONE;
	client->process = (struct guard_process)GUARD_NO_PROCESS;
	client->own = (struct limit_file)LIMIT_FILE_CLOSED;
	client->dir_fd = -1;
	*ret_client = client;
	return 0;
}

struct guard_client *guard_client_close(struct guard_client *client)
{
	if (client == NULL)
		return NULL;
	unwatch(client);
	guard_forget(&client->process);
	limit_file_close(&client->own);
	if (client->dir_fd >= 0)
		close(client->dir_fd);
	free(client);
	return NULL;
}

const struct cgroup_writer *guard_client_writer(struct guard_client *client)
{
	return &client->writer;
}

int guard_client_watch(struct guard_client *client, struct loop *loop)
{
	unwatch(client);
	client->loop = loop;
	return is_ok(client) ? watch(client) : 0;
}

void guard_client_renew(struct guard_client *client, uint64_t deadline_ns)
{
	struct error error;

	client->deadline_ns = deadline_ns;
	if (is_ok(client)) {
		if (tell_deadline(client, &error) < 0)
			lost(client, &error);
		return;
	}
	if (client->dir_fd < 0 || clock_boot_ns() < client->retry_at_ns)
		return;
	restore(client);
}

bool guard_client_floor_only(const struct guard_client *client)
{
	uint64_t deadline_ns = client->status.deadline_ns;

	return !is_ok(client) || deadline_ns <= client->config.guard_ns ||
	       clock_boot_ns() >= deadline_ns - client->config.guard_ns;
}

void guard_client_leave(struct guard_client *client, bool keep)
{
	struct guard_request request = { .kind = GUARD_RELEASE };
	struct guard_reply reply;
	struct error error;

	unwatch(client);
	if (!keep && is_ok(client)) {
		(void)ask(client, &request, -1, &reply, &error);
		if (!client->is_sticky && !guard_wait(&client->process, END_MS))
			(void)guard_end(&client->process, 0);
	}
	guard_forget(&client->process);
	client->status.state = GUARD_NONE;
	client->retry_at_ns = UINT64_MAX;
	snprintf(client->status.reason, sizeof(client->status.reason), "the agent leaves");
}

const struct guard_status *guard_client_status(const struct guard_client *client)
{
	return &client->status;
}
