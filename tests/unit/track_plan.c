/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define TWO "name = n\nnode a { }\nnode b { }\n"

static struct plan plan, poisoned;
static struct error error;

static void parses(const char *text)
{
	ck_assert_msg(plan_parse("p.conf", text, &plan, &error) == 0, "%s", error.text);
}

static void fails(const char *text, const char *expected)
{
	memset(&plan, 0x5a, sizeof(plan));
	memset(&poisoned, 0x5a, sizeof(poisoned));
	ck_assert_int_eq(plan_parse("p.conf", text, &plan, &error), -EINVAL);
	ck_assert_str_eq(error.text, expected);
	ck_assert_mem_eq(&plan, &poisoned, sizeof(plan));
}

START_TEST(fills_in_what_the_file_leaves_out)
{
	parses(TWO);
	ck_assert_str_eq(plan.name, "n");
	ck_assert_uint_eq(plan.nodes_count, 2);
	ck_assert_int_eq(plan.nodes[1].size, 1);
	ck_assert_str_eq(plan_model_text(&plan), "softmax");
	ck_assert_str_eq(plan_quantiser_text(&plan), "innovation");
	ck_assert_int_eq(plan.batch, 0);
	ck_assert_double_eq(plan.alpha, 0);
	ck_assert_uint_eq(plan.evaluate_every_ns, 5000000000u);
}
END_TEST

START_TEST(takes_values_from_the_file)
{
	parses("name = x node c { size = 25 } node a { } model = svm-smooth l2 = 0\n"
	       "partition = dirichlet dirichlet-alpha = 0.1 seed = 9 samples = 100 batch = 32\n"
	       "quantiser = log rho = 0.5 bits = 4 adaptive = yes step = 0.25 alpha = 3\n"
	       "rounds = 7 wait = 100ms drop = 1s evaluate-every = off save-every = off\n");
	ck_assert_int_eq(plan_find(&plan, "c"), 0);
	ck_assert_int_eq(plan_find(&plan, "a"), 1);
	ck_assert_int_eq(plan_find(&plan, "b"), -ENOENT);
	ck_assert_int_eq(plan.nodes[0].size, 25);
	ck_assert_str_eq(plan_model_text(&plan), "svm-smooth");
	ck_assert_str_eq(plan_quantiser_text(&plan), "log");
	ck_assert_int_eq(plan.samples, 100);
	ck_assert(plan.adaptive);
	ck_assert_int_eq(plan.rounds, 7);
	ck_assert_uint_eq(plan.wait_ns, 100000000u);
	ck_assert_uint_eq(plan.evaluate_every_ns, 0);
	ck_assert_uint_eq(plan.save_every_ns, 0);
}
END_TEST

START_TEST(says_where_and_what_is_wrong)
{
	fails("name = n\n", "p.conf: no node: expected a section node NAME { } for each, two at "
			    "least");
	fails("name = n\nnode a { }\n",
	      "p.conf: line 2: one node alone: expected a section node NAME { } for each, two at "
	      "least");
	fails("name = n\nnode a { }\nnode a { }\n",
	      "p.conf: line 3: section 'a' occurs twice");
	fails(TWO "wait = 6s drop = 5s\n", "p.conf: line 4: drop: shorter than wait");
	fails(TWO "wait = 40s\n", "p.conf: line 4: drop: shorter than wait");
	fails(TWO "overlap = 0.5 partition = dirichlet\n",
	      "p.conf: line 4: overlap goes with partition iid only");
	fails(TWO "node c { size = 2 }\noverlap = 0.5\n",
	      "p.conf: line 4: node c: with overlap all parts are of one size");
	fails(TWO "overlap = 0.25\n",
	      "p.conf: line 4: overlap: of 2 nodes each has one part in 2 at least");
	fails(TWO "samples = 1\n", "p.conf: line 4: samples: fewer than nodes, 2");
	fails(TWO "quantiser = median\n",
	      "p.conf: line 4: quantiser: 'median' is not one of none, single, uniform, log, "
	      "innovation");
}
END_TEST

/* Each of these texts means another training. */
START_TEST(the_digest_tells_plans_apart_that_do_not_go_together)
{
	static const char *const texts[] = {
		TWO,
		TWO "model = logistic\n",
		"name = n\nnode b { }\nnode a { }\n",
		"name = n\nnode a { }\nnode b { size = 2 }\n",
		TWO "node c { }\n",
		"name = m\nnode a { }\nnode b { }\n",
		TWO "hidden = 3\n",
		TWO "l2 = 0.5\n",
		TWO "partition = dirichlet\n",
		TWO "dirichlet-alpha = 0.25\n",
		TWO "overlap = 0.75\n",
		TWO "seed = 2\n",
		TWO "samples = 60\n",
		TWO "batch = 60\n",
		TWO "quantiser = none\n",
		TWO "rho = 0.5\n",
		TWO "bits = 9\n",
		TWO "uniform-step = 0.5\n",
		TWO "adaptive = yes\n",
		TWO "step = 0.5\n",
		TWO "alpha = 0.5\n",
		TWO "rounds = 5\n",
	};
	uint64_t digests[sizeof(texts) / sizeof(texts[0])];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		parses(texts[i]);
		digests[i] = plan_digest(&plan, 1);
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(digests[j] != digests[i], "%s and %s", texts[j], texts[i]);
		ck_assert_uint_ne(plan_digest(&plan, 2), digests[i]);
	}
	parses(TWO "wait = 1s drop = 3s save-every = off evaluate-every = 1s # and a comment\n");
	ck_assert_uint_eq(plan_digest(&plan, 1), digests[0]);
}
END_TEST

START_TEST(the_sample_shows_every_option_at_its_default)
{
	const struct confutil_schema *schema = plan_schema();
	const char *srcdir = getenv("top_srcdir");
	char path[300], *text;

	snprintf(path, sizeof(path), "%s/etc/plan.conf", srcdir != NULL ? srcdir : ".");
	ck_assert_msg(confutil_read_file(path, &text, &error) == 0, "%s", error.text);
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		bool is_required = (option->flags & CONFUTIL_REQUIRED) != 0;
		char line[400];

		snprintf(line, sizeof(line), "\n%s%s%s = %s%s", is_required ? "" : "#",
			 option->section[0] != '\0' ? "\t" : "", option->name,
			 option->initial != NULL ? option->initial : "",
			 option->initial != NULL ? "\n" : "");
		ck_assert_msg(strstr(text, line) != NULL, "%s: no line '%s'", path, line + 1);
	}
	free(text);
	ck_assert_msg(plan_load(path, &plan, &error) == 0, "%s", error.text);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("track_plan");
	TCase *tcase = tcase_create("file");

	tcase_add_test(tcase, fills_in_what_the_file_leaves_out);
	tcase_add_test(tcase, takes_values_from_the_file);
	tcase_add_test(tcase, says_where_and_what_is_wrong);
	tcase_add_test(tcase, the_digest_tells_plans_apart_that_do_not_go_together);
	tcase_add_test(tcase, the_sample_shows_every_option_at_its_default);
	suite_add_tcase(suite, tcase);
	return suite;
}
