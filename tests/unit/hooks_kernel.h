/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_HOOKS_KERNEL_H
#define ISO_TESTS_HOOKS_KERNEL_H

/*
 * Stands in for ebpf/kernel.h, so that ebpf/meter.bpf.c runs as an ordinary program
 * over tasks and cgroups that a test makes up, one switch at a time: what happens
 * once in a million switches, or on another kernel, happens when the test says so.
 */
#define ISO_EBPF_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* What the kernel says and does. */
struct fake_kernel {
	__u64 now_ns;
	bool has_sched_ext;
	bool notes_unreachable; /* what is stored of a task cannot be looked up */
	bool no_memory;		/* nothing can be stored */
	void (*at_probe)(void); /* called once, while memory of the kernel is copied */
};
extern struct fake_kernel fake;

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[4];
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

enum cgroup_subsys_id {
	cpu_cgrp_id,
	CGROUP_SUBSYS_COUNT,
};

struct css_set {
	struct cgroup_subsys_state *subsys[CGROUP_SUBSYS_COUNT];
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct {
		__u32 cpu;
	} thread_info;
	int pid;
	unsigned int __state, policy;
	int on_cpu, on_rq;
	struct {
		__u64 sum_exec_runtime, prev_sum_exec_runtime;
	} se;
	struct css_set *cgroups;
	void *bpf_storage; /* not NULL: some program has stored something */
	bool has_note;	   /* ours has */
	__u64 note[8];	   /* its struct task_note */
};

struct task_struct___cpu {
	unsigned int cpu;
};

struct task_struct___scx {
	int scx;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct bpf_iter__cgroup {
	struct cgroup *cgroup;
};

/* As the kernel's own. */
#define TASK_RUNNING   0
#define SCHED_NORMAL   0
#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_BATCH    3
#define SCHED_IDLE     5
#define SCHED_DEADLINE 6

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

int fake_probe_read(void *into, __u32 bytes, const void *from);
void *fake_lookup(const void *map, const void *key);
void *fake_storage_get(struct task_struct *task, __u64 flags);

/* What libbpf and clang offer such programs. */
#define SEC(name)
#define __uint(name, value) int name
#define __type(name, value) value *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline		       __attribute__((noinline))
#define barrier()		       __asm__ volatile("" ::: "memory")
#define BPF_PROG(name, ...)	       name(__VA_ARGS__)
#define FAKE_READ2(a, b)	       ((a)->b)
#define FAKE_READ3(a, b, c)	       ((a)->b->c)
#define FAKE_THIRD(a, b, c, name, ...) name
#define FAKE_READ(...)		       FAKE_THIRD(__VA_ARGS__, FAKE_READ3, FAKE_READ2, )
#define BPF_CORE_READ(...)	       FAKE_READ(__VA_ARGS__)(__VA_ARGS__)

#define bpf_core_field_offset(type, field) offsetof(type, field)
#define bpf_core_enum_value(type, value)   (value)
/* Of the two that are asked for, thread_info.cpu is there. */
#define bpf_core_field_exists(field) \
	(_Generic(&(field), int * : fake.has_sched_ext, default : sizeof(field) != 0))

#define bpf_probe_read_kernel			      fake_probe_read
#define bpf_map_lookup_elem			      fake_lookup
#define bpf_task_storage_get(map, task, value, flags) fake_storage_get(task, flags)
#define bpf_ktime_get_ns()			      (fake.now_ns)
#define bpf_get_smp_processor_id()		      0u

/* The hooks. */
int isobar_switch(bool preempt, struct task_struct *prev, struct task_struct *next);
int isobar_wakeup(struct task_struct *task);
int isobar_wake_new(struct task_struct *task);
int isobar_fork(struct task_struct *parent, struct task_struct *child);
int isobar_attach(struct cgroup *to, const char *path, struct task_struct *task, bool threadgroup);
int sync_tasks(struct bpf_iter__task *context);
int find_job(struct bpf_iter__cgroup *context);
int clock_register(struct bpf_iter__task *context);

#endif
