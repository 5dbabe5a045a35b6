/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/curve.h"
#include "agent/train/spawn.h"
#include "agent/train/trainmsg.h"
#include "agent/train/workerlink.h"
#include "tests/cli/cluster.h"
#include "tests/test.h"

/* The programs as they are, on the real data set, killed and started again. */

static struct cluster cluster;

static void open_cluster(void)
{
	cluster_open(&cluster);
}

static void close_cluster(void)
{
	cluster_close(&cluster);
}

static const char *const strategies[] = { "ata", "ata-empirical", "gta", "uta" };

START_TEST(accuracy_rises_with_each_strategy)
{
	const char *strategy = strategies[_i];
	char more[160];
	double handed_out = 0, accuracy = 0;

	snprintf(more, sizeof(more),
		 "training { stop-after-rounds = 60 partition = %s }\n"
		 "allocation { strategy = %s }\n",
		 strcmp(strategy, "gta") == 0 ? "iid" : "dirichlet", strategy);
	/* With gta whoever is fastest gives all, of its classes alone if it has not all. */
	json_t *report = cluster_train(&cluster, more);
	ck_assert_str_eq(json_string_value(json_object_get(report, "allocation")), strategy);
	ck_assert_int_eq(json_integer_value(json_object_get(report, "round")), 60);
	/* Chance is 0.1; the first evaluation is before the first step. */
	accuracy = json_real_value(json_object_get(report, "test_accuracy"));
	ck_assert_double_gt(accuracy, 0.6);
	json_t *first = json_array_get(json_object_get(report, "evaluations"), 0);
	ck_assert_double_lt(json_real_value(json_object_get(first, "accuracy")), 0.2);
	json_t *workers = json_object_get(report, "workers");
	for (size_t i = 0; i < CLUSTER_WORKERS; i++) {
		json_t *worker = json_array_get(workers, i);

		handed_out += json_number_value(json_object_get(worker, "allocation"));
		ck_assert_double_gt(json_number_value(json_object_get(worker, "tasks_done")), 0);
		ck_assert_double_gt(json_number_value(json_object_get(worker, "mean_on_cpu_ns")),
				    0);
	}
	if (strcmp(strategy, "gta") != 0) {
		ck_assert_double_eq(handed_out, 16);
		/* Nothing is computed in vain when nobody fails. */
		ck_assert_int_eq(json_integer_value(json_object_get(report, "discarded_cpu_ns")),
				 0);
	}
	json_t *counters = json_object_get(report, "counters");
	ck_assert_int_eq(json_integer_value(json_object_get(counters, "accepted")), 60 * 16);
	ck_assert_int_eq(json_integer_value(json_object_get(counters, "malformed")), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(counters, "foreign")), 0);
	json_decref(report);
}
END_TEST

static const struct {
	const char *method, *strategy;
	double learning_rate;
	unsigned steps;
} methods[] = {
	{ "minibatch", "ata-pooled", 0.2, 60 },
	{ "rennala", "none", 0.2, 60 },
	{ "malenia", "none", 0.2, 60 },
	{ "sgd-ata", "uta", 0.2, 60 },
	{ "asgd", "none", 0.02, 600 },
	{ "asgd", "ata-pooled", 0.02, 600 },
	{ "delay-adaptive", "none", 0.02, 600 },
	{ "naive-optimal", "none", 0.02, 600 },
	{ "ringmaster", "none", 0.02, 600 },
	{ "ringmaster", "uta", 0.02, 600 },
	{ "ringmaster-stops", "none", 0.02, 600 },
	{ "ringleader", "none", 0.02, 600 },
	{ "ringleader", "ata-pooled", 0.02, 600 },
	{ "ia2sgd", "none", 0.02, 600 },
};

static double of(const json_t *object, const char *part, const char *member)
{
	return json_number_value(json_object_get(json_object_get(object, part), member));
}

START_TEST(accuracy_rises_with_each_method)
{
	char more[300];

	snprintf(more, sizeof(more),
		 "training { method = %s learning-rate = %g stop-after-rounds = %u\n"
		 "partition = dirichlet }\n"
		 "allocation { strategy = %s }\n",
		 methods[_i].method, methods[_i].learning_rate, methods[_i].steps,
		 methods[_i].strategy);
	json_t *report = cluster_train(&cluster, more);
	ck_assert_str_eq(json_string_value(json_object_get(report, "method")), methods[_i].method);
	ck_assert_int_ge(json_integer_value(json_object_get(report, "round")), methods[_i].steps);
	ck_assert_double_gt(json_real_value(json_object_get(report, "test_accuracy")), 0.6);
	/* Nothing was lost, and every gradient is accounted for. */
	ck_assert_double_eq(of(report, "tasks", "lost"), 0);
	ck_assert_double_eq(of(report, "tasks", "started"),
			    of(report, "tasks", "used") + of(report, "tasks", "buffered") +
				of(report, "tasks", "ignored") + of(report, "tasks", "stopped") +
				of(report, "tasks", "in_flight"));
	ck_assert_double_eq(of(report, "counters", "accepted"),
			    of(report, "tasks", "used") + of(report, "tasks", "buffered") +
				of(report, "tasks", "ignored"));
	ck_assert_double_eq(of(report, "counters", "malformed"), 0);
	if (json_is_integer(json_object_get(report, "delay_limit")))
		ck_assert_double_lt(
		    of(report, "tasks", "delay_max"),
		    json_number_value(json_object_get(report, "delay_limit")));
	json_decref(report);
}
END_TEST

/* A first run writes it; the second one's allocation is best from the start. */
START_TEST(what_a_run_has_learnt_is_there_for_the_next)
{
	char more[400], path[128];

	snprintf(path, sizeof(path), "%s/profile.json", cluster.folder);
	snprintf(more, sizeof(more),
		 "training { stop-after-rounds = 20 }\n"
		 "allocation { strategy = ata-pooled profile = %s }\n",
		 path);
	json_decref(cluster_train(&cluster, more));
	json_t *profile = cluster_load(&cluster, "profile.json");
	ck_assert_uint_eq(json_array_size(json_object_get(profile, "workers")), CLUSTER_WORKERS);
	json_decref(profile);

	snprintf(more, sizeof(more),
		 "training { stop-after-rounds = 20 }\n"
		 "allocation { strategy = ofta profile = %s }\n",
		 path);
	cluster_configure(&cluster, more);
	cluster_start_coordinator(&cluster, "--restart");
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 0);
	snprintf(more, sizeof(more), "profile '%s' knows 3 of 3 workers", path);
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "coordinator.log"), more));
	/* Times of other tasks are no use. */
	snprintf(more, sizeof(more),
		 "training { samples-per-task = 77 }\n"
		 "allocation { strategy = ofta profile = %s }\n",
		 path);
	cluster_configure(&cluster, more);
	cluster_start_coordinator(&cluster, "--restart");
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "coordinator.log"), "77 samples"));
}
END_TEST

static void wait_for_an_answer(void)
{
	for (unsigned ms = 0; cluster_number(&cluster, "term") < 0 && ms < CLUSTER_WAIT_MS;
	     ms += 20)
		usleep(20000);
}

/* What is in the way of what is to be written at the end, and what is said of it. */
static const struct {
	const char *name, *said;
} lost[] = {
	{ "state/checkpoint.new", "what came after the last checkpoint is lost" },
	{ "profile.json.new", "what was learnt of the workers is lost" },
	{ "report.json", "there is no report" },
};

START_TEST(a_result_that_cannot_be_written_is_no_success)
{
	char more[256], path[128];

	snprintf(more, sizeof(more),
		 "training { stop-after-rounds = 5 }\n"
		 "allocation { strategy = ata profile = %s/profile.json }\n",
		 cluster.folder);
	cluster_configure(&cluster, more);
	cluster_start_coordinator(&cluster, NULL);
	wait_for_an_answer();
	snprintf(path, sizeof(path), "%s/%s", cluster.folder, lost[_i].name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	cluster_start_workers(&cluster);
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	const char *log = cluster_said(&cluster, "coordinator.log");
	ck_assert_ptr_nonnull(strstr(log, lost[_i].said));
	ck_assert_ptr_nonnull(strstr(log, "done after step 5"));
}
END_TEST

START_TEST(a_report_that_may_not_be_written_is_said_before_the_run)
{
	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	wait_for_an_answer();
	cluster_kill(&cluster.coordinator, SIGKILL);
	/* Root has no privilege left by then. */
	ck_assert_int_eq(chmod(cluster.folder, 0555), 0);
	cluster_start_coordinator(&cluster, NULL);
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	ck_assert_int_eq(chmod(cluster.folder, 0755), 0);
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "coordinator.log"),
				     "/report.json': Permission denied"));
}
END_TEST

START_TEST(goes_on_without_a_killed_worker_and_takes_it_back)
{
	/* Long enough tasks that the kill meets one in the middle. */
	cluster_configure(&cluster, "training { samples-per-task = 4096 tasks-per-round = 12 }\n"
				    "lease { least = 300ms }\n");
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	cluster_wait_round(&cluster, 3);

	cluster_kill(&cluster.workers[1], SIGKILL);
	double round = cluster_number(&cluster, "round");
	cluster_wait_round(&cluster, round + 5);
	cluster_wait_worker(&cluster, 1, "lost");
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "coordinator.log"), "worker birch: "));

	double done = cluster_worker_number(&cluster, 1, "tasks_done");
	cluster_start_worker(&cluster, 1);
	cluster_wait_worker(&cluster, 1, "joined");
	round = cluster_number(&cluster, "round");
	cluster_wait_round(&cluster, round + 4);
	ck_assert_double_gt(cluster_worker_number(&cluster, 1, "tasks_done"), done);
}
END_TEST

START_TEST(stops_for_want_of_workers_and_goes_on_when_one_comes)
{
	cluster_configure(&cluster, "lease { least = 300ms }\n");
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	cluster_wait_round(&cluster, 3);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		ck_assert_int_eq(kill(cluster.workers[i], SIGTERM), 0);
		ck_assert_int_eq(cluster_wait(&cluster.workers[i]), 0);
	}
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		cluster_wait_worker(&cluster, i, "absent");
	double round = cluster_number(&cluster, "round");
	cluster_start_worker(&cluster, 2);
	cluster_wait_round(&cluster, round + 3);
	/* It does all of a round alone. */
	ck_assert_double_eq(cluster_worker_number(&cluster, 2, "allocation"), 16);
}
END_TEST

START_TEST(goes_on_from_its_checkpoint_after_a_kill)
{
	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	cluster_wait_round(&cluster, 20);
	double term = cluster_number(&cluster, "term");
	ck_assert_double_ge(term, 1);
	/* Until a checkpoint of round 20 or later must be on disk. */
	for (int i = 0; i < 3; i++) {
		usleep(200000);
		cluster_wait_round(&cluster, cluster_number(&cluster, "round") + 1);
	}
	cluster_kill(&cluster.coordinator, SIGKILL);

	cluster_start_coordinator(&cluster, "--resume");
	/* What it says first, before the workers have found it. */
	cluster_wait_round(&cluster, 0);
	ck_assert_double_ge(cluster_number(&cluster, "round"), 20);
	ck_assert_double_gt(cluster_number(&cluster, "term"), term);
	term = cluster_number(&cluster, "term");
	/* The same workers, which were not started again. */
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		cluster_wait_worker(&cluster, i, "joined");
	cluster_wait_round(&cluster, cluster_number(&cluster, "round") + 20);
	ck_assert_double_gt(cluster_number(&cluster, "test_accuracy"), 0.5);
	char text[32];
	snprintf(text, sizeof(text), "in term %.0f as", term);
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "alder.log"), text));
	cluster_kill(&cluster.coordinator, SIGTERM);
	/* What it learnt of the workers is still there, too. */
	cluster_start_coordinator(&cluster, NULL);
	cluster_wait_round(&cluster, 42);
	ck_assert_double_gt(cluster_number(&cluster, "term"), term);
}
END_TEST

/* Its state is gone, or damaged; the workers of the other run are still there. */
START_TEST(begins_anew_with_workers_that_have_joined)
{
	bool is_damaged = _i == 1;
	char path[128];

	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	cluster_wait_round(&cluster, 3);
	double term = cluster_number(&cluster, "term");
	cluster_kill(&cluster.coordinator, SIGKILL);
	snprintf(path, sizeof(path), "%s/state/checkpoint", cluster.folder);
	ck_assert_int_eq(is_damaged ? truncate(path, 1000) : unlink(path), 0);

	cluster_start_coordinator(&cluster, is_damaged ? "--restart" : NULL);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		cluster_wait_worker(&cluster, i, "joined");
	cluster_wait_round(&cluster, 3);
	ck_assert_double_gt(cluster_number(&cluster, "term"), term);
}
END_TEST

START_TEST(refuses_a_damaged_checkpoint)
{
	char path[128];
	char byte = 'x';

	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, "--resume");
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	ck_assert_ptr_nonnull(
	    strstr(cluster_said(&cluster, "coordinator.log"), "state/checkpoint': No such file"));
	cluster_start_coordinator(&cluster, NULL);
	wait_for_an_answer();
	cluster_kill(&cluster.coordinator, SIGTERM);

	snprintf(path, sizeof(path), "%s/state/checkpoint", cluster.folder);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, &byte, 1, 1000), 1);
	close(fd);
	cluster_start_coordinator(&cluster, NULL);
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 1);
	ck_assert_ptr_nonnull(strstr(cluster_said(&cluster, "coordinator.log"),
				     "state/checkpoint': offset 16: the checksum"));
	/* The operator may say so. */
	cluster_start_coordinator(&cluster, "--restart");
	wait_for_an_answer();
	ck_assert_double_eq(cluster_number(&cluster, "round"), 0);
}
END_TEST

/* Waits for a message of this type; others may come before it. */
static void hears(void *socket, enum iso_train_type type)
{
	struct trainmsg message;
	bool is_heard = false;

	for (unsigned ms = 0; !is_heard && ms < CLUSTER_WAIT_MS; ms += 10) {
		usleep(10000);
		if (trainmsg_receive(socket, false, &message) < 0)
			continue;
		is_heard = message.message.type == type;
		trainmsg_release(&message);
	}
	ck_assert_msg(is_heard, "no %s", iso_train_type_text(type));
}

static void says(void *socket, const struct iso_train_message *message)
{
	const struct trainmsg_peer coordinator = { 0 };
	int r = -EAGAIN;

	for (unsigned ms = 0; r == -EAGAIN && ms < CLUSTER_WAIT_MS; ms += 10) {
		usleep(10000);
		r = trainmsg_send(socket, &coordinator, message, NULL);
	}
	ck_assert_int_eq(r, 0);
}

/* The first worker of the cluster, in this process. */
static void *connect_worker(void *context)
{
	const struct curve_limits limits = { 1 << 20, 10 };
	char path[128], server_key[CURVE_KEY_BYTES];
	struct curve_keypair keys;
	struct error error;
	void *socket = zmq_socket(context, ZMQ_DEALER);

	snprintf(path, sizeof(path), "%s/coordinator.pub", cluster.folder);
	ck_assert_msg(curve_public_read(path, server_key, &error) == 0, "%s", error.text);
	snprintf(path, sizeof(path), "%s/alder.key", cluster.folder);
	ck_assert_msg(curve_secret_read(path, &keys, &error) == 0, "%s", error.text);
	ck_assert_int_eq(curve_client(socket, &keys, server_key, &limits, &error), 0);
	ck_assert_int_eq(curve_connect(socket, cluster.endpoint, &error), 0);
	return socket;
}

START_TEST(takes_a_worker_that_owns_nothing_and_says_nothing)
{
	void *context = zmq_ctx_new(), *socket;
	const struct iso_train_message hello = {
		.type = ISO_TRAIN_HELLO,
		.hello = { .name = "alder",
			   .incarnation = 1,
			   .speed = { 1, 0 },
			   .samples = 60000,
			   .features = 784,
			   .classes = 10,
			   .data_checksum = 1 },
	};
	const struct iso_train_message ping = { .type = ISO_TRAIN_PING };

	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	socket = connect_worker(context);
	says(socket, &hello);
	hears(socket, ISO_TRAIN_WELCOME);
	says(socket, &ping);
	hears(socket, ISO_TRAIN_PONG);
	ck_assert_double_ge(cluster_number(&cluster, "term"), 1);
	zmq_close(socket);
	zmq_ctx_term(context);
}
END_TEST

static void ignore(void *context, const struct iso_worker_record *record)
{
	(void)context;
	(void)record;
}

START_TEST(worker_follows_the_share_and_ends_with_its_agent)
{
	const char *const *arguments;
	struct spawn_child child = SPAWN_NO_CHILD;
	char path[256], text[SPAWN_TEXT_BYTES];
	struct workerlink *link;
	struct loop loop = { 0 };
	struct error error;

	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	arguments = cluster_worker_arguments(&cluster, 1, path);
	struct spawn_config config = { .executable = path, .clock_fd = -1 };
	memcpy(&config.argv, &arguments, sizeof(config.argv));
	ck_assert_msg(spawn_worker(&config, &child, &error) == 0, "%s", error.text);
	int link_fd = child.link_fd;
	child.link_fd = -1;
	ck_assert_int_eq(
	    workerlink_open(link_fd, WORKERLINK_AGENT, &loop, ignore, NULL, &link, &error), 0);
	ck_assert_int_eq(workerlink_send_share(link, 300000, 2), 0);
	cluster_wait_worker(&cluster, 1, "joined");
	for (unsigned ms = 0; cluster_worker_number(&cluster, 1, "share_ucpu") != 300000;
	     ms += 20) {
		ck_assert_uint_lt(ms, CLUSTER_WAIT_MS);
		usleep(20000);
	}
	link = workerlink_close(link);
	while (spawn_reap(&child, text) == -EAGAIN)
		usleep(1000);
	ck_assert_str_eq(text, "exit status 0");
	cluster_wait_worker(&cluster, 1, "absent");
}
END_TEST

START_TEST(lets_no_stranger_in)
{
	cluster_configure(&cluster, "");
	cluster_start_coordinator(&cluster, NULL);
	/* The name of the first worker, but not its key. */
	cluster_start_worker(&cluster, 9);
	for (unsigned ms = 0;; ms += 20) {
		json_t *status = cluster_status(&cluster);
		json_t *counters = json_object_get(status, "counters");
		json_int_t refused = json_integer_value(json_object_get(counters, "keys_refused"));

		json_decref(status);
		if (refused > 0)
			break;
		ck_assert_uint_lt(ms, CLUSTER_WAIT_MS);
		usleep(20000);
	}
	ck_assert(cluster_worker_is(&cluster, 0, "absent"));
	ck_assert_double_eq(cluster_number(&cluster, "round"), 0);
}
END_TEST

/* Others may open the directory, hence lock it; what keeps two apart is for its user alone. */
START_TEST(a_stranger_cannot_lock_its_state)
{
	char path[160];
	struct stat status;

	cluster_configure(&cluster, "training { stop-after-rounds = 2 }\n");
	snprintf(path, sizeof(path), "%s/state", cluster.folder);
	ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/state/state.lock", cluster.folder);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
}
END_TEST

/* When it is checked and when it is used. */
static void refused_configuration(const char *more, const char *said)
{
	static const char *const options[] = { "-n", NULL };
	char log[128];

	cluster_configure(&cluster, more);
	snprintf(log, sizeof(log), "%s/coordinator.log", cluster.folder);
	for (int i = 0; i < 2; i++) {
		(void)unlink(log); /* of the one before */
		cluster_start_coordinator(&cluster, options[i]);
		ck_assert_int_eq(cluster_wait(&cluster.coordinator), 2);
		ck_assert_msg(strstr(cluster_said(&cluster, "coordinator.log"), said) != NULL,
			      "%s", cluster_said(&cluster, "coordinator.log"));
	}
}

START_TEST(names_what_is_wrong_in_the_configuration)
{
	refused_configuration("evaluation-intervall = 2s\n", "evaluation-interval");
	refused_configuration("training { stop-after = 60 }\n", "conf: line 12: ");
	refused_configuration("allocation { strategy = atta }\n", "ata");
	refused_configuration("training { tasks-per-round = 0 }\n", "line 12");
	refused_configuration("lease { first = 1s least = 2s }\n", "least is longer than first");
	refused_configuration("training { method = rennala }\nallocation { strategy = ata }\n",
			      "line 13: allocation: strategy ata: method rennala allocates");
	refused_configuration("theory { smoothness = 1 noise-variance = 2e7 target = 1 }\n"
			      "training { method = rennala }\n",
			      "/conf: line 12: theory: method rennala wants batches of ");
	refused_configuration("allocation { strategy = ofta profile = /nowhere/p }\n",
			      "/conf: read '/nowhere/p'");
	cluster_configure(&cluster, "training { stop-after = 60s }\n");
	cluster_start_coordinator(&cluster, "-n");
	ck_assert_int_eq(cluster_wait(&cluster.coordinator), 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("training");
	TCase *tcase = tcase_create("processes");

	if (access("/usr/share/datasets/fashion-mnist", R_OK) != 0)
		test_skip_all("needs the data set (dataset-fashion-mnist)");
	tcase_add_checked_fixture(tcase, open_cluster, close_cluster);
	tcase_set_timeout(tcase, 180);
	tcase_add_loop_test(tcase, accuracy_rises_with_each_strategy, 0,
			    (int)(sizeof(strategies) / sizeof(strategies[0])));
	tcase_add_loop_test(tcase, accuracy_rises_with_each_method, 0,
			    (int)(sizeof(methods) / sizeof(methods[0])));
	tcase_add_test(tcase, what_a_run_has_learnt_is_there_for_the_next);
	tcase_add_loop_test(tcase, a_result_that_cannot_be_written_is_no_success, 0,
			    (int)(sizeof(lost) / sizeof(lost[0])));
	tcase_add_test(tcase, a_report_that_may_not_be_written_is_said_before_the_run);
	tcase_add_test(tcase, goes_on_without_a_killed_worker_and_takes_it_back);
	tcase_add_test(tcase, stops_for_want_of_workers_and_goes_on_when_one_comes);
	tcase_add_test(tcase, goes_on_from_its_checkpoint_after_a_kill);
	tcase_add_loop_test(tcase, begins_anew_with_workers_that_have_joined, 0, 2);
	tcase_add_test(tcase, refuses_a_damaged_checkpoint);
	tcase_add_test(tcase, worker_follows_the_share_and_ends_with_its_agent);
	tcase_add_test(tcase, lets_no_stranger_in);
	tcase_add_test(tcase, takes_a_worker_that_owns_nothing_and_says_nothing);
	tcase_add_test(tcase, a_stranger_cannot_lock_its_state);
	tcase_add_test(tcase, names_what_is_wrong_in_the_configuration);
	suite_add_tcase(suite, tcase);
	return suite;
}
