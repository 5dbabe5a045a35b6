/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/user.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/log.h"

#define PLACE	  (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define LINKS_MAX 16

bool user_has_group_of_root(const char *name, gid_t primary)
{
	int count = 0;
	bool is_in = false;

	/* Too few tell how many they are. */
	(void)getgrouplist(name, primary, NULL, &count);
	gid_t *groups = count > 0 ? calloc((size_t)count, sizeof(*groups)) : NULL;
	if (groups == NULL || getgrouplist(name, primary, groups, &count) < 0)
		is_in = true; /* nobody knows */
	for (int i = 0; !is_in && i < count; i++)
		is_in = groups[i] == 0;
	free(groups);
	return is_in;
}

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
	if (user_has_group_of_root(name, user->pw_gid))
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

/* Nobody else can put something in the place of what root has there. */
static bool is_roots(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == 0 &&
	       ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0);
}

/* Takes the first part off a path; false: there is none. */
static bool take_part(char *rest, char ret_part[NAME_MAX + 1])
{
	size_t skip = strspn(rest, "/"), n = strcspn(rest + skip, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(ret_part, rest + skip, n);
	ret_part[n] = '\0';
	skip += n;
	skip += strspn(rest + skip, "/");
	memmove(rest, rest + skip, strlen(rest + skip) + 1);
	return true;
}

/* A link of root's stands for what it says. */
static int follow(int *at, const char *part, char rest[PATH_MAX])
{
	char text[2 * PATH_MAX];
	ssize_t n = readlinkat(*at, part, text, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	snprintf(text + n, sizeof(text) - (size_t)n, "/%s", rest);
	if (strlen(text) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(rest, text, strlen(text) + 1);
	if (rest[0] != '/')
		return 0;
	close(*at);
	*at = open("/", PLACE);
	return *at < 0 ? -errno : 0;
}

/* By descriptor, so that what is given away is what is in this place. */
static int make_at(int at, const char *part, mode_t mode, const struct passwd *owner)
{
	int r = 0;

	if (mkdirat(at, part, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	int fd = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Whatever the umask is, the owner of the last must get through the others. */
	if ((owner != NULL ? fchown(fd, owner->pw_uid, owner->pw_gid) : fchmod(fd, mode)) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* Goes down the path from *at as far as it is root's, and makes what is missing. */
static int make_below(int *at, char rest[PATH_MAX], mode_t mode, const struct passwd *owner)
{
	char part[NAME_MAX + 1];
	unsigned links = 0;
	struct stat st;
	int r = 0;

	while (r == 0 && is_roots(*at) && take_part(rest, part)) {
		bool is_last = rest[0] == '\0';

		if (fstatat(*at, part, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			r = errno != ENOENT ? -errno
					    : make_at(*at, part, is_last ? mode : 0755,
						      is_last ? owner : NULL);
			st.st_mode = S_IFDIR;
		}
		if (r < 0 || is_last)
			break;
		if (S_ISLNK(st.st_mode)) {
			if (st.st_uid != 0 || ++links > LINKS_MAX)
				break;
			r = follow(at, part, rest);
			continue;
		}
		int next = openat(*at, part, PLACE | O_NOFOLLOW);
		r = next < 0 ? -errno : 0;
		close(*at);
		*at = next;
	}
	return r;
}

int user_make_directory(const char *path, mode_t mode, const char *option, const char *name,
			struct error *reterr)
{
	const struct passwd *user = NULL;
	char rest[PATH_MAX];

	if (geteuid() != 0)
		return 0;
	int r = find(option, name, &user, reterr);
	if (r < 0)
		return r;
	size_t length = strlen(path);
	if (length >= sizeof(rest))
		return error_errno(reterr, -ENAMETOOLONG, "create '%.80s'", path);
	memcpy(rest, path, length + 1);
	int at = open("/", PLACE);
	r = at < 0 ? -errno : make_below(&at, rest, mode, user);
	if (at >= 0)
		close(at);
	return r < 0 ? error_errno(reterr, r, "make '%s' for user '%s'", path, name) : 0;
}
