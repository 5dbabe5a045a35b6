/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METER_EBPF_H
#define ISO_METER_EBPF_H

#include "agent/base/error.h"
#include "agent/meter/meter.h"

/*
 * The eBPF source of agent/meter/meter.c, and nobody else's business: owns the loaded
 * programs and their maps.  Built --without-ebpf, opening it fails with
 * -ENOTSUP, and the rest is never called.
 */
struct meter_ebpf;

/* Loads, attaches and counts the tasks that are there.  cgroup_fd is borrowed for the call. */
int meter_ebpf_open(int cgroup_fd, enum meter_hierarchy hierarchy, struct meter_ebpf **ret_ebpf,
		    struct error *reterr);
struct meter_ebpf *meter_ebpf_close(struct meter_ebpf *ebpf);

/* Fills all but epoch. */
void meter_ebpf_read(struct meter_ebpf *ebpf, struct meter_reading *ret_reading);

/* On failure the old one is measured on. */
int meter_ebpf_set_cgroup(struct meter_ebpf *ebpf, int cgroup_fd, struct error *reterr);

/* Ties the clock of this slot to the thread; 0, -ESRCH or another -errno. */
int meter_ebpf_register(struct meter_ebpf *ebpf, pid_t pid, pid_t tid, uint32_t slot,
			struct error *reterr);

/* Owned by ebpf. */
int meter_ebpf_clock_fd(const struct meter_ebpf *ebpf);

#endif
