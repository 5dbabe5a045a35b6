/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/train/taskwatch.h"
#include "agent/train/worker_pool.h"
#include "lib/quantity.h"

static void usage(FILE *file)
{
	fputs(
	    "usage: isobar-worker --coordinator tcp://ADDRESS:PORT --coordinator-key KEY|FILE\n"
	    "                     --key FILE --name NAME --data DATA [--threads N]\n"
	    "                     [--share CPU] [--task FILE] [--task-limit TIME] [--user NAME]\n"
	    "                     [--no-sandbox] [--verbose]\n"
	    "       isobar-worker --plan FILE --listen tcp://ADDRESS:PORT\n"
	    "                     --neighbour NAME,tcp://ADDRESS:PORT,KEY|FILE ...\n"
	    "                     --key FILE --name NAME --data DATA [--threads N]\n"
	    "                     [--share CPU] [--state-directory FOLDER] [--user NAME]\n"
	    "                     [--no-sandbox] [--verbose]\n"
	    "       isobar-worker --evaluate --task FILE --data FOLDER [--task-limit TIME]\n"
	    "\n"
	    "Hosts the training threads of one node.  isobard starts it; it also runs alone.\n"
	    "\n"
	    "  --coordinator tcp://ADDRESS:PORT  where isobar-coordinator listens\n"
	    "  --coordinator-key KEY|FILE        its public key\n"
	    "  --plan FILE                       instead: what the neighbours' workers learn\n"
	    "                                    together, isobar-plan.conf(5)\n"
	    "  --listen tcp://ADDRESS:PORT       where the neighbours' workers reach this one\n"
	    "  --neighbour NAME,ADDRESS,KEY      one of them; once for each\n"
	    "  --state-directory FOLDER          where the model is kept (default: it is not)\n"
	    "  --key FILE                        this worker's secret key\n"
	    "  --name NAME                       this node, as coordinator or plan know it\n"
	    "  --data DATA                       a folder of images or a file, see isobar-data(5)\n"
	    "  --threads N                       0 (default): as many as the share has whole CPUs\n"
	    "  --share CPU                       without an agent: what it may use, such as "
	    "0.5cpu\n"
	    "  --task FILE                       a task of your own, isobar-task(3)\n"
	    "  --task-limit TIME                 CPU time for one call of it (default: 60s)\n"
	    "  --user NAME                       who to become if started as root\n"
	    "  --evaluate                        as isobar-coordinator starts it for a task\n"
	    "  --no-sandbox                      may start programs and make any system call\n"
	    "  --verbose                         say more\n"
	    "  --help                            show this\n"
	    "  --version                         show the version\n",
	    file);
}

static bool parse_threads(const char *text, uint32_t *ret_threads)
{
	char *end;
	unsigned long threads = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || threads > POOL_THREADS_MAX) {
		log_error("--threads %s: expected a number from 0 to %u", text, POOL_THREADS_MAX);
		return false;
	}
	*ret_threads = (uint32_t)threads;
	return true;
}

/* Options of one way of training with those of another. */
static bool is_mixed(const struct worker_options *options)
{
	bool has_coordinator = options->coordinator != NULL || options->coordinator_key != NULL;
	bool has_plan = options->plan != NULL || options->listen != NULL ||
			options->state_directory != NULL || options->neighbours_count > 0;

	if (has_plan && (has_coordinator || options->evaluate || options->task != NULL)) {
		log_error("--plan, --listen, --neighbour and --state-directory go with neither "
			  "--coordinator nor --task");
		return true;
	}
	return false;
}

/* NAME,ADDRESS,KEY, cut at the commas; a key file is read later. */
static bool parse_neighbour(char *text, struct worker_options *options)
{
	char *address = strchr(text, ',');
	char *key = address != NULL ? strchr(address + 1, ',') : NULL;

	if (key == NULL || address == text || key == address + 1 || key[1] == '\0') {
		log_error("--neighbour %s: expected NAME,tcp://ADDRESS:PORT,KEY|FILE", text);
		return false;
	}
	if (options->neighbours_count == LINK_NEIGHBOURS_MAX) {
		log_error("--neighbour %s: %u are the most", text, LINK_NEIGHBOURS_MAX);
		return false;
	}
	*address++ = '\0';
	*key++ = '\0';
	options->neighbours[options->neighbours_count++] =
	    (struct link_neighbour){ .name = text, .address = address, .public_key = key };
	return true;
}

/* What the parts of it cannot see each by itself. */
static bool is_consistent(const struct worker_options *options)
{
	const char *folder = options->state_directory;

	if (folder != NULL && folder[0] != '/') {
		log_error("--state-directory %s: expected an absolute path", folder);
		return false;
	}
	for (uint32_t i = 0; i < options->neighbours_count; i++) {
		const char *name = options->neighbours[i].name;

		if (options->name != NULL && strcmp(name, options->name) == 0) {
			log_error("--neighbour %s: this is the worker's own --name", name);
			return false;
		}
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(name, options->neighbours[j].name) == 0) {
				log_error("--neighbour %s: given twice", name);
				return false;
			}
	}
	return true;
}

static bool is_complete(const struct worker_options *options)
{
	if (options->evaluate)
		return options->task != NULL && options->data != NULL;
	if (options->plan != NULL)
		return options->listen != NULL && options->neighbours_count > 0 &&
		       options->key != NULL && options->name != NULL && options->data != NULL;
	return options->coordinator != NULL && options->coordinator_key != NULL &&
	       options->key != NULL && options->name != NULL && options->data != NULL;
}

static const struct option table[] = {
	{ "coordinator", required_argument, NULL, 'c' },
	{ "coordinator-key", required_argument, NULL, 'C' },
	{ "plan", required_argument, NULL, 'p' },
	{ "listen", required_argument, NULL, 'L' },
	{ "neighbour", required_argument, NULL, 'N' },
	{ "state-directory", required_argument, NULL, 'S' },
	{ "key", required_argument, NULL, 'k' },
	{ "name", required_argument, NULL, 'n' },
	{ "data", required_argument, NULL, 'd' },
	{ "threads", required_argument, NULL, 't' },
	{ "share", required_argument, NULL, 's' },
	{ "task", required_argument, NULL, 'T' },
	{ "task-limit", required_argument, NULL, 'l' },
	{ "user", required_argument, NULL, 'u' },
	{ "evaluate", no_argument, NULL, 'e' },
	{ "no-sandbox", no_argument, NULL, 'x' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

int worker_options_parse(int argc, char **argv, struct worker_options *ret_options)
{
	struct worker_options options = { .task_limit_ns = TASKWATCH_LIMIT_NS };
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) >= 0) {
		switch (option) {
		case 'c': options.coordinator = optarg; break;
		case 'C': options.coordinator_key = optarg; break;
		case 'p': options.plan = optarg; break;
		case 'L': options.listen = optarg; break;
		case 'S': options.state_directory = optarg; break;
		case 'N':
			if (!parse_neighbour(optarg, &options))
				return 1 + 2;
			break;
		case 'k': options.key = optarg; break;
		case 'n': options.name = optarg; break;
		case 'd': options.data = optarg; break;
		case 't':
			if (!parse_threads(optarg, &options.threads))
				return 1 + 2;
			break;
		case 's':
			if (iso_quantity_cpu(optarg, &options.share_ucpu) != ISO_OK ||
			    options.share_ucpu == 0) {
				log_error("--share %s: expected CPU such as 0.5cpu", optarg);
				return 1 + 2;
			}
			break;
		case 'T': options.task = optarg; break;
		case 'l':
			if (iso_quantity_duration(optarg, &options.task_limit_ns) != ISO_OK ||
			    options.task_limit_ns == 0) {
				log_error("--task-limit %s: expected a time such as 60s", optarg);
				return 1 + 2;
			}
			break;
		case 'u': options.user = optarg; break;
		case 'e': options.evaluate = true; break;
		case 'x': options.no_sandbox = true; break;
		case 'v': options.verbose = true; break;
		case 'h': usage(stdout); return 1 + 0;
		case 'V': puts("isobar-worker " PACKAGE_VERSION); return 1 + 0;
		default: usage(stderr); return 1 + 2;
		}
	}
	if (is_mixed(&options) || !is_consistent(&options))
		return 1 + 2;
	if (optind < argc || !is_complete(&options)) {
		usage(stderr);
		return 1 + 2;
	}
	*ret_options = options;
	return 0;
}
