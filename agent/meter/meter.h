/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_METER_H
#define ISO_METER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"

/*
 * What one job (a cgroup and its descendants) really used, and what it would
 * have used: on-CPU time and runnable-wait time.  The eBPF programs of
 * ebpf/meter.bpf.c count at each context switch; a reading looks at memory they
 * share and costs no system call.  Where they cannot be loaded the kernel's own
 * accounting takes over: then meter_degraded() says what is missing, there are
 * no training clocks, and the wait is a lower bound.
 *
 * On-CPU time is the scheduler's own sum_exec_runtime, taken at each switch, plus
 * the running stint by our clock.  Against CLOCK_PROCESS_CPUTIME_ID of the same
 * threads the gap was below 0.01 % over 3 s: two busy threads with and without a
 * quota, and two that switched 170 000 times a second.  It is the time between
 * the two readings, and in the running stint interrupts and steal time, which the
 * scheduler takes off at its next tick; nothing adds up over switches.
 */
struct meter;

enum meter_hierarchy {
	METER_V1 = 1, /* the cpu controller's own hierarchy */
	METER_V2,
};

enum meter_choice {
	METER_AUTO,        /* eBPF, or else the kernel's accounting */
	METER_EBPF_ONLY,
	METER_KERNEL_ONLY,
};

enum meter_source {
	METER_SOURCE_EBPF = 1,
	METER_SOURCE_CPU_STAT, /* v2: usage_usec of cpu.stat, waiting from cpu.pressure */
	METER_SOURCE_CPUACCT,  /* v1: cpuacct.usage, no waiting */
};

struct meter_options {
	int cgroup_fd; /* the job's directory in the hierarchy of the cpu controller; borrowed
			  for the call */
	enum meter_hierarchy hierarchy;
	int usage_fd;  /* v1: the job's directory in the cpuacct hierarchy if that is another
			  one, else -1; borrowed for the call */
	enum meter_choice choice;
};

struct meter_reading {
	uint64_t at_ns;     /* CLOCK_MONOTONIC */
	uint64_t epoch;     /* differs between two meters: never subtract across epochs */
	uint64_t on_cpu_ns; /* since the meter was opened, the running stints included */
	uint64_t realtime_ns; /* part of on_cpu_ns: under a policy that no quota holds;
				 0 where the source does not know */
	uint64_t wait_ns;   /* runnable and not running, throttled included; sum over threads */
	uint64_t switches;  /* 0 where the source does not know */
};

/*
 * Opens the meter of a job.  Returns 0, or -errno when there is nothing to
 * measure with at all (-ENODATA) or the choice cannot be had; *reterr then says
 * which source failed why.  METER_AUTO falls back and returns 0.
 */
int meter_open(const struct meter_options *options, struct meter **ret_meter,
	       struct error *reterr);

/* Accepts NULL; always returns NULL. */
struct meter *meter_close(struct meter *meter);

enum meter_source meter_source(const struct meter *meter);
const char *meter_source_name(enum meter_source source);

/* NULL, or what is missing for the eBPF source, for status and log; owned by the meter. */
const char *meter_degraded(const struct meter *meter);

/*
 * Reads all counters.  They never go back within one epoch.  The difference of
 * two readings, divided by the difference of at_ns, is the use in CPUs
 * (on_cpu_ns) and the demand in CPUs (on_cpu_ns + wait_ns).
 * Returns 0 or -errno; the eBPF source cannot fail.
 */
int meter_read(struct meter *meter, struct meter_reading *ret_reading, struct error *reterr);

/*
 * The job's cgroup was removed and made again: go on with the new one, as for
 * meter_open().  The counters go on, too.  On failure the meter stays with the old one.
 */
int meter_set_cgroup(struct meter *meter, int cgroup_fd, int usage_fd, struct error *reterr);

/*
 * Gives the thread tid of process pid (both as seen by this process) an on-CPU
 * clock: the slot to hand to cpuclock_init().  -ENOTSUP without eBPF, -ESRCH if
 * there is no such thread, -ENOSPC if all METER_CLOCKS_MAX are taken.
 */
int meter_register_thread(struct meter *meter, pid_t pid, pid_t tid, uint32_t *ret_slot,
			  struct error *reterr);

/* Process pid is gone: its slots are free again.  Call it after the process was reaped. */
void meter_release_process(struct meter *meter, pid_t pid);

/*
 * The descriptor of the map of clocks, for the worker; owned by the meter.  An
 * unprivileged process can map it to read; nobody can write it, for it is frozen.
 * -ENOTSUP without eBPF.
 */
int meter_clock_fd(const struct meter *meter);

/*
 * The kernel's own account against ours, both since the meter was opened.
 * gap = ours - kernel's.  The kernel's stops at its last update of the running
 * tasks (at most a tick ago); ours holds steal time and interrupts of the running
 * stints, until they end.
 * -ENODATA where the kernel keeps none for this cgroup.
 */
struct meter_check {
	uint64_t ours_ns;
	uint64_t kernel_ns;
	int64_t gap_ns;
};
int meter_check(struct meter *meter, struct meter_check *ret_check, struct error *reterr);

/* The kernel's account alone; -ENODATA as above. */
int meter_kernel_ns(struct meter *meter, uint64_t *ret_kernel_ns);

/* 0 if the eBPF source would work here, or -errno and *reterr names what is missing. */
int meter_supported(struct error *reterr);

#endif
