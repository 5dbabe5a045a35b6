/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/log.h"
#include "agent/cgroup/cgroup_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cgroup_state_name(enum cgroup_state state)
{
	switch (state) {
	case CGROUP_OK: return "ok";
	case CGROUP_DRIFTED: return "drifted";
	case CGROUP_CONFLICT: return "conflict";
	case CGROUP_GONE: return "gone";
	case CGROUP_DEGRADED: return "degraded";
	case CGROUP_DRY_RUN: return "dry-run";
	}
	return "unknown";
}

/* "/a/b" without empty, "." or ".." components, and not "/" itself. */
static int check_path(const char *path, struct error *reterr)
{
	const char *at = path;

	if (path[0] != '/' || strlen(path) >= PATH_MAX / 2)
		return error_set(reterr, -EINVAL,
				 "'%.200s' is no control group: give its path below the mount of "
				 "the cpu controller, such as /isobar/job", path);
	if (path[1] == '\0')
		return error_set(reterr, -EINVAL,
				 "'/' would limit the whole host, or in a cgroup namespace all of "
				 "the container, which the kernel forbids: run outside of it, or "
				 "give the group of one job");
	while (*at == '/') {
		size_t length = strcspn(++at, "/");

		if (length == 0 || (length <= 2 && strspn(at, ".") >= length))
			return error_set(reterr, -EINVAL,
					 "'%.200s': write the path without empty, '.' or '..' "
					 "parts", path);
		at += length;
	}
	return 0;
}

/* Whether outer is inner or one of its ancestors. */
static bool holds(const char *outer, const char *inner)
{
	size_t length = strlen(outer);

	return strncmp(outer, inner, length) == 0 &&
	       (inner[length] == '\0' || inner[length] == '/');
}

/* Reading all of them would hold up a tick, and nobody counts so far. */
#define NAMED_MAX 1000u

/* Who would have been hit, to the end of a refusal. */
static int name_processes(const struct cgroup *cgroup, int code, struct error *reterr)
{
	struct cgroup_processes processes;
	size_t used;

	if (reterr == NULL)
		return code;
	cgroup_processes(cgroup->root, cgroup->directory, NAMED_MAX, &processes);
	used = strlen(reterr->text);
	snprintf(reterr->text + used, sizeof(reterr->text) - used,
		 "; it holds %s%u processes%s%.160s",
		 processes.is_partial ? "at least " : "", (unsigned)processes.count,
		 processes.count > 0 ? ": " : "", processes.names);
	return code;
}

/* The last resort of those who know better; they are told what they get. */
static void warn_forced(const struct cgroup *cgroup, const char *what)
{
	struct cgroup_processes processes;

	cgroup_processes(cgroup->root, cgroup->directory, NAMED_MAX, &processes);
	log_warn("cgroup %s: %s, and is limited since force-cgroup says so: %s%u processes: %s",
		 cgroup->path, what, processes.is_partial ? "at least " : "",
		 (unsigned)processes.count, processes.names);
}

static int refuse_dangerous(const struct cgroup *cgroup, const struct cgroup_config *config,
			    struct error *reterr)
{
	const char *last = strrchr(cgroup->path, '/') + 1;
	bool is_slice, is_own;
	char own[PATH_MAX];
	size_t length = strlen(last);

	if (strcmp(cgroup->path, "/init.scope") == 0)
		return error_set(reterr, -EBUSY,
				 "'/init.scope' is the init system's: it is never limited");
	is_slice = !cgroup->is_unit && length > 6 && strcmp(last + length - 6, ".slice") == 0;
	is_own = mounts_group_of(cgroup->root, 0, "cpu", cgroup->backend->version, own, NULL) ==
			 0 && holds(cgroup->path, own);
	if (config->force) {
		if (!config->is_again && (is_slice || is_own))
			warn_forced(cgroup, is_own ? "it holds the agent itself" : "it is a slice");
		return 0;
	}
	if (is_slice)
		error_set(reterr, -EBUSY,
			  "'%.150s' is a systemd slice, which cannot be delegated: have it limited "
			  "as a unit (unit = %.60s), or name a service or scope below it",
			  cgroup->path, last);
	else if (is_own)
		error_set(reterr, -EBUSY,
			  "the agent itself runs in '%.150s' and would throttle itself: start it "
			  "in a group beside the job's", own);
	return is_slice || is_own ? name_processes(cgroup, -EBUSY, reterr) : 0;
}

static unsigned count_levels(const char *name)
{
	unsigned levels = 1;

	for (; *name != '\0'; name++)
		levels += *name == '/';
	return levels;
}

static int locate(struct cgroup *cgroup, struct error *reterr)
{
	const char *below = mounts_below(&cgroup->mounts, cgroup->path);
	int result = mounts_directory(&cgroup->mounts, cgroup->path, cgroup->directory, reterr);

	if (result < 0)
		return result;
	cgroup->backend = cgroup->mounts.version == 2 ? &cgroup_v2 : &cgroup_v1;
	/* All that the mount of a container shows: it has no name below that. */
	if (below[0] == '\0')
		below = cgroup->path;
	snprintf(cgroup->name, sizeof(cgroup->name), "%s", below + 1);
	if (snprintf(cgroup->directory, sizeof(cgroup->directory), "%s/%s", cgroup->mounts.mount,
		     cgroup->name) >= (int)sizeof(cgroup->directory))
		return error_errno(reterr, -ENAMETOOLONG, "'%.300s'", cgroup->path);
	cgroup->level = count_levels(cgroup->path + 1);
	cgroup->depth = count_levels(cgroup->name);
	cgroup->has_library = cgroup->root[0] == '\0' && cgroup_library_start();
	return 0;
}

/* The 64-bit id of a kernfs node; elsewhere the inode number. */
static int read_id(struct cgroup *cgroup, struct error *reterr)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} space = { .handle = { .handle_bytes = sizeof(uint64_t) } };
	struct stat status;
	int mount_id;

	/* FILEID_KERNFS, since 5.5; before, the inode number is all there is. */
	if (name_to_handle_at(cgroup->dir_fd, "", &space.handle, &mount_id, AT_EMPTY_PATH) == 0 &&
	    space.handle.handle_type == 0xfe) {
		memcpy(&cgroup->id, space.handle.f_handle, sizeof(cgroup->id));
		return 0;
	}
	if (fstat(cgroup->dir_fd, &status) < 0)
		return error_errno(reterr, -errno, "stat '%.300s'", cgroup->directory);
	cgroup->id = status.st_ino;
	return 0;
}

/* Until it is there it is like one that has gone. */
static void be_absent(struct cgroup *cgroup)
{
	cgroup->state = CGROUP_GONE;
	snprintf(cgroup->reason, sizeof(cgroup->reason), "there is no group '%.300s'",
		 cgroup->path);
}

static int open_directory(struct cgroup *cgroup, const struct cgroup_config *config,
			  struct error *reterr)
{
	bool create = config->create;
	int result;

	cgroup->dir_fd = open(cgroup->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->dir_fd < 0 && errno == ENOENT && cgroup->dry_run && create)
		return 0; /* nothing is created, and there is nothing to read */
	if (cgroup->dir_fd < 0 && errno == ENOENT && create) {
		result = cgroup_create_missing(cgroup, reterr);
		cgroup->created_now = cgroup->created_top != 0;
		if (result < 0)
			return result;
		cgroup->dir_fd = open(cgroup->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (cgroup->dir_fd < 0 && errno == ENOENT && config->may_be_absent) {
		be_absent(cgroup);
		return 0;
	}
	if (cgroup->dir_fd < 0 && errno == ENOENT)
		return error_set(reterr, -ENOENT,
				 "there is no '%.300s': start the job first, or let the agent "
				 "create the group", cgroup->directory);
	if (cgroup->dir_fd < 0)
		return error_errno(reterr, -errno, "open '%.300s'", cgroup->directory);
	return read_id(cgroup, reterr);
}

static int check_type(struct cgroup *cgroup, struct error *reterr)
{
	char type[64];

	if (cgroup_file_read(cgroup->dir_fd, "cgroup.type", type, sizeof(type)) < 0)
		return 0; /* v1 */
	if (strncmp(type, "domain invalid", 14) == 0)
		return error_set(reterr, -EBUSY,
				 "the group is 'domain invalid': an ancestor was made threaded; "
				 "use another place in the tree");
	return 0;
}

/* What will fail later is better known now. */
static int check_writable(struct cgroup *cgroup, struct error *reterr)
{
	const char *file = cgroup->backend->limit_file;
	CGROUP_CLOSE_FD int fd = -1;

	if (cgroup->dry_run)
		return 0;
	fd = openat(cgroup->dir_fd, file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		return 0;
	if (errno == EROFS)
		return error_set(reterr, -EROFS, CGROUP_READ_ONLY);
	return error_errno(reterr, -errno,
			   "%s cannot be opened for writing (run as root, or have the group "
			   "delegated to this user)", file);
}

static int remember_original(struct cgroup *cgroup, struct error *reterr)
{
	bool found;
	int result = cgroup_saved_load(cgroup, &found, reterr);

	if (result < 0 || found)
		return result;
	if (cgroup->has_original)
		return 0;
	result = cgroup->backend->read_limit(cgroup->dir_fd, &cgroup->original);
	if (result < 0)
		return error_errno(reterr, result, "read %s", cgroup->backend->limit_file);
	if (cgroup_file_read_u64(cgroup->dir_fd, cgroup->backend->burst_file,
				 &cgroup->original_burst_us) < 0)
		cgroup->original_burst_us = 0; /* a kernel before 5.14 has no burst */
	cgroup->unsaved = (struct error){ 0 };
	if (cgroup->dry_run)
		return 0;
	result = cgroup_saved_store(cgroup, &cgroup->unsaved);
	if (result == 0 || result == -ENOSPC || result == -EDQUOT || result == -EROFS)
		return 0;
	return error_set(reterr, result, "%s", cgroup->unsaved.text);
}

const char *cgroup_unsaved(const struct cgroup *cgroup)
{
	return cgroup->unsaved.code != 0 ? cgroup->unsaved.text : NULL;
}

/* A burst would let the job save up quota beyond its share. */
static int clear_burst(struct cgroup *cgroup, struct error *reterr)
{
	uint64_t burst_us = 0;
	int result = cgroup_file_read_u64(cgroup->dir_fd, cgroup->backend->burst_file, &burst_us);

	if (cgroup->dry_run || result < 0 || burst_us == 0)
		return 0;
	result = cgroup_put(cgroup, cgroup->backend->burst_file, "0");
	return result < 0 ? error_errno(reterr, result, "set %s to 0",
					cgroup->backend->burst_file) : 0;
}

/* From here on the writer may lower the limit at any time. */
static int hand_over(struct cgroup *cgroup, struct error *reterr)
{
	int result = cgroup->writer->attach(cgroup->writer->context, cgroup->dir_fd,
					    cgroup->backend->version);

	return result < 0 ? error_errno(reterr, result, "hand %s to the guard",
					cgroup->backend->limit_file) : 0;
}

static int take_over(struct cgroup *cgroup, const struct cgroup_config *config,
		     struct error *reterr)
{
	struct cgroup_limit unused;
	int result;

	bool is_missing = cgroup->dir_fd < 0 ||
			  cgroup->backend->read_limit(cgroup->dir_fd, &unused) == -ENOENT;

	/* systemd makes the file as soon as the unit has a quota, which a dry run does not set. */
	if (is_missing && cgroup->dir_fd >= 0 && cgroup->is_unit && cgroup->dry_run) {
		close(cgroup->dir_fd);
		cgroup->dir_fd = -1;
	}
	if (cgroup->dir_fd < 0) {
		if (!cgroup->has_original)
			cgroup->original = (struct cgroup_limit){ true, 0, cgroup->period_us };
		return 0;
	}
	if (is_missing)
		return cgroup_explain_no_files(cgroup, reterr);
	result = cgroup->dry_run ? 0 : cgroup_lock(cgroup, reterr);
	if (result == 0)
		result = check_type(cgroup, reterr);
	if (result == 0)
		result = check_writable(cgroup, reterr);
	if (result == 0)
		result = remember_original(cgroup, reterr);
	if (result == 0)
		result = clear_burst(cgroup, reterr);
	if (result == 0 && cgroup->writer != NULL)
		result = hand_over(cgroup, reterr);
	if (result == 0 && cgroup->created_now && config->first_quota_us != 0)
		result = cgroup_write(cgroup, config->first_quota_us, reterr);
	return result;
}

static int set_strings(struct cgroup *cgroup, const struct cgroup_config *config)
{
	int lengths[] = {
		snprintf(cgroup->root, PATH_MAX, "%s", config->root != NULL ? config->root : ""),
		snprintf(cgroup->path, PATH_MAX, "%s", config->path),
		snprintf(cgroup->saved_path, PATH_MAX, "%s",
			 config->saved_path != NULL ? config->saved_path : ""),
	};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		if (lengths[i] >= PATH_MAX)
			return -ENAMETOOLONG;
	}
	return 0;
}

int cgroup_open(const struct cgroup_config *config, struct cgroup **ret_cgroup,
		struct error *reterr)
{
	struct cgroup *cgroup;
	int result = check_path(config->path, reterr);

	if (result < 0)
		return result;
	if (config->period_us < CGROUP_PERIOD_MIN_US || config->period_us > CGROUP_PERIOD_MAX_US)
		return error_set(reterr, -EINVAL,
				 "the period is %llu us: the kernel takes 1 ms to 1 s",
				 (unsigned long long)config->period_us);
	cgroup = calloc(1, sizeof(*cgroup));
	if (cgroup == NULL)
		return error_errno(reterr, -ENOMEM, "control group");
	cgroup->dir_fd = -1;
	cgroup->period_us = config->period_us;
	cgroup->on_exit = config->on_exit;
	cgroup->dry_run = config->dry_run;
	cgroup->writer = config->dry_run ? NULL : config->writer;
	cgroup->is_unit = config->is_unit;
	cgroup->has_original = config->original != NULL;
	if (config->original != NULL)
		cgroup->original = *config->original;
	cgroup->state = config->dry_run ? CGROUP_DRY_RUN : CGROUP_OK;
	snprintf(cgroup->reason, sizeof(cgroup->reason), "%s",
		 config->dry_run ? "limits are computed and not written" : "");
	result = set_strings(cgroup, config);
	if (result < 0)
		error_errno(reterr, result, "'%.300s'", config->path);
	if (result == 0)
		result = mounts_find(cgroup->root, "cpu", &cgroup->mounts, reterr);
	if (result == 0)
		result = locate(cgroup, reterr);
	if (result == 0)
		result = refuse_dangerous(cgroup, config, reterr);
	if (result == 0)
		result = open_directory(cgroup, config, reterr);
	if (result == 0)
		result = take_over(cgroup, config, reterr);
	if (result < 0) {
		error_wrap(reterr, "control group '%.150s'", config->path);
		if (cgroup->created_now)
			(void)cgroup_remove_created(cgroup, NULL);
		cgroup_close(cgroup);
		return result;
	}
	*ret_cgroup = cgroup;
	return 0;
}

struct cgroup *cgroup_close(struct cgroup *cgroup)
{
	if (cgroup == NULL)
		return NULL;
	if (cgroup->dir_fd >= 0)
		close(cgroup->dir_fd); /* and with it goes the lock */
	free(cgroup);
	return NULL;
}
