/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ISO_NOTE_H
#define ISO_NOTE_H

/*
 * What the meter's programs remember of a task, in its storage.  Nothing is allocated
 * in the scheduler's hooks: see meter.bpf.c, which is the one file that includes this.
 */
#include "ebpf/kernel.h"

/* Times that a task could get no storage: its waiting is not counted.  The agent tells. */
__u64 storage_failures = 0;

struct task_note {
	__u32 waiting;   /* 1: is counted as waiting; changed by exchange only */
	__u32 runs;      /* times switched in, but for some when it was a stranger */
	__u32 clock_one; /* 1 + slot of its training clock; 0: none */
	__u32 padding;
	__u64 sum_exec_ns; /* its sum_exec_runtime when it was last seen, in the job; 0: unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_note);
} notes SEC(".maps");

static __always_inline struct task_note *note_of(struct task_struct *task)
{
	/* Spares the call for the tasks of everybody else. */
	if (task->bpf_storage == NULL)
		return NULL;
	return bpf_task_storage_get(&notes, task, NULL, 0);
}

static __always_inline struct task_note *note_make(struct task_struct *task)
{
	struct task_note *note;

	note = bpf_task_storage_get(&notes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (note == NULL)
		__sync_fetch_and_add(&storage_failures, 1);
	return note;
}

#endif
