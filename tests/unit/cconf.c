/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sgd/method.h"
#include "tests/test.h"

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define REQUIRED                                                                                   \
	"run = r\n"                                                                                \
	"listen = tcp://127.0.0.1:7500\n"                                                          \
	"secret-key = /k\n"                                                                        \
	"worker a { public-key = '" KEY_A "' }\n"

static struct cconf conf, poisoned;
static struct error error;

static void parses(const char *text)
{
	ck_assert_msg(cconf_parse("x.conf", text, &conf, &error) == 0, "%s", error.text);
}

static void fails(const char *text, const char *expected)
{
	memset(&conf, 0x5a, sizeof(conf));
	memset(&poisoned, 0x5a, sizeof(poisoned));
	ck_assert_int_eq(cconf_parse("x.conf", text, &conf, &error), -EINVAL);
	ck_assert_str_eq(error.text, expected);
	ck_assert_mem_eq(&conf, &poisoned, sizeof(conf));
}

START_TEST(fills_in_what_the_file_leaves_out)
{
	parses(REQUIRED);
	ck_assert_str_eq(conf.state_directory, ISO_STATEDIR "/coordinator/r");
	ck_assert_str_eq(conf.run_directory, ISO_RUNDIR "/coordinator/r");
	ck_assert_int_eq(conf.training.tasks_per_round, 16);
	ck_assert_int_eq(conf.training.partition, CCONF_PARTITION_IID);
	ck_assert_uint_eq(conf.training.stop_after_ns, 0);
	ck_assert_int_eq(conf.allocation.strategy, CCONF_STRATEGY_ATA);
	ck_assert_int_eq(conf.training.method + 1, ISO_METHOD_MINIBATCH);
	ck_assert(!conf.training.has_learning_rate);
	ck_assert_uint_eq(conf.allocation.alpha_ns, 500000);
	ck_assert_int_eq(conf.allocation.options.width, ALLOCATION_WIDTH_2);
	ck_assert(conf.allocation.options.share_normalised);
	ck_assert_uint_eq(conf.workers_count, 1);
	ck_assert_str_eq(conf.workers[0].name, "a");
	ck_assert_str_eq(conf.workers[0].public_key, KEY_A);
}
END_TEST

START_TEST(takes_values_from_the_file)
{
	parses(REQUIRED "worker b { public-key = '" KEY_B "' }\n"
			"state-directory = /s\n"
			"training { stop-after = 2min partition = dirichlet }\n"
			"allocation { strategy = gta width = 4e share-normalised = no }\n");
	ck_assert_str_eq(conf.state_directory, "/s");
	ck_assert_uint_eq(conf.training.stop_after_ns, 120000000000u);
	ck_assert_int_eq(conf.training.partition, CCONF_PARTITION_DIRICHLET);
	ck_assert_int_eq(conf.allocation.strategy, CCONF_STRATEGY_GTA);
	ck_assert_int_eq(conf.allocation.options.width, ALLOCATION_WIDTH_4E);
	ck_assert(!conf.allocation.options.share_normalised);
	ck_assert_str_eq(conf.workers[1].name, "b");
	parses(REQUIRED "worker b { public-key = '" KEY_B "' }\n"
			"training { partition = overlap overlap = 0.5 }\n");
	ck_assert_int_eq(conf.training.partition, CCONF_PARTITION_OVERLAP);
	ck_assert_double_eq(conf.training.overlap, 0.5);
}
END_TEST

START_TEST(says_where_and_what_is_wrong)
{
	fails("run = r\nlisten = tcp://127.0.0.1:7500\nsecret-key = /k\n",
	      "x.conf: no worker: expected worker NAME { public-key = ... }");
	fails("run = r\nlisten = tcp://localhost:7500\nsecret-key = /k\n"
	      "worker a { public-key = '" KEY_A "' }\n",
	      "x.conf: line 2: listen: 'tcp://localhost:7500': the address must be numeric");
	fails(REQUIRED "worker b { public-key = '" KEY_A "' }\n",
	      "x.conf: line 5: worker b has the key of worker a");
	fails(REQUIRED "training { partition = overlap\noverlap = 0.9 }\n",
	      "x.conf: line 6: training: 1 workers with an overlap of 0.9 each do not have all "
	      "samples");
	fails(REQUIRED "lease { first = 1s\nleast = 2s }\n",
	      "x.conf: line 6: lease: least is longer than first");
}
END_TEST

START_TEST(auto_is_an_allocation_where_the_method_needs_one)
{
	static const struct {
		const char *method;
		enum cconf_strategy strategy;
	} expected[] = {
		{ "minibatch", CCONF_STRATEGY_ATA },  { "sgd-ata", CCONF_STRATEGY_ATA },
		{ "rennala", CCONF_STRATEGY_NONE },   { "ringmaster", CCONF_STRATEGY_NONE },
		{ "ringleader", CCONF_STRATEGY_NONE }, { "ia2sgd", CCONF_STRATEGY_NONE },
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		char text[600];

		snprintf(text, sizeof(text), "%straining { method = %s }\n", REQUIRED,
			 expected[i].method);
		parses(text);
		ck_assert_int_eq(conf.allocation.strategy, expected[i].strategy);
		ck_assert_str_eq(iso_method_text((enum iso_method_kind)(conf.training.method + 1)),
				 expected[i].method);
	}
}
END_TEST

START_TEST(what_does_not_go_together_is_refused_by_name)
{
	fails(REQUIRED "training { method = malenia }\nallocation {\nstrategy = uta }\n",
	      "x.conf: line 7: allocation: strategy uta: method malenia allocates nothing, since "
	      "all workers compute all the time; only none is possible");
	fails(REQUIRED "training { method = sgd-ata }\nallocation { strategy = none }\n",
	      "x.conf: line 6: allocation: strategy none: method sgd-ata computes what is "
	      "allocated");
	fails(REQUIRED "training { method = ringmaster }\nallocation { strategy = gta }\n",
	      "x.conf: line 6: allocation: strategy gta goes with method minibatch only, not with "
	      "ringmaster");
	fails(REQUIRED "allocation { strategy = ofta }\n",
	      "x.conf: line 5: allocation: strategy ofta needs the profile of an earlier run");
	fails(REQUIRED "training { method = asgd\ndelay-max = 3 }\n",
	      "x.conf: line 6: training: delay-max is for method ringmaster, not asgd");
	fails(REQUIRED "training { model = user }\n",
	      "x.conf: line 5: training: model user needs a task");
	fails(REQUIRED "training { samples-per-task = 4096 samples-spread = 0.5 }\n",
	      "x.conf: line 5: training: with samples-spread a task can have 6144 samples, at "
	      "most 4096");
	fails(REQUIRED "theory { smoothness = 1 }\n",
	      "x.conf: line 5: theory: smoothness needs a target");
	fails(REQUIRED "theory { gap = 1 }\n", "x.conf: line 5: theory: gap needs a smoothness");
	fails(REQUIRED "training { method = ia2sgd }\ntheory { smoothness = 1 target = 1 }\n",
	      "x.conf: line 6: theory: there is none for method ia2sgd: its learning-rate is set "
	      "by hand");
	fails(REQUIRED "allocation { calibrate-tasks = 3 }\n",
	      "x.conf: line 5: allocation: calibrate-tasks is 0 or from 4 on");
	fails(REQUIRED "allocation { drift = 1 }\n",
	      "x.conf: line 5: allocation: drift is 0 or from 4 on");
	/* Rennala is greedy by itself, and a cap goes with what is asynchronous. */
	parses(REQUIRED "training { method = rennala }\nallocation { strategy = gta }\n");
	parses(REQUIRED "training { method = ringmaster }\nallocation { strategy = ata }\n");
}
END_TEST

START_TEST(an_option_without_effect_is_found)
{
	parses(REQUIRED "allocation { strategy = uta\nalpha = 1ms }\n");
	ck_assert_str_eq(conf.allocation.idle, "alpha");
	ck_assert_int_eq(conf.allocation.idle_line, 6);
	parses(REQUIRED "allocation { strategy = ata-pooled explore-tasks = 2\n"
			"calibrate-tasks = 8 }\n");
	ck_assert_str_eq(conf.allocation.idle, "calibrate-tasks");
	ck_assert_int_eq(conf.allocation.idle_line, 6);
	parses(REQUIRED "training { method = asgd }\nallocation { drift = 24 }\n");
	ck_assert_str_eq(conf.allocation.idle, "drift");
	parses(REQUIRED "allocation { strategy = gta every-rounds = 5 }\n");
	ck_assert_str_eq(conf.allocation.idle, "every-rounds");
	parses(REQUIRED "allocation { strategy = uta every-rounds = 5 }\n");
	ck_assert_ptr_null(conf.allocation.idle);
	parses(REQUIRED "allocation { alpha = 1ms drift = 24 calibrate-tasks = 8 }\n");
	ck_assert_ptr_null(conf.allocation.idle);
	parses(REQUIRED "allocation { strategy = ata-empirical eta = 2 width = 4e }\n");
	ck_assert_ptr_null(conf.allocation.idle);
}
END_TEST

static char *read_sample(char path[300])
{
	const char *srcdir = getenv("top_srcdir");
	char *text;

	snprintf(path, 300, "%s/etc/isobar-coordinator.conf", srcdir != NULL ? srcdir : ".");
	ck_assert_msg(confutil_read_file(path, &text, &error) == 0, "%s", error.text);
	return text;
}

START_TEST(the_sample_shows_every_option_at_its_default)
{
	const struct confutil_schema *schema = cconf_schema();
	char path[300], *text = read_sample(path);

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
	ck_assert_msg(cconf_load(path, &conf, &error) == 0, "%s", error.text);
}
END_TEST

START_TEST(the_sample_is_valid_when_everything_in_it_is_switched_on)
{
	char path[300], *text = read_sample(path);

	for (char *p = text; (p = strstr(p, "\n#")) != NULL; p++)
		if (p[2] != ' ' && p[2] != '\n')
			p[1] = ' ';
	parses(text);
	ck_assert_uint_eq(conf.workers_count, 2);
	free(text);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cconf");
	TCase *tcase = tcase_create("file");

	tcase_add_test(tcase, fills_in_what_the_file_leaves_out);
	tcase_add_test(tcase, takes_values_from_the_file);
	tcase_add_test(tcase, says_where_and_what_is_wrong);
	tcase_add_test(tcase, auto_is_an_allocation_where_the_method_needs_one);
	tcase_add_test(tcase, what_does_not_go_together_is_refused_by_name);
	tcase_add_test(tcase, an_option_without_effect_is_found);
	tcase_add_test(tcase, the_sample_shows_every_option_at_its_default);
	tcase_add_test(tcase, the_sample_is_valid_when_everything_in_it_is_switched_on);
	suite_add_tcase(suite, tcase);
	return suite;
}
