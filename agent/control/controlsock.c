/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/controlsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control/control.h"

#define BACKLOG 16

int controlsock_paths(const char *directory, char ret_socket[CONTROL_PATH_BYTES],
		      char ret_lock[CONTROL_PATH_BYTES], struct error *reterr)
{
	int n = snprintf(ret_socket, CONTROL_PATH_BYTES, "%s/control", directory);
	int m = snprintf(ret_lock, CONTROL_PATH_BYTES, "%s/lock", directory);

	if (n < 0 || n >= CONTROL_PATH_BYTES || m < 0 || m >= CONTROL_PATH_BYTES)
		return error_set(reterr, -ENAMETOOLONG,
				 "'%s' is too long for a socket; at most %d characters", directory,
				 CONTROL_PATH_BYTES - (int)sizeof("/control"));
	return 0;
}

static int busy(int fd, const char *path, struct error *reterr)
{
	char pid[32];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	return error_set(reterr, -EBUSY, "'%s' is held by process %s: one instance at a time", path,
			 pid[0] != '\0' ? pid : "(unknown)");
}

/* Whether the locked file is still the one that the path names. */
static bool is_current(int fd, const char *path)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino &&
	       here.st_dev == there.st_dev;
}

static int write_pid(int fd, const char *path, struct error *reterr)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return error_errno(reterr, -errno, "write '%s'", path);
	return 0;
}

int controlsock_lock(const char *path, int *ret_fd, struct error *reterr)
{
	for (;;) {
		/* Whoever can open it, if only to read, can hold it and keep us from starting. */
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		int r = 0;

		if (fd < 0)
			return error_errno(reterr, -errno, "create '%s'", path);
		if (fchmod(fd, 0600) < 0)
			r = error_errno(reterr, -errno, "close '%s' to others", path);
		else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			r = errno == EWOULDBLOCK ? busy(fd, path, reterr)
						 : error_errno(reterr, -errno, "lock '%s'", path);
		/* Between open and lock the holder may have removed it on its way out. */
		if (r == 0 && !is_current(fd, path)) {
			close(fd);
			continue;
		}
		if (r == 0)
			r = write_pid(fd, path, reterr);
		if (r < 0) {
			close(fd);
			return r;
		}
		*ret_fd = fd;
		return 0;
	}
}

static int remove_stale(const char *path, struct error *reterr)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(reterr, -errno, "stat '%s'", path);
	if (!S_ISSOCK(st.st_mode))
		return error_set(reterr, -EEXIST, "'%s' is in the way: it is not a socket", path);
	if (unlink(path) < 0)
		return error_errno(reterr, -errno, "remove the stale '%s'", path);
	return 0;
}

static int bind_closed(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path) + 1);
	/* Nobody may connect before mode and group are right; there is one thread. */
	mode_t before = umask(0177);
	int r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	(void)umask(before);
	return r;
}

int controlsock_listen(const char *path, mode_t mode, const gid_t *group, int *ret_fd,
		       struct error *reterr)
{
	int r = remove_stale(path, reterr);

	if (r < 0)
		return r;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_errno(reterr, -errno, "open the control socket");
	r = bind_closed(fd, path);
	if (r == 0 && group != NULL && chown(path, (uid_t)-1, *group) < 0)
		r = -errno;
	if (r == 0 && chmod(path, mode) < 0)
		r = -errno;
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return error_errno(reterr, r, "listen on '%s'", path);
	}
	*ret_fd = fd;
	return 0;
}

void controlsock_enlarge(int fd)
{
	/* The kernel doubles it, and caps it at net.core.wmem_max, which is enough by default. */
	int bytes = (int)CONTROL_PACKET_BYTES_MAX;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}
