/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end-to-end demo: agents that trade one CPU budget and train on it, on
 * this machine, for real.  demo.h is the map of its parts.
 */
#include "config.h"

#include "tests/demo/demo.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/quantity.h"
#include "tests/demo/checks.h"
#include "tests/demo/compare.h"
#include "tests/demo/gain.h"
#include "tests/demo/learn.h"
#include "tests/demo/run.h"
#include "tests/demo/setup.h"
#include "tests/demo/training.h"
#include "tests/demo/watch.h"

#define BUDGET_UCPU   1500000u
#define NODE_UCPU_MIN 100000u
#define SECONDS_MIN   3u
#define SECONDS_MAX   86400u

/* An option with the names it may have, as the coordinator knows them. */
static void put_names(FILE *to, enum training_choice choice, const char *option,
		      const char *purpose)
{
	const char *names = training_names(choice);
	int column;

	if (names == NULL)
		return;
	column = fprintf(to, "  --%s NAME%*s%s", option, 12 - (int)strlen(option), "", purpose);
	while (*names != '\0') {
		int length = (int)strcspn(names, "|");

		if (column + 1 + length > 78)
			column = fprintf(to, "\n%20s", "");
		column += fprintf(to, " %.*s", length, names);
		names += length + (names[length] == '|');
	}
	fputc('\n', to);
}

static void usage(FILE *to)
{
	fputs("usage: demo [OPTION...]\n"
	      "\n"
	      "Starts isobard nodes that share one CPU budget, a coordinator and a worker on\n"
	      "each node, trains on Fashion-MNIST, lets a CPU-hungry co-tenant visit node 2 in\n"
	      "the middle third, and checks what must hold.  Exit status 0: all held.\n"
	      "\n",
	      to);
	fprintf(to,
		"  --seconds N        length of the run (60)\n"
		"  --nodes N          2 to %d (4), in a ring\n"
		"  --budget CPU       shared by all nodes, such as 1.5cpu; 0.1cpu a node at least\n"
		"                     (1.5cpu, or three quarters of the machine if that is less)\n",
		HISTORY_NODES_MAX);
	put_names(to, TRAINING_METHOD, "method", "what a gradient does to the model:");
	put_names(to, TRAINING_ALLOCATION, "allocation", "who gets how many tasks:");
	put_names(to, TRAINING_PARTITION, "partition",
		  "how the samples are split among the nodes:");
	fputs(
	    "  --alpha NUMBER     of the partition dirichlet: the smaller, the less alike (0.5)\n"
	    "  --learning-rate X  step size (what suits the method)\n"
	    "  --profile FILE     the workers' speeds: read if it is there, and written at the\n"
	    "                     end; ofta goes by it, and has a short run learn it else\n"
	    "  --decentralised    no coordinator: neighbours' workers learn together, and one\n"
	    "                     node is killed and returns\n"
	    "  --gain PAIRS       decentralised, with parts of unequal size: the time to an\n"
	    "                     accuracy with equal shares and with traded ones, in turns\n"
	    "  --compare LIST     METHOD+ALLOCATION,METHOD,+ALLOCATION: one run after the other,\n"
	    "                     and a table of what each cost and reached\n"
	    "  --data DIRECTORY   the data set (/usr/share/datasets/fashion-mnist)\n"
	    "  --json FILE        the report with every sample\n"
	    "  --plot FILE.svg    a picture of shares, demand and accuracy (needs gnuplot)\n"
	    "  --dry-run          trade, but write no quota; so it is without root\n"
	    "  --keep             keep the directory with logs and configurations\n"
	    "\n",
	    to);
	fprintf(
	    to,
	    "Runs shorter than %d s, or %d s a node, do not show whether shares follow demand,\n"
	    "and what is learnt takes CPU: an accuracy of %.2f is wanted from %d s of CPU on\n"
	    "(budget x seconds), %.2f from %d s on.  Checks that do not apply are listed as\n"
	    "not judged.\n",
	    CHECKS_PHASES_FROM_S, CHECKS_PHASES_NODE_S, CHECKS_ACCURACY, CHECKS_ACCURACY_CPU_S,
	    CHECKS_EARLY, CHECKS_EARLY_CPU_S);
}

__attribute__((format(printf, 1, 2))) static _Noreturn void refuse(const char *format, ...)
{
	va_list arguments;

	fputs("demo: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\n", stderr);
	exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < min || value > max)
		refuse("--%s '%s': a number from %ju to %ju is expected", option, text,
		       (uintmax_t)min, (uintmax_t)max);
	return value;
}

static uint64_t default_budget(void)
{
	uint64_t machine_ucpu = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * ISO_UCPU_PER_CPU;

	return machine_ucpu * 3 / 4 < BUDGET_UCPU ? machine_ucpu * 3 / 4 : BUDGET_UCPU;
}

/* Said before the run, not after it; nothing is made yet. */
static void must_be_writable(const char *option, const char *path)
{
	char copy[DEMO_PATH_BYTES];
	bool fits = snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy);
	bool exists = access(path, F_OK) == 0;

	errno = ENAMETOOLONG;
	if (!fits || access(exists ? path : dirname(copy), W_OK) != 0)
		refuse("--%s '%s': cannot be written: %s", option, path, strerror(errno));
}

static void parse_one(struct options *options, int option, const char *value)
{
	switch (option) {
	case 's': options->seconds = number("seconds", value, SECONDS_MIN, SECONDS_MAX); break;
	case 'n': options->nodes = (unsigned)number("nodes", value, 2, HISTORY_NODES_MAX); break;
	case 'b':
		if (iso_quantity_cpu(value, &options->budget_ucpu) != ISO_OK)
			refuse("--budget '%s': CPU such as 1.5cpu is expected", value);
		break;
	case 'm': options->training.method = value; break;
	case 'a': options->training.allocation = value; break;
	case 'r': options->training.partition = value; break;
	case 'A': options->training.alpha = value; break;
	case 'P': options->training.profile = value; break;
	case 'l': options->training.learning_rate = value; break;
	case 'd': options->data = value; break;
	case 'j': options->json_path = value; break;
	case 'p': options->plot_path = value; break;
	case 'D': options->training.is_decentralised = true; break;
	case 'g':
		options->gain_pairs = (unsigned)number("gain", value, 1, GAIN_PAIRS_MAX);
		options->training.is_decentralised = options->training.is_gain = true;
		break;
	case 'k': options->keep = true; break;
	case 'y':
		options->dry_run = true;
		snprintf(options->dry_why, sizeof(options->dry_why), "asked for");
		break;
	case 'h': usage(stdout); exit(0);
	default: usage(stderr); exit(2);
	}
}

static struct options parse(int argc, char **argv, struct compare *ret_compare)
{
	static const struct option longs[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "budget", required_argument, NULL, 'b' },
		{ "method", required_argument, NULL, 'm' },
		{ "allocation", required_argument, NULL, 'a' },
		{ "partition", required_argument, NULL, 'r' },
		{ "alpha", required_argument, NULL, 'A' },
		{ "learning-rate", required_argument, NULL, 'l' },
		{ "profile", required_argument, NULL, 'P' },
		{ "compare", required_argument, NULL, 'c' },
		{ "decentralised", no_argument, NULL, 'D' },
		{ "gain", required_argument, NULL, 'g' },
		{ "data", required_argument, NULL, 'd' },
		{ "json", required_argument, NULL, 'j' },
		{ "plot", required_argument, NULL, 'p' },
		{ "dry-run", no_argument, NULL, 'y' },
		{ "keep", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct error error;
	struct options options = {
		.seconds = 60,
		.nodes = 4,
		.budget_ucpu = default_budget(),
		.training = { .partition = "dirichlet" },
		.data = "/usr/share/datasets/fashion-mnist",
	};

	const char *list = NULL;

	for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		if (option == 'c')
			list = optarg;
		else
			parse_one(&options, option, optarg);
	if (optind < argc)
		refuse("'%s' is not an option; see --help", argv[optind]);
	if (options.budget_ucpu / options.nodes < NODE_UCPU_MIN)
		refuse("%u nodes need a budget of at least %.1fcpu", options.nodes,
		       (double)options.nodes * NODE_UCPU_MIN / ISO_UCPU_PER_CPU);
	if (options.json_path != NULL)
		must_be_writable("json", options.json_path);
	if (options.training.profile != NULL)
		must_be_writable("profile", options.training.profile);
	if (options.plot_path != NULL)
		must_be_writable("plot", options.plot_path);
	if (options.training.is_decentralised &&
	    (list != NULL || options.training.method != NULL ||
	     options.training.allocation != NULL || options.training.profile != NULL ||
	     options.training.learning_rate != NULL))
		refuse("--decentralised: method, allocation, learning rate, profile and "
		       "comparisons are a coordinator's");
	if (training_check(&options, &error) != 0 ||
	    (list != NULL && compare_parse(list, &options, ret_compare, &error) != 0))
		refuse("%s", error.text);
	if (access(options.data, R_OK | X_OK) != 0)
		refuse("no data set in %s: %s; install dataset-fashion-mnist", options.data,
		       strerror(errno));
	return options;
}

/* Without root, or where no quota can be written, the demo runs dry and says why. */
static void find_means(struct demo *demo)
{
	struct options *options = &demo->options;
	const struct passwd *nobody = getpwnam("nobody");
	struct error error;

	demo->user = nobody != NULL ? nobody->pw_uid : 65534;
	demo->gid = nobody != NULL ? nobody->pw_gid : 65534;
	if (options->dry_run)
		return;
	if (geteuid() != 0)
		snprintf(options->dry_why, sizeof(options->dry_why), "not root");
	else if (groups_find(&demo->groups, &error) != 0)
		snprintf(options->dry_why, sizeof(options->dry_why), "%.200s", error.text);
	options->dry_run = options->dry_why[0] != '\0';
}

/* The first line says what kind of run this is. */
static void announce(const struct options *options)
{
	double budget = (double)options->budget_ucpu / ISO_UCPU_PER_CPU;

	if (options->dry_run)
		printf("DRY-RUN (%s): shares are traded, nothing is written to the kernel.  Root "
		       "and a writable\ncpu controller are needed for quotas and their audit, "
		       "for cgroups, for the co-tenant's\nplace in one, and for the eBPF meter.\n",
		       options->dry_why);
	printf("isobar demo: %u nodes share %.6g CPU for %ju s\n", options->nodes, budget,
	       (uintmax_t)options->seconds);
	fflush(stdout);
}

static void find_programs(struct demo *demo)
{
	char path[DEMO_PATH_BYTES];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		refuse("cannot tell where I am: %s", strerror(errno));
	path[n] = '\0';
	/* BUILD/tests/demo/demo */
	snprintf(demo->programs, sizeof(demo->programs), "%s", dirname(dirname(dirname(path))));
}

/*
 * Two processes: the run, and its guard, which makes the places, waits, and
 * removes them and whatever still runs, even if the run crashed.
 */
static int guarded_run(const struct options *options)
{
	static struct demo demo;
	struct error error = { 0 };

	demo.options = *options;
	demo.observer_fd = -1;
	for (unsigned i = 0; i < HISTORY_NODES_MAX; i++)
		demo.nodes[i].quota = (struct quota_files){ .quota_fd = -1, .period_fd = -1 };
	find_programs(&demo);
	find_means(&demo);
	announce(&demo.options);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		refuse("prctl: %s", strerror(errno));
	setup_sweep(&demo);
	if (setup_places(&demo, &error) != 0) {
		fprintf(stderr, "demo: %s\n", error.text);
		(void)setup_remove(&demo);
		return 1;
	}
	pid_t parent = getpid(), runner = fork();
	if (runner == 0) {
		/* If the guard is killed, the run cleans up by itself. */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
			_exit(1);
		exit(run(&demo));
	}
	int status = runner > 0 ? watch_child(runner) : 1;
	unsigned left = setup_remove(&demo);
	if (left > 0)
		fprintf(stderr, "demo: cleaned up %u things that the run had left\n", left);
	return status == 0 && left > 0 ? 1 : status;
}

int main(int argc, char **argv)
{
	static struct compare compare;
	struct options options = parse(argc, argv, &compare);

	/* Unprivileged programs must be able to read what is made for them. */
	umask(022);
	watch_block_signals();
	if (options.gain_pairs > 0)
		return gain_run(options.gain_pairs, &options, guarded_run);
	int status = learn_first(&compare, &options, guarded_run);
	if (status == 0 && compare.count > 0)
		status = compare_run(&compare, &options, guarded_run);
	else if (status == 0)
		status = guarded_run(&options);
	learn_forget();
	return status;
}
