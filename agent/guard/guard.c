/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/guard.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/guard/guard_private.h"
#include "agent/guard/guard_wire.h"
#include "lib/checksum.h"

/* No event tells that a group has gone. */
#define ALONE_MS 100

static void fill_reply(const struct guard *guard, struct guard_reply *reply)
{
	struct cgroup_limit limit;

	*reply = (struct guard_reply){
		.magic = GUARD_MAGIC,
		.deadline_ns = guard->keeper.deadline_ns,
		.pid = (uint32_t)getpid(),
		.lowered = guard->keeper.lowered,
		.flags = guard->flags,
		.priority = (uint32_t)guard->config->priority,
		.wanted_s = guard->config->watchdog_s,
		.watchdog = (uint32_t)guard->watchdog_state,
		.watchdog_s = guard->watchdog.timeout_s,
	};
	if (guard->config->watchdog[0] != '\0')
		reply->watchdog_hash =
			iso_checksum(guard->config->watchdog, strlen(guard->config->watchdog));
	if (limit_file_read(&guard->keeper.file, &limit) == 0) {
		reply->quota_us = limit.quota_us;
		reply->period_us = limit.period_us;
		reply->unlimited = limit.unlimited;
	}
}

static void drop_agent(struct guard *guard)
{
	if (guard->fds[GUARD_AGENT].fd >= 0)
		close(guard->fds[GUARD_AGENT].fd);
	guard->fds[GUARD_AGENT].fd = -1;
}

static void send_reply(struct guard *guard, const struct guard_reply *reply)
{
	/* An agent that takes no replies will find out by itself. */
	(void)!send(guard->fds[GUARD_AGENT].fd, reply, sizeof(*reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* One request; group_fd: the directory that came with it, or -1. */
static int carry_out(struct guard *guard, const struct guard_request *request, int group_fd,
		     uint64_t now_ns)
{
	struct keeper_lease lease = { request->floor_ucpu, request->lease_ns, request->guard_ns };
	struct cgroup_limit wanted = {
		request->unlimited != 0, request->quota_us, request->period_us,
	};

	switch ((enum guard_kind)request->kind) {
	case GUARD_HELLO:
		return 0;
	case GUARD_ATTACH:
		if (group_fd < 0)
			return -EBADF;
		guard->stays = request->stays != 0;
		return keeper_attach(&guard->keeper, now_ns, group_fd, request->hierarchy, &lease);
	case GUARD_RENEW:
		return keeper_renew(&guard->keeper, now_ns, request->deadline_ns);
	case GUARD_WRITE:
		return keeper_write(&guard->keeper, now_ns, &wanted);
	case GUARD_RELEASE:
		keeper_close(&guard->keeper);
		guard->ends = true;
		return 0;
	}
	return -EPROTO;
}

/* The descriptor that came along, the first of several; the others are closed. */
static int take_fd(struct msghdr *message)
{
	int taken = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0);
		     at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (taken < 0)
				taken = fd;
			else
				close(fd);
		}
	}
	return taken;
}

static void serve(struct guard *guard)
{
	struct guard_request request = { 0 };
	struct guard_reply reply;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = &request, .iov_len = sizeof(request) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t count = recvmsg(guard->fds[GUARD_AGENT].fd, &message,
				MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int group_fd, r;

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		drop_agent(guard);
		return;
	}
	group_fd = take_fd(&message);
	if (count != sizeof(request) || (message.msg_flags & MSG_TRUNC) != 0 ||
	    request.magic != GUARD_MAGIC)
		r = -EPROTO;
	else
		r = carry_out(guard, &request, group_fd, clock_boot_ns());
	if (group_fd >= 0)
		close(group_fd);
	fill_reply(guard, &reply);
	reply.error = r;
	reply.number = request.number;
	send_reply(guard, &reply);
}

/* A new agent takes the place of the one before, which can only be dead. */
static void welcome(struct guard *guard)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(guard->fds[GUARD_LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    (peer.uid != 0 && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	drop_agent(guard);
	guard->fds[GUARD_AGENT].fd = fd;
}

/* Both signals end it, but never with more than the floor in force. */
static void on_signal(struct guard *guard)
{
	struct signalfd_siginfo info;
	int r;

	if (read(guard->fds[GUARD_SIGNALS].fd, &info, sizeof(info)) != sizeof(info))
		return;
	r = keeper_stop(&guard->keeper);
	if (r < 0) {
		log_error("isobar-guard: got SIG%s, but the limit cannot be lowered: %s; staying",
			  sigabbrev_np((int)info.ssi_signo), strerror(-r));
		return;
	}
	log_info("isobar-guard: got SIG%s, the limit is at most the floor; leaving",
		 sigabbrev_np((int)info.ssi_signo));
	keeper_close(&guard->keeper);
	drop_agent(guard);
	guard->ends = true;
}

void guard_pet(struct guard *guard, uint64_t now_ns)
{
	uint64_t every_ns = watchdog_every_ns(&guard->watchdog);
	int r;

	guard->pet_at_ns = every_ns == UINT64_MAX ? UINT64_MAX : now_ns + every_ns;
	if (guard->watchdog.fd < 0)
		return;
	r = watchdog_pet(&guard->watchdog);
	if (r < 0 && guard->watchdog_state != GUARD_WATCHDOG_FAILED)
		log_error("isobar-guard: watchdog %s: %s", guard->config->watchdog, strerror(-r));
	guard->watchdog_state = r < 0			   ? GUARD_WATCHDOG_FAILED :
				guard->watchdog.is_slow ? GUARD_WATCHDOG_TOO_SLOW :
							     GUARD_WATCHDOG_ARMED;
}

static void tell_lowering(struct guard *guard)
{
	struct keeper *keeper = &guard->keeper;

	if (keeper->error != guard->told_error && keeper->error < 0)
		log_error("isobar-guard: no lease, and the limit cannot be lowered: %s; trying on",
			  strerror(-keeper->error));
	if (keeper->lowered != guard->told_lowered && keeper->deadline_ns == 0)
		log_info("isobar-guard: no lease yet: the limit starts at the floor, %" PRIu64
			 " ucpu", keeper->floor_ucpu);
	else if (keeper->lowered != guard->told_lowered)
		log_warn("isobar-guard: no lease: the limit is lowered to the floor, %" PRIu64
			 " ucpu", keeper->floor_ucpu);
	guard->told_error = keeper->error;
	guard->told_lowered = keeper->lowered;
}

static void arm(struct guard *guard)
{
	uint64_t at_ns = guard->keeper.wake_at_ns;
	struct itimerspec when = { 0 };

	if (guard->pet_at_ns < at_ns)
		at_ns = guard->pet_at_ns;
	if (at_ns != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
		when.it_value.tv_nsec = (long)(at_ns % 1000000000u);
		if (at_ns == 0)
			when.it_value.tv_nsec = 1; /* 0 would disarm */
	}
	(void)timerfd_settime(guard->fds[GUARD_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/*
 * Alone it stays until the lease has ended, the group has gone, or where nobody
 * could ever want the share back.  With a unit of systemd, which may write its
 * quota to the kernel again after the lease, only the group's end counts.  A
 * watchdog that cannot be disarmed needs it for ever.
 */
static bool is_done(const struct guard *guard)
{
	struct cgroup_limit unused;

	if (guard->watchdog.is_sticky)
		return false;
	if (guard->ends || guard->fds[GUARD_AGENT].fd >= 0)
		return guard->ends;
	if (guard->keeper.deadline_ns == UINT64_MAX)
		return true;
	return guard->stays ? limit_file_read(&guard->keeper.file, &unused) == -ENODEV
			    : !keeper_above_floor(&guard->keeper);
}

static int loop(struct guard *guard, struct error *reterr)
{
	while (!is_done(guard)) {
		uint64_t now_ns, expired;
		int timeout_ms;

		arm(guard);
		timeout_ms = guard->fds[GUARD_AGENT].fd < 0 ? ALONE_MS : -1;
		if (poll(guard->fds, GUARD_FDS, timeout_ms) < 0 && errno != EINTR)
			return error_errno(reterr, -errno, "wait");
		/* First what must not wait, whoever is talking to us. */
		(void)!read(guard->fds[GUARD_TIMER].fd, &expired, sizeof(expired));
		now_ns = clock_boot_ns();
		if (now_ns >= guard->keeper.wake_at_ns)
			keeper_wake(&guard->keeper, now_ns);
		if (now_ns >= guard->pet_at_ns)
			guard_pet(guard, now_ns);
		if ((guard->fds[GUARD_SIGNALS].revents & POLLIN) != 0)
			on_signal(guard);
		if (guard->fds[GUARD_AGENT].fd >= 0 && guard->fds[GUARD_AGENT].revents != 0)
			serve(guard);
		if ((guard->fds[GUARD_LISTEN].revents & POLLIN) != 0)
			welcome(guard);
		tell_lowering(guard);
	}
	return 0;
}

static void tell_failure(struct guard *guard, const struct error *error)
{
	struct guard_reply reply;

	if (guard->fds[GUARD_AGENT].fd < 0)
		return;
	fill_reply(guard, &reply);
	reply.error = error->code;
	snprintf(reply.text, sizeof(reply.text), "%.*s", (int)sizeof(reply.text) - 1, error->text);
	send_reply(guard, &reply);
}

int guard_run(const struct guard_config *config, struct error *reterr)
{
	struct guard guard = {
		.config = config,
		.watchdog = WATCHDOG_NONE,
		.lock_fd = -1,
		.pet_at_ns = UINT64_MAX,
	};
	struct error error = { 0 };
	int r;

	keeper_init(&guard.keeper);
	for (int i = 0; i < GUARD_FDS; i++)
		guard.fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	r = guard_start(&guard, &error);
	if (r == 0)
		r = loop(&guard, &error);
	else
		tell_failure(&guard, &error);
	/* The socket first: who cannot connect any more starts another one. */
	if (r == 0)
		(void)unlink(GUARD_SOCKET);
	/* Where even the wait fails, and the lowering too, the watchdog decides. */
	if (r == 0 || keeper_stop(&guard.keeper) == 0)
		watchdog_close(&guard.watchdog);
	keeper_close(&guard.keeper);
	for (int i = 0; i < GUARD_FDS; i++)
		if (guard.fds[i].fd >= 0)
			close(guard.fds[i].fd);
	if (guard.lock_fd >= 0)
		close(guard.lock_fd);
	if (r < 0 && reterr != NULL)
		*reterr = error;
	return r;
}
