/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/user.h"

#include <cap-ng.h>
#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/directory.h"
#include "agent/base/log.h"

static int find(const char *option, const char *name, const struct passwd **ret_user,
		struct error *reterr)
{
	const struct passwd *user = getpwnam(name);

	if (user == NULL)
		return error_set(reterr, -ENOENT,
				 "%s: there is no user '%s' on this host to become; make it, or "
				 "name another", option, name);
	if (user->pw_uid == 0)
		return error_set(reterr, -EPERM, "%s: '%s' is root: it must not be", option, name);
	if (user->pw_gid == 0)
		return error_set(reterr, -EPERM,
				 "%s: '%s' has the group of root: it must not have it", option,
				 name);
	*ret_user = user;
	return 0;
}

static void warn_unless_already(const char *option, const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (user == NULL || user->pw_uid != geteuid())
		log_warn("%s: only root can become '%s': it goes on as user %u", option, name,
			 (unsigned)geteuid());
}

int user_become(const char *option, const char *name, struct error *reterr)
{
	const struct passwd *user;

	if (geteuid() != 0) {
		warn_unless_already(option, name);
		return 0;
	}
	int r = find(option, name, &user, reterr);
	if (r < 0)
		return r;
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_change_id((int)user->pw_uid, (int)user->pw_gid,
			    CAPNG_INIT_SUPP_GRP | CAPNG_CLEAR_BOUNDING) != 0)
		return error_set(reterr, -EPERM, "become user '%s'", name);
	return 0;
}

int user_make_directory(const char *path, mode_t mode, const char *option, const char *name,
			struct error *reterr)
{
	const struct passwd *user = NULL;
	struct stat st;

	if (geteuid() != 0 || lstat(path, &st) == 0)
		return 0;
	int r = find(option, name, &user, reterr);
	if (r == 0)
		r = directory_make(path, mode, reterr);
	if (r == 0 && lchown(path, user->pw_uid, user->pw_gid) < 0)
		r = error_errno(reterr, -errno, "give '%s' to user '%s'", path, name);
	return r;
}
