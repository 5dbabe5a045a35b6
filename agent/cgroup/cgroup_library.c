/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only file that knows libcgroup.  It caches the mount table when it
 * starts, keeps its last errno per thread, and may leave an errno of an
 * earlier call there; it also reports success for values it skipped.  So its
 * answers are hints, and the callers read back.
 */
#include "config.h"

#include "agent/cgroup/cgroup_library.h"

#include <errno.h>
#include <libcgroup.h>

#include "agent/base/log.h"

static void group_freep(struct cgroup **group)
{
	if (*group != NULL)
		cgroup_free(group);
}

static int errno_of(int code)
{
	switch (code) {
	case 0: return 0;
	case ECGROUPNOTALLOWED: return -EPERM;
	case ECGROUPVALUENOTEXIST:
	case ECGROUPNOTEXIST:
	case ECGROUPSUBSYSNOTMOUNTED: return -ENOENT;
	case ECGOTHER: return cgroup_get_last_errno() != 0 ? -cgroup_get_last_errno() : -EIO;
	default: return -EIO;
	}
}

bool cgroup_library_start(void)
{
	static bool tried, works;

	if (!tried) {
		int code = cgroup_init();

		works = code == 0;
		if (!works)
			log_info("libcgroup does not start: %s; control groups are managed "
				 "without it", cgroup_strerror(code));
	}
	tried = true;
	return works;
}

/* A group of the cpu controller with one value to set, or none. */
static struct cgroup *describe(const char *name, const char *file, const char *value)
{
	struct cgroup *group = cgroup_new_cgroup(name);
	struct cgroup_controller *cpu = group != NULL ? cgroup_add_controller(group, "cpu") : NULL;

	if (cpu == NULL || (file != NULL && cgroup_add_value_string(cpu, file, value) != 0))
		group_freep(&group);
	return group;
}

int cgroup_library_create(const char *name)
{
	__attribute__((cleanup(group_freep))) struct cgroup *group = describe(name, NULL, NULL);

	/* 1: do not change the owner, which is us. */
	return group == NULL ? -ENOMEM : errno_of(cgroup_create_cgroup(group, 1));
}

int cgroup_library_set(const char *name, const char *file, const char *value)
{
	__attribute__((cleanup(group_freep))) struct cgroup *group = describe(name, file, value);

	return group == NULL ? -ENOMEM : errno_of(cgroup_modify_cgroup(group));
}

int cgroup_library_attach(const char *name, pid_t pid)
{
	__attribute__((cleanup(group_freep))) struct cgroup *group = describe(name, NULL, NULL);

	return group == NULL ? -ENOMEM : errno_of(cgroup_attach_task_pid(group, pid));
}
