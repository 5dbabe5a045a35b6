/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One agent whose machine lacks something: room on the disk, somebody who reads
 * its log, a quiet control socket, the right to load eBPF.  Its job is limited
 * all the same.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fs/group.h"
#include "tests/system/single.h"
#include "tests/test.h"

#define NOBODY 65534

static pid_t agent;

static void setup(void)
{
	single_begin("scarce");
	/* For those who are nobody. */
	ck_assert_int_eq(chmod(single.folder, 0755), 0);
	agent = 0;
}

static void teardown(void)
{
	char command[128];

	if (agent > 0) {
		kill(agent, SIGKILL);
		waitpid(agent, NULL, 0);
	}
	/* A file system below it has gone with the test that mounted it. */
	snprintf(command, sizeof(command), "umount -q '%s/state' 2>/dev/null", single.folder);
	(void)!system(command);
	single_end();
}

/* log: what becomes its stderr. */
static void start(int log)
{
	agent = single_run(NULL, log);
}

static int64_t number(const char *key)
{
	json_t *status = single_status(agent);
	int64_t value = json_integer_value(json_object_get(status, key));

	json_decref(status);
	return value;
}

static bool has_text(const char *key, const char *expected)
{
	json_t *status = single_status(agent);
	const char *text = json_string_value(json_object_get(status, key));
	bool is = expected == NULL ? text == NULL : text != NULL && strstr(text, expected) != NULL;

	json_decref(status);
	return is;
}

static void must_become(const char *key, const char *expected)
{
	for (unsigned ms = 0; !has_text(key, expected); ms += 50) {
		ck_assert_uint_lt(ms, SINGLE_PATIENCE_MS);
		usleep(50000);
	}
}

static void ticks(void)
{
	int64_t before = number("ticks");

	for (unsigned ms = 0; number("ticks") < before + 10; ms += 20) {
		ck_assert_uint_lt(ms, SINGLE_PATIENCE_MS);
		usleep(20000);
	}
}

/* Once; what comes again is put right after a while. */
static void goes_on(void)
{
	group_write_limit("job", 66000, 100000);
	ticks();
	single_assert_limit(SINGLE_OURS_US);
}

static void end(void)
{
	kill(agent, SIGTERM);
	ck_assert_int_eq(group_wait(agent), 0);
	agent = 0;
}

/* Of six pages, seen by this test and its children alone. */
static void small_state(void)
{
	char state[96];

	snprintf(state, sizeof(state), "%s/state", single.folder);
	ck_assert_int_eq(mkdir(state, 0700), 0);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("small", state, "tmpfs", MS_NODEV, "size=24k,mode=0700"), 0);
}

static void fill(void)
{
	char path[96], bytes[4096];

	snprintf(path, sizeof(path), "%s/state/else", single.folder);
	memset(bytes, 1, sizeof(bytes));
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	while (write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
	ck_assert_int_eq(errno, ENOSPC);
	close(fd);
}

static void read_only(bool on)
{
	char state[96];

	snprintf(state, sizeof(state), "%s/state", single.folder);
	ck_assert_int_eq(mount(NULL, state, NULL, MS_REMOUNT | MS_NODEV | (on ? MS_RDONLY : 0),
			       NULL), 0);
}

/* The journal has had its room from the first. */
START_TEST(needs_no_room_that_it_has_not_got)
{
	single_configure("on-exit = restore\n");
	small_state();
	ck_assert_int_eq(single_says("--init"), 0);
	fill();
	start(-1);
	must_become("state", "ok");
	ck_assert(has_text("journal_error", NULL));
	ck_assert_int_gt(number("journal_writes"), 0);
	goes_on();
	/* What was there before could not be noted on the disk, but is known. */
	end();
	single_assert_limit(SINGLE_BEFORE_US);
}
END_TEST

START_TEST(limits_from_a_read_only_disk_and_goes_on_when_it_can_be_written)
{
	single_configure("on-exit = keep\n");
	small_state();
	ck_assert_int_eq(single_says("--init"), 0);
	read_only(true);
	start(-1);
	must_become("journal_error", "Read-only file system");
	ck_assert(has_text("state", "degraded"));
	ck_assert_int_eq(number("journal_writes"), 0);
	single_assert_limit(SINGLE_OURS_US);
	goes_on();
	read_only(false);
	must_become("journal_error", NULL);
	ck_assert_int_eq(number("journal_writes"), 1);
	ck_assert_int_eq(number("incarnation"), 1);
	ticks();
	end();
	single_assert_limit(SINGLE_OURS_US);
}
END_TEST

START_TEST(needs_nobody_who_reads_its_log)
{
	int ends[2];

	single_init("on-exit = keep\n");
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	start(ends[1]);
	close(ends[1]);
	must_become("state", "ok");
	close(ends[0]);
	goes_on();
	end();
	/* A full disk below the log. */
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	start(full);
	must_become("state", "ok");
	goes_on();
	end();
	/* Somebody who holds it and does not read. */
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], single.conf, sizeof(single.conf)) > 0)
		;
	while (write(ends[1], single.conf, 1) > 0)
		;
	start(ends[1]);
	must_become("state", "ok");
	goes_on();
	end();
	close(full);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static int connect_control(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", single.control);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* As somebody who may only read: connects, asks and does not listen, for ever. */
static _Noreturn void flood(bool listens)
{
	static const char *const said[] = { "{\"command\":\"status\"}", "{\"command\":\"history\"}",
					    "{", "\xff\xfe", "{\"command\":\"freeze\"}" };
	int fds[64] = { 0 };
	char reply[4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(1);
	for (unsigned n = 0;; n++) {
		int *fd = &fds[n % 64];

		if (*fd <= 0)
			*fd = connect_control();
		if (*fd > 0)
			(void)!send(*fd, said[n % 5], strlen(said[n % 5]), MSG_NOSIGNAL);
		if (*fd > 0 && listens)
			(void)!recv(*fd, reply, sizeof(reply), 0);
		if (*fd > 0 && n % 7 == 0) {
			close(*fd);
			*fd = 0;
		}
	}
}

START_TEST(answers_root_while_others_flood_its_socket)
{
	pid_t floods[4];
	char run[96];

	single_init("on-exit = keep\n");
	start(-1);
	must_become("state", "ok");
	snprintf(run, sizeof(run), "%s/run", single.folder);
	for (unsigned i = 0; i < 4; i++) {
		floods[i] = fork();
		if (floods[i] == 0)
			flood(i % 2 == 0);
	}
	usleep(200000);
	goes_on();
	for (unsigned i = 0; i < 5; i++)
		ticks();
	json_t *status = single_status(agent);
	ck_assert(json_is_false(json_object_get(status, "frozen")));
	json_decref(status);
	for (unsigned i = 0; i < 4; i++) {
		kill(floods[i], SIGKILL);
		ck_assert_int_eq(waitpid(floods[i], NULL, 0), floods[i]);
	}
	end();
}
END_TEST

/* Whatever measures then, or nothing does: it says why, and limits. */
START_TEST(limits_without_the_right_to_load_ebpf)
{
	static const int needed[] = { CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON };

	single_init("on-exit = keep\n");
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(prctl(PR_CAPBSET_DROP, needed[i], 0, 0, 0), 0);
	start(-1);
	must_become("state", "degraded");
	ck_assert(has_text("meter_reason", "CAP_"));
	single_assert_limit(SINGLE_OURS_US);
	goes_on();
	end();
}
END_TEST

/* As on a machine that has no time for it: what it missed is counted and told once. */
START_TEST(counts_the_ticks_that_it_missed)
{
	char path[96], line[512];
	unsigned told = 0;

	single_init("on-exit = keep\n");
	snprintf(path, sizeof(path), "%s/log", single.folder);
	int log = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	start(log);
	must_become("state", "ok");
	int64_t late = number("ticks_late");
	for (unsigned i = 0; i < 2; i++) {
		kill(agent, SIGSTOP);
		usleep(1000000);
		single_assert_limit(SINGLE_OURS_US);
		kill(agent, SIGCONT);
		ticks();
	}
	ck_assert_int_ge(number("ticks_late"), late + 2 * 18);
	end();
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		told += strstr(line, "s late: this machine is too busy") != NULL;
	fclose(file);
	close(log);
	ck_assert_uint_eq(told, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("scarce");
	TCase *tcase = group_case(suite, "agent", 60, setup, teardown);

	tcase_add_test(tcase, needs_no_room_that_it_has_not_got);
	tcase_add_test(tcase, limits_from_a_read_only_disk_and_goes_on_when_it_can_be_written);
	tcase_add_test(tcase, needs_nobody_who_reads_its_log);
	tcase_add_test(tcase, answers_root_while_others_flood_its_socket);
	tcase_add_test(tcase, counts_the_ticks_that_it_missed);
	tcase_add_test(tcase, limits_without_the_right_to_load_ebpf);
	return suite;
}
