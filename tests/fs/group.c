/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/group.h"

#include "agent/cgroup/mounts.h"
#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct mounts_controller mounts;
static char base[64];

static void join(char out[PATH_MAX], const char *directory, const char *name)
{
	if (snprintf(out, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		abort();
}

static void base_directory(char out[PATH_MAX])
{
	join(out, mounts.mount, base + 1);
}

void group_start(void)
{
	struct error error = { 0 };
	char directory[PATH_MAX];

	if (geteuid() != 0)
		test_skip_all("needs root, to make control groups");
	if (mounts_find("", "cpu", &mounts, &error) < 0)
		test_skip_all(error.text);
	snprintf(base, sizeof(base), "/isobar-test-%d", (int)getpid());
	if (mounts.version == 2)
		(void)group_write_file(mounts.mount, "cgroup.subtree_control", "+cpu");
	base_directory(directory);
	if (mkdir(directory, 0755) < 0) {
		snprintf(error.text, sizeof(error.text), "cannot make %.300s: %s", directory,
			 strerror(errno));
		test_skip_all(error.text);
	}
	if (mounts.version == 2)
		(void)group_write_file(directory, "cgroup.subtree_control", "+cpu");
}

static void kill_all(const char *directory)
{
	char path[PATH_MAX];
	FILE *file;
	int pid;

	join(path, directory, "cgroup.procs");
	file = fopen(path, "re");
	while (file != NULL && fscanf(file, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (file != NULL)
		fclose(file);
}

static void remove_below(const char *directory)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;

	while (stream != NULL && (entry = readdir(stream)) != NULL) {
		char child[PATH_MAX];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		join(child, directory, entry->d_name);
		remove_below(child);
		kill_all(child);
		/* A killed process takes a moment to leave its group. */
		for (int i = 0; i < 200 && rmdir(child) < 0 && errno == EBUSY; i++)
			usleep(10000);
	}
	if (stream != NULL)
		closedir(stream);
}

void group_clean(void)
{
	char directory[PATH_MAX];

	base_directory(directory);
	remove_below(directory);
}

void group_end(void)
{
	char directory[PATH_MAX];

	group_clean();
	base_directory(directory);
	kill_all(directory);
	for (int i = 0; i < 200 && rmdir(directory) < 0 && errno == EBUSY; i++)
		usleep(10000);
}

TCase *group_case(Suite *suite, const char *name, double timeout_s, SFun setup, SFun teardown)
{
	TCase *tcase = tcase_create(name);

	group_start();
	tcase_set_timeout(tcase, timeout_s);
	tcase_add_unchecked_fixture(tcase, NULL, group_end);
	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	return tcase;
}

unsigned group_version(void)
{
	return mounts.version;
}

const char *group_path(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

void group_directory(const char *name, char ret_directory[PATH_MAX])
{
	char directory[PATH_MAX];

	base_directory(directory);
	join(ret_directory, directory, name);
}

void group_make(const char *name)
{
	char directory[PATH_MAX];

	group_directory(name, directory);
	if (mkdir(directory, 0755) < 0)
		ck_assert_int_eq(errno, EEXIST);
}

bool group_write_file(const char *directory, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd;
	bool written;

	join(path, directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return written;
}

void group_read_file(const char *directory, const char *file, char *ret_text, size_t size)
{
	char path[PATH_MAX];
	ssize_t count;
	int fd;

	join(path, directory, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	count = read(fd, ret_text, size - 1);
	ck_assert_int_ge(count, 0);
	ret_text[count] = '\0';
	close(fd);
}

void group_write_limit(const char *name, int64_t quota_us, uint64_t period_us)
{
	char directory[PATH_MAX], text[64];

	group_directory(name, directory);
	if (mounts.version == 2) {
		if (quota_us < 0)
			snprintf(text, sizeof(text), "max %llu", (unsigned long long)period_us);
		else
			snprintf(text, sizeof(text), "%lld %llu", (long long)quota_us,
				 (unsigned long long)period_us);
		ck_assert(group_write_file(directory, "cpu.max", text));
		return;
	}
	ck_assert(group_write_file(directory, "cpu.cfs_quota_us", "-1"));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)period_us);
	ck_assert(group_write_file(directory, "cpu.cfs_period_us", text));
	snprintf(text, sizeof(text), "%lld", (long long)quota_us);
	ck_assert(group_write_file(directory, "cpu.cfs_quota_us", text));
}

static void read_limit(const char *directory, int64_t *ret_quota_us, uint64_t *ret_period_us)
{
	char text[64], *rest = text + 3;

	if (mounts.version == 2) {
		group_read_file(directory, "cpu.max", text, sizeof(text));
		*ret_quota_us = strncmp(text, "max", 3) == 0 ? -1 : strtoll(text, &rest, 10);
		*ret_period_us = strtoull(rest, NULL, 10);
		return;
	}
	group_read_file(directory, "cpu.cfs_quota_us", text, sizeof(text));
	*ret_quota_us = strtoll(text, NULL, 10);
	group_read_file(directory, "cpu.cfs_period_us", text, sizeof(text));
	*ret_period_us = strtoull(text, NULL, 10);
}

int64_t group_quota_us(const char *directory)
{
	int64_t quota_us;
	uint64_t period_us;

	read_limit(directory, &quota_us, &period_us);
	return quota_us;
}

void group_assert_limit(const char *directory, int64_t quota_us, uint64_t period_us)
{
	int64_t quota;
	uint64_t period;

	read_limit(directory, &quota, &period);
	ck_assert_int_eq(quota, quota_us);
	ck_assert_uint_eq(period, period_us);
}

static void *burn(void *unused)
{
	volatile unsigned sink = 0;

	(void)unused;
	for (;;)
		sink++;
	return NULL;
}

pid_t group_fork_busy(int threads)
{
	int all_there[2];
	char byte = 0;

	ck_assert_int_eq(pipe2(all_there, O_CLOEXEC), 0);
	pid_t parent = getpid(), pid = fork();
	pthread_t thread;

	ck_assert_int_ge(pid, 0);
	if (pid > 0) {
		close(all_there[1]);
		ck_assert_int_eq(read(all_there[0], &byte, 1), 1);
		close(all_there[0]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, burn, NULL) != 0)
			_exit(1);
	if (write(all_there[1], &byte, 1) != 1)
		_exit(1);
	burn(NULL);
	_exit(1);
}

int group_wait(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void group_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	(void)group_wait(pid);
}

void group_thread_path(pid_t pid, unsigned version, char ret_path[PATH_MAX])
{
	char directory[PATH_MAX];
	struct dirent *entry;
	DIR *stream;
	int tid = pid;

	for (int i = 0; i < 200 && tid == pid; i++) {
		snprintf(directory, sizeof(directory), "/proc/%d/task", (int)pid);
		stream = opendir(directory);
		ck_assert_ptr_nonnull(stream);
		while ((entry = readdir(stream)) != NULL) {
			if (entry->d_name[0] != '.' && (int)strtol(entry->d_name, NULL, 10) != pid)
				tid = (int)strtol(entry->d_name, NULL, 10);
		}
		closedir(stream);
		usleep(10000); /* until the thread is there */
	}
	ck_assert_int_ne(tid, pid);
	ck_assert_int_eq(mounts_group_of("", tid, "cpu", version, ret_path, NULL), 0);
}
