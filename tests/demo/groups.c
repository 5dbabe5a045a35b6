/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/groups.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PARENT "isobar-demo"

/*
 * A budget is a promise about this machine.  So that others' work does not
 * break it, the demo weighs as much as a hundred busy processes (the most that
 * v2 knows); within it the agents weigh as much as eight jobs: they need
 * little, but at once.
 */
#define DEMO_WEIGHT    100u
#define SERVICE_WEIGHT 8u

/* Whether a list such as "rw,cpu,cpuacct" or "cpuset cpu io" has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += length) {
		bool starts = p == list || strchr(", ", p[-1]) != NULL;

		if (starts && strchr(", \n", p[length]) != NULL)
			return true;
	}
	return false;
}

/* Whether this cgroup2 mount, and not some v1 one, has the cpu controller. */
static bool v2_has_cpu(const char *mount)
{
	char path[DEMO_PATH_BYTES], text[256];

	path_join(path, mount, "cgroup.controllers");
	return file_get(path, text, sizeof(text)) == 0 && has_word(text, "cpu");
}

/* "36 35 98:0 /root /mount rw,noatime shared:1 - type source superoptions" */
static bool parse_mount(char *line, struct groups *ret_groups)
{
	char mount[DEMO_PATH_BYTES], type[32], options[256];
	char *tail = strstr(line, " - ");

	if (tail == NULL || sscanf(line, "%*s %*s %*s %*s %511s", mount) != 1 ||
	    sscanf(tail, " - %31s %*s %255s", type, options) != 2)
		return false;
	if (strcmp(type, "cgroup") == 0 && has_word(options, "cpu"))
		ret_groups->version = 1;
	else if (strcmp(type, "cgroup2") == 0 && v2_has_cpu(mount))
		ret_groups->version = 2;
	else
		return false;
	path_join(ret_groups->mount, mount, "");
	ret_groups->mount[strlen(mount)] = '\0';
	return true;
}

int groups_find(struct groups *ret_groups, struct error *reterr)
{
	struct groups groups = { 0 };
	char *line = NULL;
	size_t size = 0;
	FILE *stream = fopen("/proc/self/mountinfo", "re");

	if (stream == NULL)
		return error_errno(reterr, -errno, "open /proc/self/mountinfo");
	while (groups.version == 0 && getline(&line, &size, stream) > 0)
		(void)parse_mount(line, &groups);
	free(line);
	fclose(stream);
	if (groups.version == 0)
		return error_set(reterr, -ENOTSUP, "no cgroup hierarchy with the cpu controller");
	if (access(groups.mount, W_OK) != 0)
		return error_errno(reterr, -errno, "cgroup hierarchy %s", groups.mount);
	*ret_groups = groups;
	return 0;
}

/*
 * On v2 each level hands the controller down; a level that does so already
 * takes the write as well.  It stays on in the root: others may rely on it by then.
 */
static int make_group(const struct groups *groups, const char *directory, struct error *reterr)
{
	char path[DEMO_PATH_BYTES];

	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		return error_errno(reterr, -errno, "make cgroup %s", directory);
	if (groups->version == 1)
		return 0;
	path_join(path, directory, "cgroup.subtree_control");
	return file_put(path, "+cpu", reterr);
}

/* In multiples of what a group has by default: 100 on v2, 1024 on v1. */
static int set_weight(const struct groups *groups, const char *directory, unsigned times,
		      struct error *reterr)
{
	char path[DEMO_PATH_BYTES], text[32];

	path_join(path, directory, groups->version == 2 ? "cpu.weight" : "cpu.shares");
	snprintf(text, sizeof(text), "%u", times * (groups->version == 2 ? 100 : 1024));
	return file_put(path, text, reterr);
}

int groups_create(struct groups *groups, struct error *reterr)
{
	char parent[DEMO_PATH_BYTES], name[16];

	path_join(parent, groups->mount, PARENT);
	if (groups->version == 2) {
		char path[DEMO_PATH_BYTES];

		path_join(path, groups->mount, "cgroup.subtree_control");
		int r = file_put(path, "+cpu", reterr);
		if (r != 0)
			return r;
	}
	snprintf(name, sizeof(name), "%d", (int)getpid());
	path_join(groups->run, parent, name);
	int r = -ENOENT;
	/* Another demo that ends may remove the parent between the two steps. */
	for (unsigned try = 0; try < 3 && r == -ENOENT; try++) {
		r = make_group(groups, parent, reterr);
		if (r == 0)
			r = set_weight(groups, parent, DEMO_WEIGHT, reterr);
		if (r == 0)
			r = make_group(groups, groups->run, reterr);
	}
	return r;
}

int groups_add_service(const struct groups *groups, const char *name, struct error *reterr)
{
	char directory[DEMO_PATH_BYTES];

	groups_directory(groups, name, directory);
	if (mkdir(directory, 0755) != 0)
		return error_errno(reterr, -errno, "make cgroup %s", directory);
	return set_weight(groups, directory, SERVICE_WEIGHT, reterr);
}

void groups_directory(const struct groups *groups, const char *node, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, groups->run, node);
}

void groups_path(const struct groups *groups, const char *node, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, groups->run + strlen(groups->mount), node);
}

int groups_add(const struct groups *groups, const char *node, struct error *reterr)
{
	char directory[DEMO_PATH_BYTES], path[DEMO_PATH_BYTES];

	groups_directory(groups, node, directory);
	if (mkdir(directory, 0755) != 0)
		return error_errno(reterr, -errno, "make cgroup %s", directory);
	if (groups->version == 2) {
		path_join(path, directory, "cpu.max");
		return file_put(path, "1000 100000", reterr);
	}
	path_join(path, directory, "cpu.cfs_quota_us"); /* the period is 100 ms from birth */
	return file_put(path, "1000", reterr);
}

typedef void process_fn(pid_t pid);

static void kill_process(pid_t pid)
{
	(void)kill(pid, SIGKILL); /* gone is fine */
}

/* Calls fn for each process in this group; returns how many there were. */
static unsigned each_process(const char *directory, process_fn *fn)
{
	char path[DEMO_PATH_BYTES];
	unsigned count = 0;
	int pid;

	path_join(path, directory, "cgroup.procs");
	FILE *stream = fopen(path, "re");
	if (stream == NULL)
		return 0;
	for (; fscanf(stream, "%d", &pid) == 1; count++)
		if (fn != NULL)
			fn(pid);
	fclose(stream);
	return count;
}

typedef unsigned group_fn(const char *directory);

/* Calls fn for each group right below this one; returns the sum of the results. */
static unsigned each_group(const char *directory, group_fn *fn)
{
	char path[DEMO_PATH_BYTES];
	struct dirent *entry;
	unsigned sum = 0;
	DIR *stream = opendir(directory);

	if (stream == NULL)
		return 0;
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		path_join(path, directory, entry->d_name);
		sum += fn(path);
	}
	closedir(stream);
	return sum;
}

static unsigned kill_group(const char *directory)
{
	return each_process(directory, kill_process);
}

static unsigned count_group(const char *directory)
{
	return each_process(directory, NULL);
}

static unsigned remove_group(const char *directory)
{
	return rmdir(directory) == 0 ? 0 : 1;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

unsigned groups_kill(const struct groups *groups)
{
	return groups->run[0] != '\0' ? each_group(groups->run, kill_group) : 0;
}

/* A process that was killed leaves its group a little later: wait up to two seconds. */
static int remove_run(const char *run)
{
	for (unsigned try = 0; try < 100; try++) {
		(void)each_group(run, remove_group);
		if (rmdir(run) == 0 || errno == ENOENT)
			return 0;
		pause_ms(20);
	}
	return -errno;
}

int groups_remove(struct groups *groups, struct error *reterr)
{
	char parent[DEMO_PATH_BYTES];

	if (groups->run[0] == '\0')
		return 0;
	int r = remove_run(groups->run);
	if (r != 0)
		return error_errno(reterr, r, "remove cgroup %s", groups->run);
	groups->run[0] = '\0';
	path_join(parent, groups->mount, PARENT);
	(void)rmdir(parent); /* another demo may be using it */
	return 0;
}

static unsigned sweep_run(const char *run)
{
	char *end;
	long pid = strtol(strrchr(run, '/') + 1, &end, 10);

	if (*end != '\0' || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return 0;
	if (each_group(run, count_group) > 0)
		return 1;
	(void)remove_run(run);
	return 0;
}

unsigned groups_sweep(const struct groups *groups)
{
	char parent[DEMO_PATH_BYTES];

	path_join(parent, groups->mount, PARENT);
	unsigned busy = each_group(parent, sweep_run);
	(void)rmdir(parent);
	return busy;
}
