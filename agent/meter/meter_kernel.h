/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METER_KERNEL_H
#define ISO_METER_KERNEL_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/meter/meter.h"

/*
 * The kernel's own account of a cgroup: the fall-back source of agent/meter/meter.c,
 * and what the eBPF source is checked against.
 */
struct meter_kernel {
	int usage_fd;  /* cpu.stat, or cpuacct.usage; -1: none */
	int waits_fd;  /* cpu.pressure; -1: none */
	enum meter_source source;
};

/*
 * directory_fd is borrowed.  Returns 0, or -ENODATA if the kernel keeps no
 * account here; then both descriptors are -1 and may be closed all the same.
 */
int meter_kernel_open(int directory_fd, enum meter_hierarchy hierarchy,
		      struct meter_kernel *ret_kernel, struct error *reterr);
void meter_kernel_close(struct meter_kernel *kernel);

/*
 * Time used and time waited since the cgroup was made.  The wait is that of
 * "some" in cpu.pressure, the time in which at least one thread waited, and so
 * a lower bound of the sum over threads; 0 where there is no pressure file.
 */
int meter_kernel_read(const struct meter_kernel *kernel, uint64_t *ret_on_cpu_ns,
		      uint64_t *ret_wait_ns, struct error *reterr);

#endif
