/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/demo/account.h"
#include "tests/demo/compare.h"
#include "tests/demo/training.h"
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

START_TEST(says_what_became_of_every_gradient)
{
	static struct demo demo;

	demo.training =
	    parse("{'method': 'synchronous', 'allocation': 'ata', 'round': 12,"
		  " 'elapsed_s': 60.04, 'worker_cpu_ns': 50000000000,"
		  " 'discarded_cpu_ns': 1200000000, 'greedy_worker_cpu_ns': 75000000000,"
		  " 'test_accuracy': 0.8125, 'counters': {'accepted': 190, 'late': 1,"
		  " 'old': 0, 'abandoned': 2, 'not_finite': 0}}");
	ck_assert_str_eq(
	    printed(&demo, NULL),
	    "Training: synchronous with ata, 12 rounds in 60.0 s\n"
	    "  worker time 50.0 s of CPU, 1.2 s of it in vain; the greedy rule would have burnt "
	    "75.0 s (1.50 times as much)\n"
	    "  193 gradients computed: 190 used, 3 discarded (1 done elsewhere meanwhile, 2 "
	    "stopped on the way)\n");
	json_t *account = account_describe(&demo);
	ck_assert_int_eq(json_integer_value(json_object_get(account, "computed")), 193);
	ck_assert_int_eq(json_integer_value(json_object_get(account, "used")), 190);
	json_t *discarded = json_object_get(account, "discarded");
	ck_assert_int_eq(json_integer_value(json_object_get(discarded, "abandoned")), 2);
	ck_assert_double_eq_tol(json_real_value(json_object_get(account, "worker_s")), 50, 1e-9);
	json_decref(account);
	json_decref(demo.training);
}
END_TEST

START_TEST(without_a_status_nothing_is_made_up)
{
	static struct demo demo;
	json_t *account = account_describe(&demo);

	ck_assert_str_eq(printed(&demo, NULL), "");
	ck_assert(json_is_null(json_object_get(account, "used")));
	ck_assert(json_is_null(json_object_get(account, "accuracy")));
	json_decref(account);
}
END_TEST

START_TEST(compares_what_reports_say)
{
	json_t *reports =
	    parse("[{'held': true, 'account': {'method': 'one', 'allocation': 'ata',"
		  " 'accuracy': 0.8, 'updates': 12, 'wall_s': 60, 'worker_s': 50,"
		  " 'discarded_worker_s': null, 'computed': 200, 'used': 190,"
		  " 'greedy_worker_s': 100}},"
		  " {'held': false, 'account': {'method': 'two', 'allocation': 'gta'}}]");
	const char *text = printed(NULL, reports);

	ck_assert_ptr_nonnull(strstr(text,
				     "one + ata                            0.8000       12 "
				     "    60.0     50.0        -       200       190     0.50\n"));
	ck_assert_ptr_nonnull(strstr(text, "two + gta "));
	ck_assert_ptr_nonnull(strstr(text, "-  something FAILED\n"));
	json_decref(reports);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("demo_training");
	TCase *tcase = tcase_create("training");

	tcase_add_test(tcase, what_the_coordinator_would_refuse_is_refused_in_its_words);
	tcase_add_test(tcase, takes_a_list_of_runs_apart);
	tcase_add_test(tcase, says_what_became_of_every_gradient);
	tcase_add_test(tcase, without_a_status_nothing_is_made_up);
	tcase_add_test(tcase, compares_what_reports_say);
	suite_add_tcase(suite, tcase);
	return suite;
}
