/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program can do no more once it is in its sandbox, and what it still can. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/sandbox.h"
#include "agent/guard/confine.h"
#include "tests/test.h"

/* No kernel has it: the numbers go up to some 500. */
#define UNKNOWN_CALL 4000

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define GUARD_HAS_FILTER true
#else
#define GUARD_HAS_FILTER false /* perhaps */
#endif

/* Each test is a process of its own. */
static void enter(enum sandbox_program program, uint64_t capabilities)
{
	struct sandbox_config config = { .program = program, .capabilities = capabilities };
	struct error error = { 0 };
	int r = sandbox_enter(&config, &error);

	ck_assert_msg(r == 0, "%s", error.text);
}

#define assert_refused(call, code)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_msg((call) < 0 && errno == (code), "%s: %s", #call, strerror(errno));    \
	} while (0)

static void assert_harmless(void)
{
	/* With arguments that would do nothing were they let through. */
	assert_refused(mount("none", "/nowhere", "tmpfs", 0, NULL), EPERM);
	assert_refused(umount2("/nowhere", 0), EPERM);
	assert_refused(unshare(CLONE_NEWUSER), EPERM);
	assert_refused(chroot("/"), EPERM);
	assert_refused(syscall(SYS_sethostname, NULL, 1), EPERM);
	assert_refused(syscall(SYS_init_module, NULL, 0, ""), EPERM);
	assert_refused(syscall(SYS_finit_module, -1, "", 0), EPERM);
	assert_refused(syscall(SYS_kexec_load, 0, 0, NULL, 0), EPERM);
	assert_refused(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), EPERM);
	assert_refused(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
	assert_refused(syscall(SYS_io_uring_setup, 1, NULL), EPERM);
	assert_refused(syscall(SYS_open_by_handle_at, -1, NULL, 0), EPERM);
	assert_refused(syscall(SYS_pidfd_getfd, -1, 0, 0), EPERM);
#ifndef __SANITIZE_ADDRESS__
	assert_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM);
#endif
	/* libc tries these first, and takes what is older then. */
	assert_refused(syscall(SYS_clone3, NULL, 0), ENOSYS);
	assert_refused(syscall(UNKNOWN_CALL), ENOSYS);
	assert_refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), ENOSYS);
	assert_refused(socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
	assert_refused(socket(AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
}

static void *answer(void *context)
{
	*(int *)context = 42;
	return NULL;
}

/* A thread, a child, sockets: what each of our programs needs every day. */
static void assert_useful(void)
{
	static const int families[] = { AF_UNIX, AF_INET, AF_NETLINK };
	pthread_t thread;
	int got = 0, status;
	pid_t pid;

	ck_assert_int_eq(pthread_create(&thread, NULL, answer, &got), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(got, 42);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		int fd = socket(families[i], SOCK_DGRAM | SOCK_CLOEXEC, 0);

		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	pid = fork();
	if (pid == 0)
		_exit(7);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The exit status of /bin/true, or the error that it could not be started with. */
static int start_program(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(errno);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(nothing_dangerous_is_left)
{
	/* All of them: it is the filter that refuses. */
	enter((enum sandbox_program)_i, UINT64_MAX);
	assert_harmless();
	assert_useful();
}
END_TEST

START_TEST(what_starts_programs_still_does)
{
	enter(SANDBOX_AGENT, 0);
	ck_assert_int_eq(start_program(), 0);
	enter(SANDBOX_COORDINATOR, 0);
	ck_assert_int_eq(start_program(), 0);
	/* One within the other: each takes something away, and none gives it back. */
	enter(SANDBOX_WORKER, 0);
	ck_assert_int_eq(start_program(), EPERM);
	assert_useful();
}
END_TEST

START_TEST(others_start_none)
{
	enter((enum sandbox_program)_i, 0);
	ck_assert_int_eq(start_program(), EPERM);
	assert_refused(syscall(SYS_bpf, 0, NULL, 0), EPERM);
	assert_refused(setuid(getuid()), EPERM);
}
END_TEST

/* EINVAL and the like is the kernel's own answer. */
START_TEST(the_agent_keeps_ebpf_and_users)
{
	if (geteuid() != 0)
		return;
	enter(SANDBOX_AGENT, SANDBOX_CAPABILITY(CAP_SETUID) | SANDBOX_CAPABILITY(CAP_BPF));
	assert_refused(syscall(SYS_bpf, 9999, NULL, 0), EINVAL);
	ck_assert_int_eq(setuid(65534), 0);
}
END_TEST

/* As any process can read it, of each thread. */
static void read_status(const char *field, char text[64])
{
	FILE *file = fopen("/proc/thread-self/status", "re");
	char line[256];

	ck_assert_ptr_nonnull(file);
	text[0] = '\0';
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			ck_assert_int_eq(sscanf(line + strlen(field), ": %63s", text), 1);
	fclose(file);
}

static void *read_thread(void *context)
{
	read_status("CapBnd", context);
	return NULL;
}

START_TEST(capabilities_are_gone_for_good)
{
	const uint64_t kept = SANDBOX_CAPABILITY(CAP_KILL) | SANDBOX_CAPABILITY(CAP_SYS_NICE);
	static const char *const sets[] = { "CapEff", "CapPrm", "CapBnd" };
	char text[64];
	pthread_t thread;

	if (geteuid() != 0)
		return;
	enter(SANDBOX_AGENT, kept);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		read_status(sets[i], text);
		ck_assert_msg(strtoull(text, NULL, 16) == kept, "%s: %s", sets[i], text);
	}
	read_status("CapInh", text);
	ck_assert_uint_eq(strtoull(text, NULL, 16), 0);
	read_status("NoNewPrivs", text);
	ck_assert_str_eq(text, "1");
	ck_assert_int_eq(pthread_create(&thread, NULL, read_thread, text), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(strtoull(text, NULL, 16), kept);
	/* What root starts has what the bounding set has, and no more. */
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		execl("/bin/grep", "grep", "-q", "CapEff:\t0000000000800020",
		      "/proc/self/status", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static void refuse(unsigned first, unsigned second)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

/* As systemd's sets of calls do, of which none that is usual has these. */
START_TEST(works_within_the_filter_of_a_service_manager)
{
	refuse(SYS_seccomp, SYS_seccomp);
	enter(SANDBOX_COORDINATOR, 0);
	assert_refused(unshare(CLONE_NEWUSER), EPERM);
	/* With no capability to lose. */
	refuse(SYS_seccomp, SYS_capset);
	enter(SANDBOX_WORKER, 0);
	ck_assert_int_eq(start_program(), EPERM);
	assert_useful();
}
END_TEST

#define unless_refused(call, number)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		if ((call) >= 0 || errno != ENOSYS)                                                \
			_exit(number);                                                             \
	} while (0)

/* In a process of its own, which then can do hardly more than end. */
START_TEST(the_guard_keeps_next_to_nothing)
{
	char text[64];
	int pair[2], status;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (confine_self() < 0)
			_exit(1);
		unless_refused(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 2);
		unless_refused(execl("/bin/true", "true", (char *)NULL), 3);
		unless_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), 4);
		unless_refused(syscall(SYS_bpf, 0, NULL, 0), 5);
		unless_refused(connect(pair[1], NULL, 0), 6);
		unless_refused(syscall(SYS_setuid, 0), 7);
		unless_refused(syscall(UNKNOWN_CALL), 8);
		if (open("/proc/self/status", O_RDONLY | O_CLOEXEC) < 0)
			_exit(9);
		read_status("CapPrm", text);
		send(pair[1], text, sizeof(text), MSG_NOSIGNAL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(recv(pair[0], text, sizeof(text), MSG_DONTWAIT), sizeof(text));
	ck_assert_uint_eq(strtoull(text, NULL, 16),
			  sandbox_look().capabilities & (SANDBOX_CAPABILITY(CAP_DAC_OVERRIDE) |
							 SANDBOX_CAPABILITY(CAP_IPC_LOCK)));
}
END_TEST

START_TEST(says_what_is_in_force)
{
	struct sandbox_view view = sandbox_look();

	ck_assert(!view.has_filter);
	enter(SANDBOX_AGENT, SANDBOX_CAPABILITY(CAP_KILL));
	view = sandbox_look();
	ck_assert(view.has_filter);
	ck_assert(view.has_no_new_privileges);
	ck_assert_uint_eq(view.capabilities,
			  geteuid() == 0 ? SANDBOX_CAPABILITY(CAP_KILL) : 0);
	ck_assert_str_eq(sandbox_capability_name(CAP_KILL), "kill");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tcase = tcase_create("sandbox");
	struct error error;

	if (sandbox_supported(&error) < 0)
		test_skip_all(error.text);
	tcase_add_loop_test(tcase, nothing_dangerous_is_left, SANDBOX_AGENT, SANDBOX_EXPORTER + 1);
	tcase_add_loop_test(tcase, others_start_none, SANDBOX_WORKER, SANDBOX_EXPORTER + 1);
	tcase_add_test(tcase, what_starts_programs_still_does);
	tcase_add_test(tcase, the_agent_keeps_ebpf_and_users);
	tcase_add_test(tcase, works_within_the_filter_of_a_service_manager);
	tcase_add_test(tcase, capabilities_are_gone_for_good);
	if (GUARD_HAS_FILTER)
		tcase_add_test(tcase, the_guard_keeps_next_to_nothing);
	tcase_add_test(tcase, says_what_is_in_force);
	suite_add_tcase(suite, tcase);
	return suite;
}
