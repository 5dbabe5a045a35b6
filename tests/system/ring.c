/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/conf/conf.h"
#include "tests/test.h"

#define CLUSTER "fire"

static void open_proxy(struct ring *ring, unsigned listen_ports[2 * RING_NODES])
{
	unsigned ports[2 * RING_NODES];

	for (unsigned i = 0; i < RING_NODES; i++) {
		ports[RING_LINE_RIGHT(i)] = ring->nodes[ring_right_of(i)].port;
		ports[RING_LINE_LEFT(i)] = ring->nodes[ring_left_of(i)].port;
		listen_ports[RING_LINE_RIGHT(i)] = stage_free_port();
		listen_ports[RING_LINE_LEFT(i)] = stage_free_port();
	}
	ring->proxy = calloc(1, sizeof(*ring->proxy));
	ck_assert_ptr_nonnull(ring->proxy);
	proxy_open(ring->proxy, 2 * RING_NODES, listen_ports, ports);
}

static void write_conf(const struct ring *ring, unsigned index, const unsigned *proxy_ports)
{
	const struct ring_node *node = &ring->nodes[index];
	const unsigned neighbours[2] = { ring_right_of(index), ring_left_of(index) };
	char path[DEMO_PATH_BYTES], group[DEMO_PATH_BYTES];

	groups_path(ring->groups, node->name, group);
	path_join(path, node->directory, "conf");
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"cluster = " CLUSTER "\nbudget = %ducpu\nnode = %s\nendowment = %ducpu\n"
		"floor = %ducpu\ncgroup = %s\non-exit = keep\nlisten = tcp://127.0.0.1:%u\n"
		"secret-key = %s/secret\nstate-directory = %s\nrun-directory = %s/run\n"
		"trading { tick = 100ms\n fresh = 2s\n lease = %ums\n lease-slack = 500ms\n"
		"limit = none }\n"
		"guard { executable = %s/isobar-guard }\n",
		RING_BUDGET_UCPU, node->name, RING_BUDGET_UCPU / (int)RING_NODES, RING_FLOOR_UCPU,
		group, node->port, node->directory, node->directory, node->directory,
		ring->lease_ms, node->directory);
	for (unsigned k = 0; k < 2; k++)
		fprintf(file,
			"neighbour %s {\n address = tcp://127.0.0.1:%u\n public-key = '%s'\n}\n",
			ring->nodes[neighbours[k]].name,
			proxy_ports != NULL ? proxy_ports[2 * index + k] :
					      ring->nodes[neighbours[k]].port,
			ring->nodes[neighbours[k]].keys.public_key);
	ck_assert_int_eq(fclose(file), 0);
}

static void make_node(struct ring *ring, unsigned index)
{
	struct ring_node *node = &ring->nodes[index];
	char secret[DEMO_PATH_BYTES], public[DEMO_PATH_BYTES];
	struct error error;

	snprintf(node->name, sizeof(node->name), "n%u", index);
	node->id = conf_node_id(CLUSTER, node->name);
	node->port = stage_free_port();
	path_join(node->directory, ring->directory, node->name);
	ck_assert_int_eq(mkdir(node->directory, 0700), 0);
	ck_assert_msg(groups_add(ring->groups, node->name, &error) == 0, "%s", error.text);
	groups_directory(ring->groups, node->name, node->group);
	ck_assert_msg(curve_keypair_new(&node->keys, &error) == 0, "%s", error.text);
	path_join(secret, node->directory, "secret");
	path_join(public, node->directory, "public");
	ck_assert_msg(curve_keypair_write(&node->keys, secret, public, &error) == 0, "%s",
		      error.text);
}

static void make_journal(const struct ring *ring, unsigned index)
{
	char program[DEMO_PATH_BYTES], command[3 * DEMO_PATH_BYTES];

	snprintf(command, sizeof(command), "%s --init -f %s/conf >/dev/null",
		 stage_build_path("agent/isobard", program), ring->nodes[index].directory);
	ck_assert_int_eq(system(command), 0);
}

void ring_open(struct ring *ring, bool proxied)
{
	ring_open_lease(ring, proxied, RING_LEASE_MS);
}

void ring_open_lease(struct ring *ring, bool proxied, unsigned lease_ms)
{
	unsigned proxy_ports[2 * RING_NODES];
	const char *tmp = getenv("TMPDIR");
	struct error error;

	setvbuf(stdout, NULL, _IOLBF, 0);
	*ring = (struct ring){ .groups = &stage_groups, .lease_ms = lease_ms };
	snprintf(ring->directory, sizeof(ring->directory), "%s/isobar-fire-XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(ring->directory));
	ck_assert_msg(groups_add_service(ring->groups, "agents", &error) == 0, "%s", error.text);
	groups_directory(ring->groups, "agents", ring->service);
	for (unsigned i = 0; i < RING_NODES; i++)
		make_node(ring, i);
	if (proxied)
		open_proxy(ring, proxy_ports);
	for (unsigned i = 0; i < RING_NODES; i++) {
		write_conf(ring, i, proxied ? proxy_ports : NULL);
		ring_guard_allow(ring, i, true);
		make_journal(ring, i);
	}
	ring_observer_start(ring);
}

/* Guards outlive their agents while a lease lasts, and what is killed leaves a little later. */
static void remove_service(const struct ring *ring)
{
	(void)groups_kill(ring->groups);
	for (unsigned try = 0; try < 100 && rmdir(ring->service) < 0; try++)
		stage_pause_ms(20);
	ck_assert_int_lt(access(ring->service, F_OK), 0);
}

void ring_close(struct ring *ring)
{
	struct error error;

	for (unsigned i = 0; i < RING_NODES; i++) {
		ring_burn(ring, i, false);
		ring_kill(ring, i, SIGKILL);
	}
	if (ring->observer.pid > 0)
		ring_observer_stop(ring);
	if (ring->proxy != NULL)
		proxy_close(ring->proxy);
	free(ring->proxy);
	for (unsigned i = 0; i < RING_NODES; i++)
		ck_assert_int_eq(rmdir(ring->nodes[i].group), 0);
	remove_service(ring);
	ck_assert_msg(tree_remove(ring->directory, &error) == 0, "%s", error.text);
}

static void put_env(const char *name, const char *value)
{
	if (value != NULL)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

void ring_start(struct ring *ring, unsigned index, const struct ring_start *how)
{
	static const struct ring_start plain;
	struct ring_node *node = &ring->nodes[index];
	char program[DEMO_PATH_BYTES], conf[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES],
	    shim[DEMO_PATH_BYTES];
	struct error error;

	if (how == NULL)
		how = &plain;
	path_join(conf, node->directory, how->conf != NULL ? how->conf : "conf");
	path_join(log, node->directory, "log");
	stage_build_path(how->crash != NULL ? "tests/system/isobard-crash" : "agent/isobard",
			program);
	if (how->program != NULL)
		stage_build_path(how->program, program);
	put_env("ISO_CRASH_AT", how->crash);
	put_env("ISO_DETOUR", how->detour);
	put_env("ISO_DISK", how->disk);
	put_env("ISO_DISK_WHILE", how->disk_while);
	put_env("ISO_DISK_KEEP", how->keep);
	put_env("LD_PRELOAD", how->disk != NULL || how->keep != NULL ?
				      stage_build_path("tests/system/disk.so", shim) :
				      NULL);
	const char *const argv[] = { program, "-f", conf, NULL };
	struct launch launch = { .argv = argv, .log = log, .group = ring->service };
	ck_assert_int_eq(node->agent.pid, 0);
	int r = child_start(&node->agent, node->name, &launch, &error);
	put_env("LD_PRELOAD", NULL);
	ck_assert_msg(r == 0, "%s", error.text);
	ring->starts++;
}

void ring_start_all(struct ring *ring)
{
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_start(ring, i, NULL);
	ring_wait_all_up(ring);
}

unsigned ring_log_count(const struct ring *ring, unsigned index, const char *words)
{
	return stage_log_count(ring->nodes[index].directory, words);
}

void ring_tell(const struct ring *ring, unsigned index)
{
	char log[DEMO_PATH_BYTES], prefix[32];

	path_join(log, ring->nodes[index].directory, "log");
	snprintf(prefix, sizeof(prefix), "# %s: ", ring->nodes[index].name);
	file_print_tail(stdout, log, prefix, 20);
	fflush(stdout);
}

void ring_start_and_wait(struct ring *ring, unsigned index)
{
	uint64_t from_ns = clock_now_ns();
	json_t *status;
	int end;

	ring_start(ring, index, NULL);
	while ((status = ring_status(ring, index)) == NULL) {
		if (ring_ended(ring, index, &end) || clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			ring_tell(ring, index);
			ck_abort_msg("node %u does not start", index);
		}
		stage_pause_ms(20);
	}
	json_decref(status);
}

bool ring_ended(struct ring *ring, unsigned index, int *ret_status)
{
	struct child *agent = &ring->nodes[index].agent;

	if (waitpid(agent->pid, ret_status, WNOHANG) != agent->pid)
		return false;
	agent->pid = 0;
	return true;
}

int ring_wait_end(struct ring *ring, unsigned index)
{
	uint64_t from_ns = clock_now_ns();
	int status;

	while (!ring_ended(ring, index, &status)) {
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			ring_tell(ring, index);
			ck_abort_msg("node %u does not end", index);
		}
		stage_pause_ms(5);
	}
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void ring_kill(struct ring *ring, unsigned index, int signal)
{
	struct child *agent = &ring->nodes[index].agent;

	if (agent->pid == 0)
		return;
	(void)kill(agent->pid, signal);
	(void)ring_wait_end(ring, index);
}

void ring_burn(struct ring *ring, unsigned index, bool on)
{
	struct ring_node *node = &ring->nodes[index];
	char program[DEMO_PATH_BYTES];
	struct error error;

	if (!on && node->burner.pid > 0) {
		(void)kill(node->burner.pid, SIGKILL);
		(void)waitpid(node->burner.pid, NULL, 0);
		node->burner.pid = 0;
	}
	if (!on || node->burner.pid > 0)
		return;
	const char *const argv[] = { stage_build_path("tests/demo/cotenant", program), NULL };
	struct launch launch = { .argv = argv, .group = node->group };
	ck_assert_msg(child_start(&node->burner, "cotenant", &launch, &error) == 0, "%s",
		      error.text);
}

void ring_observer_start(struct ring *ring)
{
	char program[DEMO_PATH_BYTES], budget[16], log[DEMO_PATH_BYTES];
	const char *argv[6 + RING_NODES] = { stage_build_path("tests/demo/observer", program),
					     "--budget-ucpu", budget, "--rate-hz",
					     RING_OBSERVERS_HZ };
	struct launch launch = { .argv = argv, .log = log, .group = ring->service };
	struct error error;

	snprintf(budget, sizeof(budget), "%d", RING_BUDGET_UCPU);
	for (unsigned i = 0; i < RING_NODES; i++)
		argv[5 + i] = ring->nodes[i].group;
	path_join(log, ring->directory, "observed");
	(void)unlink(log);
	ck_assert_msg(child_start(&ring->observer, "observer", &launch, &error) == 0, "%s",
		      error.text);
}

/* The last line of what it said. */
static json_t *summary(const struct ring *ring, bool tells)
{
	char path[DEMO_PATH_BYTES], line[8192];
	json_t *json = NULL;

	path_join(path, ring->directory, "observed");
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		json_decref(json);
		json = json_loads(line, 0, NULL);
		if (tells && strstr(line, "\"violation\"") != NULL)
			printf("# %s", line);
	}
	fclose(file);
	return json;
}

/* Ends it; what it said in the end, and its exit status. */
static json_t *end_observer(struct ring *ring, bool tells, int *ret_status)
{
	int status;

	(void)kill(ring->observer.pid, SIGTERM);
	ck_assert_int_eq(waitpid(ring->observer.pid, &status, 0), ring->observer.pid);
	ring->observer.pid = 0;
	json_t *json = summary(ring, tells);
	ck_assert_ptr_nonnull(json);
	ck_assert(WIFEXITED(status));
	*ret_status = WEXITSTATUS(status);
	return json;
}

static json_int_t seen(const json_t *summary, const char *key)
{
	return json_integer_value(json_object_get(summary, key));
}

void ring_observer_stop(struct ring *ring)
{
	int status;
	json_t *json = end_observer(ring, true, &status);
	json_int_t kept = seen(json, "kept");

	printf("# observer: %jd snapshots, %.0f a second, the sum was at most %jd of %d ucpu, "
	       "%jd above\n", (intmax_t)kept,
	       json_number_value(json_object_get(json, "kept_per_s")),
	       (intmax_t)seen(json, "sum_ucpu_max"),
	       RING_BUDGET_UCPU, (intmax_t)seen(json, "violations"));
	ck_assert_msg(status == 0, "the observer saw more than the budget");
	ck_assert_int_gt(kept, 100);
	ring->kept += (uint64_t)kept;
	json_decref(json);
}

uint64_t ring_observer_caught(struct ring *ring)
{
	int status;
	json_t *json = end_observer(ring, false, &status);
	uint64_t violations = (uint64_t)seen(json, "violations");

	ck_assert_int_eq(status, violations > 0 ? 1 : 0);
	json_decref(json);
	return violations;
}
