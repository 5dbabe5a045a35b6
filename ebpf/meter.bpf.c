// SPDX-License-Identifier: GPL-2.0-only
/*
 * On-CPU and runnable-wait time of one job, a cgroup with its descendants, and
 * on-CPU clocks for its training threads.
 *
 * Rules that keep this cheap and right:
 * - A CPU's account is changed by that CPU only, with interrupts off (the
 *   scheduler calls these hooks under the run queue's lock), hence without
 *   atomic operations.  Only a task's waiting flag is exchanged atomically,
 *   because the agent's iterator looks at tasks that are not its own.
 * - Nothing is allocated in the scheduler's hooks: before 6.4 task storage comes
 *   from kmalloc(), which may wake kswapd and so take the very lock we are under.
 *   Storage is made at fork, when a task is attached, and by the iterator; a task
 *   without one has its on-CPU time counted, but not its waiting, until then.
 * - Membership is judged from prev and next, never from "current", at each switch:
 *   tasks move, and cgroups are made and removed, as they like.
 * - Each instance of isobard has these programs in every switch of the machine:
 *   one between two strangers is let go after a look at one line of the CPU's
 *   account and one of these globals, without the clock and without storage.
 */
#include "ebpf/kernel.h"
#include "ebpf/meter.h"
#include "ebpf/note.h"
#include "ebpf/task.h"

/* Set before load. */
const volatile __u32 cpu_count = 1;

/*
 * The agent should run the iterator: some task may be on the wrong side.  Until it
 * does the hooks look at strangers, too.
 */
__u32 sync_wanted = 0;

/* Training threads have clocks, wherever they are. */
__u32 clocks_given = 0;

/* From find_job. */
__u64 found_id = 0;
__u32 found_level = 0;

/* For clock_register: in, the slot; out, how many tasks got it. */
__u32 register_clock = 0;
__u32 registered = 0;

/* One a CPU, and after them one for the iterator. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct meter_cpu);
} cpus SEC(".maps");

/* Frozen by the agent: these programs write it, nobody else. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, METER_CLOCKS_MAX);
	__type(key, __u32);
	__type(value, struct meter_clock);
} clocks SEC(".maps");

/*
 * Orders what the reader sees.  x86 does not reorder stores, so the compiler is
 * all that has to be held back; elsewhere a fetching atomic is a full barrier.
 */
static __always_inline void sequence_step(struct meter_cpu *cpu)
{
#ifdef ISO_STORES_IN_ORDER
	barrier();
	*(volatile __u64 *)&cpu->sequence = cpu->sequence + 1;
	barrier();
#else
	__sync_fetch_and_add(&cpu->sequence, 1);
#endif
}

static __always_inline struct meter_cpu *this_cpu(void)
{
	__u32 index = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &index);
}

static __always_inline void wait_begin(struct meter_cpu *cpu, __u64 now_ns)
{
	cpu->waiting += 1;
	cpu->wait_sum_ns -= (__s64)now_ns;
}

static __always_inline void wait_end(struct meter_cpu *cpu, __u64 now_ns)
{
	cpu->waiting -= 1;
	cpu->wait_sum_ns += (__s64)now_ns;
}

/* Of the job's task that has run here. */
static __always_inline void account(struct meter_cpu *cpu, __u64 stint_ns)
{
	cpu->on_cpu_ns += stint_ns;
	if (cpu->running & METER_RUNS_REALTIME)
		cpu->realtime_ns += stint_ns;
}

/*
 * prev's switch-in went unseen.  The kernel skips a program that would nest, and counts
 * that in recursion_misses; but with 6.18 seven of 9347 switches of a job went unseen
 * while that stayed 0, each from a task of another PID namespace to one of the job, and
 * why is not known.  A switch from the job to a stranger was never missed, in 190 000:
 * where it is, that stint is lost for good, as nothing tells of it.
 * The fair class notes where its stint began.  For
 * others what the task has used since it was seen bounds it, and where that is not
 * known nothing is counted: the last switch of the job's here may be hours ago.
 * If it was counted as waiting, it was so until its stint began only.
 */
static __always_inline void make_up(struct meter_cpu *cpu, struct task_struct *prev,
				    __u64 now_ns)
{
	__u64 sum_ns = prev->se.sum_exec_runtime;
	__u64 stint_ns = sum_ns - prev->se.prev_sum_exec_runtime;
	__u64 bound_ns = now_ns - cpu->switched_ns;
	struct task_note *note;

	if (prev->pid == 0 || !in_job_cached(cpu, prev))
		return;
	note = note_of(prev);
	if (stint_ns > bound_ns)
		stint_ns = bound_ns;
	if (note == NULL || note->sum_exec_ns == 0)
		stint_ns = notes_stints(prev) ? stint_ns : 0;
	else if (stint_ns > sum_ns - note->sum_exec_ns)
		stint_ns = sum_ns - note->sum_exec_ns;
	if (note != NULL)
		note->sum_exec_ns = sum_ns;
	cpu->on_cpu_ns += stint_ns;
	if (is_realtime(prev))
		cpu->realtime_ns += stint_ns;
	cpu->switches += 1;
	if (note != NULL && __sync_lock_test_and_set(&note->waiting, 0) == 1)
		wait_end(cpu, now_ns - stint_ns);
}

static __always_inline void switch_out(struct meter_cpu *cpu, struct task_struct *prev,
				       bool preempt, __u64 now_ns)
{
	__u32 tid = (__u32)prev->pid, slot = (cpu->running & METER_RUNS_CLOCK) - 1;
	struct task_note *note;
	struct meter_clock *clock;

	if (meter_moved(cpu))
		account(cpu, meter_stint_ns(cpu, now_ns));
	else if (cpu->tid != tid && cpu->switched_ns != 0)
		make_up(cpu, prev, now_ns);
	else if (cpu->running & METER_RUNS_JOB)
		account(cpu, prev->se.sum_exec_runtime - cpu->sum_exec_ns);
	/* Should its next switch-in go unseen, the thread will know. */
	if ((cpu->running & METER_RUNS_CLOCK) != 0) {
		clock = bpf_map_lookup_elem(&clocks, &slot);
		if (clock != NULL)
			clock->started_ns = 0;
	}
	/*
	 * Preempted on its way to sleep (preempt, with a state already set) it stays
	 * on the run queue, too.  Throttled tasks, as well: that is demand.
	 */
	if (!preempt && prev->__state != TASK_RUNNING) {
		/* Or else its next stint would be this one again, should it begin unseen. */
		if (!(cpu->running & METER_RUNS_JOB) || notes_stints(prev))
			return;
		note = note_of(prev);
		if (note != NULL)
			note->sum_exec_ns = prev->se.sum_exec_runtime;
		return;
	}
	if (tid == 0 || !in_job_cached(cpu, prev))
		return;
	note = note_of(prev);
	if (note == NULL) {
		sync_wanted = 1;
		return;
	}
	note->sum_exec_ns = prev->se.sum_exec_runtime;
	if (__sync_lock_test_and_set(&note->waiting, 1) == 0)
		wait_begin(cpu, now_ns);
}

static __always_inline void switch_in(struct meter_cpu *cpu, struct task_struct *next,
				      __u64 now_ns)
{
	struct task_note *note;
	struct meter_clock *clock;
	__u32 slot;

	cpu->tid = (__u32)next->pid;
	cpu->switched_ns = now_ns;
	cpu->running = 0;
	/* next is judged anew.  A word that comes later bears an older stamp. */
	if (cpu->moved_tid != 0)
		__sync_lock_test_and_set(&cpu->moved_tid, 0);
	if (next->pid == 0)
		return;
	if (in_job_cached(cpu, next)) {
		cpu->running = METER_RUNS_JOB | (is_realtime(next) ? METER_RUNS_REALTIME : 0);
		cpu->sum_exec_ns = next->se.sum_exec_runtime;
		cpu->switches += 1;
	}
	note = note_of(next);
	if (note == NULL) {
		/* In 6.1 one can be out of reach for a moment, and may say that next waits. */
		if ((cpu->running & METER_RUNS_JOB) && next->bpf_storage != NULL)
			sync_wanted = 1;
		return;
	}
	note->runs += 1;
	note->sum_exec_ns = next->se.sum_exec_runtime;
	/* Whoever was counted as waiting waits no more, also if it has left the job. */
	if (__sync_lock_test_and_set(&note->waiting, 0) == 1)
		wait_end(cpu, now_ns);
	if (note->clock_one == 0)
		return;
	slot = note->clock_one - 1;
	clock = bpf_map_lookup_elem(&clocks, &slot);
	if (clock == NULL)
		return;
	clock->accumulated_ns = next->se.sum_exec_runtime;
	clock->started_ns = now_ns;
	cpu->running |= note->clock_one;
}

/* All tasks of another instance have storage, and none there of ours. */
static __always_inline bool has_clock(struct task_struct *task)
{
	struct task_note *note = clocks_given != 0 ? note_of(task) : NULL;

	return note != NULL && note->clock_one != 0;
}

/*
 * Neither prev nor next is of the job, and nothing is to be put right for them.
 * prev was judged when it was switched in; if it has been moved since, there is a
 * word of the iterator, or there will be one.
 */
static __always_inline bool are_strangers(const struct meter_cpu *cpu, struct task_struct *prev,
					  struct task_struct *next)
{
	if (cpu->running != 0 || cpu->tid != (__u32)prev->pid)
		return false;
	if (cpu->switched_ns == 0 || *(volatile __u32 *)&cpu->moved_tid != 0)
		return false;
	/* Some note may say that next waits. */
	if (*(volatile __u32 *)&sync_wanted != 0)
		return false;
	return is_stranger(cpu, next) && !has_clock(next);
}

/* Apart, so that it is not in the way of the many switches that do not come here. */
static __noinline int of_the_job(struct meter_cpu *cpu, struct task_struct *prev, bool preempt,
				 struct task_struct *next)
{
	__u64 now_ns = bpf_ktime_get_ns();

	sequence_step(cpu);
	switch_out(cpu, prev, preempt, now_ns);
	switch_in(cpu, next, now_ns);
	sequence_step(cpu);
	return 0;
}

/*
 * One of these is in each meter: agent/meter/meter_census.c counts them by name.
 *
 * sched_switch's arguments after the third moved about in 5.18 and differ between
 * vendors: the first three are all we take.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(isobar_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct meter_cpu *cpu = this_cpu();

	if (cpu == NULL)
		return 0;
	if (!are_strangers(cpu, prev, next))
		return of_the_job(cpu, prev, preempt, next);
	cpu->tid = (__u32)next->pid;
	return 0;
}

/* Strangers that another instance has notes of are as many as all its tasks. */
static __always_inline int wakeup(struct task_struct *task)
{
	struct task_note *note;
	struct meter_cpu *cpu;

	/* sched_wakeup comes also for a task that still runs: it only set a state. */
	if (task->bpf_storage == NULL || task->on_cpu)
		return 0;
	cpu = this_cpu();
	if (cpu == NULL || !in_job_cached(cpu, task))
		return 0;
	note = note_of(task);
	if (note == NULL || __sync_lock_test_and_set(&note->waiting, 1) != 0)
		return 0;
	sequence_step(cpu);
	wait_begin(cpu, bpf_ktime_get_ns());
	sequence_step(cpu);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(isobar_wakeup, struct task_struct *task)
{
	return wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(isobar_wake_new, struct task_struct *task)
{
	return wakeup(task);
}

/* Before the child's first wakeup, and without the scheduler's locks. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(isobar_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_note *note = in_job(child) ? note_make(child) : NULL;

	/* It has used nothing, and that is known. */
	if (note != NULL)
		note->sum_exec_ns = 1;
	return 0;
}

static __always_inline __u32 cpu_of(struct task_struct *task)
{
	struct task_struct___cpu *other = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return BPF_CORE_READ(other, cpu);
}

/* Tells the CPU on which the task runs that it belongs to the job, or does so no longer. */
static __always_inline void sync_running(struct task_struct *task, bool is_in, __u64 now_ns)
{
	__u32 index = cpu_of(task);
	struct meter_cpu *cpu = bpf_map_lookup_elem(&cpus, &index);
	__u32 tid = (__u32)task->pid;

	if (cpu == NULL || index >= cpu_count)
		return;
	/* Somebody else by now; the hook has judged it, or will. */
	if (cpu->switched_ns != 0 && cpu->tid != tid)
		return;
	if (is_in == (meter_in_job(cpu) != 0))
		return;
	/* Never the new stamp with an old name, whatever the hook reads when. */
	__sync_lock_test_and_set(&cpu->moved_tid, 0);
	cpu->moved_ns = now_ns;
	cpu->moved_in = is_in;
	__sync_lock_test_and_set(&cpu->moved_tid, tid);
}

/*
 * For a whole process the event comes once, with its leader, who runs if it moved
 * itself.  The other threads, and whoever waits, are left to the iterator.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(isobar_attach, struct cgroup *to, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	bool is_in = in_job(task);
	struct task_note *note = is_in ? note_make(task) : note_of(task);

	/* In 6.1 a note can be out of reach for a moment: the task may be of the job. */
	if (!is_in && note == NULL && task->bpf_storage == NULL)
		return 0;
	/* What it has used elsewhere is not the job's. */
	if (note != NULL)
		note->sum_exec_ns = task->se.sum_exec_runtime;
	if (task->on_cpu)
		sync_running(task, is_in, bpf_ktime_get_ns());
	sync_wanted = 1;
	return 0;
}

/* As far as the hook has seen: neither does who is about to be switched in or out. */
static __always_inline bool runs_now(struct task_struct *task)
{
	__u32 index = cpu_of(task);
	struct meter_cpu *cpu = bpf_map_lookup_elem(&cpus, &index);

	return task->on_cpu && cpu != NULL && index < cpu_count && cpu->tid == (__u32)task->pid;
}

/*
 * Visits all tasks when the meter starts, when the job's cgroup is another one,
 * and when tasks were moved.  The hooks go on meanwhile: runs tells whether the
 * task was switched in between looking at it and counting it.
 *
 * Who runs or sleeps and is counted as waiting was switched in while its note was out
 * of reach.  If it is woken or switched out just now it waits, after all, and is looked
 * at again below.
 */
SEC("iter/task")
int sync_tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note;
	struct meter_cpu *own;
	__u32 index = cpu_count, runs;
	__u64 now_ns;
	bool is_in;

	if (task == NULL)
		return 0;
	own = bpf_map_lookup_elem(&cpus, &index);
	if (own == NULL)
		return 0;
	is_in = in_job(task);
	note = is_in ? note_make(task) : note_of(task);
	if (note == NULL)
		return 0;
	if (is_in && note->sum_exec_ns == 0)
		note->sum_exec_ns = task->se.sum_exec_runtime;
	runs = *(volatile __u32 *)&note->runs;
	now_ns = bpf_ktime_get_ns();
	if ((!is_in || task->on_rq == 0 || runs_now(task)) &&
	    __sync_lock_test_and_set(&note->waiting, 0) == 1)
		wait_end(own, now_ns);
	if (task->on_cpu) {
		sync_running(task, is_in, now_ns);
		return 0;
	}
	if (!is_in)
		return 0;
	if (task->__state != TASK_RUNNING || task->on_rq == 0)
		return 0;
	if (__sync_lock_test_and_set(&note->waiting, 1) == 0)
		wait_begin(own, now_ns);
	if (*(volatile __u32 *)&note->runs != runs &&
	    __sync_lock_test_and_set(&note->waiting, 0) == 1)
		wait_end(own, now_ns);
	return 0;
}

/*
 * Run for one cgroup, by descriptor (since 6.1).  The level cannot be told from
 * the path: in a cgroup namespace the root that we see lies deeper.
 */
SEC("iter/cgroup")
int find_job(struct bpf_iter__cgroup *context)
{
	struct cgroup *cgroup = context->cgroup;

	if (cgroup == NULL)
		return 0;
	found_level = (__u32)cgroup->level;
	found_id = cgroup->kn->id;
	return 0;
}

/* Run for one task: the iterator is opened with its tid (since 6.1). */
SEC("iter/task")
int clock_register(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_note *note;
	struct meter_clock *clock;
	__u32 slot = register_clock;

	if (task == NULL)
		return 0;
	note = note_make(task);
	clock = bpf_map_lookup_elem(&clocks, &slot);
	if (note == NULL || clock == NULL)
		return 0;
	/* Its next switch-in starts the clock; until then it is the kernel's. */
	clock->accumulated_ns = 0;
	clock->started_ns = 0;
	note->clock_one = slot + 1;
	clocks_given = 1;
	registered += 1;
	return 0;
}

char _license[] SEC("license") = "GPL";
