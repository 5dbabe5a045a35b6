/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The independent observer: reads the kernel's quota files of the given
 * cgroups many times a second and checks that their sum is within the budget.
 * It shares no code with the agents.  JSON lines on stdout: the counters five
 * times a second, each of the first violations at once, the summary at the end.
 */
#include "config.h"

#include "tests/demo/audit.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S    1000000000u
#define PROGRESS_NS (NS_PER_S / 5)

struct options {
	uint64_t budget_ucpu;
	uint64_t rate_hz;
	uint64_t seconds; /* 0: until a signal */
};

static void usage(FILE *to)
{
	fputs("usage: observer --budget-ucpu N [--rate-hz N] [--seconds N] CGROUP-DIRECTORY...\n"
	      "\n"
	      "Checks that the CPU quotas of these cgroups together stay within N\n"
	      "microseconds of CPU per second, --rate-hz (200) times a second, until\n"
	      "SIGTERM or SIGINT or for --seconds.  Exit status: 0 they did, 1 they did\n"
	      "not or could not be read, 2 usage.\n",
	      to);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void print_line(const char *type, json_t *line)
{
	json_object_set_new(line, "type", json_string(type));
	json_object_set_new(line, "at_ns", json_integer((json_int_t)now_ns()));
	json_dumpf(line, stdout, JSON_COMPACT | JSON_SORT_KEYS);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static int open_timer(uint64_t rate_hz)
{
	uint64_t every_ns = NS_PER_S / rate_hz;
	struct timespec every = { .tv_sec = (time_t)(every_ns / NS_PER_S),
				  .tv_nsec = (long)(every_ns % NS_PER_S) };
	struct itimerspec timer = { .it_interval = every, .it_value = every };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &timer, NULL) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_signals(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &ends, NULL) != 0)
		return -1;
	return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void watch(struct audit *audit, const struct options *options, int timer, int signals)
{
	struct pollfd polls[] = { { .fd = timer, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };
	uint64_t start_ns = now_ns(), report_ns = start_ns + PROGRESS_NS, ticks;

	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return;
		if (polls[1].revents != 0)
			return;
		if (read(timer, &ticks, sizeof(ticks)) != sizeof(ticks))
			continue;
		uint64_t at_ns = now_ns();
		bool held = audit_sample(audit, at_ns);
		if (!held && audit->violations <= AUDIT_VIOLATIONS_MAX)
			print_line("violation", audit_progress(audit));
		if (at_ns >= report_ns) {
			print_line("progress", audit_progress(audit));
			report_ns += PROGRESS_NS;
		}
		if (options->seconds != 0 && at_ns - start_ns >= options->seconds * NS_PER_S)
			return;
	}
}

static uint64_t number(const char *text, uint64_t max)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || *text == '-' || value == 0 || value > max) {
		fprintf(stderr, "observer: '%s' is not a number from 1 to %ju\n", text,
			(uintmax_t)max);
		exit(2);
	}
	return value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "budget-ucpu", required_argument, NULL, 'b' },
		{ "rate-hz", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .rate_hz = 200 };

	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		if (c == 'b') {
			options.budget_ucpu = number(optarg, INT64_MAX);
		} else if (c == 'r') {
			options.rate_hz = number(optarg, 10000);
		} else if (c == 's') {
			options.seconds = number(optarg, 1000000);
		} else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (options.budget_ucpu == 0 || optind == argc || argc - optind > QUOTAS_MAX) {
		usage(stderr);
		exit(2);
	}
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	static struct audit audit;
	unsigned failed;

	int r = audit_open(&audit, argv + optind, (unsigned)(argc - optind), options.budget_ucpu,
			   &failed);
	if (r != 0) {
		fprintf(stderr, "observer: '%s': no CPU quota to read: %s\n",
			argv[(unsigned)optind + failed], strerror(-r));
		return 1;
	}
	int timer = open_timer(options.rate_hz), signals = open_signals();
	if (timer < 0 || signals < 0) {
		fprintf(stderr, "observer: timer or signals: %s\n", strerror(errno));
		return 1;
	}
	/* It must get its turn on a busy machine, though it needs little. */
	(void)setpriority(PRIO_PROCESS, 0, -10);
	watch(&audit, &options, timer, signals);
	print_line("summary", audit_summary(&audit));
	bool held = audit_held(&audit);
	audit_close(&audit);
	return held ? 0 : 1;
}
