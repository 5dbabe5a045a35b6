/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/taskwatch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/train/fence.h"
#include "agent/train/usertask.h"
#include "agent/train/worker_compute.h"
#include "tests/task/task_file.h"
#include "tests/test.h"

/* Users' tasks in a process like a worker: what they do to it, and what it says of that. */

#define FEATURES 7u /* no round number: something may be written just behind it */
#define SAMPLES	 40u
#define FINE	 100 /* exit status of a process in which nothing happened */

static char folder[64];
static uint8_t pixels[SAMPLES * FEATURES], labels[SAMPLES];
static uint32_t part[SAMPLES];
static const struct dataset data = {
	.samples = SAMPLES,
	.features = FEATURES,
	.classes = 2,
	.pixels = pixels,
	.labels = labels,
};

static void open_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-task.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (uint32_t i = 0; i < SAMPLES; i++) {
		part[i] = i;
		labels[i] = i % 2;
	}
}

static void close_folder(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static bool never(void *context)
{
	(void)context;
	return false;
}

/* A thread of the pool, as far as the task can tell. */
static void *compute_some(void *argument)
{
	const struct objective *objective = argument;
	const struct lesson lesson = {
		.objective = *objective,
		.data = &data,
		.part = part,
		.part_samples = SAMPLES,
		.samples_max = SAMPLES,
	};
	static const float point[FEATURES];
	struct cpuclock clock;
	struct desk desk;

	(void)cpuclock_init(&clock, NULL, 0);
	if (desk_open(&lesson, &desk) < 0)
		_exit(1);
	for (uint32_t i = 0; i < 10; i++) {
		struct task_result result =
		    compute(&lesson, &desk, &(struct task){ .task = i, .seed = i, .samples = 20 },
			    point, &clock, never, NULL);
		if (result.abandoned || result.not_finite)
			_exit(result.abandoned ? 102 : 101);
		free(result.gradient);
	}
	desk_close(&desk);
	return NULL;
}

/* The process: as the worker goes about it, with a limit of a fifth of a second. */
_Noreturn static void be_worker(const char *path, int report_fd, int said_fd)
{
	const struct taskwatch_config config = {
		.what = "TASK",
		.report_fd = report_fd,
		.limit_ns = 200000000u,
	};
	const struct isobar_task_shape shape = { FEATURES, 2 };
	const struct rlimit none = { 0, 0 };
	char text[OBJECTIVE_TEXT_BYTES];
	struct objective objective;
	struct usertask task;
	struct error error;
	pthread_t thread;

	(void)setrlimit(RLIMIT_CORE, &none);
	if (dup2(said_fd, STDERR_FILENO) < 0 || taskwatch_open(&config, &error) < 0)
		_exit(1);
	if (usertask_open(path, &task, &error) < 0)
		taskwatch_fault(ISO_WORKER_UNUSABLE, ISO_WORKER_NO_CALL, 0, error.text);
	const char *why = objective_of_task(task.task, &shape, text, &objective);
	if (why != NULL) {
		dprintf(said_fd, "refused: %s\n", why);
		_exit(FINE);
	}
	/* As an evaluation does. */
	struct fence first;
	if (fence_open(objective.params * sizeof(float), &first) < 0)
		_exit(1);
	objective_init(&objective, 1, first.data);
	if (!fence_intact(&first))
		taskwatch_fault(ISO_WORKER_OVERRAN, ISO_WORKER_INIT, 0, "wrote beyond");
	/* As the pool does. */
	sigset_t all;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, NULL) != 0 ||
	    pthread_create(&thread, NULL, compute_some, &objective) != 0 ||
	    pthread_join(thread, NULL) != 0)
		_exit(1);
	_exit(FINE);
}

struct end {
	int status; /* exit status, or -signal */
	struct iso_worker_record record;
	bool has_record;
	char said[1024];
};

static struct end run(const char *name, const char *fault)
{
	int report[2], said[2], status;
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];
	char path[128];
	struct end end = { 0 };
	size_t size = 0;
	ssize_t r;

	snprintf(path, sizeof(path), "%s/task.so", folder);
	task_file(name, fault, path);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
	ck_assert_int_eq(pipe(said), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		close(report[0]);
		be_worker(path, report[1], said[1]);
	}
	close(report[1]);
	close(said[1]);
	while (size < sizeof(end.said) - 1 &&
	       (r = read(said[0], end.said + size, sizeof(end.said) - 1 - size)) > 0)
		size += (size_t)r;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	end.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	r = recv(report[0], bytes, sizeof(bytes), MSG_DONTWAIT);
	if (r > 0) {
		ck_assert_ok(iso_worker_decode(bytes, (size_t)r, &end.record));
		ck_assert_int_eq(end.record.type, ISO_WORKER_FAULT);
		end.has_record = true;
	}
	close(report[0]);
	close(said[0]);
	return end;
}

START_TEST(a_good_task_computes)
{
	struct end end = run("hostile", NULL);

	ck_assert_msg(end.status == FINE, "%d: %s", end.status, end.said);
	ck_assert(!end.has_record);
	ck_assert_str_eq(end.said, "");
}
END_TEST

static const struct {
	const char *fault;
	int status;
	enum iso_worker_fault what;
	enum iso_worker_call call;
	uint32_t number;
	const char *said;
} faults[] = {
	{ "crash:5", -SIGSEGV, ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGSEGV,
	  "task TASK: gradient(): Segmentation fault (signal 11)\n" },
	{ "divide", -SIGFPE, ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGFPE, "(signal 8)\n" },
	{ "abort", -SIGABRT, ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGABRT, "(signal 6)\n" },
	{ "stack", -SIGSEGV, ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGSEGV,
	  "gradient(): stack overflow (signal 11)\n" },
	{ "overrun-far", -SIGSEGV, ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGSEGV,
	  "gradient(): Segmentation fault" },
	{ "endless", TASKWATCH_EXIT_STATUS, ISO_WORKER_ENDLESS, ISO_WORKER_GRADIENT, 0,
	  "gradient(): used more CPU than a call of it may\n" },
	{ "asleep", TASKWATCH_EXIT_STATUS, ISO_WORKER_ASLEEP, ISO_WORKER_GRADIENT, 0,
	  "gradient(): sleeps, and does not wake\n" },
	{ "exit", TASKWATCH_EXIT_STATUS, ISO_WORKER_EXITED, ISO_WORKER_GRADIENT, 0,
	  "gradient(): ended the process\n" },
#ifndef __SANITIZE_ADDRESS__ /* which takes the unwound frames for ones in use */
	{ "thread-exit", TASKWATCH_EXIT_STATUS, ISO_WORKER_EXITED, ISO_WORKER_GRADIENT, 0,
	  "gradient(): ended its thread\n" },
#endif
	{ "overrun", TASKWATCH_EXIT_STATUS, ISO_WORKER_OVERRAN, ISO_WORKER_GRADIENT, 0,
	  "gradient(): wrote beyond its gradient\n" },
	{ "underrun", TASKWATCH_EXIT_STATUS, ISO_WORKER_OVERRAN, ISO_WORKER_GRADIENT, 0,
	  "gradient(): wrote beyond its workspace\n" },
	{ "init-overrun", TASKWATCH_EXIT_STATUS, ISO_WORKER_OVERRAN, ISO_WORKER_INIT, 0,
	  "init(): wrote beyond" },
	{ "init-crash", -SIGABRT, ISO_WORKER_CRASHED, ISO_WORKER_INIT, SIGABRT, "init(): Aborted" },
	{ "check-crash", -SIGABRT, ISO_WORKER_CRASHED, ISO_WORKER_CHECK, SIGABRT, "check(): " },
	{ "check-endless", TASKWATCH_EXIT_STATUS, ISO_WORKER_ENDLESS, ISO_WORKER_CHECK, 0,
	  "check(): used more CPU" },
	{ "constructor", -SIGABRT, ISO_WORKER_CRASHED, ISO_WORKER_NO_CALL, SIGABRT,
	  "none of its functions: Aborted (signal 6)\n" },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

START_TEST(what_a_task_does_is_said_before_its_process_ends)
{
	struct end end = run("hostile", faults[_i].fault);

	ck_assert_msg(end.status == faults[_i].status, "%s: %d: %s", faults[_i].fault, end.status,
		      end.said);
	ck_assert_msg(end.has_record, "%s: no record", faults[_i].fault);
	ck_assert_int_eq(end.record.fault.what, faults[_i].what);
	ck_assert_int_eq(end.record.fault.call, faults[_i].call);
	if (faults[_i].what == ISO_WORKER_ENDLESS || faults[_i].what == ISO_WORKER_ASLEEP)
		ck_assert_uint_ge(end.record.fault.number, 200);
	else
		ck_assert_uint_eq(end.record.fault.number, faults[_i].number);
	ck_assert_msg(strncmp(end.said, "this process ends: task ", 24) == 0, "%s", end.said);
	ck_assert_msg(strstr(end.said, faults[_i].said) != NULL, "%s: %s", faults[_i].fault,
		      end.said);
	/* Once. */
	ck_assert_ptr_eq(strchr(end.said, '\n'), end.said + strlen(end.said) - 1);
}
END_TEST

START_TEST(numbers_that_are_none_are_marked)
{
	/* The third task of the ten. */
	ck_assert_int_eq(run("hostile", "not-a-number:2").status, 101);
	ck_assert_int_eq(run("hostile", "loss-nan").status, 101);
}
END_TEST

static const struct {
	const char *name, *fault, *said;
} unusable[] = {
	{ "hostile-abi", NULL, "made for version 99 of the interface, this is 1; build it anew\n" },
	{ "hostile-symbol", NULL, "exports no symbol isobar_task\n" },
};

START_TEST(what_is_no_task_is_refused_and_said)
{
	struct end end = run(unusable[_i].name, unusable[_i].fault);

	ck_assert_int_eq(end.status, TASKWATCH_EXIT_STATUS);
	ck_assert(end.has_record);
	ck_assert_int_eq(end.record.fault.what, ISO_WORKER_UNUSABLE);
	ck_assert_msg(strstr(end.said, unusable[_i].said) != NULL, "%s", end.said);
}
END_TEST

static const struct {
	const char *fault, *said;
} refusals[] = {
	/* What a task says is made one printable line. */
	{ "refuse", "refused: it wants no more than 1?features\n" },
	{ "no-params", "refused: the task has 0 parameters, not 1 to 16777216\n" },
	{ "many-params", "refused: the task has 4294967295 parameters, not 1 to 16777216\n" },
};

START_TEST(a_task_that_does_not_fit_the_data_says_so)
{
	struct end end = run("hostile", refusals[_i].fault);

	ck_assert_int_eq(end.status, FINE);
	ck_assert_str_eq(end.said, refusals[_i].said);
}
END_TEST

/* Neither opened nor run. */
static void refused(const char *path, int code, const char *why)
{
	uint64_t checksum = 7;
	struct error error;

	ck_assert_int_eq(usertask_examine(path, geteuid(), &checksum, &error), code);
	ck_assert_msg(strstr(error.text, why) != NULL, "%s", error.text);
	ck_assert_uint_eq(checksum, 7);
}

START_TEST(a_file_that_others_can_write_is_not_loaded)
{
	struct usertask task = { 0 };
	uint64_t checksum, again;
	char path[128];
	struct error error;

	snprintf(path, sizeof(path), "%s/task.so", folder);
	refused(path, -ENOENT, "open '");
	task_file("hostile", NULL, path);
	int fd = usertask_examine(path, geteuid(), &checksum, &error);
	ck_assert_int_ge(fd, 0);
	close(fd);
	task_file("hostile", "crash", path);
	fd = usertask_examine(path, geteuid(), &again, &error);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_uint_ne(checksum, again);
	/* Root's serves everybody, another user's only that user. */
	ck_assert_int_eq(usertask_examine(path, geteuid() + 1, &again, &error) < 0, geteuid() != 0);

	ck_assert_int_eq(chmod(path, 0664), 0);
	refused(path, -EPERM, "mode 664 lets others write to it; chmod go-w it");
	ck_assert_int_eq(usertask_open(path, &task, &error), -EPERM);
	ck_assert_ptr_null(task.task);
	ck_assert_int_eq(chmod(path, 0646), 0);
	refused(path, -EPERM, "mode 646");
	ck_assert_int_eq(chmod(path, 0444), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(path, 4711, 0), 0);
		refused(path, -EPERM, "belongs to user 4711; chown it to root or to user 0");
	}
	refused(folder, -EPERM, "not a regular file");
	refused("/dev/null", -EPERM, "not a regular file");
	snprintf(path, sizeof(path), "%s/empty", folder);
	fclose(fopen(path, "we"));
	ck_assert_int_eq(chmod(path, 0644), 0);
	refused(path, -ENOEXEC, "the file is empty");
	/* And one that is something else. */
	FILE *file = fopen(path, "we");
	fputs("#!/bin/sh\n", file);
	fclose(file);
	ck_assert_int_eq(usertask_open(path, &task, &error), -ENOEXEC);
	ck_assert_msg(strstr(error.text, "invalid ELF header") != NULL ||
			  strstr(error.text, "file too short") != NULL,
		      "%s", error.text);
	ck_assert_ptr_null(strstr(error.text, "/proc/"));
}
END_TEST

START_TEST(the_limit_follows_the_median_task)
{
	struct taskwatch_config config = { .what = "TASK",
					   .report_fd = -1,
					   .limit_ns = TASKWATCH_LIMIT_NS };
	struct error error;

	ck_assert_int_eq(taskwatch_open(&config, &error), 0);
	for (int i = 0; i < 4; i++)
		taskwatch_observe(500000000u);
	/* Too few to say what is usual. */
	ck_assert_uint_eq(taskwatch_limit_ns(), TASKWATCH_LIMIT_NS);
	taskwatch_observe(500000000u);
	ck_assert_uint_eq(taskwatch_limit_ns(), 10000000000u);
	/* One that was slow changes nothing. */
	taskwatch_observe(5000000000u);
	ck_assert_uint_eq(taskwatch_limit_ns(), 10000000000u);
	/* Only the last ones count, and the quickest tasks have two seconds. */
	for (int i = 0; i < 32; i++)
		taskwatch_observe(1000);
	ck_assert_uint_eq(taskwatch_limit_ns(), TASKWATCH_LEAST_NS);
	for (int i = 0; i < 32; i++)
		taskwatch_observe(30000000000u);
	ck_assert_uint_eq(taskwatch_limit_ns(), TASKWATCH_LIMIT_NS);
	taskwatch_close();
}
END_TEST

START_TEST(a_fence_sees_what_is_written_beside_it)
{
	static const size_t sizes[] = { 1, 4, 60, 64, 68, 4092, 4096, 4100, 100000 };
	struct fence fence;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		ck_assert_int_eq(fence_open(sizes[i], &fence), 0);
		uint8_t *bytes = fence.data;
		ck_assert_uint_eq((uintptr_t)bytes % FENCE_ALIGNMENT, 0);
		for (size_t j = 0; j < sizes[i]; j++)
			ck_assert_uint_eq(bytes[j], 0);
		memset(bytes, 0xff, sizes[i]);
		ck_assert(fence_intact(&fence));
		bytes[-1] ^= 1;
		ck_assert(!fence_intact(&fence));
		bytes[-1] ^= 1;
		if (sizes[i] % FENCE_ALIGNMENT != 0) {
			bytes[sizes[i]] ^= 1;
			ck_assert(!fence_intact(&fence));
		}
		fence_close(&fence);
	}
	ck_assert_int_eq(fence_open(0, &fence), 0);
	ck_assert_ptr_null(fence.data);
	ck_assert(fence_intact(&fence));
	ck_assert_int_eq(fence_open(SIZE_MAX, &fence), -ENOMEM);
	fence_close(&fence);
}
END_TEST

START_TEST(nothing_can_be_written_behind_a_fence)
{
	struct fence fence;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "abc", 3), 3);
	ck_assert_int_eq(fence_open(128, &fence), 0);
	uint8_t *bytes = fence.data;
	ck_assert_int_eq(read(ends[0], bytes + 127, 1), 1);
	/* The kernel tells what would be a crash. */
	ck_assert_int_eq(read(ends[0], bytes + 128, 1), -1);
	ck_assert_int_eq(errno, EFAULT);
	fence_close(&fence);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("taskwatch");
	TCase *tcase = tcase_create("tasks");

	if (task_file_under_valgrind())
		test_skip_all("a crash would be valgrind's to report");
	tcase_add_checked_fixture(tcase, open_folder, close_folder);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_good_task_computes);
	tcase_add_loop_test(tcase, what_a_task_does_is_said_before_its_process_ends, 0,
			    (int)COUNT(faults));
	tcase_add_test(tcase, numbers_that_are_none_are_marked);
	tcase_add_loop_test(tcase, what_is_no_task_is_refused_and_said, 0, (int)COUNT(unusable));
	tcase_add_loop_test(tcase, a_task_that_does_not_fit_the_data_says_so, 0,
			    (int)COUNT(refusals));
	tcase_add_test(tcase, a_file_that_others_can_write_is_not_loaded);
	tcase_add_test(tcase, the_limit_follows_the_median_task);
	tcase_add_test(tcase, a_fence_sees_what_is_written_beside_it);
	tcase_add_test(tcase, nothing_can_be_written_behind_a_fence);
	suite_add_tcase(suite, tcase);
	return suite;
}
