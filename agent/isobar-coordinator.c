/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <cblas.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/directory.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"
#include "agent/base/service.h"
#include "agent/base/user.h"
#include "agent/control/control.h"
#include "agent/train/blas.h"
#include "agent/train/coordinator_conf.h"
#include "agent/train/coordinator_net.h"
#include "agent/train/coordinator_run.h"
#include "agent/train/coordinator_status.h"

/*
 * isobar-coordinator: the model of one training run, who computes what, and
 * what has been learnt about the workers' speed.
 */

#define DEFAULT_FILE ISO_SYSCONFDIR "/isobar/isobar-coordinator.conf"

struct options {
	const char *file;
	const char *report;
	bool check;
	struct run_options run;
};

struct coordinator {
	struct options options;
	struct cconf conf;
	struct loop loop;
	struct loop_source signals, timer;
	void *context;
	struct curve_keypair keypair;
	struct dataset test;
	struct run *run;
	struct net *net;
	struct control *control;
	bool is_done;		 /* reached its end, not merely stopped */
	bool checkpoint_failing; /* said so */
};

static void usage(FILE *file)
{
	fputs("usage: isobar-coordinator [-n] [-f FILE] [--resume | --restart] [--report FILE]\n"
	      "\n"
	      "Runs one training: hands out tasks to isobar-workers and keeps the model.\n"
	      "\n"
	      "  -f, --file FILE  configuration (default: " DEFAULT_FILE ")\n"
	      "  -n, --check      check the configuration and exit\n"
	      "  --resume         there must be a checkpoint to go on from\n"
	      "  --restart        begin anew although there is a checkpoint\n"
	      "  --report FILE    write the status as JSON to FILE at the end\n"
	      "  -h, --help       show this\n"
	      "  -V, --version    show the version\n"
	      "\n"
	      "Without --resume or --restart it goes on from a checkpoint if there is one.\n",
	      file);
}

/* Since 1970. */
static uint64_t time_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* it cannot fail */
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* 0: go on; else the exit status + 1. */
static int parse_options(int argc, char **argv, struct options *ret_options)
{
	static const struct option table[] = {
		{ "file", required_argument, NULL, 'f' },   { "check", no_argument, NULL, 'n' },
		{ "resume", no_argument, NULL, 'r' },	    { "restart", no_argument, NULL, 's' },
		{ "report", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	    { 0 },
	};
	struct options options = {
		.file = DEFAULT_FILE,
		.run.term_min = time_ms(),
	};
	int option;

	while ((option = getopt_long(argc, argv, "f:nhV", table, NULL)) >= 0) {
		switch (option) {
		case 'f': options.file = optarg; break;
		case 'n': options.check = true; break;
		case 'r': options.run.resume = true; break;
		case 's': options.run.restart = true; break;
		case 'o': options.report = optarg; break;
		case 'h': usage(stdout); return 1 + 0;
		case 'V': puts("isobar-coordinator " PACKAGE_VERSION); return 1 + 0;
		default: usage(stderr); return 1 + 2;
		}
	}
	if (optind < argc || (options.run.resume && options.run.restart)) {
		usage(stderr);
		return 1 + 2;
	}
	*ret_options = options;
	return 0;
}

/* Says that checkpoints fail, and that they work again; not each time. */
static void save(struct coordinator *coordinator, uint64_t now_ns)
{
	struct error error;
	int r = run_checkpoint(coordinator->run, now_ns, false, &error);

	if (r < 0 && !coordinator->checkpoint_failing)
		log_error("%s; training goes on without checkpoints", error.text);
	if (r == 0 && coordinator->checkpoint_failing)
		log_info("checkpoints are written again");
	coordinator->checkpoint_failing = r < 0;
}

/* What follows from events and time; called after each of them. */
static void turn(void *context)
{
	struct coordinator *coordinator = context;
	uint64_t now_ns = clock_now_ns();

	net_tick(coordinator->net, now_ns);
	run_advance(coordinator->run, now_ns);
	net_send_orders(coordinator->net, now_ns);
	run_evaluate(coordinator->run, now_ns);
	save(coordinator, now_ns);
	if (run_is_over(coordinator->run, now_ns) && !coordinator->is_done) {
		coordinator->is_done = true;
		loop_quit(&coordinator->loop);
		return;
	}
	uint64_t wake_ns = run_wake_ns(coordinator->run, now_ns);
	uint64_t net_ns = net_wake_ns(coordinator->net);
	/* The fd is ours and valid: arming it cannot fail. */
	(void)timer_arm(coordinator->timer.fd, wake_ns < net_ns ? wake_ns : net_ns);
}

static void on_timer(struct loop_source *source, short revents)
{
	struct coordinator *coordinator =
	    (struct coordinator *)(void *)((char *)source - offsetof(struct coordinator, timer));

	(void)revents;
	timer_consume(source->fd);
	turn(coordinator);
}

static void on_signal(struct loop_source *source, short revents)
{
	struct coordinator *coordinator =
	    (struct coordinator *)(void *)((char *)source - offsetof(struct coordinator, signals));

	(void)revents;
	while (signals_consume(source->fd) != 0)
		loop_quit(&coordinator->loop);
}

static json_t *command_status(void *context, const json_t *request)
{
	struct coordinator *coordinator = context;

	(void)request;
	return coordinator_status(&coordinator->conf, coordinator->run, coordinator->net,
				  clock_now_ns());
}

static json_t *command_checkpoint(void *context, const json_t *request)
{
	struct coordinator *coordinator = context;
	struct error error;

	(void)request;
	if (run_checkpoint(coordinator->run, clock_now_ns(), true, &error) < 0)
		return control_refuse("%s", error.text);
	return json_object();
}

static int open_control(struct coordinator *coordinator, struct error *reterr)
{
	static const struct control_command commands[] = {
		{ .name = "status", .fn = command_status },
		{ .name = "checkpoint", .changes_state = true, .fn = command_checkpoint },
	};
	const struct control_config config = {
		.directory = coordinator->conf.run_directory,
		.group = coordinator->conf.control_group,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.context = coordinator,
	};

	int r = directory_make(config.directory, 0755, reterr);
	if (r < 0)
		return r;
	return control_open(&config, &coordinator->loop, &coordinator->control, reterr);
}

static int add_source(struct coordinator *coordinator, struct loop_source *source, int fd,
		      loop_fn *fn, struct error *reterr)
{
	*source = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = fn };
	int r = fd < 0 ? fd : loop_add(&coordinator->loop, source);

	return r < 0 ? error_errno(reterr, r, "event loop") : 0;
}

/*
 * What root alone may do comes first: the key may be nobody else's to read, and nobody
 * else may make a directory where the defaults are.
 */
static int become_user(struct coordinator *coordinator, struct error *reterr)
{
	const struct cconf *conf = &coordinator->conf;
	int r = curve_secret_read(conf->secret_key, &coordinator->keypair, reterr);

	if (r < 0)
		return r;
	if (conf->user[0] == '\0') {
		if (geteuid() == 0)
			log_warn("running as root, which nothing here needs: set user in '%s', or "
				 "start it as another user", coordinator->options.file);
		return 0;
	}
	r = user_make_directory(conf->state_directory, 0755, "user", conf->user, reterr);
	if (r == 0)
		r = user_make_directory(conf->run_directory, 0755, "user", conf->user, reterr);
	return r == 0 ? user_become("user", conf->user, reterr) : r;
}

/* Before the first thread and the first byte from elsewhere. */
static void give_up_privileges(const struct cconf *conf)
{
	struct sandbox_config config = {
		.program = SANDBOX_COORDINATOR,
		.audits = conf->log_level == CCONF_LOG_DEBUG,
	};
	struct error error = { 0 };

	/* Without a group of its own the control socket changes no owner. */
	if (conf->control_group[0] != '\0' && geteuid() == 0)
		config.capabilities = SANDBOX_CAPABILITY(CAP_CHOWN);
	if (conf->sandbox && sandbox_enter(&config, &error) < 0)
		log_warn("sandbox: %s; going on without that protection", error.text);
}

/* Before the run, not after it; nothing is made yet. */
static int check_report(const char *path, struct error *reterr)
{
	char copy[PATH_MAX];

	if (path == NULL)
		return 0;
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return error_errno(reterr, -ENAMETOOLONG, "write '%s'", path);
	const char *place = access(path, F_OK) == 0 ? path : dirname(copy);
	return access(place, W_OK) == 0 ? 0 : error_errno(reterr, -errno, "write '%s'", path);
}

static int open_all(struct coordinator *coordinator, struct error *reterr)
{
	static const int ending[] = { SIGTERM, SIGINT, 0 };
	const struct cconf *conf = &coordinator->conf;
	int r =
	    add_source(coordinator, &coordinator->signals, signals_open(ending), on_signal, reterr);

	if (r == 0)
		r = add_source(coordinator, &coordinator->timer, timer_open(), on_timer, reterr);
	if (r == 0)
		r = check_report(coordinator->options.report, reterr);
	if (r == 0)
		r = dataset_open(conf->data, DATASET_TEST, &coordinator->test, reterr);
	if (r == 0) {
		char text[256];

		dataset_describe(&coordinator->test, text, sizeof(text));
		log_info("test data: %s", text);
	}
	/* The locks first, before anything is read that another one may write. */
	if (r == 0)
		r = open_control(coordinator, reterr);
	if (r == 0)
		r = run_open(conf, &coordinator->test, coordinator->options.run, &coordinator->run,
			     reterr);
	/* Before a worker hears of this term it is on disk: no later one may be the same. */
	if (r == 0)
		r = run_checkpoint(coordinator->run, clock_now_ns(), true, reterr);
	if (r < 0)
		return r;
	coordinator->context = zmq_ctx_new();
	r = net_open(coordinator->context, &coordinator->loop, conf, &coordinator->keypair,
		     coordinator->run, turn, coordinator, &coordinator->net, reterr);
	if (r == 0)
		log_info("run %s, term %llu: listening at %s for %u workers", conf->run,
			 (unsigned long long)run_term(coordinator->run), conf->listen,
			 conf->workers_count);
	return r;
}

/* In place: it may be a pipe or a device. */
static int write_report(struct coordinator *coordinator, struct error *reterr)
{
	const char *path = coordinator->options.report;
	json_t *status = command_status(coordinator, NULL);
	int r = status != NULL ? 0 : -ENOMEM;

	errno = 0;
	if (r == 0 && json_dump_file(status, path, JSON_INDENT(1) | JSON_SORT_KEYS) < 0)
		r = errno != 0 ? -errno : -EIO;
	json_decref(status);
	return r < 0 ? error_errno(reterr, r, "write '%s'", path) : 0;
}

/* What is to stay of the run; false: not all of it could be written. */
static bool save_results(struct coordinator *coordinator, uint64_t now_ns)
{
	bool is_saved = true;
	struct error error;

	if (run_checkpoint(coordinator->run, now_ns, true, &error) < 0) {
		log_error("%s; what came after the last checkpoint is lost", error.text);
		is_saved = false;
	}
	if (run_write_profile(coordinator->run, &error) < 0) {
		log_error("%s; what was learnt of the workers is lost to the next run", error.text);
		is_saved = false;
	}
	if (coordinator->options.report != NULL && write_report(coordinator, &error) < 0) {
		log_error("%s; there is no report", error.text);
		is_saved = false;
	}
	return is_saved;
}

/* The last word: what was reached, on disk and in the log; false: not on disk. */
static bool finish(struct coordinator *coordinator)
{
	uint64_t now_ns = clock_now_ns();
	uint32_t count;

	run_evaluate_now(coordinator->run, now_ns);
	bool is_saved = save_results(coordinator, now_ns);
	const struct evaluation_point *points = run_evaluations(coordinator->run, &count);
	/* A user's task that does not work gives none. */
	if (count == 0)
		log_info("%s without an evaluation", coordinator->is_done ? "done" : "stopped");
	else
		log_info("%s after step %llu, %.1f s: test accuracy %.4f",
			 coordinator->is_done ? "done" : "stopped",
			 (unsigned long long)points[count - 1].round,
			 (double)run_view(coordinator->run, now_ns).elapsed_ns / 1e9,
			 points[count - 1].accuracy);
	return is_saved;
}

static void close_all(struct coordinator *coordinator)
{
	coordinator->net = net_close(coordinator->net, coordinator->is_done);
	if (coordinator->context != NULL)
		zmq_ctx_term(coordinator->context);
	coordinator->run = run_close(coordinator->run);
	coordinator->control = control_close(coordinator->control);
	dataset_close(&coordinator->test);
	curve_keypair_wipe(&coordinator->keypair);
	if (coordinator->signals.fd > 0)
		close(coordinator->signals.fd);
	if (coordinator->timer.fd > 0)
		close(coordinator->timer.fd);
}

int main(int argc, char **argv)
{
	static struct coordinator coordinator;
	struct error error = { 0 };
	bool with_prefix = getenv("JOURNAL_STREAM") != NULL, is_saved = true;

	blas_without_threads(argv);
	log_prepare();
	log_init(LOG_INFO, with_prefix);
	int status = parse_options(argc, argv, &coordinator.options);
	if (status != 0)
		return status - 1;
	if (cconf_load(coordinator.options.file, &coordinator.conf, &error) < 0) {
		log_error("%s", error.text);
		return 2;
	}
	if (coordinator.conf.allocation.idle != NULL)
		log_warn("%s: line %d: allocation: %s has no effect with strategy %s",
			 coordinator.options.file, coordinator.conf.allocation.idle_line,
			 coordinator.conf.allocation.idle,
			 cconf_strategy_text(coordinator.conf.allocation.strategy));
	if (!coordinator.options.check)
		log_init(log_level_of(coordinator.conf.log_level), with_prefix);
	if (run_check(&coordinator.conf, &error) < 0) {
		log_error("%s: %s", coordinator.options.file, error.text);
		return 2;
	}
	if (coordinator.options.check) {
		printf("%s: fine, %u workers\n", coordinator.options.file,
		       coordinator.conf.workers_count);
		return EXIT_SUCCESS;
	}
	int r = become_user(&coordinator, &error);
	if (r == 0) {
		give_up_privileges(&coordinator.conf);
		openblas_set_num_threads(1);
		r = open_all(&coordinator, &error);
	}
	if (r == 0) {
		turn(&coordinator);
		service_ready("training");
		r = loop_run(&coordinator.loop);
		service_leaving();
		is_saved = finish(&coordinator);
	}
	if (r < 0)
		log_error("isobar-coordinator: %s",
			  error.text[0] != '\0' ? error.text : strerror(-r));
	close_all(&coordinator);
	return r < 0 || !is_saved ? EXIT_FAILURE : EXIT_SUCCESS;
}
