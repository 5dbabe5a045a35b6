/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/cgroup_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool known, v2;
	pid_t program;
	char cpu[PATH_MAX];   /* mount point; empty: no cpu controller */
	char usage[PATH_MAX]; /* mount point of cpuacct if it is another one */
} world;

/* Benchmarks use this, too: no assertions of Check's here. */
static void require(bool good, const char *what, const char *path)
{
	if (good)
		return;
	fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
	exit(EXIT_FAILURE);
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
		if ((at == list || strchr(", \n", at[-1])) && strchr(", \n", at[length]))
			return true;
	return false;
}

static bool write_text(const char *directory, const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* The cpu controller is there, and can be given to the groups below the root. */
static bool v2_usable(const char *mount)
{
	char path[PATH_MAX + 64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	fclose(file);
	return has_word(text, "cpu") && write_text(mount, "cgroup.subtree_control", "+cpu");
}

static void look(void)
{
	char line[4096], mount[PATH_MAX], type[64], options[512];
	FILE *file = fopen("/proc/self/mountinfo", "re");

	world.known = true;
	world.program = getpid();
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *rest = strstr(line, " - ");

		if (rest == NULL || sscanf(line, "%*s %*s %*s %*s %4095s", mount) != 1 ||
		    sscanf(rest, " - %63s %*s %511s", type, options) != 2)
			continue;
		if (strcmp(type, "cgroup2") == 0 && v2_usable(mount)) {
			world.v2 = true;
			snprintf(world.cpu, sizeof(world.cpu), "%s", mount);
			world.usage[0] = '\0';
			break;
		}
		if (strcmp(type, "cgroup") != 0)
			continue;
		strcat(options, "\n");
		if (has_word(options, "cpu"))
			snprintf(world.cpu, sizeof(world.cpu), "%s", mount);
		else if (has_word(options, "cpuacct"))
			snprintf(world.usage, sizeof(world.usage), "%s", mount);
	}
	fclose(file);
}

const char *test_cgroup_missing(void)
{
	if (!world.known)
		look();
	if (geteuid() != 0)
		return "needs root";
	if (world.cpu[0] == '\0')
		return "needs the cpu controller of cgroups";
	if (access(world.cpu, W_OK) != 0)
		return "needs a writable cgroup file system";
	return NULL;
}

static int make_directory(const char *path)
{
	int fd;

	require(mkdir(path, 0755) == 0, "mkdir", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(fd >= 0, "open", path);
	return fd;
}

static void join(char *path, const char *parent, const char *name)
{
	require(snprintf(path, PATH_MAX, "%s/%s", parent, name) < PATH_MAX, "too long", name);
}

static void make(struct test_cgroup *group, const char *cpu_parent, const char *usage_parent,
		 const char *name)
{
	group->v2 = world.v2;
	group->usage_fd = -1;
	group->usage_path[0] = '\0';
	join(group->path, cpu_parent, name);
	group->fd = make_directory(group->path);
	if (usage_parent[0] == '\0')
		return;
	join(group->usage_path, usage_parent, name);
	group->usage_fd = make_directory(group->usage_path);
}

void test_cgroup_make(struct test_cgroup *ret_group, const char *name)
{
	char full[256];

	require(test_cgroup_missing() == NULL, "no cgroups for", name);
	/* The test's own pid, too: what a failed one left behind does not make others fail. */
	snprintf(full, sizeof(full), "isobar-test-%d-%d-%s", (int)world.program, (int)getpid(),
		 name);
	make(ret_group, world.cpu, world.usage, full);
	/* Whatever else the machine does, the group gets what its quota allows. */
	(void)write_text(ret_group->path, world.v2 ? "cpu.weight" : "cpu.shares",
			 world.v2 ? "10000" : "262144");
}

void test_cgroup_make_below(struct test_cgroup *ret_group, const struct test_cgroup *parent,
			    const char *name)
{
	make(ret_group, parent->path, parent->usage_path, name);
}

static void add_to(const char *path, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	require(write_text(path, "cgroup.procs", text), "add a process to", path);
}

void test_cgroup_add(const struct test_cgroup *group, pid_t pid)
{
	add_to(group->path, pid);
	if (group->usage_path[0] != '\0')
		add_to(group->usage_path, pid);
}

void test_cgroup_expel(const struct test_cgroup *group, pid_t pid)
{
	add_to(world.cpu, pid);
	if (group->usage_path[0] != '\0')
		add_to(world.usage, pid);
}

void test_cgroup_limit(const struct test_cgroup *group, long quota_us, long period_us)
{
	char text[64];

	if (group->v2) {
		if (quota_us < 0)
			snprintf(text, sizeof(text), "max %ld", period_us);
		else
			snprintf(text, sizeof(text), "%ld %ld", quota_us, period_us);
		require(write_text(group->path, "cpu.max", text), "write cpu.max of", group->path);
		return;
	}
	snprintf(text, sizeof(text), "%ld", period_us);
	require(write_text(group->path, "cpu.cfs_period_us", text), "write the period of",
		group->path);
	snprintf(text, sizeof(text), "%ld", quota_us);
	require(write_text(group->path, "cpu.cfs_quota_us", text), "write the quota of",
		group->path);
}

bool test_cgroup_realtime(const struct test_cgroup *group, long us)
{
	char text[32], path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/cpu.rt_runtime_us", group->path);
	if (access(path, F_OK) < 0)
		return false;
	snprintf(text, sizeof(text), "%ld", us);
	require(write_text(group->path, "cpu.rt_runtime_us", text), "write rt_runtime of",
		group->path);
	return true;
}

/* Empties and removes a directory of cgroups, those below it first. */
static bool remove_tree(const char *path)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	char below[PATH_MAX + 64];
	struct dirent *entry;
	FILE *procs;
	DIR *directory = opendir(path);
	int pid;

	if (directory == NULL)
		return true;
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		remove_tree(below);
	}
	closedir(directory);
	/* The dying leave it a moment after they are killed. */
	for (int tries = 0; tries < 500; tries++) {
		if (rmdir(path) == 0 || errno == ENOENT)
			return true;
		snprintf(below, sizeof(below), "%s/cgroup.procs", path);
		procs = fopen(below, "re");
		while (procs != NULL && fscanf(procs, "%d", &pid) == 1)
			if (pid != getpid())
				kill(pid, SIGKILL);
		if (procs != NULL)
			fclose(procs);
		nanosleep(&nap, NULL);
	}
	return false;
}

void test_cgroup_remove(struct test_cgroup *group)
{
	close(group->fd);
	require(remove_tree(group->path), "remove", group->path);
	if (group->usage_path[0] != '\0') {
		close(group->usage_fd);
		require(remove_tree(group->usage_path), "remove", group->usage_path);
	}
	group->fd = group->usage_fd = -1;
}

static void sweep(const char *mount)
{
	char prefix[64], path[PATH_MAX + 64];
	DIR *directory = opendir(mount);
	struct dirent *entry;

	if (directory == NULL)
		return;
	snprintf(prefix, sizeof(prefix), "isobar-test-%d-", (int)world.program);
	while ((entry = readdir(directory)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", mount, entry->d_name);
		if (!remove_tree(path))
			fprintf(stderr, "cannot remove %s\n", path);
	}
	closedir(directory);
}

void test_cgroup_sweep(void)
{
	if (world.cpu[0] != '\0')
		sweep(world.cpu);
	if (world.usage[0] != '\0')
		sweep(world.usage);
}
