/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a guard starts: its lock, its socket, its precedence, its watchdog and its sandbox. */
#include "config.h"

#include "agent/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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
#include "agent/guard/guard_private.h"
#include "agent/guard/guard_wire.h"

/*
 * Agents that have come and died while we were stopped still stand in line, and
 * the one that is to end us must get in.
 */
#define QUEUE 4096

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
	guard->fds[GUARD_LISTEN].fd = fd;
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
	guard->fds[GUARD_SIGNALS].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (guard->fds[GUARD_SIGNALS].fd < 0)
		return error_errno(reterr, -errno, "signals");
	guard->fds[GUARD_TIMER].fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (guard->fds[GUARD_TIMER].fd < 0)
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
	if (r < 0) {
		guard->watchdog_state = r == -ERANGE ? GUARD_WATCHDOG_TOO_SLOW :
						       GUARD_WATCHDOG_FAILED;
		log_warn("isobar-guard: %s: no automatic burial", error.text);
		return;
	}
	if (guard->watchdog.is_sticky)
		guard->flags |= GUARD_STICKY;
	if (guard->watchdog.is_slow)
		log_warn("isobar-guard: watchdog %s: its timeout of %u s does not fit into "
			 "trading.lease-slack: no automatic burial",
			 guard->config->watchdog, guard->watchdog.timeout_s);
	else
		log_info("isobar-guard: watchdog %s: armed with %u s", guard->config->watchdog,
			 guard->watchdog.timeout_s);
	if (guard->watchdog.is_sticky)
		log_warn("isobar-guard: watchdog %s: it cannot be disarmed (nowayout), so "
			 "this process stays",
			 guard->config->watchdog);
	guard_pet(guard, clock_boot_ns());
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

int guard_start(struct guard *guard, struct error *reterr)
{
	int type = 0, r;
	socklen_t size = sizeof(type);

	if (getsockopt(GUARD_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
		return error_set(reterr, -EBADF,
				 "there is no agent on descriptor %d: isobard starts it", GUARD_FD);
	(void)fcntl(GUARD_FD, F_SETFD, FD_CLOEXEC);
	guard->fds[GUARD_AGENT].fd = GUARD_FD;
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
