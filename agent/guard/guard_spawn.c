/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/guard_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/guard/guard_wire.h"

/* A process that is being killed ends as soon as the kernel lets it. */
#define DEATH_MS 2000

#define CONNECT_S 1

static int open_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/*
 * By way of the directory's descriptor: its path may be longer than an address.
 * One that hangs accepts nobody, and its queue may be full of agents that died:
 * then this would wait for ever.
 */
static int connect_to(const char *run_directory, struct error *reterr)
{
	const struct timeval patience = { .tv_sec = CONNECT_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int directory = open(run_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1, code = 0;

	if (directory < 0)
		return error_errno(reterr, -errno, "run directory %s", run_directory);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
		 GUARD_SOCKET);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		code = -errno;
	close(directory);
	if (code == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return error_errno(reterr, code, "connect to %s/%s", run_directory, GUARD_SOCKET);
}

int guard_find(const char *run_directory, struct guard_process *ret_process, struct error *reterr)
{
	struct guard_process process = GUARD_NO_PROCESS;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	process.fd = connect_to(run_directory, reterr);
	if (process.fd < 0)
		return process.fd;
	/* Of who listens: its first answer proves that the number was not another's by now. */
	if (getsockopt(process.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
		process.pid = peer.pid;
		process.pidfd = open_pidfd(peer.pid);
	}
	if (process.pidfd < 0) {
		int code = process.pidfd < -1 ? process.pidfd : -ESRCH;

		close(process.fd);
		return error_errno(reterr, code, "guard on %s/%s", run_directory, GUARD_SOCKET);
	}
	*ret_process = process;
	return 0;
}

/* After fork(): system calls only. */
_Noreturn static void become(const char *executable, const char **argv, int fd)
{
	struct guard_reply reply = { .magic = GUARD_MAGIC, .text = "cannot be executed" };
	sigset_t none;
	int null;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	null = open("/dev/null", O_RDWR); /* inherited, should it be stdin */
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	if (fd == GUARD_FD)
		(void)fcntl(fd, F_SETFD, 0);
	else
		(void)dup2(fd, GUARD_FD);
	/* Nothing else is the guard's, whatever a library may have left open. */
	(void)syscall(SYS_close_range, GUARD_FD + 1, ~0u, 0);
	execv(executable, (char *const *)(uintptr_t)argv); /* which changes no string */
	reply.error = -errno;
	(void)!send(GUARD_FD, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
	_exit(127);
}

int guard_spawn(const struct guard_client_config *config, struct guard_process *ret_process,
		struct error *reterr)
{
	char priority[16], timeout[16];
	const char *argv[10] = { "isobar-guard", "-p", priority };
	size_t count = 3;
	struct guard_process process = { .pidfd = -1, .is_child = true };
	int pair[2], code;

	if (config->watchdog[0] != '\0') {
		argv[count++] = "-t";
		argv[count++] = timeout;
		argv[count++] = "-w";
		argv[count++] = config->watchdog;
	}
	if (config->is_unconfined)
		argv[count++] = "--no-sandbox";
	argv[count] = config->run_directory;
	if (access(config->executable, X_OK) < 0)
		return error_errno(reterr, -errno, "guard %s", config->executable);
	snprintf(priority, sizeof(priority), "%d", config->priority);
	snprintf(timeout, sizeof(timeout), "%u", config->watchdog_s);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(reterr, -errno, "socket for the guard");
	process.pid = fork();
	if (process.pid == 0)
		become(config->executable, argv, pair[1]);
	code = process.pid < 0 ? -errno : 0;
	close(pair[1]);
	process.fd = pair[0];
	if (code == 0) {
		process.pidfd = open_pidfd(process.pid);
		if (process.pidfd < 0) {
			code = process.pidfd;
			process.pidfd = -1;
			(void)kill(process.pid, SIGKILL); /* a child: the number is its own */
			(void)waitpid(process.pid, NULL, 0);
		}
	}
	if (code < 0) {
		close(process.fd);
		return error_errno(reterr, code, "start guard %s", config->executable);
	}
	*ret_process = process;
	return 0;
}

bool guard_is_outdated(const struct guard_process *process)
{
	static const char mark[] = " (deleted)"; /* of the kernel */
	char link[32], target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)process->pid);
	length = readlink(link, target, sizeof(target));
	return length >= (ssize_t)sizeof(mark) && length < (ssize_t)sizeof(target) &&
	       memcmp(target + length - (sizeof(mark) - 1), mark, sizeof(mark) - 1) == 0;
}

bool guard_wait(struct guard_process *process, unsigned timeout_ms)
{
	struct pollfd ended = { .fd = process->pidfd, .events = POLLIN };
	uint64_t until_ns = clock_now_ns() + timeout_ms * 1000000ull;
	int ready;

	if (process->pidfd < 0)
		return true;
	do {
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ns = now_ns < until_ns ? until_ns - now_ns : 0;

		ready = poll(&ended, 1, (int)((left_ns + 999999) / 1000000));
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return false;
	if (process->is_child)
		(void)waitpid(process->pid, NULL, WNOHANG);
	guard_forget(process);
	return true;
}

bool guard_end(struct guard_process *process, unsigned grace_ms)
{
	if (process->pidfd < 0)
		return true;
	if (grace_ms > 0) {
		(void)syscall(SYS_pidfd_send_signal, process->pidfd, SIGTERM, NULL, 0);
		if (guard_wait(process, grace_ms))
			return true;
	}
	(void)syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
	return guard_wait(process, DEATH_MS);
}

void guard_forget(struct guard_process *process)
{
	if (process->fd >= 0)
		close(process->fd);
	if (process->pidfd >= 0)
		close(process->pidfd);
	*process = (struct guard_process)GUARD_NO_PROCESS;
}
