/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/cli/cluster.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control/control.h"
#include "agent/net/curve.h"
#include "tests/test.h"

/* The index of the worker that is in no configuration. */
#define STRANGER 9

#define DATA "/usr/share/datasets/fashion-mnist"

static const char *const names[] = { "alder", "birch", "cedar" };
_Static_assert(sizeof(names) / sizeof(names[0]) == CLUSTER_WORKERS, "each has a name");

static const char *name_of(unsigned index)
{
	return index < CLUSTER_WORKERS ? names[index] : "stranger";
}

static void make_key(const struct cluster *cluster, const char *name)
{
	struct curve_keypair keypair;
	char secret[128], public[128];
	struct error error;

	snprintf(secret, sizeof(secret), "%s/%s.key", cluster->folder, name);
	snprintf(public, sizeof(public), "%s/%s.pub", cluster->folder, name);
	ck_assert_int_eq(curve_keypair_new(&keypair, &error), 0);
	ck_assert_int_eq(curve_keypair_write(&keypair, secret, public, &error), 0);
}

/* A port that was free a moment ago. */
static unsigned find_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

void cluster_open(struct cluster *cluster)
{
	memset(cluster, 0, sizeof(*cluster));
	snprintf(cluster->folder, sizeof(cluster->folder), "/tmp/isobar-training.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(cluster->folder));
	snprintf(cluster->data, sizeof(cluster->data), DATA);
	snprintf(cluster->endpoint, sizeof(cluster->endpoint), "tcp://127.0.0.1:%u", find_port());
	make_key(cluster, "coordinator");
	make_key(cluster, "stranger");
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		make_key(cluster, names[i]);
}

void cluster_close(struct cluster *cluster)
{
	char command[128];

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		cluster_kill(&cluster->workers[i], SIGKILL);
	cluster_kill(&cluster->coordinator, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", cluster->folder);
	ck_assert_int_eq(system(command), 0);
}

void cluster_configure(const struct cluster *cluster, const char *more)
{
	const char *folder = cluster->folder;
	char path[128];

	snprintf(path, sizeof(path), "%s/conf", folder);
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"run = test\n"
		"listen = %s\n"
		"secret-key = %s/coordinator.key\n"
		"state-directory = %s/state\n"
		"run-directory = %s/run\n"
		"ping-interval = 300ms\n"
		"evaluation-interval = 500ms\n"
		"checkpoint-interval = 200ms\n",
		cluster->endpoint, folder, folder, folder);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		fprintf(file, "worker %s { public-key = %s/%s.pub }\n", names[i], folder, names[i]);
	fputs(more, file);
	fclose(file);
}

/* Starts a program that dies with the test; its words go to FOLDER/NAME.log. */
static pid_t start(const struct cluster *cluster, const char *path, const char *name,
		   const char *const *arguments)
{
	char *const *argv;
	char log[128];

	/* exec takes char *const[] and changes nothing. */
	memcpy(&argv, &arguments, sizeof(argv));
	snprintf(log, sizeof(log), "%s/%s.log", cluster->folder, name);
	pid_t parent = getpid(), pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(126);
	execv(path, argv);
	_exit(127);
}

static void program_path(const char *program, char ret_path[256])
{
	const char *builddir = getenv("top_builddir");

	snprintf(ret_path, 256, "%s/agent/%s", builddir != NULL ? builddir : ".", program);
}

void cluster_start_coordinator(struct cluster *cluster, const char *option)
{
	char conf[128], report[128], path[256];
	const char *arguments[] = {
		"isobar-coordinator", "-f", conf, "--report", report, option, NULL
	};

	snprintf(conf, sizeof(conf), "%s/conf", cluster->folder);
	snprintf(report, sizeof(report), "%s/report.json", cluster->folder);
	program_path("isobar-coordinator", path);
	cluster->coordinator = start(cluster, path, "coordinator", arguments);
	cluster->starts++;
}

const char *const *cluster_worker_arguments(struct cluster *cluster, unsigned index,
					    char ret_path[256])
{
	static char public[128], secret[128];
	static const char *arguments[] = { "isobar-worker",
					   "--coordinator",
					   NULL,
					   "--coordinator-key",
					   public,
					   "--key",
					   secret,
					   "--name",
					   NULL,
					   "--data",
					   NULL,
					   "--threads",
					   "1",
					   NULL };

	snprintf(public, sizeof(public), "%s/coordinator.pub", cluster->folder);
	snprintf(secret, sizeof(secret), "%s/%s.key", cluster->folder, name_of(index));
	arguments[2] = cluster->endpoint;
	arguments[10] = cluster->data;
	/* The stranger says the name of the first one. */
	arguments[8] = name_of(index % STRANGER);
	program_path("isobar-worker", ret_path);
	return arguments;
}

void cluster_start_worker(struct cluster *cluster, unsigned index)
{
	char path[256];
	const char *const *arguments = cluster_worker_arguments(cluster, index, path);

	/* The stranger takes the place of the first one in our books, too. */
	cluster->workers[index % STRANGER] = start(cluster, path, name_of(index), arguments);
}

void cluster_start_workers(struct cluster *cluster)
{
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		cluster_start_worker(cluster, i);
}

json_t *cluster_train(struct cluster *cluster, const char *more)
{
	cluster_configure(cluster, more);
	cluster_start_coordinator(cluster, NULL);
	cluster_start_workers(cluster);
	ck_assert_msg(cluster_wait(&cluster->coordinator) == 0, "the coordinator said:\n%s",
		      cluster_said(cluster, "coordinator.log"));
	return cluster_load(cluster, "report.json");
}

int cluster_wait(pid_t *pid)
{
	int status;

	ck_assert_int_gt(*pid, 0);
	ck_assert_int_eq(waitpid(*pid, &status, 0), *pid);
	*pid = 0;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void cluster_kill(pid_t *pid, int signal)
{
	if (*pid <= 0)
		return;
	(void)kill(*pid, signal);
	(void)cluster_wait(pid);
}

json_t *cluster_status(const struct cluster *cluster)
{
	json_t *request = json_pack("{s:s}", "command", "status"), *reply = NULL;
	char path[128];
	struct error error;

	snprintf(path, sizeof(path), "%s/run/control", cluster->folder);
	int r = control_call(path, request, 2000000000u, &reply, &error);
	json_decref(request);
	return r == 0 ? reply : NULL;
}

double cluster_number(const struct cluster *cluster, const char *key)
{
	json_t *status = cluster_status(cluster);
	json_t *value = json_object_get(status, key);
	double number = json_is_number(value) ? json_number_value(value) : -1;

	json_decref(status);
	return number;
}

double cluster_worker_number(const struct cluster *cluster, unsigned index, const char *key)
{
	json_t *status = cluster_status(cluster);
	json_t *worker = json_array_get(json_object_get(status, "workers"), index);
	json_t *value = json_object_get(worker, key);
	double number = json_is_number(value) ? json_number_value(value) : -1;

	json_decref(status);
	return number;
}

bool cluster_worker_is(const struct cluster *cluster, unsigned index, const char *state)
{
	json_t *status = cluster_status(cluster);
	json_t *worker = json_array_get(json_object_get(status, "workers"), index);
	const char *text = json_string_value(json_object_get(worker, "state"));
	bool is = text != NULL && strcmp(text, state) == 0;

	json_decref(status);
	return is;
}

void cluster_wait_round(const struct cluster *cluster, double number)
{
	for (unsigned ms = 0; cluster_number(cluster, "round") < number; ms += 20) {
		ck_assert_msg(ms < CLUSTER_WAIT_MS, "no round %.0f; the coordinator said:\n%s",
			      number, cluster_said(cluster, "coordinator.log"));
		usleep(20000);
	}
}

void cluster_wait_worker(const struct cluster *cluster, unsigned index, const char *state)
{
	for (unsigned ms = 0; !cluster_worker_is(cluster, index, state); ms += 20) {
		ck_assert_msg(ms < CLUSTER_WAIT_MS,
			      "worker %s is not %s; the coordinator said:\n%s", name_of(index),
			      state, cluster_said(cluster, "coordinator.log"));
		usleep(20000);
	}
}

json_t *cluster_load(const struct cluster *cluster, const char *name)
{
	char path[128];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/%s", cluster->folder, name);
	json_t *json = json_load_file(path, 0, &error);
	ck_assert_msg(json != NULL, "%s: %s", path, error.text);
	return json;
}

const char *cluster_said(const struct cluster *cluster, const char *name)
{
	static char text[8192];
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", cluster->folder, name);
	FILE *file = fopen(path, "re");
	size_t size = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file != NULL)
		fclose(file);
	text[size] = '\0';
	return text;
}
