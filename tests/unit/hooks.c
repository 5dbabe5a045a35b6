/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The meter's eBPF programs, one switch at a time: switches that went unseen, notes
 * that are out of reach, other instances' tasks.  tests/bpf has them in the kernel.
 */
#include <string.h>

#include "tests/unit/hooks_kernel.h"

/* What their compiler allows: the hooks take what the kernel gives, used or not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "ebpf/meter.bpf.c"
#pragma GCC diagnostic pop

#include "tests/test.h"

struct fake_kernel fake;
static struct meter_cpu accounts[2]; /* the CPU's and the iterator's */
static struct meter_clock clock_slots[METER_CLOCKS_MAX];

int fake_probe_read(void *into, __u32 bytes, const void *from)
{
	void (*at_probe)(void) = fake.at_probe;

	fake.at_probe = NULL;
	if (at_probe != NULL)
		at_probe();
	memcpy(into, from, bytes);
	return 0;
}

void *fake_lookup(const void *map, const void *key)
{
	__u32 index = *(const __u32 *)key;

	if (map == &cpus)
		return index < 2 ? &accounts[index] : NULL;
	ck_assert_ptr_eq(map, &clocks);
	return index < METER_CLOCKS_MAX ? &clock_slots[index] : NULL;
}

void *fake_storage_get(struct task_struct *task, __u64 flags)
{
	_Static_assert(sizeof(struct task_note) <= sizeof(task->note), "room for the note");

	if (fake.notes_unreachable)
		return NULL;
	if (!task->has_note) {
		if (flags != BPF_LOCAL_STORAGE_GET_F_CREATE || fake.no_memory)
			return NULL;
		task->has_note = true;
		task->bpf_storage = task;
	}
	return task->note;
}

/* The job is "job" with what is below it; "other" is beside it, and as deep as "below". */
static struct kernfs_node root_node = { .id = 1 }, job_node = { .id = 10 },
			  below_node = { .id = 20 }, other_node = { .id = 31 };
static struct cgroup root = { .kn = &root_node, .ancestors = { &root } };
static struct cgroup job = { .level = 1, .kn = &job_node, .ancestors = { &root, &job } };
static struct cgroup below = { .level = 2,
			       .kn = &below_node,
			       .ancestors = { &root, &job, &below } };
static struct cgroup other = { .level = 2,
			       .kn = &other_node,
			       .ancestors = { &root, &root, &other } };
static struct css_set in_root = { .dfl_cgrp = &root }, in_the_job = { .dfl_cgrp = &job },
		      in_below = { .dfl_cgrp = &below }, in_other = { .dfl_cgrp = &other };

/* As found by the meter, with idle on the CPU. */
static struct task_struct idle;

static void begin(void)
{
	memset(accounts, 0, sizeof(accounts));
	memset(clock_slots, 0, sizeof(clock_slots));
	memset(&fake, 0, sizeof(fake));
	fake.now_ns = 1000000;
	idle = (struct task_struct){ .cgroups = &in_root, .on_cpu = 1 };
	sync_wanted = clocks_given = 0;
	storage_failures = 0;
	job_id = job_node.id;
	job_level = 1;
}

static struct task_struct task(int pid, struct css_set *cgroups, unsigned policy)
{
	/* As the iterator leaves a task that has used something before. */
	return (struct task_struct){
		.pid = pid, .cgroups = cgroups, .policy = policy, .on_rq = 1, .se = { 5000, 5000 }
	};
}

static struct task_struct *visited(struct task_struct *task)
{
	struct bpf_iter__task context = { .task = task };

	ck_assert_int_eq(sync_tasks(&context), 0);
	return task;
}

/* Time passes; the task on the CPU uses it. */
static void pass(struct task_struct *on_cpu, __u64 ns)
{
	fake.now_ns += ns;
	on_cpu->se.sum_exec_runtime += ns;
}

/* The scheduler's part of a switch. */
static void change(struct task_struct *prev, struct task_struct *next)
{
	/* Only the fair class does so. */
	if (next->policy == SCHED_NORMAL)
		next->se.prev_sum_exec_runtime = next->se.sum_exec_runtime;
	prev->on_cpu = 0;
	next->on_cpu = 1;
}

static void switched(struct task_struct *prev, struct task_struct *next)
{
	ck_assert_int_eq(isobar_switch(prev->__state == TASK_RUNNING, prev, next), 0);
	change(prev, next);
}

static void falls_asleep(struct task_struct *prev, struct task_struct *next)
{
	prev->__state = 1;
	prev->on_rq = 0;
	switched(prev, next);
}

static void woken(struct task_struct *task)
{
	task->__state = TASK_RUNNING;
	task->on_rq = 1;
	ck_assert_int_eq(isobar_wakeup(task), 0);
}

/* The account, as a reader sees it now. */
static __u64 on_cpu_ns(void)
{
	return accounts[0].on_cpu_ns + meter_stint_ns(&accounts[0], fake.now_ns);
}

static __s64 waiting(void)
{
	return accounts[0].waiting + accounts[1].waiting;
}

static __u64 wait_ns(void)
{
	return (__u64)(accounts[0].wait_sum_ns + accounts[1].wait_sum_ns) +
	       (__u64)waiting() * fake.now_ns;
}

START_TEST(counts_stints_and_waits_of_the_job_and_of_what_is_below_it)
{
	struct task_struct a = task(1, &in_the_job, SCHED_NORMAL);
	struct task_struct b = task(2, &in_below, SCHED_NORMAL);
	struct task_struct stranger = task(3, &in_other, SCHED_NORMAL);

	b.__state = 1;
	b.on_rq = 0;
	visited(&a);
	visited(&b);
	ck_assert_int_eq(waiting(), 1);
	pass(&idle, 100);
	switched(&idle, &a);
	pass(&a, 30);
	ck_assert_uint_eq(on_cpu_ns(), 30);
	woken(&b);
	pass(&a, 10);
	switched(&a, &b);
	pass(&b, 5);
	falls_asleep(&b, &stranger);
	pass(&stranger, 1000);
	ck_assert_uint_eq(on_cpu_ns(), 45);
	ck_assert_int_eq(waiting(), 1);
	ck_assert_uint_eq(wait_ns(), 100 + 10 + 5 + 1000);
	switched(&stranger, &a);
	falls_asleep(&a, &idle);
	ck_assert_int_eq(waiting(), 0);
	ck_assert_uint_eq(on_cpu_ns(), 45);
	ck_assert_uint_eq(accounts[0].switches, 3);
	ck_assert_uint_eq(accounts[0].sequence % 2, 0);
}
END_TEST

enum known { NOT_AT_ALL, NO_SUM, VISITED };

/* The last switch of the job's on this CPU may be hours ago. */
START_TEST(an_unseen_stint_counts_only_where_something_bounds_it)
{
	static const struct {
		unsigned policy;
		enum known known;
		bool has_sched_ext;
		__u64 on_cpu_ns, realtime_ns;
	} cases[] = {
		{ SCHED_NORMAL, NOT_AT_ALL, false, 70, 0 },
		{ SCHED_NORMAL, NOT_AT_ALL, true, 0, 0 },
		{ SCHED_NORMAL, VISITED, false, 70, 0 },
		{ SCHED_NORMAL, VISITED, true, 70, 0 },
		{ SCHED_FIFO, NOT_AT_ALL, false, 0, 0 },
		{ SCHED_FIFO, NO_SUM, false, 0, 0 },
		{ SCHED_FIFO, VISITED, false, 70, 70 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct task_struct a, stranger = task(3, &in_other, SCHED_NORMAL);
		struct bpf_iter__task context = { .task = &a };

		begin();
		fake.has_sched_ext = cases[i].has_sched_ext;
		a = task(1, &in_the_job, cases[i].policy);
		/* With a sum of which no stint tells a part. */
		a.se.prev_sum_exec_runtime = 0;
		if (cases[i].known == VISITED)
			visited(&a);
		switched(&idle, &stranger);
		if (cases[i].known == NO_SUM)
			ck_assert_int_eq(clock_register(&context), 0);
		pass(&stranger, 1000000);
		change(&stranger, &a);
		pass(&a, 70);
		falls_asleep(&a, &idle);
		ck_assert_msg(on_cpu_ns() == cases[i].on_cpu_ns, "case %zu: %llu", i,
			      (unsigned long long)on_cpu_ns());
		ck_assert_uint_eq(accounts[0].realtime_ns, cases[i].realtime_ns);
		ck_assert_int_eq(waiting(), 0);
		ck_assert_uint_eq(wait_ns(), cases[i].known == VISITED ? 1000000 : 0);
	}
}
END_TEST

START_TEST(what_a_child_of_the_job_uses_is_known_from_its_start)
{
	struct task_struct parent = task(1, &in_the_job, SCHED_FIFO);
	struct task_struct stranger = task(3, &in_other, SCHED_NORMAL);
	struct task_struct child = task(2, &in_the_job, SCHED_FIFO);

	child.se.sum_exec_runtime = child.se.prev_sum_exec_runtime = 0;
	ck_assert_int_eq(isobar_fork(&parent, &child), 0);
	switched(&idle, &stranger);
	ck_assert_int_eq(isobar_wake_new(&child), 0);
	ck_assert_int_eq(waiting(), 1);
	pass(&stranger, 500);
	change(&stranger, &child);
	pass(&child, 70);
	falls_asleep(&child, &idle);
	ck_assert_uint_eq(on_cpu_ns(), 69);
	ck_assert_int_eq(waiting(), 0);
	/* A stranger's child gets nothing. */
	stranger.bpf_storage = NULL;
	ck_assert_int_eq(isobar_fork(&parent, &stranger), 0);
	ck_assert_ptr_null(stranger.bpf_storage);
}
END_TEST

START_TEST(another_instances_tasks_are_strangers_where_clocks_are_given_too)
{
	struct task_struct theirs = task(3, &in_other, SCHED_NORMAL);
	struct task_struct ours = task(4, &in_other, SCHED_NORMAL);
	struct task_struct unknown = task(5, &in_other, SCHED_NORMAL);
	struct bpf_iter__task context = { .task = &ours };
	__u64 sequence;

	register_clock = 7;
	ck_assert_int_eq(clock_register(&context), 0);
	ck_assert_uint_eq(clocks_given, 1);
	theirs.bpf_storage = &theirs;
	/* Judged once, and then known. */
	switched(&idle, &unknown);
	sequence = accounts[0].sequence;
	switched(&unknown, &theirs);
	ck_assert_uint_eq(accounts[0].sequence, sequence);
	ck_assert_uint_eq(accounts[0].tid, 3);
	/* Our thread has a clock, wherever it is. */
	switched(&theirs, &ours);
	ck_assert_uint_eq(accounts[0].sequence, sequence + 2);
	ck_assert_uint_eq(clock_slots[7].started_ns, fake.now_ns);
	ck_assert_uint_eq(clock_slots[7].accumulated_ns, ours.se.sum_exec_runtime);
	ck_assert_uint_eq(on_cpu_ns(), 0);
	switched(&ours, &unknown);
	ck_assert_uint_eq(clock_slots[7].started_ns, 0);
}
END_TEST

/* In 6.1 task storage cannot be looked up while the same CPU is in it. */
START_TEST(who_leaves_is_looked_at_though_its_note_is_out_of_reach)
{
	struct task_struct a = task(1, &in_the_job, SCHED_NORMAL);

	visited(&a);
	switched(&idle, &a);
	pass(&a, 40);
	sync_wanted = 0;
	fake.notes_unreachable = true;
	a.cgroups = &in_other;
	ck_assert_int_eq(isobar_attach(&other, "/other", &a, false), 0);
	ck_assert_uint_eq(sync_wanted, 1);
	pass(&a, 1000);
	ck_assert_uint_eq(on_cpu_ns(), 40);
}
END_TEST

/* Or else a sleeper would be demand until it is woken. */
START_TEST(who_runs_while_its_note_is_out_of_reach_waits_no_more)
{
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		struct task_struct a, stranger = task(3, &in_other, SCHED_NORMAL);
		__u64 waited_ns;

		begin();
		a = task(1, &in_the_job, SCHED_NORMAL);
		visited(&a);
		ck_assert_int_eq(waiting(), 1);
		pass(&idle, 100);
		fake.notes_unreachable = true;
		switched(&idle, &a);
		fake.notes_unreachable = false;
		ck_assert_uint_eq(sync_wanted, 1);
		pass(&a, 40);
		if (sleeps)
			falls_asleep(&a, &stranger);
		visited(&a);
		ck_assert_int_eq(waiting(), 0);
		waited_ns = wait_ns();
		pass(sleeps ? &stranger : &a, 1000);
		ck_assert_uint_eq(wait_ns(), waited_ns);
		ck_assert_uint_eq(on_cpu_ns(), sleeps ? 40 : 1040);
		/* It waits when it does. */
		if (sleeps)
			woken(&a);
		else
			switched(&a, &stranger);
		visited(&a);
		ck_assert_int_eq(waiting(), 1);
		pass(&stranger, 10);
		ck_assert_uint_eq(wait_ns(), waited_ns + 10);
	}
}
END_TEST

/* No visit is asked for by those who are in nobody's job. */
START_TEST(a_stranger_whose_note_is_out_of_reach_is_none_of_ours)
{
	struct task_struct a = task(3, &in_other, SCHED_NORMAL);

	a.bpf_storage = &a;
	fake.notes_unreachable = true;
	switched(&idle, &a);
	ck_assert_uint_eq(sync_wanted, 0);
}
END_TEST

START_TEST(a_move_of_strangers_is_none_of_ours)
{
	struct task_struct a = task(3, &in_other, SCHED_NORMAL);

	a.on_cpu = 1;
	ck_assert_int_eq(isobar_attach(&other, "/other", &a, false), 0);
	ck_assert_uint_eq(sync_wanted, 0);
}
END_TEST

/* All idle tasks have one number, and a sum that has nothing to do with the job's. */
START_TEST(an_unseen_switch_to_the_idle_task_is_no_stint_of_the_jobs_task)
{
	struct task_struct a = task(1, &in_the_job, SCHED_NORMAL);
	struct task_struct b = task(2, &in_other, SCHED_NORMAL);

	visited(&a);
	idle.se.sum_exec_runtime = 900000;
	switched(&idle, &a);
	pass(&a, 40);
	a.__state = 1;
	a.on_rq = 0;
	change(&a, &idle);
	pass(&idle, 500);
	switched(&idle, &b);
	pass(&b, 10);
	/* What a has used is lost: nobody was there to see it go. */
	ck_assert_uint_eq(on_cpu_ns(), 0);
	ck_assert_int_eq(waiting(), 0);
}
END_TEST

START_TEST(the_idle_task_is_not_of_the_job_where_that_is_the_root)
{
	struct task_struct a = task(1, &in_the_job, SCHED_NORMAL);

	job_id = root_node.id;
	job_level = 0;
	visited(&a);
	switched(&idle, &a);
	pass(&a, 40);
	falls_asleep(&a, &idle);
	pass(&idle, 500);
	woken(&a);
	switched(&idle, &a);
	pass(&a, 3);
	a.__state = 1;
	a.on_rq = 0;
	change(&a, &idle);
	pass(&idle, 500);
	woken(&a);
	switched(&idle, &a);
	ck_assert_uint_eq(on_cpu_ns(), 40);
}
END_TEST

START_TEST(the_stint_before_an_unseen_one_is_not_counted_twice)
{
	static const unsigned policies[] = { SCHED_NORMAL, SCHED_RR };

	for (int i = 0; i < 2; i++) {
		struct task_struct a, stranger = task(3, &in_other, SCHED_NORMAL);

		begin();
		a = task(1, &in_the_job, policies[i]);
		visited(&a);
		switched(&idle, &a);
		pass(&a, 40);
		falls_asleep(&a, &stranger);
		for (int unseen = 0; unseen < 2; unseen++) {
			pass(&stranger, 500);
			woken(&a);
			change(&stranger, &a);
			pass(&a, 3);
			falls_asleep(&a, &stranger);
		}
		ck_assert_uint_eq(on_cpu_ns(), 46);
		ck_assert_uint_eq(accounts[0].realtime_ns, i == 1 ? 46 : 0);
		ck_assert_int_eq(waiting(), 0);
		ck_assert_uint_eq(wait_ns(), 0);
	}
}
END_TEST

START_TEST(a_child_that_gets_no_note_is_counted_as_such_and_noted_later)
{
	struct task_struct parent = task(1, &in_the_job, SCHED_NORMAL);
	struct task_struct child = task(2, &in_the_job, SCHED_NORMAL);

	fake.no_memory = true;
	ck_assert_int_eq(isobar_fork(&parent, &child), 0);
	ck_assert_uint_eq(storage_failures, 1);
	ck_assert_int_eq(isobar_wake_new(&child), 0);
	ck_assert_int_eq(waiting(), 0);
	switched(&idle, &child);
	pass(&child, 7);
	ck_assert_uint_eq(on_cpu_ns(), 7);
	switched(&child, &idle);
	ck_assert_uint_eq(sync_wanted, 1);
	fake.no_memory = false;
	visited(&child);
	ck_assert_int_eq(waiting(), 1);
	ck_assert_uint_eq(storage_failures, 1);
}
END_TEST

static void job_moves_below(void)
{
	job_id = 0;
	job_level = 2;
	job_id = below_node.id;
}

START_TEST(a_job_that_becomes_another_cgroup_while_a_task_is_judged_is_known)
{
	struct kernfs_node node = { .id = 40 };
	struct cgroup leaf = { .level = 3,
			       .kn = &node,
			       .ancestors = { &root, &job, &below, &leaf } };
	struct css_set in_leaf = { .dfl_cgrp = &leaf };
	struct task_struct a = task(1, &in_leaf, SCHED_NORMAL);

	fake.at_probe = job_moves_below;
	switched(&idle, &a);
	pass(&a, 5);
	falls_asleep(&a, &idle);
	ck_assert_ptr_null(fake.at_probe);
	/* As after it, at each switch. */
	a.__state = TASK_RUNNING;
	a.on_rq = 1;
	switched(&idle, &a);
	pass(&a, 7);
	ck_assert_uint_ge(on_cpu_ns(), 7);
	falls_asleep(&a, &idle);
	ck_assert_uint_eq(accounts[0].seen_job, below_node.id);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("hooks");
	TCase *tcase = tcase_create("hooks");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, counts_stints_and_waits_of_the_job_and_of_what_is_below_it);
	tcase_add_test(tcase, an_unseen_stint_counts_only_where_something_bounds_it);
	tcase_add_test(tcase, what_a_child_of_the_job_uses_is_known_from_its_start);
	tcase_add_test(tcase, another_instances_tasks_are_strangers_where_clocks_are_given_too);
	tcase_add_test(tcase, who_leaves_is_looked_at_though_its_note_is_out_of_reach);
	tcase_add_test(tcase, who_runs_while_its_note_is_out_of_reach_waits_no_more);
	tcase_add_test(tcase, a_stranger_whose_note_is_out_of_reach_is_none_of_ours);
	tcase_add_test(tcase, a_move_of_strangers_is_none_of_ours);
	tcase_add_test(tcase, an_unseen_switch_to_the_idle_task_is_no_stint_of_the_jobs_task);
	tcase_add_test(tcase, the_idle_task_is_not_of_the_job_where_that_is_the_root);
	tcase_add_test(tcase, the_stint_before_an_unseen_one_is_not_counted_twice);
	tcase_add_test(tcase, a_child_that_gets_no_note_is_counted_as_such_and_noted_later);
	tcase_add_test(tcase, a_job_that_becomes_another_cgroup_while_a_task_is_judged_is_known);
	suite_add_tcase(suite, tcase);
	return suite;
}
