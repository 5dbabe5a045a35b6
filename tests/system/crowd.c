/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many agents on one machine: one with 64 neighbours, and 256 as four stars of 64.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/conf/conf.h"
#include "agent/control/control.h"
#include "agent/net/curve.h"
#include "tests/demo/processes.h"
#include "tests/switchtime.h"
#include "tests/system/stage.h"
#include "tests/test.h"

#define NODES_MAX  256u
#define SHARE_UCPU 20000
#define FLOOR_UCPU 10000
#define TIMEOUT_S  600
#define PATIENCE_S 240.0

/* Of one that does nothing but beat, a second: several times what was measured. */
#define IDLE_US_MAX  3000.0
#define RSS_KIB_MAX  16384

struct member {
	char directory[DEMO_PATH_BYTES];
	unsigned port;
	struct curve_keypair keys;
	struct child agent;
};

static struct {
	char directory[DEMO_PATH_BYTES];
	unsigned count, star; /* nodes, and nodes of a star */
	struct member of[NODES_MAX];
} crowd;

static unsigned hub_of(unsigned i)
{
	return i / crowd.star * crowd.star;
}

static void name_of(unsigned i, char ret_name[16])
{
	snprintf(ret_name, 16, "n%u", i);
}

static void print_neighbour(FILE *file, unsigned i)
{
	fprintf(file, "neighbour n%u { address = tcp://127.0.0.1:%u public-key = '%s' }\n", i,
		crowd.of[i].port, crowd.of[i].keys.public_key);
}

static void write_conf(unsigned i)
{
	const char *directory = crowd.of[i].directory;
	char path[DEMO_PATH_BYTES], group[DEMO_PATH_BYTES], name[16];

	name_of(i, name);
	groups_path(&stage_groups, name, group);
	path_join(path, directory, "conf");
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"cluster = crowd\nbudget = %uucpu\nnode = %s\nendowment = %uucpu\n"
		"floor = %uucpu\ncgroup = %s\non-exit = keep\n"
		"listen = tcp://127.0.0.1:%u\nsecret-key = %s/secret\n"
		"state-directory = %s\nrun-directory = %s/run\n"
		"trading { tick = 1s\n fresh = 20s\n lease = off\n limit = none }\n",
		crowd.star * SHARE_UCPU, name, SHARE_UCPU, FLOOR_UCPU, group, crowd.of[i].port,
		directory, directory, directory);
	for (unsigned k = hub_of(i); k < hub_of(i) + crowd.star && k < crowd.count; k++)
		if (k != i && (i == hub_of(i) || k == hub_of(i)))
			print_neighbour(file, k);
	ck_assert_int_eq(fclose(file), 0);
}

static void make(unsigned i)
{
	struct member *member = &crowd.of[i];
	char secret[DEMO_PATH_BYTES], public[DEMO_PATH_BYTES], name[16];
	struct error error;

	name_of(i, name);
	path_join(member->directory, crowd.directory, name);
	ck_assert_int_eq(mkdir(member->directory, 0700), 0);
	ck_assert_msg(groups_add(&stage_groups, name, &error) == 0, "%s", error.text);
	ck_assert_int_eq(curve_keypair_new(&member->keys, &error), 0);
	path_join(secret, member->directory, "secret");
	path_join(public, member->directory, "public");
	ck_assert_int_eq(curve_keypair_write(&member->keys, secret, public, &error), 0);
	member->port = stage_free_port();
}

static void start(unsigned i)
{
	char program[DEMO_PATH_BYTES], conf[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES],
	    command[3 * DEMO_PATH_BYTES];
	struct member *member = &crowd.of[i];
	struct error error;

	stage_build_path("agent/isobard", program);
	path_join(conf, member->directory, "conf");
	path_join(log, member->directory, "log");
	snprintf(command, sizeof(command), "%s --init -f %s >/dev/null", program, conf);
	ck_assert_int_eq(system(command), 0);
	const char *const argv[] = { program, "-f", conf, NULL };
	struct launch launch = { .argv = argv, .log = log };
	ck_assert_msg(child_start(&member->agent, "isobard", &launch, &error) == 0, "%s",
		      error.text);
}

static json_t *ask(unsigned i, const char *command)
{
	json_t *request = json_pack("{s:s}", "command", command), *reply = NULL;
	char path[DEMO_PATH_BYTES];

	path_join(path, crowd.of[i].directory, "run/control");
	(void)control_call(path, request, 5000000000u, &reply, NULL);
	json_decref(request);
	return reply;
}

static unsigned up(unsigned i)
{
	json_t *status = ask(i, "status"), *neighbour;
	unsigned count = 0;
	size_t k;

	json_array_foreach(json_object_get(status, "neighbours"), k, neighbour) {
		const char *state = json_string_value(json_object_get(neighbour, "state"));

		count += state != NULL && strcmp(state, "up") == 0;
	}
	json_decref(status);
	return count;
}

static unsigned expected_up(unsigned i)
{
	unsigned end = hub_of(i) + crowd.star;

	if (i != hub_of(i))
		return 1;
	return (end < crowd.count ? end : crowd.count) - i - 1;
}

static double now_s(void)
{
	return (double)clock_now_ns() / 1e9;
}

static void wait_all_up(void)
{
	double from_s = now_s();

	for (unsigned i = 0; i < crowd.count; i++)
		while (up(i) != expected_up(i)) {
			ck_assert_msg(now_s() - from_s < PATIENCE_S, "n%u hears %u of %u", i, up(i),
				      expected_up(i));
			stage_pause_ms(200);
		}
}

static double cpu_s(pid_t pid)
{
	struct timespec used = { 0 };
	clockid_t clock;

	ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &used), 0);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void measure(void)
{
	uint64_t rss_most = 0, rss_sum = 0;
	double hubs_s = 0, others_s = 0, from_s = now_s();
	unsigned hubs = 0;

	for (unsigned i = 0; i < crowd.count; i++)
		*(i == hub_of(i) ? &hubs_s : &others_s) -= cpu_s(crowd.of[i].agent.pid);
	stage_pause_ms(5000);
	for (unsigned i = 0; i < crowd.count; i++) {
		uint64_t cpu, rss = 0;

		hubs += i == hub_of(i);
		*(i == hub_of(i) ? &hubs_s : &others_s) += cpu_s(crowd.of[i].agent.pid);
		ck_assert(process_read(crowd.of[i].agent.pid, &cpu, &rss));
		rss_sum += rss;
		rss_most = rss > rss_most ? rss : rss_most;
	}
	double wall_s = now_s() - from_s;
	double hub_us = hubs_s * 1e6 / wall_s / hubs;
	double other_us = others_s * 1e6 / wall_s / (crowd.count - hubs);
	printf("# %u instances: one with %u neighbours takes %.0f us of CPU time a second, one "
	       "with 1 %.0f; %.1f MiB of memory each, at most %.1f\n",
	       crowd.count, crowd.star - 1, hub_us, other_us,
	       (double)rss_sum / crowd.count / 1048576, (double)rss_most / 1048576);
	ck_assert_double_lt(other_us, IDLE_US_MAX);
	ck_assert_double_lt(hub_us, 20 * IDLE_US_MAX);
	ck_assert_uint_lt(rss_most, RSS_KIB_MAX * 1024u);
}

/* All quotas, by the kernel's files, against what the nodes say they own. */
static void check_limits(void)
{
	for (unsigned i = 0; i < crowd.count; i++) {
		char name[16], directory[DEMO_PATH_BYTES], path[DEMO_PATH_BYTES], text[64];
		json_t *status = ask(i, "status");
		json_int_t share = json_integer_value(json_object_get(status, "share_ucpu"));

		ck_assert_str_eq(json_string_value(json_object_get(status, "state")), "ok");
		json_decref(status);
		name_of(i, name);
		groups_directory(&stage_groups, name, directory);
		path_join(path, directory,
			  stage_groups.version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
		ck_assert_int_ge(file_get(path, text, sizeof(text)), 0);
		long quota_us = strtol(text, NULL, 10);
		ck_assert_int_gt(quota_us, 0);
		ck_assert_int_le(quota_us * 10, share);
		ck_assert_int_ge(share, FLOOR_UCPU);
	}
}

static void audit(void)
{
	static char command[NODES_MAX * DEMO_PATH_BYTES];
	char program[DEMO_PATH_BYTES];

	/* Of one star: each is a cluster by itself. */
	int n = snprintf(command, sizeof(command), "%s audit --json",
			 stage_build_path("agent/isobarctl", program));
	for (unsigned i = 0; i < crowd.star; i++)
		n += snprintf(command + n, sizeof(command) - (size_t)n, " %s/run/control",
			      crowd.of[i].directory);
	FILE *pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	json_t *json = json_loadf(pipe, 0, NULL);
	ck_assert_int_eq(pclose(pipe), 0);
	ck_assert(json_is_true(json_object_get(json, "proven")));
	json_decref(json);
}

static void end_all(void)
{
	struct error error;
	double from_s = now_s();

	for (unsigned i = 0; i < crowd.count; i++)
		(void)kill(crowd.of[i].agent.pid, SIGTERM);
	for (unsigned i = 0; i < crowd.count; i++) {
		int status;

		ck_assert_int_eq(waitpid(crowd.of[i].agent.pid, &status, 0),
				 crowd.of[i].agent.pid);
		ck_assert_int_eq(status, 0);
	}
	printf("# all ended within %.1f s\n", now_s() - from_s);
	ck_assert_msg(tree_remove(crowd.directory, &error) == 0, "%s", error.text);
}

static void gather(unsigned count, unsigned star)
{
	const char *tmp = getenv("TMPDIR");

	crowd.count = count;
	crowd.star = star;
	snprintf(crowd.directory, sizeof(crowd.directory), "%s/isobar-crowd-XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(crowd.directory));
	for (unsigned i = 0; i < count; i++)
		make(i);
	for (unsigned i = 0; i < count; i++)
		write_conf(i);
	double from_s = now_s(), alone_us = switchtime_us();
	for (unsigned i = 0; i < count; i++)
		start(i);
	wait_all_up();
	printf("# %u instances: all up after %.1f s; a switch takes %.1f us of CPU time, %.1f "
	       "without them\n", count, now_s() - from_s, switchtime_us(), alone_us);
	fflush(stdout);
}

static void live(unsigned count, unsigned star)
{
	gather(count, star);
	measure();
	check_limits();
	audit();
	end_all();
}

START_TEST(lives_with_64_neighbours_in_a_crowd)
{
	live(65, 65);
}
END_TEST

START_TEST(fills_one_machine_with_instances)
{
	live(NODES_MAX, 64);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("crowd");

	stage_suite_add(suite, "star", TIMEOUT_S, lives_with_64_neighbours_in_a_crowd);
	stage_suite_add(suite, "machine", TIMEOUT_S, fills_one_machine_with_instances);
	return suite;
}
