/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

int loop_add(struct loop *loop, struct loop_source *source)
{
	assert(source->fn != NULL);
	if (loop->count == LOOP_SOURCES_MAX)
		return -ENOSPC;
	loop->sources[loop->count++] = source;
	return 0;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	for (unsigned i = 0; i < loop->count; i++) {
		if (loop->sources[i] != source)
			continue;
		loop->sources[i] = loop->sources[--loop->count];
		loop->sources[loop->count] = NULL;
		return;
	}
}

static bool is_member(const struct loop *loop, const struct loop_source *source)
{
	for (unsigned i = 0; i < loop->count; i++)
		if (loop->sources[i] == source)
			return true;
	return false;
}

int loop_run(struct loop *loop)
{
	loop->quit = false;
	while (!loop->quit) {
		zmq_pollitem_t items[LOOP_SOURCES_MAX];
		struct loop_source *polled[LOOP_SOURCES_MAX];
		unsigned count = loop->count;

		for (unsigned i = 0; i < count; i++) {
			polled[i] = loop->sources[i];
			items[i] = (zmq_pollitem_t){
				.socket = polled[i]->socket,
				.fd = polled[i]->fd,
				.events = polled[i]->events,
			};
		}
		if (zmq_poll(items, (int)count, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		for (unsigned i = 0; i < count && !loop->quit; i++)
			if (items[i].revents != 0 && is_member(loop, polled[i]))
				polled[i]->fn(polled[i], items[i].revents);
	}
	return 0;
}

void loop_quit(struct loop *loop)
{
	loop->quit = true;
}

int timer_open(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int timer_arm(int fd, uint64_t at_ns)
{
	struct itimerspec spec = { 0 };

	if (at_ns != UINT64_MAX) {
		/* Zero would disarm: a deadline at the epoch is simply past. */
		at_ns = at_ns == 0 ? 1 : at_ns;
		spec.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
		spec.it_value.tv_nsec = (long)(at_ns % 1000000000u);
	}
	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0 ? -errno : 0;
}

bool timer_consume(int fd)
{
	uint64_t expiries;

	return read(fd, &expiries, sizeof(expiries)) == (ssize_t)sizeof(expiries);
}

int signals_open(const int *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (; *signals != 0; signals++)
		sigaddset(&set, *signals);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;

	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int signals_consume(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}
