/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/switchtime.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 20000u

static void require(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static double used_us(int who)
{
	struct rusage usage;

	require(getrusage(who, &usage) == 0, "getrusage");
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double all_us(void)
{
	return used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN);
}

static void echo(int from, int to)
{
	char byte;

	for (unsigned i = 0; i < TURNS; i++)
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

double switchtime_us(void)
{
	double before_us = all_us();
	int there[2], back[2];
	cpu_set_t cpus, one;
	char byte = 0;

	require(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0, "pipe");
	require(sched_getaffinity(0, sizeof(cpus), &cpus) == 0, "sched_getaffinity");
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	pid_t child = fork();
	require(child >= 0, "fork");
	if (child == 0)
		echo(there[0], back[1]);
	for (unsigned i = 0; i < TURNS; i++)
		require(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe");
	require(waitpid(child, NULL, 0) == child, "waitpid");
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	for (unsigned i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return (all_us() - before_us) / (2 * TURNS);
}
