/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/bench/cluster.h"

#include <errno.h>
#include <limits.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "tests/demo/ports.h"

#define ISOBARD		"agent/isobard"
#define GUARD		"agent/isobar-guard"
#define READY_WITHIN_NS 20000000000u

static void node_name(unsigned node, char ret_name[8])
{
	snprintf(ret_name, 8, "n%u", node);
}

static void node_file(const struct cluster *cluster, unsigned node, const char *file,
		      char ret_path[DEMO_PATH_BYTES])
{
	char name[8], directory[DEMO_PATH_BYTES];

	node_name(node, name);
	path_join(directory, cluster->directory, name);
	path_join(ret_path, directory, file);
}

static void print_neighbour(FILE *file, const struct cluster *cluster, unsigned node)
{
	fprintf(file,
		"neighbour n%u {\n address = tcp://127.0.0.1:%u\n public-key = '%s'\n}\n", node,
		cluster->ports[node], cluster->keys[node].public_key);
}

static int write_conf(const struct cluster *cluster, unsigned node, const char *tick,
		      struct error *reterr)
{
	char path[DEMO_PATH_BYTES], group[DEMO_PATH_BYTES], guard[PATH_MAX], name[8];

	if (realpath(GUARD, guard) == NULL)
		return error_errno(reterr, -errno, GUARD);
	node_name(node, name);
	groups_path(&cluster->groups, name, group);
	node_file(cluster, node, "conf", path);
	FILE *file = fopen(path, "we");
	if (file == NULL)
		return error_errno(reterr, -errno, "%s", path);
	fprintf(file,
		"cluster = bench\nbudget = %uucpu\nnode = %s\nendowment = 0.1cpu\n"
		"floor = 0.02cpu\ncgroup = %s\non-exit = keep\n"
		"listen = tcp://127.0.0.1:%u\nsecret-key = %s/%s/secret\n"
		"state-directory = %s/%s\nrun-directory = %s/%s\n"
		"trading { tick = %s limit = none }\nguard { executable = %s }\n",
		cluster->count * 100000, name, group, cluster->ports[node], cluster->directory,
		name, cluster->directory, name, cluster->directory, name, tick, guard);
	if (node == 0)
		for (unsigned i = 1; i < cluster->count; i++)
			print_neighbour(file, cluster, i);
	else
		print_neighbour(file, cluster, 0);
	return fclose(file) == 0 ? 0 : error_errno(reterr, -errno, "%s", path);
}

static int make_node(struct cluster *cluster, unsigned node, struct error *reterr)
{
	char name[8], path[DEMO_PATH_BYTES], public_path[DEMO_PATH_BYTES];
	int r;

	node_name(node, name);
	path_join(path, cluster->directory, name);
	if (mkdir(path, 0700) != 0)
		return error_errno(reterr, -errno, "%s", path);
	r = groups_add(&cluster->groups, name, reterr);
	if (r == 0)
		r = curve_keypair_new(&cluster->keys[node], reterr);
	node_file(cluster, node, "secret", path);
	node_file(cluster, node, "public", public_path);
	return r == 0 ? curve_keypair_write(&cluster->keys[node], path, public_path, reterr) : r;
}

static int start_node(struct cluster *cluster, unsigned node, struct error *reterr)
{
	char conf[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES], command[DEMO_PATH_BYTES + 64];

	node_file(cluster, node, "conf", conf);
	node_file(cluster, node, "log", log);
	snprintf(command, sizeof(command), ISOBARD " --init -f %s >/dev/null", conf);
	if (system(command) != 0)
		return error_set(reterr, -EIO, "%s failed", command);
	const char *const argv[] = { ISOBARD, "-f", conf, NULL };
	struct launch launch = { .argv = argv, .log = log };
	return child_start(&cluster->agents[node], "isobard", &launch, reterr);
}

/* How many neighbours node 0 hears, -1 while it does not answer. */
static int neighbours_up(const struct cluster *cluster)
{
	char path[DEMO_PATH_BYTES];
	json_t *request = json_pack("{s:s}", "command", "status"), *reply = NULL, *neighbour;
	size_t i;
	int up = 0;

	node_file(cluster, 0, "control", path);
	int r = control_call(path, request, 1000000000, &reply, NULL);
	json_decref(request);
	if (r < 0)
		return -1;
	json_array_foreach(json_object_get(reply, "neighbours"), i, neighbour) {
		const char *state = json_string_value(json_object_get(neighbour, "state"));

		up += state != NULL && strcmp(state, "up") == 0;
	}
	json_decref(reply);
	return up;
}

int cluster_start(struct cluster *cluster, unsigned count, const char *tick, struct error *reterr)
{
	const char *tmp = getenv("TMPDIR");
	int r;

	*cluster = (struct cluster){ .count = count };
	snprintf(cluster->directory, sizeof(cluster->directory), "%s/isobar-bench-XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(cluster->directory) == NULL) {
		cluster->directory[0] = '\0';
		return error_errno(reterr, -errno, "temporary directory");
	}
	r = groups_find(&cluster->groups, reterr);
	if (r == 0)
		r = groups_create(&cluster->groups, reterr);
	if (r == 0)
		r = ports_find(count, cluster->ports, reterr);
	for (unsigned i = 0; i < count && r == 0; i++)
		r = make_node(cluster, i, reterr);
	for (unsigned i = 0; i < count && r == 0; i++)
		r = write_conf(cluster, i, tick, reterr);
	for (unsigned i = 0; i < count && r == 0; i++)
		r = start_node(cluster, i, reterr);
	if (r < 0)
		return r;
	for (uint64_t from_ns = clock_now_ns(); neighbours_up(cluster) != (int)count - 1;) {
		if (clock_now_ns() - from_ns > READY_WITHIN_NS)
			return error_set(reterr, -ETIMEDOUT, "the agents do not hear each other");
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	return 0;
}

void cluster_stop(struct cluster *cluster)
{
	struct error error;

	for (unsigned i = 0; i < cluster->count; i++)
		child_stop(&cluster->agents[i], 3000);
	(void)groups_kill(&cluster->groups);
	if (cluster->groups.run[0] != '\0' && groups_remove(&cluster->groups, &error) < 0)
		fprintf(stderr, "bench: %s\n", error.text);
	if (cluster->directory[0] != '\0' && tree_remove(cluster->directory, &error) < 0)
		fprintf(stderr, "bench: %s\n", error.text);
}

long cluster_quota_us(const struct cluster *cluster, unsigned node)
{
	char name[8], directory[DEMO_PATH_BYTES], path[DEMO_PATH_BYTES], text[64];

	node_name(node, name);
	groups_directory(&cluster->groups, name, directory);
	path_join(path, directory,
		  cluster->groups.version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	int r = file_get(path, text, sizeof(text));
	return r < 0 ? r : strtol(text, NULL, 10);
}

int cluster_enter(const struct cluster *cluster, unsigned node, pid_t pid, struct error *reterr)
{
	char name[8], directory[DEMO_PATH_BYTES], path[DEMO_PATH_BYTES], text[16];

	node_name(node, name);
	groups_directory(&cluster->groups, name, directory);
	path_join(path, directory, "cgroup.procs");
	snprintf(text, sizeof(text), "%d", (int)pid);
	return file_put(path, text, reterr);
}
