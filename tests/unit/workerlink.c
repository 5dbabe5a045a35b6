/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/workerlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/train/spawn.h"
#include "tests/test.h"

START_TEST(decodes_what_it_encodes)
{
	static const struct iso_worker_record records[] = {
		{ .type = ISO_WORKER_REGISTER, .enrol = { 4711 } },
		{ .type = ISO_WORKER_SLOT, .slot = { 4711, 1023 } },
		{ .type = ISO_WORKER_SLOT, .slot = { UINT32_MAX, ISO_WORKER_NO_SLOT } },
		{ .type = ISO_WORKER_SHARE, .share = { UINT64_MAX, 64 } },
		{ .type = ISO_WORKER_PROGRESS, .progress = { 1ull << 40, 3, true } },
		{ .type = ISO_WORKER_PROGRESS, .progress = { 0, 0, false } },
		{ .type = ISO_WORKER_FAULT,
		  .fault = { ISO_WORKER_CRASHED, ISO_WORKER_GRADIENT, SIGSEGV } },
		{ .type = ISO_WORKER_FAULT,
		  .fault = { ISO_WORKER_UNUSABLE, ISO_WORKER_NO_CALL, UINT32_MAX } },
		{ .type = ISO_WORKER_ROUND, .round = { 1ull << 40, 7, ISO_WORKER_ALONE } },
		{ .type = ISO_WORKER_MEASURE, .measure = { -0.25, ISO_WORKER_SPREAD } },
	};
	uint8_t bytes[ISO_WORKER_RECORD_BYTES], again[ISO_WORKER_RECORD_BYTES];

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		struct iso_worker_record record;

		iso_worker_encode(&records[i], bytes);
		ck_assert_ok(iso_worker_decode(bytes, sizeof(bytes), &record));
		ck_assert_int_eq(record.type, records[i].type);
		iso_worker_encode(&record, again);
		ck_assert_mem_eq(bytes, again, sizeof(bytes));
	}
	ck_assert_ok(iso_worker_decode(bytes, sizeof(bytes), &(struct iso_worker_record){ 0 }));
}
END_TEST

START_TEST(refuses_what_is_no_record)
{
	struct iso_worker_record record = { .type = ISO_WORKER_SHARE, .share = { 7, 7 } };
	uint8_t good[ISO_WORKER_RECORD_BYTES + 1] = { 0 }, bytes[sizeof(good)];

	iso_worker_encode(
	    &(struct iso_worker_record){ .type = ISO_WORKER_REGISTER, .enrol = { 5 } }, good);
	ck_assert_int_eq(iso_worker_decode(good, 0, &record), ISO_E_SHORT);
	ck_assert_int_eq(iso_worker_decode(good, sizeof(good) - 2, &record), ISO_E_SHORT);
	ck_assert_int_eq(iso_worker_decode(good, sizeof(good), &record), ISO_E_LONG);
	for (size_t i = 0; i < ISO_WORKER_RECORD_BYTES; i++) {
		if (i >= 16 && i < 20)
			continue; /* the thread id: any but 0 will do */
		memcpy(bytes, good, sizeof(bytes));
		bytes[i] ^= 0x80;
		enum iso_status status = iso_worker_decode(bytes, sizeof(bytes) - 1, &record);

		ck_assert_int_eq(status, i < 4 ? ISO_E_VERSION : ISO_E_MALFORMED);
	}
	/* A thread id of 0 is nobody. */
	memcpy(bytes, good, sizeof(bytes));
	bytes[16] = 0;
	ck_assert_int_eq(iso_worker_decode(bytes, sizeof(bytes) - 1, &record), ISO_E_MALFORMED);
	/* Never touched by a failure. */
	ck_assert_int_eq(record.type, ISO_WORKER_SHARE);
	ck_assert_uint_eq(record.share.share_ucpu, 7);
}
END_TEST

/* Both ends in one loop. */
static struct loop loop;
static struct workerlink *agent, *worker;
static struct iso_worker_record last;
static unsigned calls, gone;

static void on_record(void *context, const struct iso_worker_record *record)
{
	(void)context;
	calls++;
	if (record != NULL)
		last = *record;
	else
		gone++;
	loop_quit(&loop);
}

static void count_record(void *context, const struct iso_worker_record *record)
{
	(void)context;
	calls += record != NULL;
	gone += record == NULL;
	if (record == NULL)
		loop_quit(&loop);
}

/* Closes itself in its own callback, as an agent does. */
static void close_agent(void *context, const struct iso_worker_record *record)
{
	on_record(context, record);
	agent = workerlink_close(agent);
}

static struct loop_source deadline;

static void on_deadline(struct loop_source *source, short revents)
{
	(void)revents;
	timer_consume(source->fd);
	loop_quit(&loop);
}

static void run(void)
{
	timer_arm(deadline.fd, clock_now_ns() + 5000000000u);
	loop_run(&loop);
}

static void open_ends(workerlink_fn *agent_fn)
{
	int agent_fd, worker_fd;

	ck_assert_int_eq(workerlink_pair(&agent_fd, &worker_fd), 0);
	ck_assert_int_eq(
	    workerlink_open(agent_fd, WORKERLINK_AGENT, &loop, agent_fn, NULL, &agent, NULL), 0);
	ck_assert_int_eq(
	    workerlink_open(worker_fd, WORKERLINK_WORKER, &loop, on_record, NULL, &worker, NULL),
	    0);
	deadline =
	    (struct loop_source){ .fd = timer_open(), .events = ZMQ_POLLIN, .fn = on_deadline };
	ck_assert_int_eq(loop_add(&loop, &deadline), 0);
}

START_TEST(carries_records_both_ways)
{
	open_ends(on_record);
	ck_assert_int_eq(workerlink_send_share(agent, 1500000, 2), 0);
	run();
	ck_assert_int_eq(last.type, ISO_WORKER_SHARE);
	ck_assert_uint_eq(last.share.share_ucpu, 1500000);
	ck_assert_uint_eq(last.share.cpus, 2);
	ck_assert_int_eq(
	    workerlink_send(worker, &(struct iso_worker_record){ .type = ISO_WORKER_REGISTER,
								 .enrol = { 99 } }),
	    0);
	run();
	ck_assert_uint_eq(last.enrol.tid, 99);
	ck_assert_int_eq(workerlink_send_slot(agent, 99, 3), 0);
	run();
	ck_assert_uint_eq(last.slot.slot, 3);
	ck_assert_uint_eq(workerlink_counters(agent)->received, 1);
	ck_assert_uint_eq(workerlink_counters(worker)->received, 2);
}
END_TEST

START_TEST(drops_and_counts_what_is_not_for_it)
{
	uint8_t bytes[ISO_WORKER_RECORD_BYTES + 6];
	int agent_fd, fd;

	ck_assert_int_eq(workerlink_pair(&agent_fd, &fd), 0);
	ck_assert_int_eq(
	    workerlink_open(agent_fd, WORKERLINK_AGENT, &loop, on_record, NULL, &agent, NULL), 0);
	memset(bytes, 0x55, sizeof(bytes));
	ck_assert_int_eq(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	ck_assert_int_eq(send(fd, bytes, 3, 0), 3);
	/* A worker that claims a share gets none. */
	iso_worker_encode(&(struct iso_worker_record){ .type = ISO_WORKER_SHARE }, bytes);
	ck_assert_int_eq(send(fd, bytes, ISO_WORKER_RECORD_BYTES, 0), ISO_WORKER_RECORD_BYTES);
	iso_worker_encode(
	    &(struct iso_worker_record){ .type = ISO_WORKER_REGISTER, .enrol = { 1 } }, bytes);
	ck_assert_int_eq(send(fd, bytes, ISO_WORKER_RECORD_BYTES, 0), ISO_WORKER_RECORD_BYTES);
	loop_run(&loop);
	ck_assert_uint_eq(calls, 1);
	ck_assert_int_eq(last.type, ISO_WORKER_REGISTER);
	ck_assert_uint_eq(workerlink_counters(agent)->malformed, 3);
	close(fd);
}
END_TEST

START_TEST(tells_once_that_the_other_end_is_gone)
{
	open_ends(close_agent);
	worker = workerlink_close(worker);
	run();
	ck_assert_uint_eq(gone, 1);
	ck_assert_uint_eq(calls, 1);
	ck_assert_ptr_null(agent);
}
END_TEST

START_TEST(never_blocks_on_an_end_that_does_not_read)
{
	int r = 0;

	open_ends(on_record);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = workerlink_send_share(agent, 1, 1);
	ck_assert_int_eq(r, -EAGAIN);
	ck_assert_uint_eq(workerlink_counters(agent)->unsent, 1);
	worker = workerlink_close(worker);
	/* What it left unread is a reset, after that it is merely gone. */
	ck_assert_int_eq(workerlink_send_share(agent, 1, 1), -ECONNRESET);
	ck_assert_int_eq(workerlink_send_share(agent, 1, 1), -EPIPE);
}
END_TEST

/* Sends as much as there is room for, for a while. */
static void flood(int fd)
{
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];

	iso_worker_encode(
	    &(struct iso_worker_record){ .type = ISO_WORKER_REGISTER, .enrol = { 1 } }, bytes);
	for (int turn = 0; turn < 40; turn++) {
		for (int i = 0; i < 100; i++)
			(void)send(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		timer_arm(deadline.fd, clock_now_ns() + 5000000);
		loop_run(&loop);
	}
}

/* What the agent does for a worker it does outside of the worker's quota. */
START_TEST(a_worker_that_floods_is_read_once_a_tick)
{
	int agent_fd, fd;

	ck_assert_int_eq(workerlink_pair(&agent_fd, &fd), 0);
	ck_assert_int_eq(workerlink_open(agent_fd, WORKERLINK_AGENT, &loop, count_record, NULL,
					 &agent, NULL),
			 0);
	deadline =
	    (struct loop_source){ .fd = timer_open(), .events = ZMQ_POLLIN, .fn = on_deadline };
	ck_assert_int_eq(loop_add(&loop, &deadline), 0);
	flood(fd);
	ck_assert_uint_eq(calls, 512);
	workerlink_tick(agent);
	flood(fd);
	ck_assert_uint_eq(calls, 1024);
	/* Its end is noticed all the same, and at once. */
	close(fd);
	run();
	ck_assert_uint_eq(gone, 1);
}
END_TEST

START_TEST(notices_that_nobody_handed_down_a_socket)
{
	struct error error;
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(
	    workerlink_open(fds[0], WORKERLINK_WORKER, &loop, on_record, NULL, &worker, &error),
	    -ENOTSOCK);
	ck_assert_int_eq(
	    workerlink_open(-1, WORKERLINK_WORKER, &loop, on_record, NULL, &worker, &error),
	    -EBADF);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(
	    workerlink_open(fds[0], WORKERLINK_WORKER, &loop, on_record, NULL, &worker, &error),
	    -ENOTSOCK);
	ck_assert_uint_eq(loop.count, 0);
}
END_TEST

/* Runs a shell command as the worker; what it says comes back on the clock descriptor. */
static struct spawn_child run_shell(const char *command, const struct spawn_user *user,
				    spawn_attach_fn *attach, int out_fd)
{
	char sh[] = "sh", dash_c[] = "-c", *text = strdup(command);
	char *argv[] = { sh, dash_c, text, NULL };
	struct spawn_child child = SPAWN_NO_CHILD;
	struct error error;
	const struct spawn_config config = {
		.executable = "/bin/sh",
		.argv = argv,
		.user = user,
		.clock_fd = out_fd,
		.attach = attach,
	};

	ck_assert_msg(spawn_worker(&config, &child, &error) == 0, "%s", error.text);
	free(text);
	return child;
}

static void wait_for(struct spawn_child *child, const char *ending)
{
	char text[SPAWN_TEXT_BYTES];

	while (spawn_reap(child, text) == -EAGAIN)
		usleep(1000);
	ck_assert_str_eq(text, ending);
	ck_assert_int_eq(child->pidfd, -1);
}

static pid_t attached;

static int attach(void *context, pid_t pid, struct error *reterr)
{
	(void)context;
	(void)reterr;
	/* It must not run yet: its program is still ours. */
	attached = pid;
	return 0;
}

static int refuse(void *context, pid_t pid, struct error *reterr)
{
	(void)context;
	attached = pid;
	return error_set(reterr, -EBUSY, "no such luck");
}

START_TEST(hands_down_two_descriptors_and_nothing_else)
{
	char said[256] = "";
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	/* One that somebody forgot to mark. */
	int leaked = dup(fds[0]);
	struct spawn_child child =
	    run_shell("exec >&4; ls /proc/$$/fd; exit 3", NULL, attach, fds[1]);
	close(fds[1]);
	ck_assert_int_eq(attached, child.pid);
	ck_assert_int_gt(read(fds[0], said, sizeof(said) - 1), 0);
	ck_assert_str_eq(said, "0\n1\n2\n3\n4\n");
	wait_for(&child, "exit status 3");
	close(leaked);
}
END_TEST

/* Libraries of a user's task would else start a thread for each CPU of the machine. */
START_TEST(worker_has_one_thread_for_each_library_and_nobodys_environment)
{
	char said[256] = "";
	int fds[2];

	ck_assert_int_eq(setenv("OMP_NUM_THREADS", "64", 1), 0);
	ck_assert_int_eq(setenv("OPENBLAS_NUM_THREADS", "64", 1), 0);
	ck_assert_int_eq(setenv("LD_PRELOAD_OF_THE_AGENT", "x", 1), 0);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	struct spawn_child child =
	    run_shell("echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $LD_PRELOAD_OF_THE_AGENT >&4",
		      NULL, NULL, fds[1]);
	close(fds[1]);
	ck_assert_int_gt(read(fds[0], said, sizeof(said) - 1), 0);
	ck_assert_str_eq(said, "1 1\n");
	wait_for(&child, "exit status 0");
}
END_TEST

START_TEST(worker_cannot_become_root_again)
{
	struct spawn_user user;
	struct error error;
	char said[256] = "";
	int fds[2];

	if (geteuid() != 0)
		return; /* nothing to drop */
	ck_assert_int_eq(spawn_user_find("nobody", &user, &error), 0);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	struct spawn_child child =
	    run_shell("{ id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; } | tr '\\n\\t' "
		      "'  ' >&4",
		      &user, NULL, fds[1]);
	close(fds[1]);
	ck_assert_int_gt(read(fds[0], said, sizeof(said) - 1), 0);
	ck_assert_str_eq(said, "65534 CapEff: 0000000000000000 NoNewPrivs: 1 ");
	wait_for(&child, "exit status 0");
	ck_assert_int_eq(spawn_user_find("root", &user, &error), -EPERM);
	ck_assert_int_eq(spawn_user_find("no-such-user-here", &user, &error), -ENOENT);
}
END_TEST

/* As an agent does that is not root: the capability stays over a change of program. */
static void raise_ambient(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[2] = {
		{ 1 << CAP_NET_RAW, 1 << CAP_NET_RAW, 1 << CAP_NET_RAW }
	};

	ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
	ck_assert_int_eq(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0), 0);
}

START_TEST(worker_inherits_no_capability_of_an_agent_that_is_not_root)
{
	char said[256] = "";
	int fds[2];

	if (geteuid() != 0)
		return; /* none to inherit */
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	raise_ambient();
	struct spawn_child child =
	    run_shell("grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | tr -s '\\n\\t' ' ' >&4",
		      NULL, NULL, fds[1]);
	close(fds[1]);
	ck_assert_int_gt(read(fds[0], said, sizeof(said) - 1), 0);
	ck_assert_str_eq(said, "CapInh: 0000000000000000 CapPrm: 0000000000000000 "
			       "CapEff: 0000000000000000 CapAmb: 0000000000000000 ");
	wait_for(&child, "exit status 0");
}
END_TEST

START_TEST(worker_has_no_precedence_of_the_agent)
{
	const struct sched_param realtime = { .sched_priority = 1 };
	char said[256] = "";
	int fds[2];

	if (geteuid() != 0)
		return; /* none to give up */
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, -5), 0);
	/* Some kernels and containers have none of the two; the others show what comes of it. */
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "-7", 2);
	close(fd);
	(void)sched_setscheduler(0, SCHED_RR, &realtime);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	struct spawn_child child =
	    run_shell("echo $(cut -d' ' -f19,41 /proc/$$/stat) $(cat /proc/$$/oom_score_adj) >&4",
		      NULL, NULL, fds[1]);
	close(fds[1]);
	ck_assert_int_gt(read(fds[0], said, sizeof(said) - 1), 0);
	ck_assert(strncmp(said, "0 0 ", 4) == 0);
	ck_assert_ptr_null(strchr(said, '-'));
	wait_for(&child, "exit status 0");
}
END_TEST

/* As the owner of the job's group can do to all that is in it. */
static int freeze(void *context, pid_t pid, struct error *reterr)
{
	(void)context;
	(void)reterr;
	return kill(pid, SIGSTOP);
}

START_TEST(never_waits_for_a_worker_that_is_frozen)
{
	char name[] = "true", *argv[] = { name, NULL };
	struct spawn_child child = SPAWN_NO_CHILD;
	const struct spawn_config config = {
		.executable = "/bin/true", .argv = argv, .clock_fd = -1, .attach = freeze
	};
	char text[SPAWN_TEXT_BYTES];
	struct error error;

	/* It used to wait for ever. */
	ck_assert_int_eq(spawn_worker(&config, &child, &error), 0);
	ck_assert_int_eq(spawn_reap(&child, text), -EAGAIN);
	ck_assert_int_eq(kill(child.pid, SIGCONT), 0);
	wait_for(&child, "exit status 0");
}
END_TEST

START_TEST(leaves_nothing_behind_when_it_cannot_start)
{
	char name[] = "x", *argv[] = { name, NULL };
	struct spawn_child child = { .pid = 77, .pidfd = 77, .link_fd = 77 };
	struct spawn_config config = { .executable = "/no/such/worker",
				       .argv = argv,
				       .clock_fd = -1 };
	struct error error;
	int lowest = dup(0);

	close(lowest);
	ck_assert_int_eq(spawn_worker(&config, &child, &error), -ENOENT);
	ck_assert_str_eq(error.text, "start '/no/such/worker': exec: No such file or directory");
	config.executable = "/bin/true";
	config.attach = refuse;
	ck_assert_int_eq(spawn_worker(&config, &child, &error), -EBUSY);
	ck_assert_str_eq(error.text, "start '/bin/true': no such luck");
	ck_assert_int_eq(kill(attached, 0), -1);
	ck_assert_int_eq(child.pid, 77);
	int again = dup(0);
	ck_assert_int_eq(again, lowest);
	close(again);
}
END_TEST

START_TEST(kills_what_does_not_want_to_end)
{
	char said[2];
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	struct spawn_child child =
	    run_shell("trap '' TERM; echo >&4; while :; do sleep 1; done", NULL, NULL, fds[1]);
	pid_t pid = child.pid;

	ck_assert_int_eq(read(fds[0], said, 1), 1);
	spawn_kill(&child, 50);
	ck_assert_int_eq(child.pid, 0);
	ck_assert_int_eq(kill(pid, 0), -1);
	spawn_kill(&child, 50); /* no child is fine */
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("workerlink");
	TCase *records = tcase_create("records");
	TCase *link = tcase_create("link");
	TCase *spawn = tcase_create("spawn");

	tcase_add_test(records, decodes_what_it_encodes);
	tcase_add_test(records, refuses_what_is_no_record);
	suite_add_tcase(suite, records);
	tcase_add_test(link, carries_records_both_ways);
	tcase_add_test(link, drops_and_counts_what_is_not_for_it);
	tcase_add_test(link, tells_once_that_the_other_end_is_gone);
	tcase_add_test(link, never_blocks_on_an_end_that_does_not_read);
	tcase_add_test(link, a_worker_that_floods_is_read_once_a_tick);
	tcase_add_test(link, notices_that_nobody_handed_down_a_socket);
	suite_add_tcase(suite, link);
	tcase_set_timeout(spawn, 30);
	tcase_add_test(spawn, hands_down_two_descriptors_and_nothing_else);
	tcase_add_test(spawn,
		       worker_has_one_thread_for_each_library_and_nobodys_environment);
	tcase_add_test(spawn, worker_cannot_become_root_again);
	tcase_add_test(spawn, worker_inherits_no_capability_of_an_agent_that_is_not_root);
	tcase_add_test(spawn, worker_has_no_precedence_of_the_agent);
	tcase_add_test(spawn, never_waits_for_a_worker_that_is_frozen);
	tcase_add_test(spawn, leaves_nothing_behind_when_it_cannot_start);
	tcase_add_test(spawn, kills_what_does_not_want_to_end);
	suite_add_tcase(suite, spawn);
	return suite;
}
