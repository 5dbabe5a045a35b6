/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>
#ifdef HAVE_EBPF
#include <bpf/libbpf.h>
#endif

#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"
#include "agent/base/service.h"
#include "agent/conf/conf.h"
#include "agent/node/handover.h"
#include "agent/node/node.h"

/* Exit status: done or ended by a signal, failed, wrong usage or configuration. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A service manager that saw nothing of us for so many ticks may take us for hung. */
#define WATCHDOG_TICKS 5u

enum action { RUN = 1, CHECK, INIT, JOIN, RESTORE, HAND_OVER };

struct agent {
	struct loop loop;
	struct loop_source signals;
	struct node *node;
};

static void usage(FILE *out)
{
	fputs("usage: isobard [-n | --init [--join] | --restore | --hand-over] [-f FILE]\n"
	      "\n"
	      "  -f, --file FILE   configuration (default " ISO_SYSCONFDIR "/isobar/isobard.conf)\n"
	      "  -n, --check       check the configuration and exit\n"
	      "      --init        make the journal of a new node and exit\n"
	      "      --join        with --init: of one that a running cluster will admit\n"
	      "      --restore     do what on-exit says, for an agent that was killed\n"
	      "      --hand-over   the agent that runs leaves its limit to the next one\n"
	      "  -h, --help        show this\n"
	      "  -V, --version     show the version\n",
	      out);
}

/* Those in use now, which may be older than what it was built with: bug reports want both. */
static void libraries(void)
{
	int major, minor, patch;

	zmq_version(&major, &minor, &patch);
	printf("libraries: libzmq %d.%d.%d (built with %d.%d.%d)", major, minor, patch,
	       ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH);
#ifdef HAVE_EBPF
	printf(", libbpf %u.%u (built with %d.%d)", libbpf_major_version(),
	       libbpf_minor_version(), LIBBPF_MAJOR_VERSION, LIBBPF_MINOR_VERSION);
#endif
	putchar('\n');
}

/* Lines that packagers and bug reports read, the second in the form that systemctl has. */
static void version(void)
{
	puts("isobard " PACKAGE_VERSION "\n"
	     "features:"
#ifdef HAVE_EBPF
	     " +ebpf"
#else
	     " -ebpf"
#endif
#ifdef HAVE_SECCOMP
	     " +seccomp"
#else
	     " -seccomp"
#endif
#ifdef HAVE_SYSTEMD
	     " +systemd"
#else
	     " -systemd"
#endif
	);
	libraries();
}

static void on_signal(struct loop_source *source, short revents)
{
	struct agent *agent = (struct agent *)((char *)source - offsetof(struct agent, signals));
	int signal_number = signals_consume(source->fd);

	(void)revents;
	if (signal_number == 0)
		return;
	if (signal_number == SIGHUP) {
		struct conf_changes changes;
		struct error error = { 0 };

		/* What is wrong has been said by then. */
		if (agent->node != NULL)
			(void)node_reload(agent->node, &changes, &error);
		return;
	}
	log_info("got SIG%s, leaving", sigabbrev_np(signal_number));
	loop_quit(&agent->loop);
}

static void tell_ready(const struct conf *conf, const struct node *node)
{
	char text[NODE_TEXT_BYTES];

	log_info("%snode %s of cluster %s: ready",
		 conf->dry_run ? "DRY-RUN (no limit is written): " : "", conf->node, conf->cluster);
	node_describe(node, text);
	service_ready(text);
	service_watchdog(WATCHDOG_TICKS * conf->trading.tick_ns);
}

/*
 * What is needed while it runs, and no less: a group that is made anew is found
 * and measured from the start, a guard or a worker that has ended is started again.
 */
static uint64_t needed_capabilities(const struct conf *conf)
{
	/* eBPF; groups and files of others; what a full disk still has for root. */
	uint64_t needed = SANDBOX_CAPABILITY(CAP_BPF) | SANDBOX_CAPABILITY(CAP_PERFMON) |
			  SANDBOX_CAPABILITY(CAP_DAC_OVERRIDE) |
			  SANDBOX_CAPABILITY(CAP_SYS_RESOURCE);

	if (conf->control_group[0] != '\0')
		needed |= SANDBOX_CAPABILITY(CAP_CHOWN);
	/* The guard's precedence and memory; a worker that must not inherit a precedence. */
	if (conf_is_guarded(conf) || conf_trains(conf))
		needed |= SANDBOX_CAPABILITY(CAP_SYS_NICE) | SANDBOX_CAPABILITY(CAP_IPC_LOCK);
	if (conf_trains(conf))
		needed |= SANDBOX_CAPABILITY(CAP_SETUID) | SANDBOX_CAPABILITY(CAP_SETGID) |
			  SANDBOX_CAPABILITY(CAP_KILL);
	return needed;
}

/*
 * Before anything else: there is no thread yet that would keep its capabilities,
 * and what is refused by mistake shows at the start and not at night.
 */
static void give_up_privileges(const struct conf *conf)
{
	struct sandbox_config config = {
		.program = SANDBOX_AGENT,
		.capabilities = needed_capabilities(conf),
		.audits = conf->log_level == CONF_LOG_DEBUG,
	};
	struct error error = { 0 };

	if (!conf->sandbox)
		log_warn("sandbox: off by the configuration: isobard keeps all its privileges");
	else if (sandbox_enter(&config, &error) < 0)
		log_warn("sandbox: %s; going on without that protection", error.text);
}

static int run(struct conf *conf, const char *file)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
	struct agent agent = { 0 };
	struct error error = { 0 };
	void *zmq_context;
	int r;

	give_up_privileges(conf);
	zmq_context = zmq_ctx_new();

	agent.signals = (struct loop_source){
		.fd = signals_open(signals), .events = ZMQ_POLLIN, .fn = on_signal,
	};
	r = zmq_context == NULL ? -errno : agent.signals.fd;
	if (r >= 0)
		r = loop_add(&agent.loop, &agent.signals);
	if (r < 0)
		error_errno(&error, r, "start");
	else
		r = node_open(conf, file, zmq_context, &agent.loop, &agent.node, &error);
	if (r == 0) {
		tell_ready(conf, agent.node);
		r = loop_run(&agent.loop);
		service_leaving();
		if (r < 0)
			error_errno(&error, r, "event loop");
		else if (node_failed(agent.node))
			r = error_set(&error, -EIO, "node %s cannot go on", conf->node);
	}
	if (r < 0)
		log_error("isobard: %s", error.text);
	node_close(agent.node);
	if (agent.signals.fd >= 0)
		close(agent.signals.fd);
	if (zmq_context != NULL)
		zmq_ctx_term(zmq_context);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int init(const struct conf *conf, bool join)
{
	struct error error = { 0 };

	if (node_create(conf, join, &error) < 0) {
		fprintf(stderr, "isobard: %s\n", error.text);
		return EXIT_FAILED;
	}
	printf("isobard: node %s of cluster %s: journal made in %s%s\n", conf->node, conf->cluster,
	       conf->state_directory, join ? "; it waits for isobarctl join" : "");
	return EXIT_DONE;
}

/* As the unit's ExecStopPost: not for one that has ended by itself, whatever it said then. */
static int restore(const struct conf *conf)
{
	const char *how = getenv("EXIT_CODE");
	struct error error = { 0 };

	if (how != NULL && strcmp(how, "exited") == 0)
		return EXIT_DONE;

	if (node_restore(conf, &error) == 0)
		return EXIT_DONE;
	log_error("isobard: on exit: %s", error.text);
	return EXIT_FAILED;
}

static int hand_over(const struct conf *conf)
{
	struct error error = { 0 };

	if (handover_ask(conf, &error) == 0)
		return EXIT_DONE;
	fprintf(stderr, "isobard: %s\n", error.text);
	return EXIT_FAILED;
}

/* The options; returns the exit status to end with, or -1 to go on. */
static int parse(int argc, char **argv, enum action *ret_action, const char **ret_file)
{
	static const struct option options[] = {
		{ "file", required_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'n' },
		{ "init", no_argument, NULL, 'i' },
		{ "join", no_argument, NULL, 'j' },
		{ "restore", no_argument, NULL, 'r' },
		{ "hand-over", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	bool join = false;
	int c;

	while ((c = getopt_long(argc, argv, "f:nhV", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			*ret_file = optarg;
			break;
		case 'n':
			*ret_action = CHECK;
			break;
		case 'i':
			*ret_action = INIT;
			break;
		case 'j':
			join = true;
			break;
		case 'r':
			*ret_action = RESTORE;
			break;
		case 'o':
			*ret_action = HAND_OVER;
			break;
		case 'h':
			usage(stdout);
			return EXIT_DONE;
		case 'V':
			version();
			return EXIT_DONE;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "isobard: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (join && *ret_action != INIT) {
		fprintf(stderr, "isobard: --join goes with --init\n");
		return EXIT_USAGE;
	}
	if (join)
		*ret_action = JOIN;
	return -1;
}

int main(int argc, char **argv)
{
	static struct conf conf; /* too large for the stack */
	const char *file = ISO_SYSCONFDIR "/isobar/isobard.conf";
	enum action action = RUN;
	struct error error = { 0 };

	log_prepare();
	int status = parse(argc, argv, &action, &file);
	if (status >= 0)
		return status;
	if (conf_load(file, &conf, &error) < 0) {
		fprintf(stderr, "isobard: %s\n", error.text);
		return EXIT_USAGE;
	}
	log_init(log_level_of(conf.log_level), getenv("JOURNAL_STREAM") != NULL);
	for (unsigned i = 0; i < conf.warning_count; i++)
		log_warn("%s: %s", file, conf.warnings[i]);
	switch (action) {
	case CHECK:
		return EXIT_DONE;
	case INIT:
		return init(&conf, false);
	case JOIN:
		return init(&conf, true);
	case RESTORE:
		return restore(&conf);
	case HAND_OVER:
		return hand_over(&conf);
	case RUN:
		break;
	}
	return run(&conf, file);
}
