/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real programs in their sandboxes: what the kernel says that they may do. */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/sandbox.h"
#include "agent/meter/meter.h"
#include "tests/cli/cluster.h"
#include "tests/fs/group.h"
#include "tests/system/single.h"
#include "tests/test.h"

#define CAP(name) SANDBOX_CAPABILITY(CAP_##name)
#define ALWAYS	  (CAP(BPF) | CAP(PERFMON) | CAP(DAC_OVERRIDE) | CAP(SYS_RESOURCE))
#define GUARDED	  (ALWAYS | CAP(SYS_NICE) | CAP(IPC_LOCK))

/* The agent's and the guard's own, which has none where it calls what no guard does. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FILTERS_MIN 2
#else
#define FILTERS_MIN 1
#endif

static pid_t agent;

static void setup(void)
{
	single_begin("sandbox");
	single_make_keys();
	agent = 0;
}

static void teardown(void)
{
	if (agent > 0) {
		kill(agent, SIGTERM);
		ck_assert_int_eq(group_wait(agent), 0);
	}
	single_end();
}

static json_t *start(const char *more)
{
	single_init(more);
	agent = single_run(NULL, -1);
	return single_status(agent);
}

static void read_field(const char *path, const char *field, char text[64])
{
	FILE *file = fopen(path, "re");
	char line[256];

	ck_assert_msg(file != NULL, "%s", path);
	text[0] = '\0';
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			ck_assert_int_eq(sscanf(line + strlen(field), ": %63s", text), 1);
	fclose(file);
}

/* In a container root may have less. */
static uint64_t as_far_as_there(uint64_t capabilities)
{
	return capabilities & sandbox_look().capabilities;
}

/* Of each thread: libzmq's have what the first one had when they started. */
static void assert_confined(pid_t pid, uint64_t capabilities, const char *bounded)
{
	char path[PATH_MAX], text[64];
	struct dirent *entry;
	unsigned threads = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	ck_assert_ptr_nonnull(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		threads++;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		read_field(path, "CapEff", text);
		ck_assert_msg(strtoull(text, NULL, 16) == capabilities, "CapEff %s", text);
		read_field(path, "CapPrm", text);
		ck_assert_msg(strtoull(text, NULL, 16) == capabilities, "CapPrm %s", text);
		read_field(path, "CapBnd", text);
		ck_assert_msg(bounded == NULL || strcmp(text, bounded) == 0, "CapBnd %s", text);
		read_field(path, "NoNewPrivs", text);
		ck_assert_str_eq(text, "1");
		read_field(path, "Seccomp", text);
		ck_assert_str_eq(text, "2");
	}
	closedir(tasks);
	ck_assert_uint_ge(threads, 1);
}

/* Ours and those of whoever started us, on the first thread; a newer kernel says so. */
static unsigned count_filters(pid_t pid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_field(path, "Seccomp_filters", text);
	return text[0] != '\0' ? (unsigned)strtoul(text, NULL, 10) : UINT_MAX;
}

static void assert_says(const json_t *reply, uint64_t capabilities)
{
	const json_t *sandbox = json_object_get(reply, "sandbox");
	const json_t *names = json_object_get(sandbox, "capabilities");

	ck_assert(json_is_true(json_object_get(sandbox, "seccomp")));
	ck_assert(json_is_true(json_object_get(sandbox, "no_new_privileges")));
	ck_assert_uint_eq(json_array_size(names), (size_t)__builtin_popcountll(capabilities));
}

/* As it can be with all of root's capabilities. */
static void assert_measures(const json_t *reply)
{
	const char *meter = json_string_value(json_object_get(reply, "meter"));

	if (meter_supported(NULL) == 0)
		ck_assert_str_eq(meter, "ebpf");
	ck_assert_str_eq(json_string_value(json_object_get(reply, "state")),
			 meter_supported(NULL) == 0 ? "ok" : "degraded");
}

START_TEST(an_agent_alone_keeps_four_capabilities)
{
	uint64_t kept = as_far_as_there(ALWAYS);
	char bounded[32];
	json_t *reply = start("");

	snprintf(bounded, sizeof(bounded), "%016llx", (unsigned long long)kept);
	assert_confined(agent, kept, bounded);
	assert_says(reply, kept);
	assert_measures(reply);
	json_decref(reply);
}
END_TEST

/* With threads of libzmq, and a guard that has its precedence and its memory. */
START_TEST(one_with_a_guard_keeps_what_the_guard_needs)
{
	char more[512];

	snprintf(more, sizeof(more),
		 "listen = 'tcp://127.0.0.1:*'\nsecret-key = %s/a.key\n"
		 "guard { executable = %s/agent/isobar-guard }\n",
		 single.folder, getenv("top_builddir"));
	json_t *reply = start(more);
	const json_t *guard = json_object_get(reply, "guard");
	assert_confined(agent, as_far_as_there(GUARDED), NULL);
	assert_says(reply, as_far_as_there(GUARDED));
	assert_measures(reply);
	ck_assert_str_eq(json_string_value(json_object_get(guard, "state")), "ok");
	/* Its precedence stays, though it could not take it any more. */
	pid_t pid = (pid_t)json_integer_value(json_object_get(guard, "pid"));
	assert_confined(pid, as_far_as_there(CAP(DAC_OVERRIDE) | CAP(IPC_LOCK)), NULL);
	ck_assert_uint_ge(count_filters(pid), FILTERS_MIN);
	json_decref(reply);
}
END_TEST

START_TEST(a_group_made_anew_is_measured_again)
{
	json_t *reply = start("");

	json_decref(reply);
	ck_assert_int_eq(rmdir(single.job), 0);
	(void)poll(NULL, 0, 200);
	group_make("job");
	for (int i = 0; i < SINGLE_PATIENCE_MS / 100; i++) {
		if (group_quota_us(single.job) == SINGLE_OURS_US)
			break;
		(void)poll(NULL, 0, 100);
	}
	reply = single_status(agent);
	assert_measures(reply);
	ck_assert_int_eq(json_integer_value(json_object_get(reply, "enforced_ucpu")), 300000);
	json_decref(reply);
}
END_TEST

/* They train, and have nothing but that. */
START_TEST(a_coordinator_and_its_workers_keep_none)
{
	static const char nothing[] = "0000000000000000";
	static struct cluster cluster;
	char more[512];

	cluster_open(&cluster);
	snprintf(cluster.data, sizeof(cluster.data), "%s/data", cluster.folder);
	FILE *file = fopen(cluster.data, "we");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 100; i++)
		fprintf(file, "%d 1:%d 2:%d\n", i % 2 == 0 ? 1 : -1, i % 2, i % 7);
	ck_assert_int_eq(fclose(file), 0);
	snprintf(more, sizeof(more),
		 "data = \"%s\"\ntraining { samples-per-task = 8 tasks-per-round = 3\n"
		 "model = logistic stop-after-rounds = 1000000 }\n",
		 cluster.data);
	cluster_configure(&cluster, more);
	cluster_start_coordinator(&cluster, NULL);
	cluster_start_workers(&cluster);
	cluster_wait_round(&cluster, 3);
	assert_confined(cluster.coordinator, 0, nothing);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		assert_confined(cluster.workers[i], 0, nothing);
	cluster_close(&cluster);
}
END_TEST

START_TEST(the_configuration_switches_it_off)
{
	char path[64], text[64];
	json_t *reply = start("sandbox = no\n");
	const json_t *sandbox = json_object_get(reply, "sandbox");

	ck_assert(json_is_false(json_object_get(sandbox, "seccomp")));
	json_decref(reply);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)agent);
	read_field(path, "CapEff", text);
	ck_assert((strtoull(text, NULL, 16) & CAP(SYS_CHROOT)) != 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("sandboxed");
	struct error error;

	if (sandbox_supported(&error) < 0)
		test_skip_all(error.text);
	TCase *tcase = group_case(suite, "isobard", 60, setup, teardown);
	tcase_add_test(tcase, an_agent_alone_keeps_four_capabilities);
	tcase_add_test(tcase, one_with_a_guard_keeps_what_the_guard_needs);
	tcase_add_test(tcase, a_group_made_anew_is_measured_again);
	tcase_add_test(tcase, the_configuration_switches_it_off);
	tcase_add_test(tcase, a_coordinator_and_its_workers_keep_none);
	return suite;
}
