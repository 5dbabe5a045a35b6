/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/guard/guard.h"

/* Exit status: done, failed, wrong usage. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void usage(FILE *out)
{
	fputs("usage: isobar-guard [-p PRIORITY] [-w DEVICE -t SECONDS] [--no-sandbox]\n"
	      "                    RUN-DIRECTORY\n"
	      "\n"
	      "Lowers a job's limit when a lease ends.  isobard starts it; see isobard(8).\n"
	      "\n"
	      "  -p, --priority N     real-time priority; 0: none\n"
	      "  -w, --watchdog FILE  hardware watchdog\n"
	      "  -t, --timeout N      its longest timeout, in seconds\n"
	      "      --no-sandbox     keep privileges and system calls\n"
	      "  -h, --help           show this\n"
	      "  -V, --version        show the version\n",
	      out);
}

/* A number from 0 to most; -1: none. */
static int number(const char *text, long most)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	return end == text || *end != '\0' || errno != 0 || value < 0 || value > most ?
		       -1 : (int)value;
}

static int parse(int argc, char **argv, struct guard_config *ret_config)
{
	static const struct option options[] = {
		{ "priority", required_argument, NULL, 'p' },
		{ "watchdog", required_argument, NULL, 'w' },
		{ "timeout", required_argument, NULL, 't' },
		{ "no-sandbox", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c, timeout_s = 0;

	while ((c = getopt_long(argc, argv, "p:w:t:hV", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			ret_config->priority = number(optarg, 99);
			break;
		case 'w':
			ret_config->watchdog = optarg;
			break;
		case 't':
			timeout_s = number(optarg, 1000000);
			break;
		case 'n':
			ret_config->is_unconfined = true;
			break;
		case 'h':
			usage(stdout);
			return EXIT_DONE;
		case 'V':
			puts("isobar-guard " PACKAGE_VERSION);
			return EXIT_DONE;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind + 1 != argc || ret_config->priority < 0 || timeout_s < 0) {
		usage(stderr);
		return EXIT_USAGE;
	}
	ret_config->watchdog_s = (unsigned)timeout_s;
	ret_config->run_directory = argv[optind];
	return -1;
}

int main(int argc, char **argv)
{
	struct guard_config config = { .watchdog = "" };
	struct error error = { 0 };

	log_prepare();
	int status = parse(argc, argv, &config);
	if (status >= 0)
		return status;
	log_init(LOG_INFO, getenv("JOURNAL_STREAM") != NULL);
	if (guard_run(&config, &error) < 0) {
		log_error("isobar-guard: %s", error.text);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}
