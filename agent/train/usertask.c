/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/usertask.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/checksum.h"

#define NAME_MAX_CHARACTERS 63

static int check_owner(const char *path, const struct stat *status, struct error *reterr)
{
	if (!S_ISREG(status->st_mode))
		return error_set(reterr, -EPERM, "'%.200s': not a regular file", path);
	if (status->st_uid != 0 && status->st_uid != geteuid())
		return error_set(reterr, -EPERM,
				 "'%.200s': belongs to user %u; chown it to root or to user %u",
				 path, (unsigned)status->st_uid, (unsigned)geteuid());
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(reterr, -EPERM,
				 "'%.200s': mode %03o lets others write to it; chmod go-w it", path,
				 (unsigned)status->st_mode & 0777);
	return 0;
}

static int examine(int fd, const char *path, uint64_t *ret_checksum, struct error *reterr)
{
	struct stat status;
	int r = fstat(fd, &status) < 0 ? error_errno(reterr, -errno, "'%.200s'", path)
				       : check_owner(path, &status, reterr);

	if (r < 0)
		return r;
	if (status.st_size == 0)
		return error_set(reterr, -ENOEXEC, "'%.200s': the file is empty", path);

	size_t size = (size_t)status.st_size;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return error_errno(reterr, -errno, "read '%.200s'", path);
	*ret_checksum = iso_checksum(bytes, size);
	(void)munmap(bytes, size);
	return 0;
}

int usertask_examine(const char *path, uint64_t *ret_checksum, struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_errno(reterr, -errno, "open '%.200s'", path);
	int r = examine(fd, path, ret_checksum, reterr);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* dlerror() names the path that was loaded, which says nothing to a person. */
static int say_why(const char *path, const char *loaded, struct error *reterr)
{
	const char *why = dlerror();
	size_t length = strlen(loaded);

	if (why == NULL)
		why = "cannot be loaded";
	if (strncmp(why, loaded, length) == 0 && why[length] == ':')
		why += length + 2;
	return error_set(reterr, -ENOEXEC, "'%.200s': %.250s", path, why);
}

static bool is_name(const char *name)
{
	size_t length = strnlen(name, NAME_MAX_CHARACTERS + 1);

	for (size_t i = 0; i < length; i++)
		if (name[i] < ' ' || name[i] > '~')
			return false;
	return length >= 1 && length <= NAME_MAX_CHARACTERS;
}

static int check_task(const char *path, const struct isobar_task *task, struct error *reterr)
{
	const ElfW(Sym) *symbol = NULL;
	void *extra = NULL;
	Dl_info info;

	/* Another thing of that name would be read beyond its end. */
	if (dladdr1(task, &info, &extra, RTLD_DL_SYMENT) != 0)
		symbol = extra;
	if (symbol != NULL && symbol->st_size < sizeof(*task))
		return error_set(reterr, -ENOEXEC,
				 "'%.200s': isobar_task has %zu bytes, a struct isobar_task "
				 "has %zu",
				 path, (size_t)symbol->st_size, sizeof(*task));
	if (task->abi != ISOBAR_TASK_ABI)
		return error_set(reterr, -ENOEXEC,
				 "'%.200s': made for version %u of the interface, this is %u; "
				 "build it anew",
				 path, task->abi, ISOBAR_TASK_ABI);
	if (task->name == NULL || !is_name(task->name))
		return error_set(reterr, -ENOEXEC, "'%.200s': its name is missing or odd", path);
	if (task->check == NULL || task->params == NULL || task->init == NULL ||
	    task->gradient == NULL || task->loss == NULL)
		return error_set(reterr, -ENOEXEC,
				 "'%.200s': a function is missing; only workspace may be", path);
	return 0;
}

int usertask_open(const char *path, struct usertask *ret_task, struct error *reterr)
{
	struct usertask task = { 0 };
	char loaded[32];
	int fd = usertask_examine(path, &task.checksum, reterr);

	if (fd < 0)
		return fd;
	/* The very file that was examined, whatever its name means by now. */
	snprintf(loaded, sizeof(loaded), "/proc/self/fd/%d", fd);
	task.handle = dlopen(loaded, RTLD_NOW | RTLD_LOCAL);
	int r = task.handle == NULL ? say_why(path, loaded, reterr) : 0;
	close(fd);
	if (r == 0) {
		(void)dlerror();
		task.task = dlsym(task.handle, "isobar_task");
		r = task.task == NULL ? error_set(reterr, -ENOEXEC,
						  "'%.200s': exports no symbol isobar_task", path)
				      : check_task(path, task.task, reterr);
	}
	if (r < 0) {
		usertask_close(&task);
		return r;
	}
	*ret_task = task;
	return 0;
}

void usertask_close(struct usertask *task)
{
	if (task->handle != NULL)
		(void)dlclose(task->handle);
	*task = (struct usertask){ 0 };
}
