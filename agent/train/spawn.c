/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/user.h"
#include "agent/train/workerlink.h"

/* Descriptors below this may be overwritten while 3 and 4 are put in place. */
#define SAFE_FD_MIN 16

/*
 * What failed is mostly known at once.  But the child is in the job's group
 * already: one that is throttled, or frozen by its owner, takes its time to run
 * and to end, and the agent must not wait for that.
 */
#define WORD_MS 200
#define END_MS	1000

/* What the child was doing when it failed; it has no other way to say it. */
struct failure {
	int code; /* negative errno */
	char step[28];
};

int spawn_user_find(const char *name, struct spawn_user *ret_user, struct error *reterr)
{
	struct spawn_user user = { .groups_count = SPAWN_GROUPS_MAX };
	struct passwd entry, *found;
	char text[4096];
	int r = getpwnam_r(name, &entry, text, sizeof(text), &found);

	if (r != 0)
		return error_errno(reterr, -r, "look up user '%s'", name);
	if (found == NULL)
		return error_set(reterr, -ENOENT, "no user '%s' on this host", name);
	if (found->pw_uid == 0)
		return error_set(reterr, -EPERM, "user '%s' is root: a worker must not be", name);
	if (user_has_group_of_root(name, found->pw_gid))
		return error_set(reterr, -EPERM,
				 "user '%s' has the group of root: a worker must not have it",
				 name);
	user.uid = found->pw_uid;
	user.gid = found->pw_gid;
	if (getgrouplist(name, user.gid, user.groups, &user.groups_count) < 0)
		return error_set(reterr, -E2BIG, "user '%s' is in more than %d groups", name,
				 SPAWN_GROUPS_MAX);
	*ret_user = user;
	return 0;
}

/* What the child needs, all prepared: after fork() only system calls are safe. */
struct plan {
	const struct spawn_config *config;
	char *environment[8];
	char texts[3][256];
	pid_t agent;
	int worker_fd, clock_fd; /* both >= SAFE_FD_MIN */
	int go_fd, failure_fd;
};

static void make_environment(struct plan *plan)
{
	static const char *const passed[] = { "OPENBLAS_CORETYPE", "JOURNAL_STREAM", "TZ" };
	static char path[] = "PATH=/usr/bin:/bin", lang[] = "LANG=C.UTF-8";
	/* One thread each: isobar-worker brings its own threads. */
	static char openblas[] = "OPENBLAS_NUM_THREADS=1", openmp[] = "OMP_NUM_THREADS=1";
	size_t count = 0;

	plan->environment[count++] = path;
	plan->environment[count++] = lang;
	plan->environment[count++] = openblas;
	plan->environment[count++] = openmp;
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		const char *value = getenv(passed[i]);

		if (value == NULL || snprintf(plan->texts[i], sizeof(plan->texts[i]), "%s=%s",
					      passed[i], value) >= (int)sizeof(plan->texts[i]))
			continue;
		plan->environment[count++] = plan->texts[i];
	}
	assert(count < sizeof(plan->environment) / sizeof(plan->environment[0]));
	plan->environment[count] = NULL;
}

_Noreturn static void fail(const struct plan *plan, const char *step)
{
	struct failure failure = { .code = -errno };

	memcpy(failure.step, step, strnlen(step, sizeof(failure.step) - 1));
	(void)!write(plan->failure_fd, &failure, sizeof(failure));
	_exit(127);
}

static void become(const struct plan *plan, const struct spawn_user *user)
{
	if (setgroups((size_t)user->groups_count, user->groups) < 0)
		fail(plan, "setgroups");
	if (setresgid(user->gid, user->gid, user->gid) < 0)
		fail(plan, "setresgid");
	if (setresuid(user->uid, user->uid, user->uid) < 0)
		fail(plan, "setresuid");
	/* It must not be possible to go back. */
	if (user->uid != 0 && setresuid(0, 0, 0) == 0) {
		errno = EPERM;
		fail(plan, "drop privileges for good");
	}
}

/* The agent's precedence is not for the worker: no quota binds a real-time task. */
static void give_up_precedence(const struct plan *plan)
{
	const struct sched_param ordinary = { .sched_priority = 0 };
	char adjustment = 0;

	if (sched_getscheduler(0) != SCHED_OTHER &&
	    sched_setscheduler(0, SCHED_OTHER, &ordinary) < 0)
		fail(plan, "sched_setscheduler");
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		fail(plan, "setpriority");
	/* Below 0: the last to be killed for want of memory.  Without /proc it stays so. */
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && read(fd, &adjustment, 1) == 1 && adjustment == '-')
		(void)!write(fd, "0", 1);
	if (fd >= 0)
		close(fd);
}

/* An agent that is not root has ambient capabilities, which a change of program keeps. */
static void give_up_privileges(const struct plan *plan)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 } };

	if (plan->config->user != NULL)
		become(plan, plan->config->user);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		fail(plan, "prctl PR_CAP_AMBIENT");
	if (syscall(SYS_capset, &header, none) < 0)
		fail(plan, "capset");
}

_Noreturn static void child(const struct plan *plan)
{
	sigset_t none;
	char go;

	if (read(plan->go_fd, &go, 1) != 1)
		_exit(127); /* the agent changed its mind, or died */
	if (setsid() < 0)
		fail(plan, "setsid");
	give_up_precedence(plan);
	give_up_privileges(plan);
	/* After the change of user, which would clear it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		fail(plan, "prctl PR_SET_PDEATHSIG");
	if (getppid() != plan->agent)
		_exit(127);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail(plan, "prctl PR_SET_NO_NEW_PRIVS");

	int null_fd = open("/dev/null", O_RDONLY); /* inherited, should it be stdin */
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		fail(plan, "open /dev/null");
	if (dup2(plan->worker_fd, WORKERLINK_FD) < 0)
		fail(plan, "dup2");
	if (plan->clock_fd >= 0 && dup2(plan->clock_fd, WORKERLINK_CLOCK_FD) < 0)
		fail(plan, "dup2");
	if (plan->clock_fd < 0)
		(void)close(WORKERLINK_CLOCK_FD);
	/* All of ours are O_CLOEXEC already; this is for those of libraries. */
	(void)syscall(SYS_close_range, WORKERLINK_CLOCK_FD + 1, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);

	(void)signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execve(plan->config->executable, plan->config->argv, plan->environment);
	fail(plan, "exec");
}

static void close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Attaches the waiting child, lets it go and waits a moment for it to run the program. */
static int launch(const struct spawn_config *config, pid_t pid, int go_fd, int failure_fd,
		  struct error *reterr)
{
	struct pollfd word = { .fd = failure_fd, .events = POLLIN };
	struct failure failure;

	if (config->attach != NULL) {
		int r = config->attach(config->context, pid, reterr);

		if (r < 0)
			return r;
	}
	if (write(go_fd, "g", 1) != 1)
		return error_errno(reterr, -errno, "let it run");

	/* Closed without a word by a successful exec. */
	if (poll(&word, 1, WORD_MS) != 1)
		return 0; /* should it fail yet, its exit status of 127 says so */
	ssize_t size = read(failure_fd, &failure, sizeof(failure));
	if (size == (ssize_t)sizeof(failure))
		return error_errno(reterr, failure.code, "%.*s", (int)sizeof(failure.step) - 1,
				   failure.step);
	if (size != 0)
		return error_set(reterr, -EIO, "no word from the child");
	return 0;
}

enum { AGENT_FD, WORKER_FD, CLOCK_FD, GO_READ, GO_WRITE, FAILURE_READ, FAILURE_WRITE, FDS };

static int open_fds(int clock_fd, int fds[FDS])
{
	int pair[2], r;

	for (int i = 0; i < FDS; i++)
		fds[i] = -1;
	r = workerlink_pair(&fds[AGENT_FD], &pair[0]);
	if (r < 0)
		return r;
	fds[WORKER_FD] = fcntl(pair[0], F_DUPFD_CLOEXEC, SAFE_FD_MIN);
	if (fds[WORKER_FD] < 0)
		r = -errno;
	close(pair[0]);
	if (r == 0 && clock_fd >= 0) {
		fds[CLOCK_FD] = fcntl(clock_fd, F_DUPFD_CLOEXEC, SAFE_FD_MIN);
		if (fds[CLOCK_FD] < 0)
			r = -errno;
	}
	for (int i = GO_READ; i <= FAILURE_READ && r == 0; i += 2) {
		if (pipe2(pair, O_CLOEXEC) < 0)
			return -errno;
		for (int j = 0; j < 2; j++) {
			fds[i + j] = fcntl(pair[j], F_DUPFD_CLOEXEC, SAFE_FD_MIN);
			if (fds[i + j] < 0)
				r = -errno;
			close(pair[j]);
		}
	}
	return r;
}

static int start(const struct spawn_config *config, int fds[FDS], struct spawn_child *ret_child,
		 struct error *reterr)
{
	struct plan plan = {
		.config = config,
		.agent = getpid(),
		.worker_fd = fds[WORKER_FD],
		.clock_fd = fds[CLOCK_FD],
		.go_fd = fds[GO_READ],
		.failure_fd = fds[FAILURE_WRITE],
	};

	make_environment(&plan);
	pid_t pid = fork();
	if (pid < 0)
		return error_errno(reterr, -errno, "fork");
	if (pid == 0) {
		/* Else the child would hold the pipe that tells it of the agent's death. */
		close(fds[GO_WRITE]);
		child(&plan);
	}
	close(fds[FAILURE_WRITE]);
	fds[FAILURE_WRITE] = -1;

	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r = pidfd < 0 ? error_errno(reterr, -errno, "pidfd_open") : 0;
	if (r == 0)
		r = launch(config, pid, fds[GO_WRITE], fds[FAILURE_READ], reterr);
	if (r < 0) {
		struct pollfd ended = { .fd = pidfd, .events = POLLIN };

		(void)kill(pid, SIGKILL);
		/* One that cannot even be killed now is left to init. */
		(void)poll(&ended, 1, END_MS);
		(void)waitpid(pid, NULL, WNOHANG);
		if (pidfd >= 0)
			close(pidfd);
		return r;
	}
	/* Inherited by no later child: pidfd_open() always sets close-on-exec. */
	*ret_child = (struct spawn_child){
		.pid = pid,
		.pidfd = pidfd,
		.link_fd = fds[AGENT_FD],
	};
	fds[AGENT_FD] = -1;
	return 0;
}

int spawn_worker(const struct spawn_config *config, struct spawn_child *ret_child,
		 struct error *reterr)
{
	int fds[FDS];
	int r = open_fds(config->clock_fd, fds);

	assert(config->argv[0] != NULL);
	if (r < 0)
		error_errno(reterr, r, "open descriptors");
	else
		r = start(config, fds, ret_child, reterr);
	close_all(fds, FDS);
	if (r < 0)
		error_wrap(reterr, "start '%s'", config->executable);
	return r;
}

int spawn_reap(struct spawn_child *child, char ret_text[SPAWN_TEXT_BYTES])
{
	int status;
	pid_t pid = waitpid(child->pid, &status, WNOHANG);

	if (pid == 0)
		return -EAGAIN;
	if (pid < 0)
		snprintf(ret_text, SPAWN_TEXT_BYTES, "unknown");
	else if (WIFSIGNALED(status))
		snprintf(ret_text, SPAWN_TEXT_BYTES, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(ret_text, SPAWN_TEXT_BYTES, "exit status %d", WEXITSTATUS(status));
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->link_fd >= 0)
		close(child->link_fd);
	*child = (struct spawn_child)SPAWN_NO_CHILD;
	return 0;
}

void spawn_kill(struct spawn_child *child, unsigned grace_ms)
{
	char text[SPAWN_TEXT_BYTES];

	if (child->pid <= 0)
		return;
	struct pollfd ended = { .fd = child->pidfd, .events = POLLIN };

	(void)kill(child->pid, SIGTERM);
	(void)poll(&ended, 1, (int)grace_ms);
	if (spawn_reap(child, text) != -EAGAIN)
		return;
	(void)kill(child->pid, SIGKILL);
	(void)poll(&ended, 1, END_MS);
	if (spawn_reap(child, text) != -EAGAIN)
		return;
	/* Frozen, or stuck in a driver: it dies when it can, and is nobody's by then. */
	close(child->pidfd);
	if (child->link_fd >= 0)
		close(child->link_fd);
	*child = (struct spawn_child)SPAWN_NO_CHILD;
}
