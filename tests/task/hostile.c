/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/isobar/task.h"

/*
 * A task with one fault, which stands in the file itself: a test copies the
 * shared object and writes the name of the fault over the blanks, after a colon
 * how many calls of gradient() go well before, and after an @ the one worker that has the
 * fault in gradient().  Without any it is the mean of
 * (w - y)^2 / 2, which has its minimum at the mean of the targets.
 */
static volatile const char order[40] = "hostile:                               ";

#ifndef HOSTILE_ABI
#define HOSTILE_ABI ISOBAR_TASK_ABI
#endif

static int is(const char *fault)
{
	size_t length = strlen(fault);

	for (size_t i = 0; i < length; i++)
		if (order[8 + i] != fault[i])
			return 0;
	return order[8 + length] == ' ' || order[8 + length] == ':' || order[8 + length] == '@';
}

/* Whether this is the worker that is meant: --name is in its arguments. */
static int is_here(void)
{
	char wanted[40] = "--name", said[2000] = "";
	size_t length = 7, i = 8;

	while (order[i] != '@' && order[i] != '\0')
		i++;
	if (order[i] == '\0')
		return 1;
	while (order[++i] > ' ' && length < sizeof(wanted) - 1)
		wanted[length++] = order[i];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, said, sizeof(said) - 1);
	close(fd);
	return size > 0 && memmem(said, (size_t)size, wanted, length + 1) != NULL;
}

/* Whether the calls that are to go well are over; the count is of this process. */
static int is_due(void)
{
	static unsigned calls;
	unsigned good = 0;

	for (size_t i = 8; i < sizeof(order) - 1; i++)
		if (order[i] == ':')
			for (i++; order[i] >= '0' && order[i] <= '9'; i++)
				good = good * 10 + (unsigned)(order[i] - '0');
	return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) >= good;
}

/* Without end, and not to be seen through by a compiler. */
static void loop(void)
{
	for (volatile unsigned i = 1; i != 0; i |= 1)
		;
}

static unsigned overflow(unsigned depth)
{
	volatile char frame[4096];

	frame[0] = (char)depth;
	return depth == UINT32_MAX ? 0 : overflow(depth + 1) + (unsigned)frame[0];
}

static void *reader(void *nothing)
{
	int ends[2];
	char byte;

	(void)nothing;
	return pipe(ends) == 0 && read(ends[0], &byte, 1) > 0 ? &reader : NULL;
}

static void misbehave(float *gradient, uint32_t params, unsigned char *workspace)
{
	volatile int zero = 0, seven = 7;

	if (is("crash"))
		*(volatile int *)(uintptr_t)zero = 1;
	if (is("divide"))
		gradient[0] = (float)(seven / zero);
	if (is("abort"))
		abort();
	if (is("stack"))
		gradient[0] = (float)overflow(0);
	if (is("endless"))
		loop();
	if (is("asleep"))
		(void)reader(NULL);
	if (is("exit"))
		exit(0);
	if (is("_exit"))
		_exit(42);
	if (is("thread-exit"))
		pthread_exit(NULL);
	if (is("overrun"))
		gradient[params] = 1;
	if (is("overrun-far"))
		for (uint32_t i = 0; i < 100000; i++)
			gradient[params + i] = 1;
	if (is("underrun"))
		workspace[-1] = 0;
	if (is("not-a-number"))
		gradient[params - 1] = NAN;
}

static int check(const struct isobar_task_shape *shape, char *text, size_t text_bytes)
{
	if (is("refuse"))
		snprintf(text, text_bytes, "it wants no more than %u\nfeatures", 1u);
	if (is("check-crash"))
		abort();
	if (is("check-endless"))
		loop();
	return is("refuse") ? (int)shape->features : 0;
}

static uint32_t params(const struct isobar_task_shape *shape)
{
	if (is("no-params"))
		return 0;
	return is("many-params") ? UINT32_MAX : shape->features;
}

static void init(const struct isobar_task_shape *shape, uint64_t seed, float *w)
{
	if (is("init-crash"))
		abort();
	for (uint32_t i = 0; i < params(shape); i++)
		w[i] = is("init-nan") ? NAN : (float)(seed % 3);
	if (is("init-overrun"))
		w[params(shape)] = 1;
}

static size_t workspace(const struct isobar_task_shape *shape, uint32_t count)
{
	(void)shape;
	return count;
}

static double gradient(const struct isobar_task_shape *shape, const float *w, const float *x,
		       const float *y, uint32_t count, void *memory, float *g)
{
	double loss = 0;

	(void)x;
	for (uint32_t i = 0; i < shape->features; i++) {
		g[i] = 0;
		for (uint32_t j = 0; j < count; j++) {
			g[i] += (w[i] - y[j]) / (float)count;
			loss += 0.5 * (double)((w[i] - y[j]) * (w[i] - y[j])) / count;
		}
	}
	if (is_due() && is_here())
		misbehave(g, shape->features, memory);
	return is("loss-nan") ? (double)NAN : loss;
}

static double loss(const struct isobar_task_shape *shape, const float *w, const float *x,
		   const float *y, uint32_t count, void *memory, uint32_t *ret_correct)
{
	double sum = 0;

	(void)x;
	(void)memory;
	if (is("loss-crash"))
		abort();
	if (is("loss-stopped"))
		(void)raise(SIGSTOP);
	for (uint32_t i = 0; i < shape->features; i++)
		for (uint32_t j = 0; j < count; j++)
			sum += 0.5 * (double)((w[i] - y[j]) * (w[i] - y[j])) / count;
	*ret_correct = is("loss-many") ? UINT32_MAX : 0;
	return sum;
}

#ifdef HOSTILE_SYMBOL
extern const struct isobar_task another_name;
const struct isobar_task another_name = {
#else
const struct isobar_task isobar_task = {
#endif
	.abi = HOSTILE_ABI,
	.name = "hostile",
	.check = check,
	.params = params,
	.init = init,
	.workspace = workspace,
	.gradient = gradient,
	.loss = loss,
};

__attribute__((constructor)) static void start(void)
{
	if (is("constructor"))
		abort();
	if (is("constructor-exit"))
		_exit(42);
}
