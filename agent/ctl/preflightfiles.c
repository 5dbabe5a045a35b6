/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightfiles.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/error.h"

/* More than so many are not listed one by one. */
#define FINDINGS_MAX 4u

static int judge(const char *path, const struct stat *stat, bool is_last, uid_t owner,
		 struct error *reterr)
{
	/* In a sticky directory nobody replaces what belongs to another. */
	bool is_shared = !is_last && S_ISDIR(stat->st_mode) && (stat->st_mode & S_ISVTX) != 0;
	uid_t uid = stat->st_uid;

	if (uid != 0 && uid != geteuid() && uid != owner)
		return error_set(reterr, -EPERM, "'%.140s' belongs to user %u", path,
				 (unsigned)uid);
	if (is_shared)
		return 0;
	if ((stat->st_mode & S_IWOTH) != 0)
		return error_set(reterr, -EPERM, "'%.140s' can be changed by anybody", path);
	if ((stat->st_mode & S_IWGRP) != 0 && stat->st_gid != 0)
		return error_set(reterr, -EPERM, "'%.140s' can be changed by group %u", path,
				 (unsigned)stat->st_gid);
	return 0;
}

/*
 * 0 if nobody but root, the user who asks and owner (or (uid_t)-1) may change what the path
 * leads to, by itself or by any directory on the way, symbolic links followed; what is
 * not there is fine.  -EPERM: somebody may, *reterr says who and what.
 */
static int check_path(const char *path, uid_t owner, struct error *reterr)
{
	char *real = realpath(path, NULL);
	struct stat status;
	int r = 0;

	if (real == NULL)
		return 0;
	/* From the file up to the root. */
	for (bool is_last = true;; is_last = false) {
		char *slash = strrchr(real, '/');
		const char *at = real[0] != '\0' ? real : "/";

		if (stat(at, &status) == 0)
			r = judge(at, &status, is_last, owner, reterr);
		if (r < 0 || slash == NULL || real[1] == '\0')
			break;
		*slash = '\0';
	}
	free(real);
	return r;
}

static uid_t uid_of(const char *user)
{
	const struct passwd *entry = user[0] != '\0' ? getpwnam(user) : NULL;

	return entry != NULL ? entry->pw_uid : (uid_t)-1;
}

void preflightfiles_check(struct preflight *preflight, const struct conf *conf, const char *file)
{
	const uid_t nobody = (uid_t)-1, worker = uid_of(conf->training.user);
	const struct {
		const char *path;
		uid_t owner;
	} files[] = {
		{ file, nobody },
		{ conf->secret_key, nobody },
		{ conf->state_directory, nobody },
		{ conf->run_directory, nobody },
		{ conf->guard.executable, nobody },
		{ conf->training.executable, nobody },
		{ conf->training.plan, nobody },
		{ conf->training.task, worker },
		{ conf->training.worker_key, worker },
		{ conf->training.state_directory, worker },
	};
	unsigned count = 0;
	struct error error;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i].path[0] == '\0' ||
		    check_path(files[i].path, files[i].owner, &error) == 0)
			continue;
		if (count++ < FINDINGS_MAX)
			preflight_say(
			    preflight, "permissions", PREFLIGHT_WARNING,
			    "chown root, chmod go-w: who can change it commands this node",
			    "%.180s", error.text);
	}
	if (count == 0)
		preflight_say(preflight, "permissions", PREFLIGHT_OK, NULL,
			      "configuration, keys, state and programs are nobody else's");
	else if (count > FINDINGS_MAX)
		preflight_say(preflight, "permissions", PREFLIGHT_WARNING, NULL,
			      "%u more files or directories", count - FINDINGS_MAX);
}
