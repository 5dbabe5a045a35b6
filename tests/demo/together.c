/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/together.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/quantity.h"

/*
 * 4000 images, and a penalty that makes the optimum one that can be reached within the
 * demo's minute.
 */
void together_write_plan(FILE *out, const struct demo *demo)
{
	/* Unequal ones make work of different length. */
	static const unsigned sizes[] = { 4, 1, 1, 2 };
	const struct training_options *training = &demo->options.training;

	fprintf(out,
		"name = demo\nsamples = %u\nl2 = 0.03\nstep = 0.9\nwait = 2s\ndrop = 10s\n"
		"evaluate-every = %us\n",
		training->is_gain ? 12000 : 4000, training->is_gain ? 1 : 2);
	if (training->partition != NULL)
		fprintf(out, "partition = %s\n", training->partition);
	if (training->alpha != NULL)
		fprintf(out, "dirichlet-alpha = %s\n", training->alpha);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		fprintf(out, "node \"%s\" { size = %u }\n", demo->nodes[i].name,
			training->is_gain ? sizes[i % 4] : 1);
}

void together_write_training(FILE *out, const struct demo *demo, unsigned index)
{
	const struct node *node = &demo->nodes[index];

	fprintf(out,
		"\tplan = \"%s/plan.conf\"\n"
		"\tlisten = \"tcp://127.0.0.1:%u\"\n"
		"\tstate-directory = \"%s/model\"\n",
		demo->directory, node->worker_port, node->directory);
}

void together_write_neighbour(FILE *out, const struct demo *demo, unsigned index)
{
	const struct node *node = &demo->nodes[index];

	fprintf(out,
		"\tworker-address = \"tcp://127.0.0.1:%u\"\n"
		"\tworker-public-key = '%s'\n",
		node->worker_port, node->worker_key);
}

static double real(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

void together_poll(json_t *const *statuses, const struct demo *demo, struct sample *sample)
{
	sample->training = true;
	sample->round = INT64_MAX;
	sample->accuracy = INFINITY;
	sample->worker_cpu_s = sample->greedy_cpu_s = (double)NAN;
	for (unsigned i = 0; i < demo->options.nodes; i++) {
		const json_t *training = json_object_get(statuses[i], "training");
		int64_t round = json_integer_value(json_object_get(training, "round"));
		int64_t live = json_integer_value(json_object_get(training, "live"));
		double accuracy = real(training, "accuracy");

		sample->training = sample->training && live > 0 && round > 0;
		if (json_is_object(training) && round < sample->round)
			sample->round = round;
		sample->nodes[i].tasks = json_is_object(training) ? round : -1;
		/* The least: all have got there.  It stays unknown while it is of one. */
		if (isnan(accuracy) || accuracy < sample->accuracy)
			sample->accuracy = accuracy;
	}
	if (sample->round == INT64_MAX)
		sample->round = -1;
}

/* Its only output is one JSON object. */
static int run_referee(char *const argv[], json_t **ret_report, struct error *reterr)
{
	posix_spawn_file_actions_t actions;
	json_error_t why = { 0 };
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(reterr, -errno, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	int failed = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (failed != 0) {
		close(ends[0]);
		return error_errno(reterr, -failed, "start %s", argv[0]);
	}
	*ret_report = json_loadfd(ends[0], 0, &why);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0 || *ret_report == NULL)
		return error_set(reterr, -EIO, "the referee says nothing (%.100s)", why.text);
	return 0;
}

int together_compare(struct demo *demo, struct error *reterr)
{
	char program[DEMO_PATH_BYTES], plan[DEMO_PATH_BYTES];
	char models[HISTORY_NODES_MAX][DEMO_PATH_BYTES];
	char *argv[HISTORY_NODES_MAX + 4] = { program, plan,
					      (char *)(uintptr_t)demo->options.data };

	printf("Training one machine with all of the data, to compare ...\n");
	fflush(stdout);
	path_join(program, demo->programs, "tests/demo/referee");
	path_join(plan, demo->directory, "plan.conf");
	for (unsigned i = 0; i < demo->options.nodes; i++) {
		path_join(models[i], demo->nodes[i].directory, "model");
		argv[3 + i] = models[i];
	}
	return run_referee(argv, &demo->agreement, reterr);
}

void together_print(FILE *out, const struct demo *demo)
{
	const json_t *agreement = demo->agreement, *central, *node;
	size_t i;

	if (agreement == NULL)
		return;
	central = json_object_get(agreement, "central");
	fputs("Learnt without a coordinator:\n", out);
	json_array_foreach (json_object_get(agreement, "nodes"), i, node)
		fprintf(out, "  %-7s round %jd, test accuracy %.4f\n", demo->nodes[i].name,
			(intmax_t)json_integer_value(json_object_get(node, "round")),
			real(node, "accuracy"));
	fprintf(out, "  one machine with all of the data, %jd gradients, %s: %.4f\n",
		(intmax_t)json_integer_value(json_object_get(central, "gradients")),
		json_is_true(json_object_get(central, "at_rest")) ? "at rest" : "NOT at rest",
		real(central, "accuracy"));
}

void together_agrees(const struct demo *demo, struct check *check)
{
	double spread = real(demo->agreement, "spread");

	judge(check, spread <= TOGETHER_SPREAD, "%.2g apart, relative to their mean, at most %g",
	      spread, TOGETHER_SPREAD);
}

void together_has_learnt(const struct demo *demo, struct check *check)
{
	double accuracy = real(demo->agreement, "accuracy");
	const json_t *machine = json_object_get(demo->agreement, "central");
	double central = real(machine, "accuracy");
	double cpu_s =
	    (double)demo->options.budget_ucpu / ISO_UCPU_PER_CPU * (double)demo->options.seconds;

	if (cpu_s < TOGETHER_FROM_CPU_S) {
		check->state = CHECK_NOT_JUDGED;
		snprintf(check->detail, sizeof(check->detail),
			 "the run is too short for its budget (%.4f, one machine %.4f)", accuracy,
			 central);
		return;
	}
	/* It could still get better: as good as that would be no proof. */
	if (!json_is_true(json_object_get(machine, "at_rest"))) {
		judge(check, false, "one machine has not come to rest: %.2g of its gradient left",
		      real(machine, "gradient_left"));
		return;
	}
	judge(check, accuracy >= central - TOGETHER_ACCURACY,
	      "%.4f, one machine with all of the data %.4f; at most %.2f less", accuracy, central,
	      TOGETHER_ACCURACY);
}

void together_came_back(const struct demo *demo, struct check *check)
{
	const struct history *history = &demo->history;
	const struct node_sample *last =
	    history->count > 0 ? &history->samples[history->count - 1].nodes[demo->killed] : NULL;

	if (demo->options.training.is_gain) {
		check->state = CHECK_NOT_JUDGED;
		snprintf(check->detail, sizeof(check->detail), "nobody was killed");
		return;
	}
	judge(check, last != NULL && last->tasks > demo->killed_round && demo->killed_round > 0,
	      "%s killed after %.1f s in round %jd, started again after %.1f s, last in round %jd",
	      demo->nodes[demo->killed].name, demo->killed_s, (intmax_t)demo->killed_round,
	      demo->returned_s, (intmax_t)(last != NULL ? last->tasks : -1));
}
