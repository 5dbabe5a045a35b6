/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/usertask.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_CHARACTERS 63

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
	int fd = usertask_examine(path, geteuid(), &task.checksum, reterr);

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
