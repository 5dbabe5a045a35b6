/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels that no test machine has, by the files and the BTF that they would show. */
#include "config.h"

#include "agent/meter/meter_missing.h"

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "tests/fs/tree.h"
#include "tests/test.h"

static struct btf *btf;
static int context, preempt, task, other;

static void make_types(void)
{
	btf = btf__new_empty();
	ck_assert_ptr_nonnull(btf);
	context = btf__add_ptr(btf, 0);
	preempt = btf__add_int(btf, "bool", 1, BTF_INT_BOOL);
	task = btf__add_ptr(btf, btf__add_struct(btf, "task_struct", 8));
	other = btf__add_ptr(btf, btf__add_struct(btf, "task_structure", 8));
	ck_assert_int_gt(other, 0);
}

static void free_types(void)
{
	btf__free(btf);
}

/* The hook's prototype, as the kernel names it: a typedef of a pointer to a function. */
static void add_hook(const int *arguments, size_t count)
{
	int function = btf__add_func_proto(btf, 0);

	ck_assert_int_gt(function, 0);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(btf__add_func_param(btf, "", arguments[i]), 0);
	ck_assert_int_gt(
	    btf__add_typedef(btf, "btf_trace_sched_switch", btf__add_ptr(btf, function)), 0);
}

static void assert_fine(const int *arguments, size_t count)
{
	struct error error = { 0 };

	add_hook(arguments, count);
	ck_assert_msg(meter_missing_arguments(btf, &error) == 0, "%s", error.text);
}

static void assert_refused(const int *arguments, size_t count)
{
	struct error error = { 0 };

	add_hook(arguments, count);
	ck_assert_int_eq(meter_missing_arguments(btf, &error), -ENOTSUP);
	ck_assert_str_eq(error.text,
			 "kernel passes sched_switch other arguments than preempt, prev, next");
}

/* Before 5.18, and since. */
START_TEST(prev_and_next_behind_preempt_are_fine)
{
	const int old[] = { context, preempt, task, task };

	assert_fine(old, 4);
}
END_TEST

START_TEST(the_state_of_prev_behind_them_is_fine)
{
	const int new[] = { context, preempt, task, task, preempt };

	assert_fine(new, 5);
}
END_TEST

/* For a while in the 5.18 cycle, and in whatever a vendor took from there. */
START_TEST(the_state_of_prev_before_them_is_refused)
{
	const int odd[] = { context, preempt, preempt, task, task };

	assert_refused(odd, 5);
}
END_TEST

START_TEST(fewer_arguments_are_refused)
{
	const int few[] = { context, preempt, task };

	assert_refused(few, 3);
}
END_TEST

START_TEST(tasks_by_another_name_are_refused)
{
	const int others[] = { context, preempt, task, other };

	assert_refused(others, 4);
}
END_TEST

START_TEST(a_kernel_without_the_tracepoint_is_refused)
{
	struct error error = { 0 };

	ck_assert_int_eq(meter_missing_arguments(btf, &error), -ENOTSUP);
	ck_assert_str_eq(error.text, "kernel has no tracepoint sched_switch");
	ck_assert_int_gt(btf__add_typedef(btf, "btf_trace_sched_switch", task), 0);
	ck_assert_int_eq(meter_missing_arguments(btf, &error), -ENOTSUP);
}
END_TEST

START_TEST(only_the_stricter_lockdown_stands_in_the_way)
{
	static const char *const file = "/sys/kernel/security/lockdown";
	const char *root = tree_start();

	ck_assert(!meter_missing_lockdown(root));
	tree_file(file, "[none] integrity confidentiality\n");
	ck_assert(!meter_missing_lockdown(root));
	tree_file(file, "none [integrity] confidentiality\n");
	ck_assert(!meter_missing_lockdown(root));
	tree_file(file, "none integrity [confidentiality]\n");
	ck_assert(meter_missing_lockdown(root));
	tree_file(file, "");
	ck_assert(!meter_missing_lockdown(root));
	tree_end();
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("meter-missing");
	TCase *tcase = tcase_create("missing");

	tcase_add_checked_fixture(tcase, make_types, free_types);
	tcase_add_test(tcase, prev_and_next_behind_preempt_are_fine);
	tcase_add_test(tcase, the_state_of_prev_behind_them_is_fine);
	tcase_add_test(tcase, the_state_of_prev_before_them_is_refused);
	tcase_add_test(tcase, fewer_arguments_are_refused);
	tcase_add_test(tcase, tasks_by_another_name_are_refused);
	tcase_add_test(tcase, a_kernel_without_the_tracepoint_is_refused);
	tcase_add_test(tcase, only_the_stricter_lockdown_stands_in_the_way);
	suite_add_tcase(suite, tcase);
	return suite;
}
