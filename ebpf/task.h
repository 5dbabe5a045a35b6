/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ISO_TASK_H
#define ISO_TASK_H

/*
 * What a task is to the meter: of the job or a stranger, and of which class.  For
 * meter.bpf.c alone, which has these globals in its one object.
 */
#include "ebpf/kernel.h"
#include "ebpf/meter.h"

/* Set before load.  Constants: the verifier removes the branches not taken. */
const volatile bool hierarchy_v1 = false;

/* The job's cgroup.  It changes when that is made anew; id 0: none. */
__u64 job_id = 0;
__u32 job_level = 0;

static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	if (hierarchy_v1)
		return task->cgroups
			->subsys[bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id)]
			->cgroup;
	return task->cgroups->dfl_cgrp;
}

/*
 * The ancestor at the job's level decides.  A variable index into a kernel
 * structure needs a helper; a constant one would not do either, as the verifier
 * finds no field in the padding that some kernels have where ancestors[] begins.
 */
static __always_inline bool has_ancestor(struct cgroup *cgroup, __u32 level, __u64 id)
{
	struct cgroup *ancestor = NULL;
	const void *place = (const void *)cgroup +
			    bpf_core_field_offset(struct cgroup, ancestors) +
			    (__u64)level * sizeof(ancestor);

	if (bpf_probe_read_kernel(&ancestor, sizeof(ancestor), place) != 0)
		return false;
	return BPF_CORE_READ(ancestor, kn, id) == id;
}

/* For the rare hooks, which may be interrupted. */
static __always_inline bool in_job(struct task_struct *task)
{
	struct cgroup *cgroup = cgroup_of(task);

	if (cgroup->level < (int)job_level)
		return false;
	return cgroup->kn->id == job_id || has_ancestor(cgroup, job_level, job_id);
}

/* Ids of neighbours in a hierarchy differ by about the number of a cgroup's files. */
static __always_inline __u32 seen_place(__u64 id)
{
	return ((__u32)id * 0x9e3779b1u) >> (32 - METER_SEEN_BITS);
}

/*
 * For the hooks at each switch.  Cgroups never change their parents and their ids
 * are not used again, so what was found for an id holds as long as the job does.
 * The job may become another cgroup meanwhile: what was found with the level of the one
 * and the id of the other is not kept, and the iterator that follows puts it right.
 */
static __always_inline bool in_job_cached(struct meter_cpu *cpu, struct task_struct *task)
{
	struct cgroup *cgroup = cgroup_of(task);
	__u64 id = cgroup->kn->id, job = *(volatile __u64 *)&job_id;
	__u32 i = seen_place(id), level = *(volatile __u32 *)&job_level;
	bool is_in;

	if (id == job)
		return true;
	if (cgroup->level <= (int)level)
		return false;
	if (cpu->seen_job == job && cpu->seen_id[i] == id)
		return (cpu->seen_in >> i) & 1;
	is_in = has_ancestor(cgroup, level, job);
	if (*(volatile __u64 *)&job_id != job || *(volatile __u32 *)&job_level != level)
		return is_in;
	if (cpu->seen_job != job) {
		for (int k = 0; k < METER_SEEN; k++)
			cpu->seen_id[k] = 0;
		cpu->seen_job = job;
	}
	cpu->seen_id[i] = id;
	cpu->seen_in = (cpu->seen_in & ~(1u << i)) | ((__u32)is_in << i);
	return is_in;
}

/* False also where it takes more than a look to know. */
static __always_inline bool is_stranger(const struct meter_cpu *cpu, struct task_struct *task)
{
	struct cgroup *cgroup = cgroup_of(task);
	__u64 id = cgroup->kn->id, job = *(volatile __u64 *)&job_id;
	__u32 i = seen_place(id);

	if (id == job)
		return false;
	if (cgroup->level <= (int)job_level)
		return true;
	return cpu->seen_job == job && cpu->seen_id[i] == id && !((cpu->seen_in >> i) & 1);
}

/* One that was lent a priority for a moment is still held by the quota. */
static __always_inline bool is_realtime(const struct task_struct *task)
{
	return task->policy == SCHED_FIFO || task->policy == SCHED_RR ||
	       task->policy == SCHED_DEADLINE;
}

/* Only the fair class notes where a stint began; sched_ext may have any ordinary task. */
static __always_inline bool notes_stints(struct task_struct *task)
{
	struct task_struct___scx *other = (void *)task;

	return !bpf_core_field_exists(other->scx) &&
	       (task->policy == SCHED_NORMAL || task->policy == SCHED_BATCH ||
		task->policy == SCHED_IDLE);
}

#endif
