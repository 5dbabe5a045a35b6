/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/mounts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/isobar-fuzz-XXXXXX";

static const char *const files[] = { "proc/self/mountinfo", "proc/self/cgroup", "proc/cgroups",
				     "m/cgroup.controllers" };
static const char *const folders[] = { "proc", "proc/self", "m" };

static const char *below(const char *path)
{
	static char full[64];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	return full;
}

static void remove_root(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(below(files[i]));
	(void)rmdir(below(folders[2]));
	(void)rmdir(below(folders[1]));
	(void)rmdir(below(folders[0]));
	(void)rmdir(root);
}

static void make_root(void)
{
	static bool is_made;

	if (is_made)
		return;
	is_made = true;
	char *made = mkdtemp(root);
	assert(made != NULL);
	atexit(remove_root);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int r = mkdir(below(folders[i]), 0700);
		assert(r == 0);
	}
}

/* Kept open: a file that is made anew each time costs many times as much. */
static void put(size_t index, const uint8_t *data, size_t size)
{
	static int fds[sizeof(files) / sizeof(files[0])];

	if (fds[index] == 0)
		fds[index] = open(below(files[index]), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert(fds[index] > 0);
	int r = ftruncate(fds[index], 0);
	assert(r == 0);
	ssize_t count = pwrite(fds[index], data, size, 0);
	assert(count == (ssize_t)size);
}

/* Lines that begin with a '%' alone divide the input into the files. */
static void put_all(const uint8_t *data, size_t size)
{
	static const char divider[] = "\n%\n";

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const uint8_t *end = memmem(data, size, divider, strlen(divider));
		size_t part = end != NULL ? (size_t)(end - data) + 1 : size;

		put(i, data, part);
		data += end != NULL ? part + 2 : part;
		size -= end != NULL ? part + 2 : part;
	}
}

static void check_find(const char *name)
{
	static struct mounts_controller found, untouched;
	struct error error = { 0 };

	memset(&found, 0x5a, sizeof(found));
	memset(&untouched, 0x5a, sizeof(untouched));
	int r = mounts_find(root, name, &found, &error);
	if (r < 0) {
		assert(r == -ENOTSUP && error.code == r);
		assert(strstr(error.text, name) != NULL);
		assert(memcmp(&found, &untouched, sizeof(found)) == 0);
		return;
	}
	assert(found.version == 1 || found.version == 2);
	assert(strncmp(found.mount, root, strlen(root)) == 0);
	assert(memchr(found.mount, '\0', sizeof(found.mount)) != NULL);
	assert(memchr(found.subtree, '\0', sizeof(found.subtree)) != NULL);
}

static void check_group(const char *name, unsigned version)
{
	char path[PATH_MAX] = "untouched";
	struct error error = { 0 };
	int r = mounts_group_of(root, 0, name, version, path, &error);

	if (r < 0) {
		assert(r == -EXDEV || r == -ENAMETOOLONG || r == -ENODATA);
		assert(error.code == r && error.text[0] != '\0');
		assert(strcmp(path, "untouched") == 0);
		return;
	}
	assert(memchr(path, '\0', sizeof(path)) != NULL);
	assert(path[0] == '/' && strchr(path, '\n') == NULL);
	assert(strcmp(path, "/..") != 0 && strncmp(path, "/../", 4) != 0);
}

/* mountinfo, cgroup, cgroups and cgroup.controllers of a host that never was. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_root();
	put_all(data, size);
	check_find("cpu");
	check_find("cpuset");
	check_group("cpu", 1);
	check_group("cpu", 2);
	return 0;
}
