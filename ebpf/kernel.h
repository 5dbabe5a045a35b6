/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ISO_EBPF_KERNEL_H
#define ISO_EBPF_KERNEL_H

/*
 * The kernel types these programs touch, and only the fields they read.
 * CO-RE moves each access to the field's place in the running kernel, so
 * neither order nor size matter here: names and types do.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id; /* 64 bits since 5.6; st_ino of the cgroup's directory */
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* since 6.1; at [level] is the cgroup itself */
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

/* An index that depends on the kernel's configuration. */
enum cgroup_subsys_id {
	cpu_cgrp_id = 1,
	CGROUP_SUBSYS_COUNT = 16,
};

struct css_set {
	struct cgroup_subsys_state *subsys[CGROUP_SUBSYS_COUNT];
	struct cgroup *dfl_cgrp;
};

struct thread_info {
	__u32 cpu;
};

struct sched_entity {
	__u64 sum_exec_runtime;      /* what CLOCK_THREAD_CPUTIME_ID shows */
	__u64 prev_sum_exec_runtime; /* at the last switch-in, in the fair class */
};

struct bpf_local_storage;

struct task_struct {
	struct thread_info thread_info;
	int pid; /* what user space calls a tid, in the initial namespace */
	unsigned int __state; /* since 5.14 */
	unsigned int policy;
	int on_cpu;
	int on_rq;
	struct sched_entity se; /* the sums are kept here for all classes */
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage; /* NULL until some program stores something */
};

/* Architectures whose thread_info has no cpu (arm64). */
struct task_struct___cpu {
	unsigned int cpu;
};

/* Kernels with sched_ext (since 6.12). */
struct sched_ext_entity {
	__u32 flags;
};

struct task_struct___scx {
	struct sched_ext_entity scx;
};

/* Contexts of the iterators. */
struct bpf_iter_meta;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__cgroup {
	struct bpf_iter_meta *meta;
	struct cgroup *cgroup;
};

#pragma clang attribute pop

#define TASK_RUNNING 0

/* Policies are part of the system call interface. */
#define SCHED_NORMAL   0
#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_BATCH    3
#define SCHED_IDLE     5
#define SCHED_DEADLINE 6

#endif
