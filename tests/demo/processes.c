/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"

static int open_log(const char *log)
{
	int fd =
	    open(log != NULL ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

static bool enter_group(const char *group)
{
	char path[DEMO_PATH_BYTES];

	path_join(path, group, "cgroup.procs");
	return file_put(path, "0", NULL) == 0;
}

static bool become(uid_t user, gid_t gid)
{
	return setgroups(0, NULL) == 0 && setgid(gid) == 0 && setuid(user) == 0;
}

/* In the child; what fails here is told by the errno in the pipe. */
static _Noreturn void run(const struct launch *launch, int log, int report, pid_t parent)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	bool ready = setpgid(0, 0) == 0 && dup2(null, 0) == 0 && dup2(log, 2) == 2 &&
		     dup2(launch->stdout_fd > 0 ? launch->stdout_fd : log, 1) == 1;
	if (ready && launch->group != NULL && launch->group[0] != '\0')
		ready = enter_group(launch->group);
	if (ready && launch->user != 0 && geteuid() == 0)
		ready = become(launch->user, launch->gid);
	/* After the change of user, which would clear it. */
	if (ready && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
		execv(launch->argv[0], (char **)(uintptr_t)launch->argv);
	int code = errno;
	(void)!write(report, &code, sizeof(code));
	_exit(127);
}

int child_start(struct child *child, const char *name, const struct launch *launch,
		struct error *reterr)
{
	int report[2], code, log = open_log(launch->log);
	pid_t parent = getpid();

	if (log < 0)
		return error_errno(reterr, log, "open %s", launch->log);
	if (pipe2(report, O_CLOEXEC) != 0) {
		close(log);
		return error_errno(reterr, -errno, "pipe");
	}
	pid_t pid = fork();
	if (pid == 0)
		run(launch, log, report[1], parent);
	int failed = -errno;
	close(log);
	close(report[1]);
	/* Ends without a word when exec closes the other end. */
	bool told = read(report[0], &code, sizeof(code)) == sizeof(code);
	close(report[0]);
	if (pid < 0)
		return error_errno(reterr, failed, "fork for %s", name);
	if (told) {
		(void)waitpid(pid, NULL, 0);
		return error_errno(reterr, -code, "start %s (%s)", name, launch->argv[0]);
	}
	*child = (struct child){ .name = name, .pid = pid };
	snprintf(child->log, sizeof(child->log), "%s", launch->log != NULL ? launch->log : "");
	return 0;
}

/* True once it has ended. */
static bool reap(struct child *child, int flags)
{
	if (child->pid > 0 && waitpid(child->pid, &child->exit_status, flags) == child->pid)
		child->pid = 0;
	return child->pid == 0;
}

void child_ask(struct child *child)
{
	(void)child_check(child);
	if (child->pid == 0)
		return;
	child_measure(child);
	child->asked = true;
	(void)kill(child->pid, SIGTERM);
}

void child_stop(struct child *child, unsigned timeout_ms)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000;

	child_ask(child);
	if (child->pid == 0)
		return;
	while (!reap(child, WNOHANG)) {
		if (clock_now_ns() > end_ns) {
			child->stubborn = true;
			(void)kill(child->pid, SIGKILL);
			(void)reap(child, 0);
			return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

void child_kill(struct child *child)
{
	(void)child_check(child);
	if (child->pid == 0)
		return;
	(void)kill(child->pid, SIGKILL);
	(void)reap(child, 0);
}

bool child_check(struct child *child)
{
	if (child->pid > 0 && reap(child, WNOHANG) && !child->asked)
		child->died = true;
	return child->died;
}

bool process_read(pid_t pid, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes)
{
	uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK), user, system;
	char path[64], text[1024];
	long pages;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_get(path, text, sizeof(text)) != 0 || strrchr(text, ')') == NULL)
		return false;
	/* Fields 14, 15 and 24, counted from the third, which follows the name. */
	if (sscanf(strrchr(text, ')') + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %*u %*u %ld",
		   &user, &system, &pages) != 3)
		return false;
	*ret_cpu_ns = (user + system) * (1000000000u / ticks_per_s);
	if (ret_rss_bytes != NULL)
		*ret_rss_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

void child_measure(struct child *child)
{
	if (child->pid != 0)
		(void)process_read(child->pid, &child->cpu_ns, &child->rss_bytes);
}

void child_describe_end(const struct child *child, char ret_text[64])
{
	int status = child->exit_status;

	if (WIFSIGNALED(status))
		snprintf(ret_text, 64, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(ret_text, 64, "exit status %d", WEXITSTATUS(status));
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[1024], state;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_get(path, text, sizeof(text)) != 0 || strrchr(text, ')') == NULL ||
	    sscanf(strrchr(text, ')') + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return 0;
	return parent;
}

static unsigned kill_children(void)
{
	unsigned count = 0;
	struct dirent *entry;
	DIR *stream = opendir("/proc");

	if (stream == NULL)
		return 0;
	while ((entry = readdir(stream)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && parent_of(pid) == getpid()) {
			(void)kill(pid, SIGKILL);
			count++;
		}
	}
	closedir(stream);
	return count;
}

unsigned descendants_kill(void)
{
	unsigned count = 0, found;

	/* Killing one hands us its children: until there are none. */
	while ((found = kill_children()) > 0) {
		count += found;
		while (waitpid(-1, NULL, 0) > 0)
			continue;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	return count;
}
