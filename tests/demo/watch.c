/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"

static sigset_t signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	return set;
}

void watch_block_signals(void)
{
	sigset_t set = signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Who listens to our output may leave; we clean up all the same. */
	signal(SIGPIPE, SIG_IGN);
}

int watch_child(pid_t pid)
{
	sigset_t set = signals();
	int signal, status;

	while (waitpid(pid, &status, WNOHANG) != pid)
		if (sigwait(&set, &signal) == 0 && signal != SIGCHLD)
			(void)kill(pid, signal);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "demo: the run was ended by signal %d (%s)\n", WTERMSIG(status),
		strsignal(WTERMSIG(status)));
	return 1;
}

int watch_open(struct demo *demo)
{
	sigset_t set = signals();
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	demo->signal_fd = fd;
	return 0;
}

/* One line of the observer: its counters so far, or the summary. */
static void take_line(struct demo *demo, const char *line)
{
	json_t *observed = json_loads(line, 0, NULL);

	if (observed == NULL)
		return;
	json_decref(demo->observed);
	demo->observed = observed;
}

/* False once the other end is closed. */
static bool read_observer(struct demo *demo)
{
	static char text[65536];
	static size_t used;
	char *line = text, *end;

	if (used == sizeof(text) - 1)
		used = 0; /* no line of the observer is that long */
	ssize_t n = read(demo->observer_fd, text + used, sizeof(text) - 1 - used);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	used += (size_t)n;
	text[used] = '\0';
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		take_line(demo, line);
	}
	used -= (size_t)(line - text);
	memmove(text, line, used);
	return true;
}

void watch_drain_observer(struct demo *demo)
{
	struct pollfd poll_fd = { .fd = demo->observer_fd, .events = POLLIN };

	if (demo->observer_fd < 0)
		return;
	while (poll(&poll_fd, 1, 1000) > 0 && read_observer(demo))
		continue;
	close(demo->observer_fd);
	demo->observer_fd = -1;
}

static bool somebody_died(struct demo *demo)
{
	bool died = child_check(&demo->coordinator) | child_check(&demo->observer) |
		    child_check(&demo->cotenant);

	for (unsigned i = 0; i < demo->options.nodes; i++)
		died |= child_check(&demo->nodes[i].isobard);
	return died;
}

static int take_signals(struct demo *demo)
{
	struct signalfd_siginfo info;

	while (read(demo->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD) {
			demo->signal = (int)info.ssi_signo;
			return -EINTR;
		}
		if (somebody_died(demo))
			return -ECHILD;
	}
	return 0;
}

int watch_until(struct demo *demo, uint64_t at_ns)
{
	for (;;) {
		struct pollfd polls[] = { { .fd = demo->signal_fd, .events = POLLIN },
					  { .fd = demo->observer_fd, .events = POLLIN } };
		uint64_t now_ns = clock_now_ns();
		int wait_ms = now_ns < at_ns ? (int)((at_ns - now_ns + 999999) / 1000000) : 0;

		if (poll(polls, 2, wait_ms) < 0)
			return -errno;
		if (polls[1].revents != 0 && !read_observer(demo)) {
			close(demo->observer_fd);
			demo->observer_fd = -1;
		}
		int r = take_signals(demo);
		if (r != 0)
			return r;
		if (wait_ms == 0)
			return 0;
	}
}
