/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CGROUP_INTERNAL_H
#define ISO_CGROUP_INTERNAL_H

#include <dirent.h>
#include <limits.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/cgroup_library.h"
#include "agent/cgroup/mounts.h"
#include "lib/enforce/drift.h"

/* For the files cgroup*.c only. */

#define CGROUP_FILE_BYTES 4096u  /* no control file we read is longer */
#define CGROUP_DEPTH_MAX  64u

/* The files of one hierarchy version.  Group directories are given as open descriptors. */
struct cgroup_backend {
	unsigned version;
	const char *limit_file;      /* the one whose absence means "no limit here" */
	const char *burst_file;

	/* -ENOENT: no such files at this level, which limits nothing. */
	int (*read_limit)(int dir_fd, struct cgroup_limit *ret_limit);

	/*
	 * From what is there to what is wanted, without ever allowing more
	 * than the greater of the two.  Not read back here.
	 */
	int (*write_limit)(struct cgroup *cgroup, const struct cgroup_limit *present,
			   const struct cgroup_limit *wanted);

	int (*read_stat)(int dir_fd, struct cgroup_stat *ret_stat);
	int (*read_populated)(int dir_fd, bool *ret_populated);
};

extern const struct cgroup_backend cgroup_v1, cgroup_v2;

struct cgroup {
	const struct cgroup_backend *backend;
	char root[PATH_MAX];         /* "" on a real host */
	char path[PATH_MAX];         /* as configured */
	char name[PATH_MAX];         /* below the mount point, no slash in front */
	char directory[PATH_MAX];    /* mount + "/" + name */
	char saved_path[PATH_MAX];   /* "" for none */
	struct error unsaved;        /* why it could not be written; code 0: it was */
	struct mounts_controller mounts;
	int dir_fd;                  /* holds the lock; -1: dry run on a missing group */
	bool has_library;            /* libcgroup works on this host */
	bool dry_run;
	const struct cgroup_writer *writer; /* NULL: ourselves */
	uint64_t id;
	unsigned level;

	uint64_t period_us;
	enum cgroup_on_exit on_exit;
	struct cgroup_limit original;
	uint64_t original_burst_us;
	unsigned depth;              /* levels of name below the mount */
	unsigned created_top;        /* topmost of them that we made; all below are ours too */
	bool created_now;            /* by this process */

	bool has_written;
	struct cgroup_limit written; /* what the kernel should have */
	uint64_t expected_us;        /* or this, from systemd; 0: nothing */
	bool is_unit;
	bool has_original;
	struct iso_drift drift;
	enum cgroup_state state;
	char reason[400];
};

/* For -EROFS, with the file or nothing before it. */
#define CGROUP_READ_ONLY                                                                           \
	"the cgroup file system is read-only here: with systemd set ProtectControlGroups=no for "  \
	"the agent, in a container mount it rw"

void cgroup_fd_closep(int *fd);
#define CGROUP_CLOSE_FD __attribute__((cleanup(cgroup_fd_closep)))

/* cgroup_file.c: whole small files, relative to a directory. */
int cgroup_file_read(int dir_fd, const char *name, char *ret_text, size_t size);
int cgroup_file_write(int dir_fd, const char *name, const char *text);
int cgroup_file_read_u64(int dir_fd, const char *name, uint64_t *ret_value);
/* A stream of its own over the directory's entries; NULL and errno. */
DIR *cgroup_opendir(int dir_fd);
/* The next group below, whose name may begin with '.', until the next call; NULL: no more. */
const char *cgroup_next_child(DIR *directory);
/* "name 123" on a line of its own. */
bool cgroup_file_field(const char *text, const char *name, uint64_t *ret_value);
/* Decimal digits only, up to the end or a white space; ret_end may be NULL. */
bool cgroup_parse_u64(const char *text, uint64_t *ret_value, const char **ret_end);

/* Whether the ratio a is above b. */
bool cgroup_limit_above(const struct cgroup_limit *a, const struct cgroup_limit *b);
bool cgroup_limit_equal(const struct cgroup_limit *a, const struct cgroup_limit *b);
/* "30000/100000 us" or "unlimited". */
#define CGROUP_LIMIT_BYTES 64u
const char *cgroup_limit_text(const struct cgroup_limit *limit,
			      char text[CGROUP_LIMIT_BYTES]);

/* cgroup_create.c: the group and its ancestors, +cpu on the way on v2. */
int cgroup_create_missing(struct cgroup *cgroup, struct error *reterr);
/* Opens the directory of an ancestor: levels_up = 1 is the parent.  -ENOENT past the mount. */
int cgroup_open_ancestor(const struct cgroup *cgroup, unsigned levels_up, char ret_path[PATH_MAX]);
/* Whether a file of words, such as cgroup.controllers, has "cpu" among them. */
bool cgroup_lists_cpu(int dir_fd, const char *file);
/* The group has no limit file: names the ancestor that does not hand cpu down, and what to do. */
int cgroup_explain_no_files(const struct cgroup *cgroup, struct error *reterr);
/* Removes what we created, from the group upwards; what is in use stays: -EBUSY for the group. */
int cgroup_remove_created(struct cgroup *cgroup, struct error *reterr);

/* cgroup_lock.c: -EBUSY if another agent holds the group, until its dir_fd is closed. */
int cgroup_lock(const struct cgroup *cgroup, struct error *reterr);

/* cgroup_saved.c: the original limit over a crash. */
/* Half of the boot's random id; 0 where there is none. */
uint64_t cgroup_boot_id(const char *root);
int cgroup_saved_load(struct cgroup *cgroup, bool *ret_found, struct error *reterr);
int cgroup_saved_store(const struct cgroup *cgroup, struct error *reterr);

/* cgroup_write.c: sets and reads back, whatever the limit; tells why it failed. */
int cgroup_set_limit(struct cgroup *cgroup, const struct cgroup_limit *wanted,
		     struct error *reterr);
/* One file: through libcgroup if there is one, else or if that did nothing by hand. */
int cgroup_put(struct cgroup *cgroup, const char *file, const char *value);
/* -ENOENT and -ENODEV are one thing once the group was open. */
int cgroup_gone(struct cgroup *cgroup, int code);

#endif
