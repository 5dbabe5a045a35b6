/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/demo/account.h"
#include "tests/demo/checks.h"
#include "tests/demo/compare.h"
#include "tests/demo/learn.h"
#include "tests/demo/training.h"
#include "tests/demo/watch.h"
#include "tests/test.h"

/* What the demo trains, what it says of it, and how it compares runs. */

static struct error error;

START_TEST(what_the_coordinator_would_refuse_is_refused_in_its_words)
{
	struct options options = { .nodes = 4, .data = "/data", .budget_ucpu = 900000 };

	ck_assert_msg(training_check(&options, &error) == 0, "%s", error.text);
	options.training.partition = "iid";
	options.training.allocation = "gta";
	ck_assert_msg(training_check(&options, &error) == 0, "%s", error.text);
	options.training.allocation = "atta";
	ck_assert_int_eq(training_check(&options, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "'atta' is not one of "));
	options.training.allocation = "ata";
	options.training.alpha = "-1";
	ck_assert_int_eq(training_check(&options, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "dirichlet-alpha"));
}
END_TEST

START_TEST(ofta_goes_by_a_profile_that_the_demo_makes_if_none_is_named)
{
	struct training_options training = { .allocation = "ofta" };

	ck_assert_str_eq(training_profile(&training), learn_path());
	training.profile = "/own";
	ck_assert_str_eq(training_profile(&training), "/own");
	training = (struct training_options){ .allocation = "ata" };
	ck_assert_ptr_null(training_profile(&training));
}
END_TEST

static int runs_status;

static int make_profile(const struct options *options)
{
	FILE *file = fopen(options->training.profile, "we");

	/* In a process of its own: what it has done is there, what it has seen is not. */
	if (file == NULL || strcmp(options->training.allocation, "ata-pooled") != 0 ||
	    options->training.method != NULL || options->json_path != NULL)
		return 99;
	fclose(file);
	return runs_status;
}

static bool is_learnt(const struct options *options, const struct compare *compare, int status)
{
	runs_status = status;
	(void)unlink(learn_path());
	ck_assert_int_eq(learn_first(compare, options, make_profile), status);
	return access(learn_path(), F_OK) == 0;
}

START_TEST(what_ofta_goes_by_is_learnt_first_and_once)
{
	struct options options = { .nodes = 4,
				   .budget_ucpu = 900000,
				   .data = "/data",
				   .json_path = "/nowhere",
				   .training = { .method = "asgd", .allocation = "ata" } };
	static struct compare compare;

	watch_block_signals();
	ck_assert(!is_learnt(&options, &compare, 0));
	options.training.allocation = "ofta";
	ck_assert(is_learnt(&options, &compare, 0));
	/* What goes wrong ends it. */
	ck_assert(is_learnt(&options, &compare, 130));
	/* Of runs to compare, where one wants it. */
	ck_assert_int_eq(compare_parse("+ata,+gta", &options, &compare, &error), -EINVAL);
	ck_assert_int_eq(compare_parse("+ata,minibatch+ofta", &options, &compare, &error), 0);
	ck_assert(is_learnt(&options, &compare, 0));
	ck_assert_int_eq(compare_parse("+ata,minibatch+uta", &options, &compare, &error), 0);
	ck_assert(!is_learnt(&options, &compare, 0));
	learn_forget();
}
END_TEST

START_TEST(takes_a_list_of_runs_apart)
{
	struct options options = { .nodes = 4, .data = "/data", .training = { .alpha = "0.1" } };
	static struct compare compare;

	options.training.allocation = "uta";
	ck_assert_msg(compare_parse("+ata,,+gta", &options, &compare, &error) == 0, "%s",
		      error.text);
	ck_assert_uint_eq(compare.count, 3);
	ck_assert_ptr_null(compare.runs[0].method);
	ck_assert_str_eq(compare.runs[0].allocation, "ata");
	ck_assert_str_eq(compare.runs[1].allocation, "uta");
	ck_assert_str_eq(compare.runs[2].allocation, "gta");
	ck_assert_str_eq(compare.runs[2].alpha, "0.1");
	/* Nothing runs if one of them cannot. */
	ck_assert_int_eq(compare_parse("+ata,+atta", &options, &compare, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "'atta'"));
}
END_TEST

/* As a coordinator says it, with other quotes. */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_error_t at;

	for (char *quote = copy; (quote = strchr(quote, '\'')) != NULL;)
		*quote = '"';
	json_t *json = json_loads(copy, 0, &at);
	ck_assert_msg(json != NULL, "%s", at.text);
	free(copy);
	return json;
}

static const char *printed(const struct demo *demo, const json_t *reports)
{
	static char *text;
	size_t size;

	free(text);
	FILE *out = open_memstream(&text, &size);
	if (demo != NULL)
		account_print(out, demo);
	else
		compare_print(out, reports);
	fclose(out);
	return text;
}

static const char STATUS[] =
    "{'method': 'ringmaster', 'allocation': 'ata', 'round': 180, 'rounds': 12,"
    " 'elapsed_s': 60.04, 'worker_cpu_ns': 50000000000, 'discarded_cpu_ns': 1200000000,"
    " 'greedy_worker_cpu_ns': 75000000000, 'test_accuracy': 0.8125, 'tasks_per_round': 16,"
    " 'delay_limit': 8, 'discarded': {'ignored_cpu_ns': 1000000000, 'late_cpu_ns': 0,"
    " 'abandoned_cpu_ns': 200000000, 'not_finite_cpu_ns': 0},"
    " 'tasks': {'started': 200, 'used': 180, 'buffered': 0, 'ignored': 12, 'stopped': 1,"
    " 'lost': 2, 'in_flight': 5, 'delay_mean': 1.25, 'delay_max': 7},"
    " 'workers': [{'started': 150}, {'started': 50}]}";

START_TEST(says_what_became_of_every_gradient)
{
	static struct demo demo;

	demo.training = parse(STATUS);
	ck_assert_str_eq(
	    printed(&demo, NULL),
	    "Training: ringmaster with ata, 180 steps in 60.0 s\n"
	    "  worker time 50.0 s of CPU, 1.2 s in vain (1.0 s too late for a step, 0.2 s stopped "
	    "on the way); greedy rounds would have taken 75.0 s (1.50 times as much)\n"
	    "  200 gradients started: 180 used, 12 too late, 1 stopped, 2 lost with a worker, 5 "
	    "not finished\n"
	    "  delay 1.2 steps on average, 7 at most (allowed: 7)\n");
	json_t *account = account_describe(&demo);
	const json_t *gradients = json_object_get(account, "gradients");
	ck_assert_int_eq(json_integer_value(json_object_get(gradients, "started")), 200);
	ck_assert_int_eq(json_integer_value(json_object_get(gradients, "stopped")), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(account, "discarded"),
							    "abandoned_cpu_ns")),
			 200000000);
	ck_assert_double_eq_tol(json_real_value(json_object_get(account, "worker_s")), 50, 1e-9);
	ck_assert_int_eq(json_integer_value(json_object_get(account, "delay_max")), 7);
	json_decref(account);
	json_decref(demo.training);
}
END_TEST

START_TEST(without_a_status_nothing_is_made_up)
{
	static struct demo demo;
	json_t *account = account_describe(&demo);

	ck_assert_str_eq(printed(&demo, NULL), "");
	ck_assert(json_is_null(json_object_get(account, "steps")));
	ck_assert(json_is_null(json_object_get(account, "accuracy")));
	ck_assert(json_is_null(json_object_get(json_object_get(account, "gradients"), "used")));
	json_decref(account);
}
END_TEST

/* The check of this name, with one number of the status changed. */
static enum check_state judged(const char *part, const char *object, const char *key, double value)
{
	static struct demo demo;
	struct check checks[CHECKS_MAX];
	enum check_state state = 0;

	memset(&demo, 0, sizeof(demo));
	demo.training = parse(STATUS);
	if (key != NULL)
		json_object_set_new(object != NULL ? json_object_get(demo.training, object)
						   : demo.training,
				    key, json_real(value));
	unsigned count = checks_judge(&demo, checks);
	for (unsigned i = 0; i < count; i++)
		if (strstr(checks[i].name, part) != NULL)
			state = checks[i].state;
	json_decref(demo.training);
	return state;
}

START_TEST(a_gradient_without_a_fate_is_found)
{
	const char *check = "accounted for";

	ck_assert_int_eq(judged(check, NULL, NULL, 0), CHECK_HELD);
	ck_assert_int_eq(judged(check, "tasks", "ignored", 11), CHECK_FAILED);
	ck_assert_int_eq(judged(check, "tasks", "started", 201), CHECK_FAILED);
	ck_assert_int_eq(judged(check, "discarded", "late_cpu_ns", 1e6), CHECK_FAILED);
}
END_TEST

START_TEST(a_limit_that_is_broken_is_found)
{
	const char *check = "limits";

	ck_assert_int_eq(judged(check, NULL, NULL, 0), CHECK_HELD);
	ck_assert_int_eq(judged(check, "tasks", "delay_max", 8), CHECK_FAILED);
	/* 16 a round, 12 rounds and an open one, and again what was lost: 210. */
	ck_assert_int_eq(judged(check, "tasks", "started", 210), CHECK_HELD);
	ck_assert_int_eq(judged(check, "tasks", "started", 211), CHECK_FAILED);
}
END_TEST

START_TEST(compares_what_reports_say)
{
	json_t *reports = parse(
	    "[{'held': true, 'account': {'method': 'one', 'allocation': 'ata', 'accuracy': 0.8,"
	    " 'steps': 12, 'worker_s': 50, 'discarded_worker_s': null, 'greedy_worker_s': 100,"
	    " 'delay_max': 3, 'gradients': {'started': 200, 'used': 190}}},"
	    " {'held': false, 'account': {'method': 'two', 'allocation': 'none'}}]");
	const char *text = printed(NULL, reports);

	ck_assert_ptr_nonnull(strstr(text, "\none + ata                          0.8000     12 "
					   "    50.0       -   0.50     200     190     3\n"
					   "two                                     -"));
	ck_assert_ptr_nonnull(strstr(text, "-  something FAILED\n"));
	json_decref(reports);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("demo_training");
	TCase *tcase = tcase_create("training");

	tcase_add_test(tcase, what_the_coordinator_would_refuse_is_refused_in_its_words);
	tcase_add_test(tcase, ofta_goes_by_a_profile_that_the_demo_makes_if_none_is_named);
	tcase_add_test(tcase, what_ofta_goes_by_is_learnt_first_and_once);
	tcase_add_test(tcase, takes_a_list_of_runs_apart);
	tcase_add_test(tcase, says_what_became_of_every_gradient);
	tcase_add_test(tcase, without_a_status_nothing_is_made_up);
	tcase_add_test(tcase, a_gradient_without_a_fate_is_found);
	tcase_add_test(tcase, a_limit_that_is_broken_is_found);
	tcase_add_test(tcase, compares_what_reports_say);
	suite_add_tcase(suite, tcase);
	return suite;
}
