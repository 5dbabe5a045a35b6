/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "lib/quantity.h"
#include "tests/demo/checks.h"
#include "tests/demo/plot.h"
#include "tests/demo/poll.h"
#include "tests/demo/report.h"
#include "tests/demo/setup.h"
#include "tests/demo/table.h"
#include "tests/demo/together.h"
#include "tests/demo/training.h"
#include "tests/demo/watch.h"

#define MS_NS	       1000000u
#define SAMPLE_NS      (500u * MS_NS)
#define READY_WITHIN_S 60u
#define STOP_WITHIN_MS 5000u
#define DIED_TAIL      10u

/* The program's path below the build directory. */
static const char *program(const struct demo *demo, const char *name)
{
	static char path[DEMO_PATH_BYTES];

	path_join(path, demo->programs, name);
	return path;
}

static int start_observer(struct demo *demo, struct error *reterr)
{
	const char *argv[3 + HISTORY_NODES_MAX + 1] = { program(demo, "tests/demo/observer"),
							"--budget-ucpu" };
	char budget[32], log[DEMO_PATH_BYTES];
	struct launch launch = { .argv = argv, .log = log, .group = demo->service_group };
	int ends[2];

	snprintf(budget, sizeof(budget), "%ju", (uintmax_t)demo->options.budget_ucpu);
	argv[2] = budget;
	for (unsigned i = 0; i < demo->options.nodes; i++)
		argv[3 + i] = demo->nodes[i].group;
	path_join(log, demo->directory, "observer.log");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_errno(reterr, -errno, "pipe for the observer");
	launch.stdout_fd = ends[1];
	int r = child_start(&demo->observer, "observer", &launch, reterr);
	close(ends[1]);
	if (r != 0) {
		close(ends[0]);
		return r;
	}
	demo->observer_fd = ends[0];
	return 0;
}

/* isobard --init: the journal, with the endowment as the first share. */
static int init_node(const struct demo *demo, const struct node *node, const char *config,
		     struct error *reterr)
{
	char log[DEMO_PATH_BYTES], end[64];
	const char *argv[] = { program(demo, "agent/isobard"), "--init", "-f", config, NULL };
	struct launch launch = { .argv = argv, .log = log };
	struct child child;

	path_join(log, node->directory, "log");
	int r = child_start(&child, node->name, &launch, reterr);
	if (r != 0)
		return r;
	while (waitpid(child.pid, &child.exit_status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(child.exit_status) && WEXITSTATUS(child.exit_status) == 0)
		return 0;
	child_describe_end(&child, end);
	file_print_tail(stderr, log, "    ", DIED_TAIL);
	return error_set(reterr, -EIO, "isobard --init of %s: %s", node->name, end);
}

static int start_agent(const struct demo *demo, struct node *node, struct error *reterr)
{
	char config[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES];

	path_join(config, node->directory, "isobard.conf");
	path_join(log, node->directory, "log");
	const char *argv[] = { program(demo, "agent/isobard"), "-f", config, NULL };
	struct launch launch = { .argv = argv, .log = log, .group = demo->service_group };
	return child_start(&node->isobard, node->name, &launch, reterr);
}

static int start_node(const struct demo *demo, struct node *node, struct error *reterr)
{
	char config[DEMO_PATH_BYTES];

	path_join(config, node->directory, "isobard.conf");
	int r = init_node(demo, node, config, reterr);
	return r == 0 ? start_agent(demo, node, reterr) : r;
}

static int start_coordinator(struct demo *demo, struct error *reterr)
{
	char file[DEMO_PATH_BYTES], config[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES];

	path_join(file, demo->directory, "isobar-coordinator");
	path_join(config, demo->directory, "coordinator/isobar-coordinator.conf");
	path_join(log, demo->directory, "coordinator/log");
	const char *argv[] = { file, "-f", config, NULL };
	struct launch launch = { .argv = argv,
				 .log = log,
				 .group = demo->service_group,
				 .user = demo->user,
				 .gid = demo->gid };
	return child_start(&demo->coordinator, "coordinator", &launch, reterr);
}

static int start_programs(struct demo *demo, struct error *reterr)
{
	int r = demo->options.dry_run ? 0 : start_observer(demo, reterr);

	if (r == 0 && !demo->options.training.is_decentralised)
		r = start_coordinator(demo, reterr);
	for (unsigned i = 0; i < demo->options.nodes && r == 0; i++)
		r = start_node(demo, &demo->nodes[i], reterr);
	return r;
}

/* The co-tenant enters the cgroup of node 2 before its first instruction. */
static int start_cotenant(struct demo *demo, struct error *reterr)
{
	const char *argv[] = { program(demo, "tests/demo/cotenant"), NULL };
	struct launch launch = { .argv = argv, .group = demo->nodes[DEMO_VISITED].group };

	return child_start(&demo->cotenant, "co-tenant", &launch, reterr);
}

static int wait_ready(struct demo *demo, struct error *reterr)
{
	uint64_t begin_ns = clock_now_ns(), now_ns = begin_ns;
	struct sample sample;
	char who[64] = "";

	for (;;) {
		poll_everybody(demo, &sample);
		now_ns = clock_now_ns();
		demo->ready_s = (double)(now_ns - begin_ns) / ISO_NS_PER_S;
		if (poll_ready(demo, &sample, who)) {
			printf("all programs are at work after %.1f s\n", demo->ready_s);
			return 0;
		}
		if (now_ns - begin_ns > READY_WITHIN_S * (uint64_t)ISO_NS_PER_S)
			return error_set(reterr, -ETIMEDOUT, "still waiting for %s after %u s", who,
					 READY_WITHIN_S);
		int r = watch_until(demo, now_ns + 200 * MS_NS);
		if (r != 0)
			return error_set(reterr, r, "a program ended before the run could begin");
	}
}

typedef void child_fn(struct child *child);

static void each_child(struct demo *demo, child_fn *fn)
{
	fn(&demo->cotenant);
	fn(&demo->coordinator);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		fn(&demo->nodes[i].isobard);
	fn(&demo->observer);
}

static void begin_measuring(struct child *child)
{
	child_measure(child);
	child->cpu_before_ns = child->cpu_ns;
}

/* Lets the co-tenant come and go on time; phases begin when it really did. */
static int move_cotenant(struct demo *demo, double at_s, struct error *reterr)
{
	struct phase *phases = demo->history.phases;
	int r = 0;

	if (demo->options.dry_run)
		return 0;
	if (demo->cotenant.name == NULL && at_s >= phases[1].from_s) {
		r = start_cotenant(demo, reterr);
		phases[0].to_s = phases[1].from_s = at_s;
	}
	if (demo->cotenant.pid != 0 && at_s >= phases[2].from_s) {
		child_stop(&demo->cotenant, STOP_WITHIN_MS);
		phases[1].to_s = phases[2].from_s = at_s;
	}
	return r;
}

/* Without a coordinator one node is killed, with its worker, and returns. */
static int move_node(struct demo *demo, double at_s, const struct sample *sample,
		     struct error *reterr)
{
	struct node *node = &demo->nodes[demo->killed];
	double kill_s = (double)demo->options.seconds / TOGETHER_KILL_PART;

	if (!demo->options.training.is_decentralised || demo->options.training.is_gain ||
	    demo->returned_s > 0)
		return 0;
	if (demo->killed_s == 0 && at_s >= kill_s) {
		demo->killed_round = sample->nodes[demo->killed].tasks;
		demo->killed_s = at_s;
		demo->is_down = true;
		child_kill(&node->isobard);
	} else if (demo->killed_s > 0 && at_s >= demo->killed_s + TOGETHER_AWAY_S) {
		demo->returned_s = at_s;
		return start_agent(demo, node, reterr);
	}
	return 0;
}

/* Samples that are already late are left out, but not the one at the end. */
static uint64_t next_sample(uint64_t at_ns, uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), next_ns = at_ns + SAMPLE_NS;

	while (next_ns < now_ns && next_ns < end_ns)
		next_ns += SAMPLE_NS;
	return next_ns;
}

static int go_through_phases(struct demo *demo, struct error *reterr)
{
	double third_s = (double)demo->options.seconds / 3;
	struct sample sample;

	demo->start_ns = clock_now_ns();
	demo->ledger.unanswered = 0; /* who was starting could not answer */
	demo->history.nodes = demo->options.nodes;
	demo->history.phases[0] = (struct phase){ "before", 0, third_s };
	demo->history.phases[1] = (struct phase){ "during", third_s, 2 * third_s };
	demo->history.phases[2] = (struct phase){ "after", 2 * third_s, 3 * third_s };
	each_child(demo, begin_measuring);
	uint64_t end_ns = demo->start_ns + demo->options.seconds * ISO_NS_PER_S;
	for (uint64_t at_ns = demo->start_ns; at_ns <= end_ns; at_ns = next_sample(at_ns, end_ns)) {
		int r = watch_until(demo, at_ns);
		if (r != 0)
			return error_set(reterr, r, "the run cannot go on without it");
		double at_s = (double)(clock_now_ns() - demo->start_ns) / ISO_NS_PER_S;
		r = move_cotenant(demo, at_s, reterr);
		if (r != 0)
			return r;
		poll_everybody(demo, &sample);
		sample.at_s = at_s;
		r = move_node(demo, at_s, &sample, reterr);
		if (r != 0)
			return r;
		if (history_add(&demo->history, &sample) != 0)
			return error_set(reterr, -ENOMEM, "history");
		table_show(stdout, demo, &sample);
	}
	demo->measured_s = (double)(clock_now_ns() - demo->start_ns) / ISO_NS_PER_S;
	each_child(demo, child_measure);
	return 0;
}

static void stop(struct child *child)
{
	child_stop(child, STOP_WITHIN_MS);
}

static void tell_death(struct child *child)
{
	char end[64];

	if (!child->died)
		return;
	child_describe_end(child, end);
	fprintf(stderr, "demo: %s ended: %s; the last it said:\n", child->name, end);
	file_print_tail(stderr, child->log, "    ", DIED_TAIL);
}

/* The observer is last in the row, so that it sees the others leave. */
static void stop_programs(struct demo *demo, bool compare)
{
	struct error error;

	each_child(demo, tell_death);
	/* At once: who is left alone with half of the nodes would learn from them alone. */
	for (unsigned i = 0; i < demo->options.nodes; i++)
		child_ask(&demo->nodes[i].isobard);
	each_child(demo, stop);
	watch_drain_observer(demo);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		quota_close(&demo->nodes[i].quota);
	if (compare && together_compare(demo, &error) != 0)
		fprintf(stderr, "demo: %s\n", error.text);
	if (!demo->options.training.is_decentralised && training_keep_profile(demo, &error) != 0)
		fprintf(stderr, "demo: %s\n", error.text);
	demo->left_behind = setup_remove(demo);
	demo->cleaned = true;
}

static int finish(struct demo *demo)
{
	struct check checks[CHECKS_MAX];
	unsigned count = checks_judge(demo, checks);
	struct error error;
	int r = 0;

	report_print(stdout, demo, checks, count);
	if (demo->options.json_path != NULL)
		r = report_write_json(demo->options.json_path, demo, checks, count, &error);
	if (r == 0 && demo->options.plot_path != NULL)
		r = plot_write(demo->options.plot_path, demo, &error);
	if (r != 0)
		fprintf(stderr, "demo: %s\n", error.text);
	return r == 0 && checks_held(checks, count) ? 0 : 1;
}

int run(struct demo *demo)
{
	struct error error = { 0 };
	int status;

	/* Orphans come to us: then we can tell that none is left. */
	int r = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? watch_open(demo) : -errno;
	if (r != 0) {
		fprintf(stderr, "demo: %s\n", strerror(-r));
		return 1;
	}
	r = setup_files(demo, &error);
	if (r == 0)
		r = start_programs(demo, &error);
	if (r == 0)
		r = wait_ready(demo, &error);
	if (r == 0)
		r = go_through_phases(demo, &error);
	stop_programs(demo, r == 0 && demo->options.training.is_decentralised &&
				    !demo->options.training.is_gain);
	if (r == -EINTR) {
		fprintf(stderr, "demo: stopped by signal %d (%s)%s\n", demo->signal,
			strsignal(demo->signal),
			demo->left_behind == 0 ? "; nothing is left behind" : "");
		status = 128 + demo->signal;
	} else if (r != 0) {
		fprintf(stderr, "demo: %s\n", error.text);
		if (demo->options.keep)
			fprintf(stderr, "demo: logs are kept in %s\n", demo->directory);
		status = 1;
	} else {
		status = finish(demo);
	}
	json_decref(demo->observed);
	json_decref(demo->training);
	json_decref(demo->agreement);
	history_free(&demo->history);
	return status;
}
