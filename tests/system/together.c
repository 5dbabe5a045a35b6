/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Four workers learn one model by a plan, as real processes on loopback: alike without
 * faults, with unequal parts, after one of them was killed and came back, and beside one that
 * is in hostile hands.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/net/curve.h"
#include "agent/track/modelfile.h"
#include "agent/train/dataset.h"
#include "lib/draw.h"
#include "tests/system/villain.h"
#include "tests/test.h"

#define NODES	 4u
#define SAMPLES	 800u /* each plan below has a part for every one of them */
#define FEATURES 8u
#define PARAMS	 (FEATURES + 1)
#define L2	 0.01
#define WAIT_NS	 60000000000ull

/* Of a good model: |gradient| over all samples, relative to that at zeros. */
#define SLOPE_MAX 1e-2

/* Who is not heard is soon left out; or never, however busy the machine is. */
#define BRISK	"wait = 300ms\ndrop = 300ms\n"
#define PATIENT "wait = 30s\ndrop = 30s\n"
#define ALL	"node alder { } node birch { } node cedar { } node dogwood { }\n"

static const char *const names[NODES] = { "alder", "birch", "cedar", "dogwood" };

static char folder[64];
static unsigned ports[NODES];
static pid_t pids[NODES];
static struct error error;

static void find_ports(void)
{
	int fds[NODES];

	/* All are held until all are found, so that they differ. */
	for (unsigned i = 0; i < NODES; i++) {
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t size = sizeof(address);

		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(bind(fds[i], (struct sockaddr *)&address, size), 0);
		ck_assert_int_eq(getsockname(fds[i], (struct sockaddr *)&address, &size), 0);
		ports[i] = ntohs(address.sin_port);
	}
	for (unsigned i = 0; i < NODES; i++)
		close(fds[i]);
}

static void write_data(void)
{
	struct iso_rng rng = { test_seed_base() };
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/data.svm", folder);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < SAMPLES; i++) {
		double x[FEATURES], side = 0.5;

		for (unsigned j = 0; j < FEATURES; j++) {
			x[j] = iso_draw_normal(&rng);
			side += (j % 2 == 0 ? 1.0 : -0.5) * x[j];
		}
		/* Not all are where the plane says. */
		fprintf(file, "%s", side + 2 * iso_draw_normal(&rng) > 0 ? "+1" : "-1");
		for (unsigned j = 0; j < FEATURES; j++)
			fprintf(file, " %u:%.6f", j + 1, x[j]);
		fputc('\n', file);
	}
	fclose(file);
}

static void setup(void)
{
	memset(pids, 0, sizeof(pids));
	snprintf(folder, sizeof(folder), "/tmp/isobar-together.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	find_ports();
	write_data();
	for (unsigned i = 0; i < NODES; i++) {
		struct curve_keypair keypair;
		char secret[128], public[128];

		snprintf(secret, sizeof(secret), "%s/%s.key", folder, names[i]);
		snprintf(public, sizeof(public), "%s/%s.pub", folder, names[i]);
		ck_assert_int_eq(curve_keypair_new(&keypair, &error), 0);
		ck_assert_int_eq(curve_keypair_write(&keypair, secret, public, &error), 0);
	}
}

static void end(unsigned node, int signal)
{
	int status;

	if (pids[node] <= 0)
		return;
	kill(pids[node], signal);
	ck_assert_int_eq(waitpid(pids[node], &status, 0), pids[node]);
	pids[node] = 0;
	if (signal == SIGTERM)
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void teardown(void)
{
	char command[96];

	for (unsigned i = 0; i < NODES; i++)
		end(i, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static void write_plan(unsigned node, const char *more)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.plan", folder, names[node]);
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"name = together\n"
		"model = logistic\n"
		"l2 = %g\n"
		"save-every = 20ms\n"
		"evaluate-every = off\n"
		"%s\n",
		L2, more);
	fclose(file);
}

/* Each has the next and the one before as neighbours: a ring. */
static void start(unsigned node)
{
	const char *builddir = getenv("top_builddir");
	char path[300], data[128], plan[128], key[128], state[128], listen[64], log[128];
	char neighbours[2][256];
	const unsigned others[2] = { (node + 1) % NODES, (node + NODES - 1) % NODES };

	snprintf(path, sizeof(path), "%s/agent/isobar-worker", builddir != NULL ? builddir : ".");
	snprintf(data, sizeof(data), "%s/data.svm,holdout=0", folder);
	snprintf(plan, sizeof(plan), "%s/%s.plan", folder, names[node]);
	snprintf(key, sizeof(key), "%s/%s.key", folder, names[node]);
	snprintf(state, sizeof(state), "%s/%s", folder, names[node]);
	snprintf(log, sizeof(log), "%s/%s.log", folder, names[node]);
	snprintf(listen, sizeof(listen), "tcp://127.0.0.1:%u", ports[node]);
	for (unsigned i = 0; i < 2; i++)
		snprintf(neighbours[i], sizeof(neighbours[i]), "%s,tcp://127.0.0.1:%u,%s/%s.pub",
			 names[others[i]], ports[others[i]], folder, names[others[i]]);
	pid_t parent = getpid(), pid = fork();
	ck_assert_int_ge(pid, 0);
	pids[node] = pid;
	if (pid > 0)
		return;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    getppid() != parent)
		_exit(126);
	/* Whatever the test had there is no agent's. */
	close(3);
	execl(path, "isobar-worker", "--plan", plan, "--listen", listen, "--neighbour",
	      neighbours[0], "--neighbour", neighbours[1], "--key", key, "--name", names[node],
	      "--data", data, "--threads", "1", "--state-directory", state, (char *)NULL);
	_exit(127);
}

static void start_all(const char *more)
{
	for (unsigned i = 0; i < NODES; i++) {
		write_plan(i, more);
		start(i);
	}
}

/* Round of the model on disk; 0: none yet.  params may be NULL. */
static uint64_t saved(unsigned node, double params[PARAMS])
{
	struct modelfile file;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, names[node]);
	int r = modelfile_read(path, &file, &error);
	if (r == -ENOENT)
		return 0;
	ck_assert_msg(r == 0, "%s", error.text);
	ck_assert_uint_eq(iso_model_params(&file.model), PARAMS);
	if (params != NULL)
		memcpy(params, file.params, PARAMS * sizeof(*params));
	free(file.params);
	return file.round;
}

static void wait_for_round(unsigned node, uint64_t round)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (saved(node, NULL) < round) {
		ck_assert_msg(clock_now_ns() < until_ns, "%s is at round %llu, not %llu",
			      names[node], (unsigned long long)saved(node, NULL),
			      (unsigned long long)round);
		ck_assert_int_eq(waitpid(pids[node], NULL, WNOHANG), 0);
		usleep(10000);
	}
}

static void wait_for_ends(void)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	for (unsigned i = 0; i < NODES; i++) {
		int status;

		while (waitpid(pids[i], &status, WNOHANG) == 0) {
			ck_assert_msg(clock_now_ns() < until_ns, "%s does not end", names[i]);
			usleep(10000);
		}
		pids[i] = 0;
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static double norm(const double *v)
{
	double sum = 0;

	for (unsigned i = 0; i < PARAMS; i++)
		sum += v[i] * v[i];
	return sqrt(sum);
}

/* |gradient| of the loss over all samples. */
static double slope(const double y[PARAMS])
{
	const struct iso_model model = { ISO_MODEL_LOGISTIC, FEATURES, 2, 0, (float)L2 };
	char spec[96];
	float params[PARAMS], gradient[PARAMS], x[SAMPLES * FEATURES], targets[SAMPLES];
	float *workspace = malloc(iso_model_workspace_floats(&model, SAMPLES) * sizeof(float));
	uint32_t rows[SAMPLES];
	struct dataset data;
	double wide[PARAMS];

	ck_assert_ptr_nonnull(workspace);
	snprintf(spec, sizeof(spec), "%s/data.svm,holdout=0", folder);
	ck_assert_msg(dataset_open(spec, DATASET_TRAIN, &data, &error) == 0, "%s", error.text);
	ck_assert_uint_eq(data.samples, SAMPLES);
	for (uint32_t i = 0; i < SAMPLES; i++)
		rows[i] = i;
	for (uint32_t i = 0; i < PARAMS; i++)
		params[i] = (float)y[i];
	struct iso_model_batch batch = dataset_batch(&data, true, rows, SAMPLES, x, targets);
	(void)iso_model_gradient(&model, params, &batch, workspace, gradient);
	for (uint32_t i = 0; i < PARAMS; i++)
		wide[i] = (double)gradient[i];
	dataset_close(&data);
	free(workspace);
	return norm(wide);
}

/* Until the model of a node is near that which is best for all samples together. */
static void wait_for_the_best(unsigned node)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;
	double params[PARAMS], zeros[PARAMS] = { 0 };

	while (saved(node, params) == 0 || slope(params) > SLOPE_MAX / 2 * slope(zeros)) {
		ck_assert_msg(clock_now_ns() < until_ns, "%s does not get there", names[node]);
		usleep(50000);
	}
}

/* How far the models are from that of the first, relatively. */
static double spread(void)
{
	double first[PARAMS], other[PARAMS], widest = 0;

	ck_assert_uint_gt(saved(0, first), 0);
	for (unsigned i = 1; i < NODES; i++) {
		ck_assert_uint_gt(saved(i, other), 0);
		for (unsigned j = 0; j < PARAMS; j++)
			other[j] -= first[j];
		widest = fmax(widest, norm(other));
	}
	return widest / norm(first);
}

/* All have the model that is the best for all samples together. */
static void agree(double spread_max)
{
	double first[PARAMS], zeros[PARAMS] = { 0 };

	ck_assert_double_le(spread(), spread_max);
	ck_assert_uint_gt(saved(0, first), 0);
	ck_assert_double_le(slope(first), SLOPE_MAX * slope(zeros));
}

/* On a busy machine one that is there may be left out just now. */
static void wait_until_agreed(double spread_max)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (spread() > spread_max && clock_now_ns() < until_ns)
		usleep(50000);
	agree(spread_max);
}

/* Whether a worker has said so. */
static bool has_said(unsigned node, const char *words)
{
	char path[128], line[512];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%s.log", folder, names[node]);
	FILE *file = fopen(path, "re");
	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = strstr(line, words) != NULL;
	if (file != NULL)
		fclose(file);
	return found;
}

static void wait_until_said(unsigned node, const char *words)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (!has_said(node, words)) {
		ck_assert_msg(clock_now_ns() < until_ns, "%s has not said '%s'", names[node],
			      words);
		usleep(10000);
	}
}

START_TEST(ends_by_itself_with_one_model)
{
	start_all(PATIENT "rounds = 600\n" ALL);
	wait_for_ends();
	for (unsigned i = 0; i < NODES; i++)
		ck_assert_uint_eq(saved(i, NULL), 600);
	agree(1e-4);
	ck_assert(has_said(0, "the last round, 600, is done after"));
}
END_TEST

START_TEST(every_sample_counts_alike_however_unequal_the_parts)
{
	start_all(PATIENT "rounds = 1500\nnode alder { size = 10 } node birch { size = 6 }\n"
		  "node cedar { size = 3 } node dogwood { size = 1 }\n");
	wait_for_ends();
	ck_assert(has_said(0, "part 1 of 4 with 400 samples"));
	ck_assert(has_said(3, "part 4 of 4 with 40 samples"));
	agree(1e-3);
}
END_TEST

START_TEST(one_that_is_killed_is_left_out_and_comes_back)
{
	start_all(BRISK ALL);
	wait_for_round(2, 50);
	end(2, SIGKILL);
	uint64_t of_the_dead = saved(2, NULL);
	/* The others leave it out, and go on. */
	wait_until_said(1, "neighbour cedar is not there");
	uint64_t seen = saved(0, NULL);
	wait_for_round(0, seen + 300);
	ck_assert_uint_eq(saved(2, NULL), of_the_dead);
	start(2);
	/* It takes up where the others are, not where it was. */
	wait_for_round(2, seen + 400);
	wait_for_the_best(2);
	wait_until_agreed(1e-3);
	for (unsigned i = 0; i < NODES; i++)
		end(i, SIGTERM);
	ck_assert(has_said(2, "going on from"));
}
END_TEST

START_TEST(another_plan_is_refused_and_named)
{
	start_all(BRISK ALL);
	end(1, SIGKILL);
	write_plan(1, BRISK "rho = 0.5\n" ALL);
	start(1);
	wait_until_said(0, "neighbour birch: its plan or its data differ from ours");
	/* That one learns nothing from anybody; the others learn without it. */
	wait_for_round(0, saved(0, NULL) + 100);
	ck_assert(!has_said(1, "neighbour alder is in step"));
}
END_TEST

/* The last of them is, between the first and the third. */
static void start_villain(void)
{
	char addresses[2][64], listen[64], key[128], keys[2][CURVE_KEY_BYTES];
	struct link_neighbour neighbours[2];
	const unsigned self = NODES - 1;

	snprintf(listen, sizeof(listen), "tcp://127.0.0.1:%u", ports[self]);
	snprintf(key, sizeof(key), "%s/%s.key", folder, names[self]);
	for (unsigned i = 0; i < 2; i++) {
		unsigned other = 2 * i;
		char public[128];

		snprintf(addresses[i], sizeof(addresses[i]), "tcp://127.0.0.1:%u", ports[other]);
		snprintf(public, sizeof(public), "%s/%s.pub", folder, names[other]);
		ck_assert_int_eq(curve_public_read(public, keys[i], &error), 0);
		neighbours[i] = (struct link_neighbour){ names[other], addresses[i], keys[i] };
	}
	pid_t parent = getpid(), pid = fork();
	ck_assert_int_ge(pid, 0);
	pids[self] = pid;
	if (pid > 0)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(126);
	villain_play(listen, key, neighbours, 2);
}

START_TEST(one_in_hostile_hands_is_named_and_left_out)
{
	double params[PARAMS];

	for (unsigned i = 0; i < NODES - 1; i++) {
		write_plan(i, BRISK ALL);
		start(i);
	}
	start_villain();
	for (unsigned i = 0; i < NODES - 1; i += 2)
		wait_until_said(i, "neighbour dogwood sends numbers beyond all reason");
	/* It comes back again and again. */
	for (unsigned i = 0; i < NODES - 1; i++)
		wait_for_round(i, saved(i, NULL) + 200);
	for (unsigned i = 0; i < NODES - 1; i++) {
		end(i, SIGTERM);
		ck_assert_uint_gt(saved(i, params), 200);
		ck_assert_double_lt(norm(params), 100);
	}
	ck_assert(!has_said(1, "beyond all reason"));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("together");
	TCase *tcase = tcase_create("processes");

	tcase_set_timeout(tcase, 200);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, ends_by_itself_with_one_model);
	tcase_add_test(tcase, every_sample_counts_alike_however_unequal_the_parts);
	tcase_add_test(tcase, one_that_is_killed_is_left_out_and_comes_back);
	tcase_add_test(tcase, another_plan_is_refused_and_named);
	tcase_add_test(tcase, one_in_hostile_hands_is_named_and_left_out);
	suite_add_tcase(suite, tcase);
	return suite;
}
