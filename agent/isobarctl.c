/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/isobarctl.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/output.h"
#include "agent/conf/confutil.h"
#include "lib/quantity.h"

static ctl_fn help, version;

static const struct ctl_command commands[] = {
	{ "status", "", "cijNrs", "what one node does and why, on one screen", ctl_status },
	{ "top", "", "cijnrst", "all nodes of this machine or cluster, again and again", ctl_top },
	{ "audit", "[SOCKET|FILE|INSTANCE]...", "cijrs", "prove that share + in flight = budget",
	  ctl_audit },
	{ "ledger", "", "cijNrs", "snapshot of one node's ledger, for audits elsewhere",
	  ctl_ledger },
	{ "metrics", "", "irs", "all nodes of this machine, for Prometheus",
	  ctl_metrics },
	{ "history", "", "cijNnrs", "what changed one node's share, and on what grounds",
	  ctl_history },
	{ "explain", "", "cijNnrs", "the same in words, and what holds now", ctl_explain },
	{ "freeze", "", "cijNrs", "stop trading; the share stays and is enforced", ctl_freeze },
	{ "thaw", "", "cijNrs", "let a frozen node trade again", ctl_thaw },
	{ "log-level", "[error|warning|info|debug]", "cijNrs", "what one node logs, until its end",
	  ctl_log_level },
	{ "reload", "", "cijNrs", "read one node's configuration anew, while it runs", ctl_reload },
	{ "check", "", "fij", "what is missing on this machine, and the remedy", ctl_check },
	{ "keygen", "", "jo", "make a pair of keys", ctl_keygen },
	{ "registry", "create|show", "cjTy", "the members of a cluster, and what is under way",
	  ctl_registry },
	{ "budget", "show|set AMOUNT", "cjNTy", "what all nodes together may use", ctl_budget },
	{ "join", "NODE", "AbcFjSTuy", "let a node take part", ctl_join },
	{ "drain", "NODE", "cjTuy", "let a node give away all but its floor", ctl_drain },
	{ "leave", "NODE", "cjTy", "let a node give away everything and go", ctl_leave },
	{ "bury", "NODE...", "cFgHjTy", "take back the share of a dead node", ctl_bury },
	{ "forget", "NODE", "cFHjTy", "release what is kept for a buried node", ctl_forget },
	{ "watch", "", "BcjnTt", "bury nodes that stay silent, without asking", ctl_watch },
	{ "resume", "", "cjTy", "go on with what was cut off", ctl_resume },
	{ "help", "", "", "this list", help },
	{ "version", "", "j", "the version", version },
};

static const struct option options[] = {
	{ "add", no_argument, NULL, 'A' },
	{ "bury-after", required_argument, NULL, 'B' },
	{ "cluster", required_argument, NULL, 'c' },
	{ "count", required_argument, NULL, 'n' },
	{ "fenced", no_argument, NULL, 'F' },
	{ "file", required_argument, NULL, 'f' },
	{ "heir", required_argument, NULL, 'H' },
	{ "help", no_argument, NULL, 'h' },
	{ "instance", required_argument, NULL, 'i' },
	{ "interval", required_argument, NULL, 't' },
	{ "json", no_argument, NULL, 'j' },
	{ "neighbour", required_argument, NULL, 'b' },
	{ "node", required_argument, NULL, 'N' },
	{ "output", required_argument, NULL, 'o' },
	{ "run-directory", required_argument, NULL, 'r' },
	{ "share", required_argument, NULL, 'S' },
	{ "socket", required_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "trust-guard", no_argument, NULL, 'g' },
	{ "undo", no_argument, NULL, 'u' },
	{ "version", no_argument, NULL, 'V' },
	{ "yes", no_argument, NULL, 'y' },
	{ 0 },
};

/* Short options for typing; the others are long only. */
static const char short_options[] = "c:n:f:hi:o:V";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void usage(FILE *out)
{
	fputs("usage: isobarctl [OPTION]... COMMAND [ARGUMENT]...\n\ncommands:\n", out);
	for (size_t i = 0; i < COUNT(commands); i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s", commands[i].name,
			 commands[i].operands[0] != '\0' ? " " : "", commands[i].operands);
		fprintf(out, "  %-34s %s\n", left, commands[i].summary);
	}
	fputs("\noptions:\n"
	      "  -i, --instance NAME                which node, when several run here\n"
	      "      --socket PATH                  its control socket, wherever it is\n"
	      "      --run-directory DIR            where the instances' directories are\n"
	      "      --json                         for machines: the same as JSON\n"
	      "  -n, --count N                      top, watch: how often; history: how many\n"
	      "      --interval TIME                top, watch: how long between, such as 2s\n"
	      "  -f, --file FILE                    check: the configuration to check\n"
	      "  -o, --output PREFIX                keygen: write PREFIX.key and PREFIX.pub\n"
	      "  -c, --cluster FILE                 the cluster's configuration\n"
	      "      --timeout TIME                 how long to wait for the end, such as 60s\n"
	      "      --yes                          answers every question: it is so\n"
	      "      --node NODE                    whom to ask; budget set: who gets an increase\n"
	      "      --neighbour NODE               join: whom it trades with; repeat it\n"
	      "      --share AMOUNT                 join: what it begins with; its floor if not "
	      "said\n"
	      "      --add                          join: the share is added to the budget\n"
	      "      --undo                         join, drain: back\n"
	      "      --fenced                       bury, forget, join: it is surely off\n"
	      "      --heir NODE                    bury, forget: who gets what is left\n"
	      "      --trust-guard                  bury: its guard is known to work\n"
	      "      --bury-after TIME              watch: silent for so long, such as 60s\n"
	      "  -h, --help                         this list\n"
	      "  -V, --version                      the version\n",
	      out);
}

static int help(const struct ctl *ctl, int argc, char **argv)
{
	(void)ctl;
	(void)argc;
	(void)argv;
	usage(stdout);
	return CTL_DONE;
}

static int version(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (ctl->json) {
		json_t *json = json_pack("{s:b, s:s}", "ok", 1, "version", PACKAGE_VERSION);

		ctl_print_json(json);
		json_decref(json);
	} else {
		puts("isobarctl " PACKAGE_VERSION);
	}
	return CTL_DONE;
}

static bool set_count(struct ctl *ctl, const char *text)
{
	char *end;

	ctl->count = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && ctl->count > 0)
		return true;
	fprintf(stderr, "isobarctl: --count: '%s' is no number above 0\n", text);
	return false;
}

static bool set_interval(struct ctl *ctl, const char *text)
{
	if (iso_quantity_duration(text, &ctl->interval_ns) == ISO_OK &&
	    ctl->interval_ns >= 10000000)
		return true;
	fprintf(stderr, "isobarctl: --interval: '%s' is no time of at least 10ms, such as 2s\n",
		text);
	return false;
}

static bool set_time(const char *option, const char *text, uint64_t *ret_ns)
{
	if (iso_quantity_duration(text, ret_ns) == ISO_OK && *ret_ns > 0)
		return true;
	fprintf(stderr, "isobarctl: --%s: '%s' is no time, such as 60s\n", option, text);
	return false;
}

static bool set_share(struct ctl *ctl, const char *text)
{
	if (iso_quantity_cpu(text, &ctl->share_ucpu) == ISO_OK && ctl->share_ucpu > 0)
		return true;
	fprintf(stderr, "isobarctl: --share: '%s' is no amount of CPU, such as 0.5cpu\n", text);
	return false;
}

static bool add_neighbour(struct ctl *ctl, const char *name)
{
	if (ctl->neighbour_count < CTL_NEIGHBOURS_MAX) {
		ctl->neighbours[ctl->neighbour_count++] = name;
		return true;
	}
	fprintf(stderr, "isobarctl: more than %d neighbours\n", CTL_NEIGHBOURS_MAX);
	return false;
}

/* Those of the commands that change a cluster. */
static bool set_change_option(struct ctl *ctl, int option)
{
	switch (option) {
	case 'A': ctl->add = true; return true;
	case 'b': return add_neighbour(ctl, optarg);
	case 'B': return set_time("bury-after", optarg, &ctl->bury_after_ns);
	case 'c': ctl->cluster = optarg; return true;
	case 'F': ctl->fenced = true; return true;
	case 'g': ctl->trust_guard = true; return true;
	case 'H': ctl->heir = optarg; return true;
	case 'N': ctl->node = optarg; return true;
	case 'S': return set_share(ctl, optarg);
	case 'T': return set_time("timeout", optarg, &ctl->timeout_ns);
	case 'u': ctl->undo = true; return true;
	case 'y': ctl->yes = true; return true;
	default: return false;
	}
}

/* Whether the option was good; given collects the letters. */
static bool set_option(struct ctl *ctl, int option)
{
	switch (option) {
	case 'f': ctl->file = optarg; return true;
	case 'i': ctl->instance = optarg; return true;
	case 'j': ctl->json = true; return true;
	case 'n': return set_count(ctl, optarg);
	case 'o': ctl->output = optarg; return true;
	case 'r': ctl->run_directory = optarg; return true;
	case 's': ctl->socket = optarg; return true;
	case 't': return set_interval(ctl, optarg);
	default: return set_change_option(ctl, option);
	}
}

static const char *long_name(int letter)
{
	for (size_t i = 0; options[i].name != NULL; i++)
		if (options[i].val == letter)
			return options[i].name;
	return "?";
}

static const struct ctl_command *find_command(const char *name)
{
	const char *names[COUNT(commands)];

	for (size_t i = 0; i < COUNT(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		names[i] = commands[i].name;
	}
	const char *nearest = confutil_nearest(name, names, COUNT(commands));
	if (nearest != NULL)
		fprintf(stderr, "isobarctl: no command '%s'; did you mean '%s'?\n", name, nearest);
	else
		fprintf(stderr, "isobarctl: no command '%s'; see 'isobarctl help'\n", name);
	return NULL;
}

static int run_command(const struct ctl *ctl, const char *given, int argc, char **argv)
{
	if (argc == 0) {
		usage(stderr);
		return CTL_USAGE;
	}
	const struct ctl_command *command = find_command(argv[0]);
	if (command == NULL)
		return CTL_USAGE;
	for (const char *letter = given; *letter != '\0'; letter++)
		if (strchr(command->options, *letter) == NULL) {
			fprintf(stderr, "isobarctl: %s takes no --%s\n", command->name,
				long_name(*letter));
			return CTL_USAGE;
		}
	if (argc > 1 && command->operands[0] == '\0') {
		fprintf(stderr, "isobarctl: %s takes no argument '%s'\n", command->name, argv[1]);
		return CTL_USAGE;
	}
	return command->fn(ctl, argc - 1, argv + 1);
}

static int run(int argc, char **argv)
{
	static struct ctl ctl = { .run_directory = ISO_RUNDIR, .interval_ns = 1000000000 };
	char given[256] = "";
	int option;

	/* Messages begin with a name, not with a path. */
	argv[0] = (char[]){ "isobarctl" };
	while ((option = getopt_long(argc, argv, short_options, options, NULL)) != -1) {
		size_t n = strlen(given);

		if (option == 'h')
			return help(&ctl, 0, NULL);
		if (option == 'V')
			return version(&ctl, 0, NULL);
		if (n + 1 == sizeof(given) || !set_option(&ctl, option))
			return CTL_USAGE;
		given[n] = (char)option;
	}
	return run_command(&ctl, given, argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* A failure has been told already, and says more. */
	if (status == CTL_DONE && !output_finish("isobarctl"))
		return CTL_FAILED;
	return status;
}
