/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/conf.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

#define REQUIRED "cluster = lab\nnode = a\nbudget = 1.5cpu\nendowment = 0.5cpu\ncgroup = /job/a\n"
#define KEY_B	 "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_C	 "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static struct conf conf;
static struct error error;

static void parses(const char *text)
{
	int r = conf_parse("x.conf", text, &conf, &error);

	ck_assert_msg(r == 0, "%s", error.text);
}

static void fails(const char *text, const char *expected)
{
	static struct conf poisoned;

	memset(&conf, 0x5a, sizeof(conf));
	memset(&poisoned, 0x5a, sizeof(poisoned));
	ck_assert_int_eq(conf_parse("x.conf", text, &conf, &error), -EINVAL);
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(error.code, -EINVAL);
	ck_assert_mem_eq(&conf, &poisoned, sizeof(conf));
}

START_TEST(fills_in_what_the_file_leaves_out)
{
	parses(REQUIRED);
	ck_assert_str_eq(conf.cluster, "lab");
	ck_assert_str_eq(conf.node, "a");
	ck_assert_uint_eq(conf.budget_ucpu, 1500000);
	ck_assert_uint_eq(conf.endowment_ucpu, 500000);
	ck_assert_int_eq(conf.config_epoch, 1);
	ck_assert_str_eq(conf.cgroup, "/job/a");
	ck_assert(!conf.create_cgroup);
	ck_assert(!conf.dry_run);
	ck_assert_uint_eq(conf.period_ns, 100000000);
	ck_assert_uint_eq(conf.floor_ucpu, 10000);
	ck_assert_uint_eq(conf.ceiling_ucpu, 1500000);
	ck_assert_int_eq(conf.on_exit, CONF_ON_EXIT_KEEP);
	ck_assert_int_eq(conf.meter, CONF_METER_AUTO);
	ck_assert_int_eq(conf.log_level, CONF_LOG_INFO);
	ck_assert_int_eq(conf.cost.kind, CONF_COST_QUADRATIC);
	ck_assert_double_eq(conf.cost.kappa, 1.0);
	ck_assert_int_eq(conf.cost.penalty, CONF_PENALTY_SOFTPLUS);
	ck_assert_uint_eq(conf.trading.tick_ns, 1000000000);
	ck_assert_double_eq(conf.trading.rho, 0.25);
	ck_assert_int_eq(conf.trading.quantiser, CONF_QUANTISER_DIFFERENCE);
	ck_assert(conf.trading.stop_and_wait);
	ck_assert_str_eq(conf.state_directory, ISO_STATEDIR "/a");
	ck_assert_str_eq(conf.run_directory, ISO_RUNDIR "/a");
	ck_assert_str_eq(conf.listen, "");
	ck_assert_str_eq(conf.training.coordinator, "");
	ck_assert_uint_eq(conf.neighbour_count, 0);
	ck_assert_uint_eq(conf.warning_count, 0);
}
END_TEST

START_TEST(takes_every_value_from_the_file)
{
	parses(
	    "cluster = \"lab\" node = 'n-1.x_y' budget = 400% endowment = 250mcpu\n"
	    "config-epoch = 7 cgroup = /job/a/ create-cgroup = on period = 10ms\n"
	    "floor = 0.2cpu ceiling = 3cpu on-exit = remove meter = kernel dry-run = true "
	    "log-level = debug\n"
	    "listen = tcp://[::1]:5555 secret-key = /k/a state-directory = /s run-directory = /r\n"
	    "control-group = adm\n"
	    "admin-listen = tcp://[::1]:5556\n"
	    "administrator alice { public-key = '" KEY_C "' }\n"
	    "cost { kind = latency kappa = 2.5 weight = 1e1 penalty = log-barrier sigma = 20\n"
	    "  epsilon = 0.01 }\n"
	    "trading { tick = 200ms fresh = 5s quantiser = uniform rho = 0.125 gamma = 0.5\n"
	    "  dead-band = 0 stop-and-wait = no limit = 0.3cpu }\n"
	    "neighbour b { address = tcp://192.0.2.2:5555 public-key = '" KEY_B "' limit = none }\n"
	    "neighbour \"c\" {\n  address = tcp://[2001:db8::1]:5555\n  public-key = '" KEY_C
	    "' }\n"
	    "training { coordinator = tcp://192.0.2.9:7000 coordinator-key = '" KEY_C "'\n"
	    "  worker-key = /k/w user = train data = /srv/data threads = 3 executable = /x/w\n"
	    "  task = /srv/t.so task-limit = 5s }\n");
	ck_assert_str_eq(conf.node, "n-1.x_y");
	ck_assert_uint_eq(conf.budget_ucpu, 4000000);
	ck_assert_int_eq(conf.config_epoch, 7);
	ck_assert_str_eq(conf.cgroup, "/job/a");
	ck_assert(conf.create_cgroup);
	ck_assert_uint_eq(conf.period_ns, 10000000);
	ck_assert_uint_eq(conf.floor_ucpu, 200000);
	ck_assert_uint_eq(conf.ceiling_ucpu, 3000000);
	ck_assert_int_eq(conf.on_exit, CONF_ON_EXIT_REMOVE);
	ck_assert_int_eq(conf.meter, CONF_METER_KERNEL);
	ck_assert(conf.dry_run);
	ck_assert_int_eq(conf.log_level, CONF_LOG_DEBUG);
	ck_assert_str_eq(conf.listen, "tcp://[::1]:5555");
	ck_assert_str_eq(conf.secret_key, "/k/a");
	ck_assert_str_eq(conf.state_directory, "/s");
	ck_assert_str_eq(conf.run_directory, "/r");
	ck_assert_str_eq(conf.control_group, "adm");
	ck_assert_str_eq(conf.admin_listen, "tcp://[::1]:5556");
	ck_assert_uint_eq(conf.administrator_count, 1);
	ck_assert_str_eq(conf.administrators[0].name, "alice");
	ck_assert_str_eq(conf.administrators[0].public_key, KEY_C);
	ck_assert_int_eq(conf.cost.kind, CONF_COST_LATENCY);
	ck_assert_double_eq(conf.cost.weight, 10.0);
	ck_assert_int_eq(conf.cost.penalty, CONF_PENALTY_LOG_BARRIER);
	ck_assert_double_eq(conf.cost.epsilon, 0.01);
	ck_assert_uint_eq(conf.trading.fresh_ns, 5000000000);
	ck_assert_int_eq(conf.trading.quantiser, CONF_QUANTISER_UNIFORM);
	ck_assert_double_eq(conf.trading.dead_band, 0.0);
	ck_assert(!conf.trading.stop_and_wait);
	ck_assert_uint_eq(conf.neighbour_count, 2);
	ck_assert_str_eq(conf.neighbours[0].name, "b");
	ck_assert_str_eq(conf.neighbours[0].public_key, KEY_B);
	ck_assert_int_eq(conf.neighbours[0].line, 12);
	ck_assert_uint_eq(conf_limit_ucpu(&conf, conf.neighbours[0].id), CONF_LIMIT_NONE);
	ck_assert_uint_eq(conf.neighbours[1].limit_ucpu, 0);
	ck_assert_uint_eq(conf_limit_ucpu(&conf, conf.neighbours[1].id), 300000);
	/* Whoever comes later. */
	ck_assert_uint_eq(conf_limit_ucpu(&conf, 1), 300000);
	ck_assert_str_eq(conf.neighbours[1].address, "tcp://[2001:db8::1]:5555");
	ck_assert_int_eq(conf.neighbours[1].line, 14);
	ck_assert_uint_eq(conf.neighbours[1].id, conf_node_id("lab", "c"));
	ck_assert_str_eq(conf.training.user, "train");
	ck_assert_int_eq(conf.training.threads, 3);
	ck_assert_str_eq(conf.training.executable, "/x/w");
	ck_assert_str_eq(conf.training.task, "/srv/t.so");
	ck_assert_uint_eq(conf.training.task_limit_ns, 5000000000u);
	ck_assert_uint_eq(conf.warning_count, 0);
}
END_TEST

START_TEST(takes_a_plan_instead_of_a_coordinator)
{
	parses("cluster = lab node = a budget = 4cpu endowment = 1cpu cgroup = /job/a\n"
	       "listen = tcp://192.0.2.1:5555 secret-key = /k/a trading { limit = none }\n"
	       "neighbour b { address = tcp://192.0.2.2:5555 public-key = '" KEY_B "'\n"
	       "  worker-address = tcp://192.0.2.2:5556 worker-public-key = '" KEY_C "' }\n"
	       "neighbour c { address = tcp://192.0.2.3:5555 public-key = '" KEY_C "' }\n"
	       "training { plan = /p listen = tcp://192.0.2.1:5556 worker-key = /k/w\n"
	       "  data = /srv/data state-directory = /srv/s }\n");
	ck_assert(conf_trains(&conf));
	ck_assert_str_eq(conf.training.plan, "/p");
	ck_assert_str_eq(conf.training.listen, "tcp://192.0.2.1:5556");
	ck_assert_str_eq(conf.training.state_directory, "/srv/s");
	ck_assert_str_eq(conf.training.coordinator, "");
	ck_assert_str_eq(conf.neighbours[0].worker_address, "tcp://192.0.2.2:5556");
	ck_assert_str_eq(conf.neighbours[0].worker_public_key, KEY_C);
	/* One that does not train with us. */
	ck_assert_str_eq(conf.neighbours[1].worker_address, "");
}
END_TEST

START_TEST(a_parsed_error_leaves_nothing_behind)
{
	/* libconfuse's scanner would still be inside the string of the file before. */
	fails("cluster = \"lab\n", "x.conf: line 1: the string is not closed on its line");
	parses(REQUIRED);
	fails("/* open\n" REQUIRED, "x.conf: line 1: the comment that begins here is not closed");
	parses(REQUIRED);
	fails("cost { kappa = }\n", "x.conf: line 1: unexpected token '}'");
	parses(REQUIRED);
}
END_TEST

/* Each file says in its first line what must be said about it; returns whether it was. */
static bool file_fails(const char *directory, const char *name)
{
	char path[512], expected[600], *text;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	ck_assert_msg(confutil_read_file(path, &text, &error) == 0, "%s", error.text);
	ck_assert_msg(strncmp(text, "#: ", 3) == 0, "%s: no expectation", name);
	char *end = strchr(text, '\n');
	*end = '\0';
	snprintf(expected, sizeof(expected), "%s: %s", path, text + 3);
	free(text);

	snprintf(error.text, sizeof(error.text), "accepted");
	if (conf_load(path, &conf, &error) < 0 && strcmp(error.text, expected) == 0)
		return true;
	printf("# %s\n#   says     %s\n#   expected %s\n", name, error.text, expected);
	return false;
}

START_TEST(bad_files_are_refused_with_file_line_and_reason)
{
	char directory[256];
	const char *srcdir = getenv("top_srcdir");
	int count = 0, failed = 0;

	snprintf(directory, sizeof(directory), "%s/tests/unit/badconf",
		 srcdir != NULL ? srcdir : ".");
	DIR *dir = opendir(directory);
	ck_assert_msg(dir != NULL, "%s", directory);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strstr(entry->d_name, ".conf") != NULL) {
			failed += !file_fails(directory, entry->d_name);
			count++;
		}
	closedir(dir);
	ck_assert_int_eq(failed, 0);
	ck_assert_int_gt(count, 60);
}
END_TEST

START_TEST(says_why_a_file_cannot_be_read)
{
	char path[] = "/tmp/isobar-conf-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "a\0b", 3), 3);
	ck_assert_int_eq(conf_load(path, &conf, &error), -EINVAL);
	ck_assert(strstr(error.text, "holds a NUL byte: not a text file") != NULL);
	ck_assert_int_eq(ftruncate(fd, (1 << 20) + 1), 0);
	ck_assert_int_eq(conf_load(path, &conf, &error), -EFBIG);
	close(fd);
	unlink(path);
	ck_assert_int_eq(conf_load(path, &conf, &error), -ENOENT);
	ck_assert_int_eq(conf_load("/tmp", &conf, &error), -EINVAL);
	ck_assert_str_eq(error.text, "'/tmp' is not a regular file");
}
END_TEST

START_TEST(warns_of_names_that_must_be_looked_up)
{
	parses(REQUIRED "listen = tcp://localhost:5555\nsecret-key = /k/a\n"
			"neighbour b { address = tcp://b.example.org:5555 public-key = '" KEY_B
			"' limit = 1cpu }\n");
	ck_assert_uint_eq(conf.warning_count, 2);
	ck_assert_str_eq(conf.warnings[0],
			 "line 8: neighbour b: 'tcp://b.example.org:5555' is looked up by name, "
			 "which can block; a number cannot");
	ck_assert_str_eq(
	    conf.warnings[1],
	    "line 6: listen: 'tcp://localhost:5555' is looked up by name; a number is not");
}
END_TEST

START_TEST(warns_of_a_period_that_the_kernel_keeps_badly)
{
	parses(REQUIRED "period = 9999us\n");
	ck_assert_uint_eq(conf.warning_count, 1);
	ck_assert_str_eq(conf.warnings[0],
			 "line 6: period: below 10ms the kernel gives the job much less than its "
			 "quota, and its timers use CPU themselves");
	parses(REQUIRED "period = 10ms\n");
	ck_assert_uint_eq(conf.warning_count, 0);
}
END_TEST

START_TEST(a_digest_tells_what_all_nodes_must_share)
{
	parses(REQUIRED);
	uint64_t digest = conf.digest;

	ck_assert_uint_eq(conf_digest(&conf), digest);
	/* Different on every node, or a matter of taste: not in it. */
	parses("cluster = lab node = b budget = 1600mcpu endowment = 1cpu cgroup = /b\n"
	       "trading { gamma = 0.5 }\n");
	ck_assert_uint_eq(conf.digest, digest);

	static const char *const differ[] = {
		"cluster = lob node = a budget = 1.5cpu endowment = 0.5cpu cgroup = /a\n",
		REQUIRED "config-epoch = 2\n",
		REQUIRED "trading { rho = 0.125 }\n",
		REQUIRED "trading { quantiser = log }\n",
		REQUIRED "trading { lease = 20s }\n",
		REQUIRED "trading { lease = off }\n",
		REQUIRED "trading { lease-slack = 1500ms }\n",
	};
	for (size_t i = 0; i < sizeof(differ) / sizeof(differ[0]); i++) {
		parses(differ[i]);
		ck_assert_msg(conf.digest != digest, "%s", differ[i]);
	}
}
END_TEST

START_TEST(a_lease_gives_the_promise_and_the_guard_its_time)
{
	parses(REQUIRED);
	ck_assert_uint_eq(conf.trading.lease_ns, 30000000000u);
	ck_assert_uint_eq(conf.trading.promise_ns, 31500000000u + 5500000000u);
	ck_assert_uint_eq(conf.trading.guard_ns, 200000000u);
	ck_assert_uint_eq(conf_watchdog_s(&conf), 5);
	/* Nobody knows this node: nothing to guard. */
	ck_assert(!conf_is_guarded(&conf));

	parses(REQUIRED "listen = ipc:///l secret-key = /k\n"
			"trading { tick = 20ms fresh = 1s lease = 100ms lease-slack = 1499ms }\n"
			"guard { executable = /g watchdog = /dev/w priority = 0 }\n");
	ck_assert(conf_is_guarded(&conf));
	ck_assert_uint_eq(conf.trading.promise_ns, 105000000u + 1499000000u);
	ck_assert_uint_eq(conf.trading.guard_ns, 12500000u);
	ck_assert_uint_eq(conf_watchdog_s(&conf), 0);
	ck_assert_uint_eq(conf.warning_count, 1);
	ck_assert_ptr_nonnull(strstr(conf.warnings[0], "guard.watchdog: no timeout fits"));
	ck_assert_str_eq(conf.guard.executable, "/g");
	ck_assert_int_eq(conf.guard.priority, 0);

	/* Less than a systemd that is busy may take. */
	parses("cluster = lab node = a budget = 1.5cpu endowment = 0.5cpu unit = foo.service\n"
	       "floor = 10mcpu trading { tick = 100ms lease = 1999ms }\n");
	ck_assert_uint_eq(conf.warning_count, 1);
	ck_assert_ptr_nonnull(strstr(conf.warnings[0], "line 2: trading.lease: shorter than 2s"));
	parses("cluster = lab node = a budget = 1.5cpu endowment = 0.5cpu unit = foo.service\n"
	       "floor = 10mcpu trading { tick = 100ms lease = 2s }\n");
	ck_assert_uint_eq(conf.warning_count, 0);

	parses(REQUIRED "listen = ipc:///l secret-key = /k trading { lease = off }\n");
	ck_assert_uint_eq(conf.trading.lease_ns, 0);
	ck_assert_uint_eq(conf.trading.promise_ns, 0);
	ck_assert_uint_eq(conf.trading.guard_ns, 0);
	ck_assert(!conf_is_guarded(&conf));

	parses(REQUIRED "listen = ipc:///l secret-key = /k dry-run = yes\n");
	ck_assert(!conf_is_guarded(&conf));
}
END_TEST

START_TEST(an_id_is_that_of_cluster_and_node)
{
	ck_assert_uint_eq(conf_node_id("lab", "a"), conf_node_id("lab", "a"));
	ck_assert_uint_ne(conf_node_id("lab", "a"), conf_node_id("lab", "b"));
	ck_assert_uint_ne(conf_node_id("lab", "a"), conf_node_id("lob", "a"));
	/* The boundary between the two counts. */
	ck_assert_uint_ne(conf_node_id("la", "ba"), conf_node_id("lab", "a"));
}
END_TEST

#define KEY_B "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_C "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

START_TEST(colliding_ids_are_refused)
{
	parses(REQUIRED "listen = ipc:///a\nsecret-key = /a.key trading { limit = none }\n"
			"neighbour b { address = ipc:///b public-key = '" KEY_B "' }\n"
			"neighbour c { address = ipc:///c public-key = '" KEY_C "' }\n");
	/* No two short names are known to collide: pretend by giving both the same name. */
	memcpy(conf.neighbours[1].name, "b", 2);
	ck_assert_int_eq(conf_check(&conf, "x.conf", NULL, &error), -EINVAL);
	ck_assert_str_eq(error.text, "x.conf: line 9: neighbour b: its id collides with that of "
				     "neighbour b: rename one of the two");
}
END_TEST

START_TEST(suggests_the_nearest_word_or_none)
{
	static const char *const words[] = { "floor", "ceiling", "cost" };

	ck_assert_str_eq(confutil_nearest("flor", words, 3), "floor");
	ck_assert_str_eq(confutil_nearest("celling", words, 3), "ceiling");
	ck_assert_str_eq(confutil_nearest("cots", words, 3), "cost");
	ck_assert_ptr_null(confutil_nearest("neighbour", words, 3));
	ck_assert_ptr_null(confutil_nearest("", words, 3));
	ck_assert_ptr_null(confutil_nearest("xxst", words, 0));
	char word[200];
	memset(word, 'f', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	ck_assert_ptr_null(confutil_nearest(word, words, 3));
}
END_TEST

START_TEST(tells_numbers_from_names)
{
	ck_assert(confutil_is_numeric("tcp://192.0.2.1:5555"));
	ck_assert(confutil_is_numeric("tcp://[2001:db8::1]:5555"));
	ck_assert(confutil_is_numeric("tcp://*:5555"));
	ck_assert(confutil_is_numeric("ipc:///run/x"));
	ck_assert(!confutil_is_numeric("tcp://host:5555"));
	ck_assert(!confutil_is_numeric("tcp://eth0:5555"));
	ck_assert(!confutil_is_numeric("tcp://192.0.2:5555"));
	ck_assert(!confutil_is_numeric("tcp://[host]:5555"));
}
END_TEST

/*
 * The sample documents every option at its default: with the comment sign
 * taken off such a line must mean the same as leaving it out.
 */
START_TEST(the_sample_shows_every_option_at_its_default)
{
	const struct confutil_schema *schema = conf_schema();
	char path[300], *text;
	const char *srcdir = getenv("top_srcdir");

	snprintf(path, sizeof(path), "%s/etc/isobard.conf", srcdir != NULL ? srcdir : ".");
	ck_assert_msg(confutil_read_file(path, &text, &error) == 0, "%s", error.text);
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		bool in_section = option->section[0] != '\0';
		char line[400];

		if ((option->flags & CONFUTIL_REQUIRED) != 0 && !in_section)
			snprintf(line, sizeof(line), "\n%s = ", option->name);
		else if (option->initial != NULL)
			snprintf(line, sizeof(line), "\n#%s%s = %s\n", in_section ? "\t" : "",
				 option->name, option->initial);
		else
			snprintf(line, sizeof(line), "\n#%s%s = ", in_section ? "\t" : "",
				 option->name);
		/* One of three is needed, and that is the one which is shown. */
		if (strcmp(option->name, "cgroup") == 0)
			snprintf(line, sizeof(line), "\n%s = ", option->name);
		ck_assert_msg(strstr(text, line) != NULL, "%s: no line '%s'", path, line + 1);
	}
	free(text);
	ck_assert_msg(conf_load(path, &conf, &error) == 0, "%s", error.text);
}
END_TEST

/*
 * Takes off the comment sign of every "#option = value" and "#section {", but not that of
 * these options.
 */
static char *switched_on(const char *const *without)
{
	char path[300], *text;
	const char *srcdir = getenv("top_srcdir");

	snprintf(path, sizeof(path), "%s/etc/isobard.conf", srcdir != NULL ? srcdir : ".");
	ck_assert_int_eq(confutil_read_file(path, &text, &error), 0);
	for (char *p = text; (p = strstr(p, "\n#")) != NULL; p++) {
		bool is_out = p[2] == ' ' || p[2] == '\n';

		for (size_t i = 0; without[i] != NULL; i++)
			is_out |= strncmp(p + 2, without[i], strlen(without[i])) == 0;
		if (!is_out)
			p[1] = ' ';
	}
	return text;
}

/* One trains with a coordinator or by a plan. */
START_TEST(the_sample_is_valid_when_everything_in_it_is_switched_on)
{
	static const char *const plan[] = { "\tplan =", "\tlisten =", "\tstate-directory =",
					    "\tworker-address =", "\tworker-public-key =",
					    "unit =", NULL };
	static const char *const coordinator[] = { "\tcoordinator", "\ttask", "unit =", NULL };
	const char *const *const ways[] = { plan, coordinator };

	for (size_t i = 0; i < 2; i++) {
		char *text = switched_on(ways[i]);
		int r = conf_parse("sample", text, &conf, &error);

		ck_assert_msg(r == 0, "%s", error.text);
		ck_assert_uint_eq(conf.neighbour_count, 1);
		ck_assert_str_ne(i == 0 ? conf.training.coordinator : conf.training.plan, "");
		free(text);
	}
}
END_TEST

START_TEST(every_option_is_documented_once)
{
	const struct confutil_schema *schema = conf_schema();

	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];

		ck_assert_msg(strlen(option->doc) > 5, "%s", option->name);
		ck_assert_msg(option->doc[strlen(option->doc) - 1] != '.', "%s", option->name);
		ck_assert_uint_ne(strlen(confutil_expected(option->type)), 0);
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(strcmp(option->name, schema->options[j].name) != 0 ||
					  strcmp(option->section, schema->options[j].section) != 0,
				      "%s twice", option->name);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("conf");
	TCase *tcase = tcase_create("files");

	tcase_add_test(tcase, fills_in_what_the_file_leaves_out);
	tcase_add_test(tcase, takes_every_value_from_the_file);
	tcase_add_test(tcase, takes_a_plan_instead_of_a_coordinator);
	tcase_add_test(tcase, a_parsed_error_leaves_nothing_behind);
	tcase_add_test(tcase, bad_files_are_refused_with_file_line_and_reason);
	tcase_add_test(tcase, says_why_a_file_cannot_be_read);
	tcase_add_test(tcase, warns_of_names_that_must_be_looked_up);
	tcase_add_test(tcase, warns_of_a_period_that_the_kernel_keeps_badly);
	suite_add_tcase(suite, tcase);

	tcase = tcase_create("meaning");
	tcase_add_test(tcase, a_digest_tells_what_all_nodes_must_share);
	tcase_add_test(tcase, a_lease_gives_the_promise_and_the_guard_its_time);
	tcase_add_test(tcase, an_id_is_that_of_cluster_and_node);
	tcase_add_test(tcase, colliding_ids_are_refused);
	tcase_add_test(tcase, suggests_the_nearest_word_or_none);
	tcase_add_test(tcase, tells_numbers_from_names);
	suite_add_tcase(suite, tcase);

	tcase = tcase_create("documents");
	tcase_add_test(tcase, the_sample_shows_every_option_at_its_default);
	tcase_add_test(tcase, the_sample_is_valid_when_everything_in_it_is_switched_on);
	tcase_add_test(tcase, every_option_is_documented_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
