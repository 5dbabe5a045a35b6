/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int meter_kernel_open(int directory_fd, enum meter_hierarchy hierarchy,
		      struct meter_kernel *ret_kernel, struct error *reterr)
{
	bool v2 = hierarchy == METER_V2;
	const char *name = v2 ? "cpu.stat" : "cpuacct.usage";

	ret_kernel->source = v2 ? METER_SOURCE_CPU_STAT : METER_SOURCE_CPUACCT;
	ret_kernel->waits_fd = -1;
	ret_kernel->usage_fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
	if (ret_kernel->usage_fd < 0) {
		error_errno(reterr, -errno, "no account of the job by the kernel: %s", name);
		return -ENODATA;
	}
	if (v2)
		ret_kernel->waits_fd = openat(directory_fd, "cpu.pressure", O_RDONLY | O_CLOEXEC);
	return 0;
}

void meter_kernel_close(struct meter_kernel *kernel)
{
	if (kernel->usage_fd >= 0)
		close(kernel->usage_fd);
	if (kernel->waits_fd >= 0)
		close(kernel->waits_fd);
	kernel->usage_fd = -1;
	kernel->waits_fd = -1;
}

/* The number after the key at the start of a line (or the first number, for an empty key). */
static int number_in(int fd, const char *key, uint64_t *ret_number)
{
	char text[4096], *place, *end;
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	place = strstr(text, key);
	if (place == NULL)
		return -EBADMSG;
	place += strlen(key);
	errno = 0;
	*ret_number = strtoull(place, &end, 10);
	return errno == 0 && end != place ? 0 : -EBADMSG;
}

int meter_kernel_read(const struct meter_kernel *kernel, uint64_t *ret_on_cpu_ns,
		      uint64_t *ret_wait_ns, struct error *reterr)
{
	uint64_t on_cpu = 0, wait_us = 0;
	int r;

	if (kernel->usage_fd < 0)
		return error_set(reterr, -ENODATA, "the kernel keeps no account of the job");
	if (kernel->source == METER_SOURCE_CPUACCT) {
		r = number_in(kernel->usage_fd, "", &on_cpu);
		if (r < 0)
			return error_errno(reterr, r, "read cpuacct.usage");
	} else {
		r = number_in(kernel->usage_fd, "usage_usec ", &on_cpu);
		if (r < 0)
			return error_errno(reterr, r, "read usage_usec of cpu.stat");
		on_cpu *= 1000;
	}
	/* Pressure accounting may be off (psi=0): then reading fails, and nothing waits. */
	if (kernel->waits_fd >= 0 && number_in(kernel->waits_fd, "total=", &wait_us) < 0)
		wait_us = 0;
	*ret_on_cpu_ns = on_cpu;
	*ret_wait_ns = wait_us * 1000;
	return 0;
}
