/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/meter/meter_ebpf.h"
#include "agent/meter/meter_kernel.h"
#include "agent/meter/meter_missing.h"
#include "ebpf/meter.h"

/* The kernel's, of one group. */
struct account {
	struct meter_kernel kernel;
	uint64_t base_ns, wait_base_ns; /* when it was opened */
};

struct meter {
	struct meter_ebpf *ebpf;    /* NULL: the kernel's account is the source */
	struct account account;	    /* the source, or what ours is checked against */
	uint64_t kernel_past_ns;    /* of groups before meter_set_cgroup() */
	uint64_t wait_past_ns;
	struct meter_reading last;
	enum meter_hierarchy hierarchy;
	struct error missing; /* why not eBPF; code 0: it is */
	pid_t slot_pids[METER_CLOCKS_MAX]; /* 0: free */
	uint32_t slot_next;
};

/* Where it fails there is nothing to close, but that may be closed all the same. */
static int open_account(enum meter_hierarchy hierarchy, int cgroup_fd, int usage_fd,
			struct account *ret_account, struct error *reterr)
{
	int r;

	r = meter_kernel_open(usage_fd >= 0 ? usage_fd : cgroup_fd, hierarchy,
			      &ret_account->kernel, reterr);
	if (r < 0)
		return r;
	r = meter_kernel_read(&ret_account->kernel, &ret_account->base_ns,
			      &ret_account->wait_base_ns, reterr);
	if (r < 0)
		meter_kernel_close(&ret_account->kernel);
	return r;
}

int meter_open(const struct meter_options *options, struct meter **ret_meter,
	       struct error *reterr)
{
	struct meter *meter = calloc(1, sizeof(*meter));
	struct error no_kernel = { 0 };
	int r = -ENOTSUP, k;

	if (meter == NULL)
		return error_errno(reterr, -ENOMEM, "meter");
	meter->hierarchy = options->hierarchy;
	/* It may be closed before there is one. */
	meter->account.kernel.usage_fd = -1;
	meter->account.kernel.waits_fd = -1;
	if (options->choice == METER_KERNEL_ONLY)
		error_set(&meter->missing, -ENOTSUP, "eBPF is switched off");
	else
		r = meter_ebpf_open(options->cgroup_fd, options->hierarchy, &meter->ebpf,
				    &meter->missing);
	if (r < 0 && options->choice == METER_EBPF_ONLY) {
		error_set(reterr, r, "%s", meter->missing.text);
		meter_close(meter);
		return r;
	}
	k = open_account(meter->hierarchy, options->cgroup_fd, options->usage_fd, &meter->account,
			 &no_kernel);
	if (r < 0 && k < 0) {
		error_set(reterr, -ENODATA, "nothing to measure the job with: %.240s; %.200s",
			  meter->missing.text, no_kernel.text);
		meter_close(meter);
		return -ENODATA;
	}
	/* The clock never shows the same time to two meters of one process. */
	meter->last.epoch = clock_now_ns();
	*ret_meter = meter;
	return 0;
}

struct meter *meter_close(struct meter *meter)
{
	if (meter == NULL)
		return NULL;
	meter_ebpf_close(meter->ebpf);
	meter_kernel_close(&meter->account.kernel);
	free(meter);
	return NULL;
}

enum meter_source meter_source(const struct meter *meter)
{
	return meter->ebpf != NULL ? METER_SOURCE_EBPF : meter->account.kernel.source;
}

const char *meter_source_name(enum meter_source source)
{
	switch (source) {
	case METER_SOURCE_EBPF: return "ebpf";
	case METER_SOURCE_CPU_STAT: return "cpu.stat";
	case METER_SOURCE_CPUACCT: return "cpuacct";
	}
	return "none";
}

const char *meter_degraded(const struct meter *meter)
{
	return meter->ebpf != NULL ? NULL : meter->missing.text;
}

static uint64_t never_back(uint64_t before, uint64_t now)
{
	return now > before ? now : before;
}

static int read_kernel(const struct meter *meter, uint64_t *ret_on_cpu_ns, uint64_t *ret_wait_ns,
		       struct error *reterr)
{
	uint64_t on_cpu_ns, wait_ns;
	int r;

	r = meter_kernel_read(&meter->account.kernel, &on_cpu_ns, &wait_ns, reterr);
	if (r < 0)
		return r;
	*ret_on_cpu_ns = meter->kernel_past_ns + (on_cpu_ns - meter->account.base_ns);
	*ret_wait_ns = meter->wait_past_ns + (wait_ns - meter->account.wait_base_ns);
	return 0;
}

int meter_read(struct meter *meter, struct meter_reading *ret_reading, struct error *reterr)
{
	struct meter_reading now = { 0 };
	int r;

	if (meter->ebpf != NULL) {
		meter_ebpf_read(meter->ebpf, &now);
	} else {
		now.at_ns = clock_now_ns();
		r = read_kernel(meter, &now.on_cpu_ns, &now.wait_ns, reterr);
		if (r < 0)
			return r;
	}
	now.epoch = meter->last.epoch;
	/*
	 * The CPUs are read one after the other, so that a switch in between may
	 * move a reading by as long as it took.
	 */
	now.on_cpu_ns = never_back(meter->last.on_cpu_ns, now.on_cpu_ns);
	now.realtime_ns = never_back(meter->last.realtime_ns, now.realtime_ns);
	now.wait_ns = never_back(meter->last.wait_ns, now.wait_ns);
	now.switches = never_back(meter->last.switches, now.switches);
	meter->last = now;
	*ret_reading = now;
	return 0;
}

int meter_set_cgroup(struct meter *meter, int cgroup_fd, int usage_fd, struct error *reterr)
{
	uint64_t past_ns, wait_past_ns;
	struct account account = { 0 };
	int r;

	/* Both accounts go on from where they are; the old group's may be gone by now. */
	if (read_kernel(meter, &past_ns, &wait_past_ns, NULL) < 0) {
		past_ns = meter->last.on_cpu_ns;
		wait_past_ns = meter->last.wait_ns;
	}
	r = open_account(meter->hierarchy, cgroup_fd, usage_fd, &account, reterr);
	if (meter->ebpf != NULL)
		r = meter_ebpf_set_cgroup(meter->ebpf, cgroup_fd, reterr);
	if (r < 0) {
		meter_kernel_close(&account.kernel);
		return r;
	}
	meter_kernel_close(&meter->account.kernel);
	meter->account = account;
	meter->kernel_past_ns = past_ns;
	meter->wait_past_ns = wait_past_ns;
	return 0;
}

int meter_register_thread(struct meter *meter, pid_t pid, pid_t tid, uint32_t *ret_slot,
			  struct error *reterr)
{
	uint32_t slot;
	int r;

	if (meter->ebpf == NULL)
		return error_set(reterr, -ENOTSUP, "no on-CPU clocks: %s", meter->missing.text);
	/*
	 * A dead thread's last switch may come a moment after its process was
	 * reaped: going round, a slot is used again as late as possible.
	 */
	for (uint32_t i = 0; i < METER_CLOCKS_MAX; i++) {
		slot = (meter->slot_next + i) % METER_CLOCKS_MAX;
		if (meter->slot_pids[slot] != 0)
			continue;
		r = meter_ebpf_register(meter->ebpf, pid, tid, slot, reterr);
		if (r < 0)
			return r;
		meter->slot_pids[slot] = pid;
		meter->slot_next = slot + 1;
		*ret_slot = slot;
		return 0;
	}
	return error_set(reterr, -ENOSPC, "all %d on-CPU clocks are taken", METER_CLOCKS_MAX);
}

void meter_release_process(struct meter *meter, pid_t pid)
{
	assert(pid != 0);
	for (uint32_t i = 0; i < METER_CLOCKS_MAX; i++)
		if (meter->slot_pids[i] == pid)
			meter->slot_pids[i] = 0;
}

int meter_clock_fd(const struct meter *meter)
{
	return meter->ebpf != NULL ? meter_ebpf_clock_fd(meter->ebpf) : -ENOTSUP;
}

int meter_kernel_ns(struct meter *meter, uint64_t *ret_kernel_ns)
{
	uint64_t wait_ns;

	return read_kernel(meter, ret_kernel_ns, &wait_ns, NULL);
}

int meter_check(struct meter *meter, struct meter_check *ret_check, struct error *reterr)
{
	struct meter_reading reading;
	struct meter_check check;
	uint64_t wait_ns;
	int r;

	r = read_kernel(meter, &check.kernel_ns, &wait_ns, reterr);
	if (r < 0)
		return r;
	r = meter_read(meter, &reading, reterr);
	if (r < 0)
		return r;
	check.ours_ns = reading.on_cpu_ns;
	check.gap_ns = (int64_t)(check.ours_ns - check.kernel_ns);
	*ret_check = check;
	return 0;
}

int meter_supported(struct error *reterr)
{
	return meter_missing(reterr);
}
