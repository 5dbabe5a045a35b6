/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/taskwatch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/train/taskfault.h"
#include "lib/quantity.h"

#define SEATS_MAX   264u /* the pool's threads, the owner and a few */
#define LOOK_NS	    100000000ll
#define IDLE_NS	    1000000000ll
#define HISTORY	    32u
#define HISTORY_MIN 5u
#define STACK_BYTES 65536u
/* A fault this near to the end of the stack is an overflow of it. */
#define STACK_SLACK 65536u

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
#define CRASHES (sizeof(crashes) / sizeof(crashes[0]))

/* A thread that has been in the task. */
struct seat {
	bool is_taken;
	atomic_uint call; /* enum iso_worker_call */
	atomic_uint serial;
	pid_t tid;
	clockid_t clock;
	uintptr_t stack_low;
	void *stack; /* for the handler: the thread's own may be full */
	/* The watch's. */
	unsigned seen_serial;
	uint64_t seen_cpu_ns, last_cpu_ns;
	unsigned asleep_looks;
};

static struct {
	atomic_bool is_open;
	struct taskwatch_config config;
	char what[240];
	pthread_mutex_t lock; /* seats' taking, and the history */
	pthread_cond_t wake;
	bool quit;
	pthread_t thread;
	pthread_key_t key;
	struct sigaction before[CRASHES];
	struct seat seats[SEATS_MAX];
	uint64_t history[HISTORY];
	uint32_t observed;
} watch = { .config.report_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct seat *mine;

static void report(enum iso_worker_fault what, enum iso_worker_call call, uint32_t number,
		   const char *how)
{
	const struct taskfault_config config = {
		.task = watch.what,
		.report_fd = watch.config.report_fd,
		.with_prefix = watch.config.with_prefix,
	};

	taskfault_tell(&config, what, call, number, how);
}

static enum iso_worker_call call_of(const struct seat *seat)
{
	return seat != NULL ? (enum iso_worker_call)atomic_load(&seat->call) : ISO_WORKER_NO_CALL;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
	const struct seat *seat = mine;
	const char *how = sigdescr_np(number);
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)context;
	if (number == SIGSEGV && seat != NULL && info->si_code > 0 &&
	    at + STACK_SLACK >= seat->stack_low && at < seat->stack_low + STACK_SLACK)
		how = "stack overflow";
	report(ISO_WORKER_CRASHED, call_of(seat), (uint32_t)number, how != NULL ? how : "crash");
	/* As if nobody had been listening: a core dump, and the signal in the exit status. */
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

/* exit() in the task runs this; our own end does, too. */
static void on_exit_called(int status, void *context)
{
	enum iso_worker_call call = call_of(mine);

	(void)context;
	if (!atomic_load(&watch.is_open) || call == ISO_WORKER_NO_CALL)
		return;
	report(ISO_WORKER_EXITED, call, (uint32_t)status & 0xff, "ended the process");
	_exit(TASKWATCH_EXIT_STATUS);
}

/* A thread ends; in the task, if it called pthread_exit(). */
static void on_thread_end(void *argument)
{
	struct seat *seat = argument;
	enum iso_worker_call call = call_of(seat);
	const stack_t none = { .ss_flags = SS_DISABLE };

	if (call != ISO_WORKER_NO_CALL) {
		report(ISO_WORKER_EXITED, call, 0, "ended its thread");
		_exit(TASKWATCH_EXIT_STATUS);
	}
	(void)sigaltstack(&none, NULL);
	if (seat->stack != NULL)
		(void)munmap(seat->stack, STACK_BYTES);
	pthread_mutex_lock(&watch.lock);
	seat->is_taken = false;
	pthread_mutex_unlock(&watch.lock);
	mine = NULL;
}

/* A pool's threads have all signals blocked; a crash would then end us without a word. */
static void unblock_crashes(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CRASHES; i++)
		sigaddset(&set, crashes[i]);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* A stack for the handler, and where the thread's own one ends.  Without them it still works. */
static void look_at_stack(struct seat *seat)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		if (pthread_attr_getstack(&attributes, &low, &bytes) == 0)
			seat->stack_low = (uintptr_t)low;
		pthread_attr_destroy(&attributes);
	}
	seat->stack =
	    mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (seat->stack == MAP_FAILED)
		seat->stack = NULL;
	else
		(void)sigaltstack(&(stack_t){ .ss_sp = seat->stack, .ss_size = STACK_BYTES }, NULL);
}

static struct seat *take_seat(void)
{
	struct seat *seat = NULL;

	pthread_mutex_lock(&watch.lock);
	for (uint32_t i = 0; i < SEATS_MAX && seat == NULL; i++)
		if (!watch.seats[i].is_taken)
			seat = &watch.seats[i];
	/* More threads than there can be. */
	assert(seat != NULL);
	*seat = (struct seat){ .is_taken = true, .tid = gettid() };
	(void)pthread_getcpuclockid(pthread_self(), &seat->clock);
	pthread_mutex_unlock(&watch.lock);
	look_at_stack(seat);
	unblock_crashes();
	(void)pthread_setspecific(watch.key, seat);
	return seat;
}

void taskwatch_enter(enum iso_worker_call call)
{
	if (!atomic_load_explicit(&watch.is_open, memory_order_relaxed))
		return;
	if (mine == NULL)
		mine = take_seat();
	atomic_fetch_add_explicit(&mine->serial, 1, memory_order_relaxed);
	atomic_store_explicit(&mine->call, (unsigned)call, memory_order_release);
}

void taskwatch_leave(void)
{
	if (mine != NULL)
		atomic_store_explicit(&mine->call, ISO_WORKER_NO_CALL, memory_order_release);
}

void taskwatch_observe(uint64_t on_cpu_ns)
{
	if (!atomic_load_explicit(&watch.is_open, memory_order_relaxed))
		return;
	pthread_mutex_lock(&watch.lock);
	watch.history[watch.observed++ % HISTORY] = on_cpu_ns;
	pthread_mutex_unlock(&watch.lock);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* With the lock held. */
static uint64_t limit_ns(void)
{
	uint32_t count = watch.observed < HISTORY ? watch.observed : HISTORY;
	uint64_t sorted[HISTORY], usual;

	if (count < HISTORY_MIN)
		return watch.config.limit_ns;
	memcpy(sorted, watch.history, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	usual = TASKWATCH_MEDIANS * sorted[count / 2];
	if (usual < TASKWATCH_LEAST_NS)
		usual = TASKWATCH_LEAST_NS;
	return usual < watch.config.limit_ns ? usual : watch.config.limit_ns;
}

uint64_t taskwatch_limit_ns(void)
{
	pthread_mutex_lock(&watch.lock);
	uint64_t limit = limit_ns();
	pthread_mutex_unlock(&watch.lock);
	return limit;
}

static uint64_t cpu_ns(const struct seat *seat)
{
	struct timespec time = { 0 };

	(void)clock_gettime(seat->clock, &time);
	return (uint64_t)time.tv_sec * ISO_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Throttled by its quota a thread counts as running: only one that waits for something sleeps. */
static bool is_asleep(const struct seat *seat)
{
	char path[64], text[512];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)seat->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	/* The name before it may hold anything. */
	const char *end = strrchr(text, ')');
	return end != NULL && (strncmp(end, ") S", 3) == 0 || strncmp(end, ") D", 3) == 0);
}

/* Looks at one thread; true if it is in the task. */
static bool look(struct seat *seat, uint64_t limit)
{
	enum iso_worker_call call = call_of(seat);
	unsigned serial = atomic_load(&seat->serial);
	uint64_t used_ns;

	if (!seat->is_taken || call == ISO_WORKER_NO_CALL)
		return false;
	uint64_t now_ns = cpu_ns(seat);
	if (serial != seat->seen_serial) {
		seat->seen_serial = serial;
		seat->seen_cpu_ns = seat->last_cpu_ns = now_ns;
		seat->asleep_looks = 0;
		return true;
	}
	used_ns = now_ns - seat->seen_cpu_ns;
	if (used_ns > limit)
		taskwatch_fault(ISO_WORKER_ENDLESS, call, (uint32_t)(used_ns / 1000000),
				"used more CPU than a call of it may");
	seat->asleep_looks =
	    now_ns == seat->last_cpu_ns && is_asleep(seat) ? seat->asleep_looks + 1 : 0;
	seat->last_cpu_ns = now_ns;
	/* Looks, not wall time: a process that is frozen or stopped does not look. */
	if (seat->asleep_looks * (uint64_t)LOOK_NS > watch.config.limit_ns)
		taskwatch_fault(ISO_WORKER_ASLEEP, call,
				(uint32_t)(seat->asleep_looks * (uint64_t)LOOK_NS / 1000000),
				"sleeps, and does not wake");
	return true;
}

static void *watch_main(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&watch.lock);
	while (!watch.quit) {
		bool is_busy = false;
		uint64_t at_ns, limit = limit_ns();

		for (uint32_t i = 0; i < SEATS_MAX; i++)
			is_busy |= look(&watch.seats[i], limit);
		at_ns = clock_now_ns() + (uint64_t)(is_busy ? LOOK_NS : IDLE_NS);
		(void)pthread_cond_timedwait(
		    &watch.wake, &watch.lock,
		    &(struct timespec){ .tv_sec = (time_t)(at_ns / ISO_NS_PER_S),
					.tv_nsec = (long)(at_ns % ISO_NS_PER_S) });
	}
	pthread_mutex_unlock(&watch.lock);
	return NULL;
}

_Noreturn void taskwatch_fault(enum iso_worker_fault what, enum iso_worker_call call,
			       uint32_t number, const char *how)
{
	report(what, call, number, how);
	_exit(TASKWATCH_EXIT_STATUS);
}

static int start_thread(void)
{
	sigset_t all, before;
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&watch.thread, NULL, watch_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int taskwatch_open(const struct taskwatch_config *config, struct error *reterr)
{
	const struct sigaction action = {
		.sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	static bool is_told;
	int r;

	assert(!watch.is_open);
	assert(config->limit_ns > 0);
	watch.config = *config;
	snprintf(watch.what, sizeof(watch.what), "%s", config->what);
	watch.config.what = watch.what;
	watch.quit = false;
	watch.observed = 0;
	r = -pthread_key_create(&watch.key, on_thread_end);
	if (r == 0)
		r = start_thread();
	if (r == 0 && !is_told)
		r = on_exit(on_exit_called, NULL) != 0 ? -ENOMEM : 0;
	if (r < 0)
		return error_errno(reterr, r, "watch task %s", config->what);
	is_told = true;
	for (size_t i = 0; i < CRASHES; i++)
		(void)sigaction(crashes[i], &action, &watch.before[i]);
	atomic_store(&watch.is_open, true);
	return 0;
}

void taskwatch_name(const char *what)
{
	snprintf(watch.what, sizeof(watch.what), "%s", what);
}

void taskwatch_close(void)
{
	if (!atomic_exchange(&watch.is_open, false))
		return;
	pthread_mutex_lock(&watch.lock);
	watch.quit = true;
	pthread_cond_signal(&watch.wake);
	pthread_mutex_unlock(&watch.lock);
	pthread_join(watch.thread, NULL);
	pthread_cond_destroy(&watch.wake);
	for (size_t i = 0; i < CRASHES; i++)
		(void)sigaction(crashes[i], &watch.before[i], NULL);
	/* The owner's seat; other threads have ended. */
	if (mine != NULL)
		on_thread_end(mine);
	(void)pthread_key_delete(watch.key);
}
