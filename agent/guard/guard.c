/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/guard/confine.h"
#include "agent/guard/guard_client.h"
#include "agent/guard/guard_wire.h"
#include "agent/guard/keeper.h"
#include "agent/guard/watchdog.h"
#include "lib/checksum.h"

/* Where in the array that is polled. */
enum { AGENT, LISTEN, TIMER, SIGNALS, FDS };

/*
 * Agents that have come and died while we were stopped still stand in line, and
 * the one that is to end us must get in.
 */
#define QUEUE 4096

/* No event tells that a group has gone. */
#define ALONE_MS 100

struct guard {
	const struct guard_config *config;
	struct keeper keeper;
	struct watchdog watchdog;
	enum guard_watchdog watchdog_state;
	struct pollfd fds[FDS];
	int lock_fd;
	uint32_t flags;
	uint64_t pet_at_ns;
	int told_error;     /* of lowering; logged once */
	uint32_t told_lowered;
	bool ends;
	bool stays; /* others may raise the limit: alone as well, while the group is there */
};

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
	if (guard->fds[AGENT].fd >= 0)
		close(guard->fds[AGENT].fd);
	guard->fds[AGENT].fd = -1;
}

static void send_reply(struct guard *guard, const struct guard_reply *reply)
{
	/* An agent that takes no replies will find out by itself. */
	(void)!send(guard->fds[AGENT].fd, reply, sizeof(*reply), MSG_DONTWAIT | MSG_NOSIGNAL);
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
	ssize_t count = recvmsg(guard->fds[AGENT].fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
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
	int fd = accept4(guard->fds[LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    (peer.uid != 0 && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	drop_agent(guard);
	guard->fds[AGENT].fd = fd;
}

/* Both signals end it, but never with more than the floor in force. */
static void on_signal(struct guard *guard)
{
	struct signalfd_siginfo info;
	int r;

	if (read(guard->fds[SIGNALS].fd, &info, sizeof(info)) != sizeof(info))
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

static void pet(struct guard *guard, uint64_t now_ns)
{
	uint64_t every_ns = watchdog_every_ns(&guard->watchdog);
	int r;

	guard->pet_at_ns = every_ns == UINT64_MAX ? UINT64_MAX : now_ns + every_ns;
	if (guard->watchdog.fd < 0)
		return;
	r = watchdog_pet(&guard->watchdog);
	if (r < 0 && guard->watchdog_state == GUARD_WATCHDOG_ARMED)
		log_error("isobar-guard: watchdog %s: %s", guard->config->watchdog, strerror(-r));
	guard->watchdog_state = r < 0 ? GUARD_WATCHDOG_FAILED : GUARD_WATCHDOG_ARMED;
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
	(void)timerfd_settime(guard->fds[TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
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
	if (guard->ends || guard->fds[AGENT].fd >= 0)
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
		timeout_ms = guard->fds[AGENT].fd < 0 ? ALONE_MS : -1;
		if (poll(guard->fds, FDS, timeout_ms) < 0 && errno != EINTR)
			return error_errno(reterr, -errno, "wait");
		/* First what must not wait, whoever is talking to us. */
		(void)!read(guard->fds[TIMER].fd, &expired, sizeof(expired));
		now_ns = clock_boot_ns();
		if (now_ns >= guard->keeper.wake_at_ns)
			keeper_wake(&guard->keeper, now_ns);
		if (now_ns >= guard->pet_at_ns)
			pet(guard, now_ns);
		if ((guard->fds[SIGNALS].revents & POLLIN) != 0)
			on_signal(guard);
		if (guard->fds[AGENT].fd >= 0 && guard->fds[AGENT].revents != 0)
			serve(guard);
		if ((guard->fds[LISTEN].revents & POLLIN) != 0)
			welcome(guard);
		tell_lowering(guard);
	}
	return 0;
}

static int open_lock(struct guard *guard, struct error *reterr)
{
	guard->lock_fd = open(GUARD_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (guard->lock_fd < 0)
		return error_errno(reterr, -errno, "open " GUARD_LOCK);
	if (flock(guard->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(reterr, -EBUSY, "another guard runs already");
	return error_errno(reterr, -errno, "lock " GUARD_LOCK);
}

static int open_socket(struct guard *guard, struct error *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = GUARD_SOCKET };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return error_errno(reterr, -errno, "socket");
	guard->fds[LISTEN].fd = fd;
	(void)unlink(GUARD_SOCKET); /* of one that was killed: the lock is ours */
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, QUEUE) < 0)
		return error_errno(reterr, -errno, "listen on " GUARD_SOCKET);
	return 0;
}

static int open_events(struct guard *guard, struct error *reterr)
{
	sigset_t signals;

	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_SETMASK, &signals, NULL) < 0)
		return error_errno(reterr, -errno, "signals");
	guard->fds[SIGNALS].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (guard->fds[SIGNALS].fd < 0)
		return error_errno(reterr, -errno, "signals");
	guard->fds[TIMER].fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (guard->fds[TIMER].fd < 0)
		return error_errno(reterr, -errno, "timer");
	return 0;
}

/* What makes it dependable; each may be refused, and the agent says so. */
static void harden(struct guard *guard)
{
	struct sched_param param = { .sched_priority = guard->config->priority };
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "-1000", 5);
		close(fd);
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
		guard->flags |= GUARD_LOCKED;
	if (param.sched_priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param) == 0)
		guard->flags |= GUARD_REALTIME;
}

static void open_watchdog(struct guard *guard)
{
	struct error error = { 0 };
	int r;

	guard->watchdog_state = GUARD_WATCHDOG_NONE;
	if (guard->config->watchdog[0] == '\0')
		return;
	r = watchdog_open(guard->config->watchdog, guard->config->watchdog_s, &guard->watchdog,
			  &error);
	if (r == 0) {
		guard->watchdog_state = GUARD_WATCHDOG_ARMED;
		log_info("isobar-guard: watchdog %s: armed with %u s", guard->config->watchdog,
			 guard->watchdog.timeout_s);
		if (guard->watchdog.is_sticky)
			guard->flags |= GUARD_STICKY;
		if (guard->watchdog.is_sticky)
			log_warn("isobar-guard: watchdog %s: it cannot be disarmed (nowayout), so "
				 "this process stays",
				 guard->config->watchdog);
		pet(guard, clock_boot_ns());
		return;
	}
	guard->watchdog_state = r == -ERANGE ? GUARD_WATCHDOG_TOO_SLOW : GUARD_WATCHDOG_FAILED;
	log_warn("isobar-guard: %s: no automatic burial", error.text);
}

/* Last: from here on nothing but the loop runs. */
static void confine(struct guard *guard)
{
	int r = 0;

	if (guard->config->is_unconfined)
		guard->flags |= GUARD_UNCONFINED;
	else
		r = confine_self();
	if (r < 0 && r != -ENOTSUP)
		log_warn("isobar-guard: sandbox: %s; going on without that protection",
			 strerror(-r));
}

static int start(struct guard *guard, struct error *reterr)
{
	int type = 0, r;
	socklen_t size = sizeof(type);

	if (getsockopt(GUARD_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
		return error_set(reterr, -EBADF,
				 "there is no agent on descriptor %d: isobard starts it", GUARD_FD);
	(void)fcntl(GUARD_FD, F_SETFD, FD_CLOEXEC);
	guard->fds[AGENT].fd = GUARD_FD;
	umask(0077);
	if (chdir(guard->config->run_directory) < 0)
		return error_errno(reterr, -errno, "run directory %s",
				   guard->config->run_directory);
	r = open_lock(guard, reterr);
	if (r == 0)
		r = open_socket(guard, reterr);
	if (r == 0)
		r = open_events(guard, reterr);
	if (r < 0)
		return error_wrap(reterr, "run directory %s", guard->config->run_directory);
	harden(guard);
	open_watchdog(guard);
	confine(guard);
	return 0;
}

static void tell_failure(struct guard *guard, const struct error *error)
{
	struct guard_reply reply;

	if (guard->fds[AGENT].fd < 0)
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
	for (int i = 0; i < FDS; i++)
		guard.fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	r = start(&guard, &error);
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
	for (int i = 0; i < FDS; i++)
		if (guard.fds[i].fd >= 0)
			close(guard.fds[i].fd);
	if (guard.lock_fd >= 0)
		close(guard.lock_fd);
	if (r < 0 && reterr != NULL)
		*reterr = error;
	return r;
}
