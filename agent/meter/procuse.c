/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/procuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* "on-CPU ns, runnable-wait ns, number of time slices" */
static int read_thread(int tasks_fd, const char *tid, uint64_t *ret_on_cpu_ns,
		       uint64_t *ret_wait_ns)
{
	char name[64], text[128];

	snprintf(name, sizeof(name), "%.20s/schedstat", tid);
	int fd = openat(tasks_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t length = read(fd, text, sizeof(text) - 1);
	int r = length < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r;
	text[length] = '\0';
	if (sscanf(text, "%" SCNu64 " %" SCNu64, ret_on_cpu_ns, ret_wait_ns) != 2)
		return -EBADMSG;
	return 0;
}

int procuse_read(pid_t pid, uint64_t *ret_on_cpu_ns, uint64_t *ret_wait_ns, struct error *reterr)
{
	uint64_t on_cpu_sum_ns = 0, wait_sum_ns = 0, on_cpu_ns, wait_ns;
	unsigned threads = 0;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	if (tasks == NULL)
		return error_errno(reterr, errno == ENOENT ? -ESRCH : -errno, "process %d",
				   (int)pid);
	while ((entry = readdir(tasks)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		/* One that has just ended is not there any more. */
		if (read_thread(dirfd(tasks), entry->d_name, &on_cpu_ns, &wait_ns) < 0)
			continue;
		on_cpu_sum_ns += on_cpu_ns;
		wait_sum_ns += wait_ns;
		threads++;
	}
	closedir(tasks);
	if (threads == 0)
		return error_set(reterr, -ENODATA, "process %d: the kernel keeps no schedstat",
				 (int)pid);
	*ret_on_cpu_ns = on_cpu_sum_ns;
	*ret_wait_ns = wait_sum_ns;
	return 0;
}
