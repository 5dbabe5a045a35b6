/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/setup.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/curve.h"
#include "lib/quantity.h"
#include "tests/demo/gain.h"
#include "tests/demo/ports.h"
#include "tests/demo/together.h"
#include "tests/demo/training.h"

int setup_places(struct demo *demo, struct error *reterr)
{
	char name[64];

	if (demo->options.keep)
		snprintf(name, sizeof(name), SETUP_PREFIX "kept-XXXXXX");
	else
		snprintf(name, sizeof(name), SETUP_PREFIX "%d-XXXXXX", (int)getpid());
	path_join(demo->directory, temporary_directory(), name);
	if (mkdtemp(demo->directory) == NULL) {
		int code = -errno;

		demo->directory[0] = '\0';
		return error_errno(reterr, code, "make a directory in %s", temporary_directory());
	}
	/* Unprivileged programs must get through to their own directories. */
	if (chmod(demo->directory, 0711) != 0)
		return error_errno(reterr, -errno, "chmod %s", demo->directory);
	return demo->options.dry_run ? 0 : groups_create(&demo->groups, reterr);
}

/*
 * Keys NAME.secret and NAME.public in the directory, the secret one for its
 * owner alone.
 */
static int make_keys(const char *directory, const char *name, uid_t user,
		     char ret_public[CURVE_KEY_BYTES], struct error *reterr)
{
	char secret[DEMO_PATH_BYTES], public[DEMO_PATH_BYTES], file[64];
	struct curve_keypair keypair;

	snprintf(file, sizeof(file), "%s.secret", name);
	path_join(secret, directory, file);
	snprintf(file, sizeof(file), "%s.public", name);
	path_join(public, directory, file);
	int r = curve_keypair_new(&keypair, reterr);
	if (r != 0)
		return r;
	r = curve_keypair_write(&keypair, secret, public, reterr);
	memcpy(ret_public, keypair.public_key, CURVE_KEY_BYTES);
	curve_keypair_wipe(&keypair);
	if (r == 0 && geteuid() == 0 && chown(secret, user, (gid_t)-1) != 0)
		r = error_errno(reterr, -errno, "chown %s", secret);
	return r;
}

static int make_directory(const struct demo *demo, const char *directory, bool unprivileged,
			  struct error *reterr)
{
	if (mkdir(directory, 0755) != 0)
		return error_errno(reterr, -errno, "make %s", directory);
	if (unprivileged && geteuid() == 0 && chown(directory, demo->user, demo->gid) != 0)
		return error_errno(reterr, -errno, "chown %s", directory);
	return 0;
}

/* Node 1 gets what does not divide. */
static uint64_t endowment_ucpu(const struct options *options, unsigned index)
{
	uint64_t rest = options->budget_ucpu % options->nodes;

	return options->budget_ucpu / options->nodes + (index == 0 ? rest : 0);
}

static int make_node(struct demo *demo, unsigned index, struct error *reterr)
{
	struct node *node = &demo->nodes[index];

	snprintf(node->name, sizeof(node->name), "node%u", index + 1);
	path_join(node->directory, demo->directory, node->name);
	path_join(node->socket, node->directory, "control");
	node->endowment_ucpu = endowment_ucpu(&demo->options, index);
	char unused[CURVE_KEY_BYTES];
	int r = make_directory(demo, node->directory, false, reterr);
	if (r == 0)
		r = make_keys(node->directory, "node", 0, unused, reterr);
	if (r == 0)
		r = make_keys(node->directory, "worker", demo->user, node->worker_key, reterr);
	if (r != 0 || demo->options.dry_run)
		return r;
	groups_directory(&demo->groups, node->name, node->group);
	r = groups_add(&demo->groups, node->name, reterr);
	if (r == 0)
		r = quota_open(node->group, &node->quota);
	return r == 0 ? 0 : error_errno(reterr, r, "read the quota of %s", node->group);
}

static void write_neighbour(FILE *out, const struct demo *demo, unsigned index)
{
	const struct node *node = &demo->nodes[index];

	fprintf(out,
		"neighbour \"%s\" {\n"
		"\taddress = \"tcp://127.0.0.1:%u\"\n"
		"\tpublic-key = \"%s/node.public\"\n",
		node->name, node->port, node->directory);
	if (demo->options.training.is_decentralised)
		together_write_neighbour(out, demo, index);
	fputs("}\n", out);
}

/* A ring; two nodes have one edge between them. */
static void write_neighbours(FILE *out, const struct demo *demo, unsigned index)
{
	unsigned nodes = demo->options.nodes;

	write_neighbour(out, demo, (index + 1) % nodes);
	if (nodes > 2)
		write_neighbour(out, demo, (index + nodes - 1) % nodes);
}

static void write_training(FILE *out, const struct demo *demo, unsigned index)
{
	fputs("training {\n", out);
	if (demo->options.training.is_decentralised)
		together_write_training(out, demo, index);
	else
		fprintf(out,
			"\tcoordinator = \"tcp://127.0.0.1:%u\"\n"
			"\tcoordinator-key = \"%s/coordinator/coordinator.public\"\n",
			demo->coordinator_port, demo->directory);
	fprintf(out,
		"\tworker-key = \"%s/worker.secret\"\n"
		"\tdata = \"%s\"\n"
		"\texecutable = \"%s/isobar-worker\"\n",
		demo->nodes[index].directory, demo->options.data, demo->directory);
	if (geteuid() == 0)
		fputs("\tuser = nobody\n", out);
	fputs("}\n", out);
}

static void write_node(FILE *out, const struct demo *demo, unsigned index)
{
	const struct node *node = &demo->nodes[index];
	const struct options *options = &demo->options;
	char budget[ISO_QUANTITY_BYTES], endowment[ISO_QUANTITY_BYTES], group[DEMO_PATH_BYTES];

	iso_quantity_cpu_format(options->budget_ucpu, budget);
	iso_quantity_cpu_format(node->endowment_ucpu, endowment);
	if (options->dry_run)
		snprintf(group, sizeof(group), "/isobar-demo/%s", node->name);
	else
		groups_path(&demo->groups, node->name, group);
	fprintf(out,
		"cluster = demo\n"
		"node = %s\n"
		"budget = %s\n"
		"endowment = %s\n"
		"floor = 0.05cpu\n"
		"cgroup = \"%s\"\n"
		"on-exit = restore\n"
		"%s"
		"listen = \"tcp://127.0.0.1:%u\"\n"
		"secret-key = \"%s/node.secret\"\n"
		"state-directory = \"%s\"\n"
		"run-directory = \"%s\"\n"
		"trading {\n"
		"\tlease = 5s\n"
		"\tlimit = none\n%s"
		"}\n"
		"guard {\n"
		"\texecutable = \"%s/agent/isobar-guard\"\n"
		"}\n",
		node->name, budget, endowment, group,
		options->dry_run ? "dry-run = yes\ncreate-cgroup = yes\n" : "", node->port,
		node->directory, node->directory, node->directory,
		options->training.is_gain ? GAIN_TRADING : "", demo->programs);
	write_neighbours(out, demo, index);
	write_training(out, demo, index);
}

static void write_plan(FILE *out, const struct demo *demo, unsigned unused)
{
	(void)unused;
	together_write_plan(out, demo);
}

static void write_coordinator(FILE *out, const struct demo *demo, unsigned unused)
{
	(void)unused;
	training_write(out, demo);
}

typedef void write_fn(FILE *out, const struct demo *demo, unsigned index);

static int write_file(const struct demo *demo, const char *directory, const char *name,
		      write_fn *fn, unsigned index, struct error *reterr)
{
	char path[DEMO_PATH_BYTES];

	path_join(path, directory, name);
	FILE *out = fopen(path, "wxe");
	if (out == NULL)
		return error_errno(reterr, -errno, "make %s", path);
	fn(out, demo, index);
	bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return error_set(reterr, -EIO, "write %s failed", path);
	return 0;
}

/*
 * The build tree may be where an unprivileged user cannot reach it (a clone
 * in /root), so what runs without privilege is copied.
 */
static int copy_program(const struct demo *demo, const char *name, struct error *reterr)
{
	char from[DEMO_PATH_BYTES], to[DEMO_PATH_BYTES], file[64];

	snprintf(file, sizeof(file), "agent/%s", name);
	path_join(from, demo->programs, file);
	path_join(to, demo->directory, name);
	return file_copy(from, to, 0755, reterr);
}

static void write_nothing(FILE *out, const struct demo *demo, unsigned unused)
{
	(void)out;
	(void)demo;
	(void)unused;
}

static int make_coordinator(struct demo *demo, struct error *reterr)
{
	char directory[DEMO_PATH_BYTES], unused[CURVE_KEY_BYTES];

	path_join(directory, demo->directory, "coordinator");
	path_join(demo->coordinator_socket, directory, "control");
	int r = make_directory(demo, directory, true, reterr);
	if (r == 0)
		r = make_keys(directory, "coordinator", demo->user, unused, reterr);
	if (r == 0)
		r = write_file(demo, directory, "isobar-coordinator.conf", write_coordinator, 0,
			       reterr);
	if (r == 0)
		r = training_take_profile(demo, reterr);
	return r == 0 ? copy_program(demo, "isobar-coordinator", reterr) : r;
}

/* The plan, and a place for each node's model. */
static int make_plan(struct demo *demo, struct error *reterr)
{
	int r = write_file(demo, demo->directory, "plan.conf", write_plan, 0, reterr);

	demo->killed = demo->options.nodes - 1;
	for (unsigned i = 0; i < demo->options.nodes && r == 0; i++) {
		char directory[DEMO_PATH_BYTES];

		/* As isobarctl freeze leaves it. */
		if (demo->options.training.is_frozen)
			r = write_file(demo, demo->nodes[i].directory, "frozen", write_nothing, 0,
				       reterr);
		if (r != 0)
			return r;

		path_join(directory, demo->nodes[i].directory, "model");
		r = make_directory(demo, directory, true, reterr);
	}
	return r;
}

int setup_files(struct demo *demo, struct error *reterr)
{
	unsigned nodes = demo->options.nodes, ports[2 * HISTORY_NODES_MAX];
	bool is_decentralised = demo->options.training.is_decentralised;
	/* One for each node, and one for each worker or for the coordinator. */
	int r = ports_find(is_decentralised ? 2 * nodes : nodes + 1, ports, reterr);

	if (r == 0 && !demo->options.dry_run) {
		groups_directory(&demo->groups, "service", demo->service_group);
		r = groups_add_service(&demo->groups, "service", reterr);
	}
	for (unsigned i = 0; i < nodes && r == 0; i++) {
		demo->nodes[i].port = ports[i];
		demo->nodes[i].worker_port = is_decentralised ? ports[nodes + i] : 0;
		r = make_node(demo, i, reterr);
	}
	demo->coordinator_port = ports[nodes];
	if (r == 0)
		r = is_decentralised ? make_plan(demo, reterr) : make_coordinator(demo, reterr);
	for (unsigned i = 0; i < nodes && r == 0; i++)
		r = write_file(demo, demo->nodes[i].directory, "isobard.conf", write_node, i,
			       reterr);
	if (r == 0)
		r = copy_program(demo, "isobar-worker", reterr);
	return r;
}

unsigned setup_remove(struct demo *demo)
{
	struct error error = { 0 };
	unsigned left = groups_kill(&demo->groups) + descendants_kill();

	if (groups_remove(&demo->groups, &error) != 0) {
		fprintf(stderr, "demo: %s\n", error.text);
		left++;
	}
	if (demo->directory[0] == '\0')
		return left;
	if (!demo->options.keep && tree_remove(demo->directory, &error) != 0) {
		fprintf(stderr, "demo: %s\n", error.text);
		left++;
	}
	return left;
}

/* The PID in "isobar-demo-PID-RANDOM", or 0. */
static pid_t owner_of(const char *name)
{
	if (strncmp(name, SETUP_PREFIX, strlen(SETUP_PREFIX)) != 0)
		return 0;
	return (pid_t)strtol(name + strlen(SETUP_PREFIX), NULL, 10);
}

static void sweep_directories(void)
{
	char path[DEMO_PATH_BYTES];
	struct dirent *entry;
	struct stat stat;
	DIR *stream = opendir(temporary_directory());

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		pid_t owner = owner_of(entry->d_name);

		if (owner <= 0 || kill(owner, 0) == 0 || errno != ESRCH)
			continue;
		path_join(path, temporary_directory(), entry->d_name);
		if (lstat(path, &stat) != 0 || stat.st_uid != geteuid() || !S_ISDIR(stat.st_mode))
			continue;
		if (tree_remove(path, NULL) == 0)
			fprintf(stderr, "demo: removed %s of a demo that was killed\n", path);
	}
	closedir(stream);
}

void setup_sweep(const struct demo *demo)
{
	sweep_directories();
	if (demo->groups.version == 0)
		return;
	unsigned busy = groups_sweep(&demo->groups);
	if (busy > 0)
		fprintf(
		    stderr,
		    "demo: %u cgroups below %s/isobar-demo belong to a demo that was killed, but "
		    "processes are in them; left alone\n",
		    busy, demo->groups.mount);
}
