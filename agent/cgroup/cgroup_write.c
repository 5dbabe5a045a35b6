/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Setting a limit: write, read back, and say in words why it did not take. */
#include "config.h"

#include "agent/base/log.h"
#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int cgroup_gone(struct cgroup *cgroup, int code)
{
	if (code != -ENOENT && code != -ENODEV)
		return code;
	cgroup->state = CGROUP_GONE;
	snprintf(cgroup->reason, sizeof(cgroup->reason), "group '%.300s' was removed",
		 cgroup->path);
	return -ENODEV;
}

/* Whether the file holds the value, whatever white space the kernel added. */
static bool file_holds(struct cgroup *cgroup, const char *file, const char *value)
{
	char text[64];

	if (cgroup_file_read(cgroup->dir_fd, file, text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, value) == 0;
}

int cgroup_put(struct cgroup *cgroup, const char *file, const char *value)
{
	if (cgroup->has_library && cgroup_library_set(cgroup->name, file, value) == 0 &&
	    file_holds(cgroup, file, value))
		return 0;
	/* libcgroup turns most errors into "no such value": this one tells the truth. */
	return cgroup_file_write(cgroup->dir_fd, file, value);
}

/* v1: -EINVAL comes from the hierarchy.  Finds the parent that allows less. */
static bool parent_allows_less(struct cgroup *cgroup, const struct cgroup_limit *wanted,
			       struct error *reterr)
{
	char path[PATH_MAX], text[2][CGROUP_LIMIT_BYTES];
	struct cgroup_limit limit;

	for (unsigned up = 1;; up++) {
		CGROUP_CLOSE_FD int fd = cgroup_open_ancestor(cgroup, up, path);

		if (fd < 0)
			return false;
		if (cgroup->backend->read_limit(fd, &limit) < 0 ||
		    !cgroup_limit_above(wanted, &limit))
			continue;
		error_set(reterr, -EINVAL,
			  "parent '%.200s' allows %s, wanted %s: raise the parent's limit or lower "
			  "the ceiling of this node", path,
			  cgroup_limit_text(&limit, text[0]), cgroup_limit_text(wanted, text[1]));
		return true;
	}
}

/* v1: nor may a parent go below a child. */
static bool child_has_more(struct cgroup *cgroup, const struct cgroup_limit *wanted,
			   struct error *reterr)
{
	DIR *directory = cgroup_opendir(cgroup->dir_fd);
	char text[2][CGROUP_LIMIT_BYTES];
	struct cgroup_limit limit;
	const char *child;
	bool found = false;

	while (directory != NULL && !found && (child = cgroup_next_child(directory)) != NULL) {
		CGROUP_CLOSE_FD int fd = openat(cgroup->dir_fd, child,
						O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || cgroup->backend->read_limit(fd, &limit) < 0 || limit.unlimited ||
		    !cgroup_limit_above(&limit, wanted))
			continue;
		found = true;
		error_set(reterr, -EINVAL,
			  "child '%.200s' has %s, wanted %s: lower or lift the child's limit first",
			  child, cgroup_limit_text(&limit, text[0]),
			  cgroup_limit_text(wanted, text[1]));
	}
	if (directory != NULL)
		closedir(directory);
	return found;
}

static int explain_write(struct cgroup *cgroup, const struct cgroup_limit *wanted, int code,
			 struct error *reterr)
{
	const char *file = cgroup->backend->limit_file;
	char text[CGROUP_LIMIT_BYTES];

	switch (code) {
	case -ENODEV:
		return error_set(reterr, code, "group was removed");
	case -EROFS:
		return error_set(reterr, code, "%s: " CGROUP_READ_ONLY, file);
	case -EACCES:
	case -EPERM:
		return error_set(reterr, code,
				 "%s: not permitted: run as root, or have the group delegated to "
				 "this user (not from inside its own cgroup namespace)", file);
	case -EINVAL:
		if (cgroup->backend->version == 1 &&
		    (parent_allows_less(cgroup, wanted, reterr) ||
		     child_has_more(cgroup, wanted, reterr)))
			return code;
		break;
	case -ETIME:
		return error_set(reterr, code, "%s: no lease for more than the floor", file);
	default:
		break;
	}
	return error_errno(reterr, code, "set %s to %s", file, cgroup_limit_text(wanted, text));
}

static int pretend(struct cgroup *cgroup, const struct cgroup_limit *wanted)
{
	char text[CGROUP_LIMIT_BYTES];

	if (!cgroup->has_written || !cgroup_limit_equal(&cgroup->written, wanted))
		log_info("dry run: group '%s': would set %s to %s", cgroup->path,
			 cgroup->backend->limit_file, cgroup_limit_text(wanted, text));
	cgroup->has_written = true;
	cgroup->written = *wanted;
	return 0;
}

int cgroup_set_limit(struct cgroup *cgroup, const struct cgroup_limit *wanted,
		     struct error *reterr)
{
	struct cgroup_limit present;
	char text[2][CGROUP_LIMIT_BYTES];
	int result;

	if (cgroup->dry_run)
		return pretend(cgroup, wanted);
	result = cgroup->dir_fd < 0 ? -ENODEV
				    : cgroup->backend->read_limit(cgroup->dir_fd, &present);
	if (result == 0 && cgroup->writer != NULL)
		result = cgroup->writer->write(cgroup->writer->context, wanted);
	else if (result == 0)
		result = cgroup->backend->write_limit(cgroup, &present, wanted);
	if (result < 0)
		return explain_write(cgroup, wanted, cgroup_gone(cgroup, result), reterr);
	result = cgroup->backend->read_limit(cgroup->dir_fd, &present);
	if (result < 0)
		return explain_write(cgroup, wanted, cgroup_gone(cgroup, result), reterr);
	if (!cgroup_limit_equal(&present, wanted))
		return error_set(reterr, -EIO,
				 "%s was set to %s and reads back %s: another writer, or a kernel "
				 "that scales the period", cgroup->backend->limit_file,
				 cgroup_limit_text(wanted, text[0]),
				 cgroup_limit_text(&present, text[1]));
	cgroup->has_written = true;
	cgroup->written = *wanted;
	return 0;
}
