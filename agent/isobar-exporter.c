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

#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"
#include "agent/base/service.h"
#include "agent/base/user.h"
#include "agent/export/http.h"
#include "agent/export/page.h"
#include "agent/export/watch.h"
#include "lib/quantity.h"

/*
 * isobar-exporter: what the agents of this machine say about themselves, for
 * Prometheus.  It changes nothing, here or there.
 */

#define DEFAULT_LISTEN	   "127.0.0.1:7700"
#define DEFAULT_USER	   "isobar-exporter"
#define DEFAULT_TIMEOUT_NS 1000000000u

struct options {
	const char *listen;
	const char *user; /* NULL: DEFAULT_USER, if it is root */
	struct watch_config watch;
	const char *sockets[COLLECT_AGENTS_MAX];
};

struct exporter {
	struct options options;
	struct loop loop;
	struct loop_source signals, timer;
	struct watch *watch;
	struct http *http;
};

static void usage(FILE *file)
{
	fputs("usage: isobar-exporter [--listen ADDRESS:PORT] [--run-directory DIR]\n"
	      "                       [--socket PATH]... [--timeout TIME] [--user NAME]\n"
	      "\n"
	      "Serves what the isobar agents of this machine say, to Prometheus and as a page.\n"
	      "\n"
	      "  -l, --listen ADDRESS:PORT  where (default: " DEFAULT_LISTEN ")\n"
	      "      --run-directory DIR    where the agents' directories are\n"
	      "                             (default: " ISO_RUNDIR ")\n"
	      "      --socket PATH          this control socket and no others; repeat it\n"
	      "      --timeout TIME         how long to wait for all agents (default: 1s)\n"
	      "      --user NAME            who to become if started as root\n"
	      "                             (default: " DEFAULT_USER ")\n"
	      "  -h, --help                 show this\n"
	      "  -V, --version              show the version\n",
	      file);
}

static bool set_timeout(struct options *options, const char *text)
{
	if (iso_quantity_duration(text, &options->watch.timeout_ns) == ISO_OK &&
	    options->watch.timeout_ns >= 10000000 && options->watch.timeout_ns <= 10000000000u)
		return true;
	fprintf(stderr, "isobar-exporter: --timeout: '%s' is no time from 10ms to 10s\n", text);
	return false;
}

static bool add_socket(struct options *options, const char *path)
{
	if (options->watch.socket_count < COLLECT_AGENTS_MAX) {
		options->sockets[options->watch.socket_count++] = path;
		return true;
	}
	fprintf(stderr, "isobar-exporter: more than %d sockets\n", COLLECT_AGENTS_MAX);
	return false;
}

/* 0: go on; else the exit status + 1. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "run-directory", required_argument, NULL, 'r' },
		{ "socket", required_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ "user", required_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	bool good = true;
	int option;

	while (good && (option = getopt_long(argc, argv, "l:hV", table, NULL)) >= 0) {
		switch (option) {
		case 'l': options->listen = optarg; break;
		case 'r': options->watch.directory = optarg; break;
		case 's': good = add_socket(options, optarg); break;
		case 't': good = set_timeout(options, optarg); break;
		case 'u': options->user = optarg; break;
		case 'h': usage(stdout); return 1 + 0;
		case 'V': puts("isobar-exporter " PACKAGE_VERSION); return 1 + 0;
		default: usage(stderr); return 1 + 2;
		}
	}
	if (good && optind < argc) {
		usage(stderr);
		good = false;
	}
	options->watch.sockets = options->sockets;
	return good ? 0 : 1 + 2;
}

/* What it has by now is all that it needs: no program is started, no file written. */
static void enter_sandbox(void)
{
	const struct sandbox_config config = { .program = SANDBOX_EXPORTER };
	struct error error;
	int r = sandbox_enter(&config, &error);

	if (r < 0)
		log_at(r == -ENOTSUP ? LOG_INFO : LOG_WARNING, "sandbox: %s; serving without",
		       error.text);
}

static char *make_text(size_t *ret_size, void (*write)(struct watch *watch, FILE *out),
		       struct watch *watch)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	if (out == NULL)
		return NULL;
	write(watch, out);
	bool failed = ferror(out) != 0;
	failed |= fclose(out) != 0;
	if (!failed)
		return text;
	free(text);
	return NULL;
}

static void healthy(struct watch *watch, FILE *out)
{
	(void)watch;
	fputs("ok\n", out);
}

static void style(struct watch *watch, FILE *out)
{
	(void)watch;
	fputs(page_style, out);
}

static void nowhere(struct watch *watch, FILE *out)
{
	(void)watch;
	fputs("not here; there are /, /metrics and /healthz\n", out);
}

static void on_request(void *context, const char *path, struct http_reply *ret_reply)
{
	static const struct {
		const char *path, *type;
		void (*write)(struct watch *watch, FILE *out);
		bool is_of_agents; /* else it is always the same */
	} places[] = {
		{ "/", "text/html; charset=utf-8", watch_page, true },
		{ "/healthz", "text/plain; charset=utf-8", healthy, false },
		{ "/metrics", "text/plain; version=0.0.4; charset=utf-8", watch_metrics, true },
		{ "/style.css", "text/css; charset=utf-8", style, false },
	};
	struct exporter *exporter = context;
	void (*write)(struct watch *watch, FILE *out) = nowhere;
	bool is_of_agents = false;

	ret_reply->status = 404;
	ret_reply->type = "text/plain; charset=utf-8";
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (strcmp(path, places[i].path) != 0)
			continue;
		ret_reply->status = 200;
		ret_reply->type = places[i].type;
		write = places[i].write;
		is_of_agents = places[i].is_of_agents;
	}
	ret_reply->body = make_text(&ret_reply->size, write, exporter->watch);
	if (is_of_agents)
		ret_reply->fresh_until_ns = watch_fresh_until_ns(exporter->watch);
}

static void on_timer(struct loop_source *source, short revents)
{
	struct exporter *exporter =
	    (struct exporter *)(void *)((char *)source - offsetof(struct exporter, timer));

	(void)revents;
	(void)timer_consume(source->fd);
	(void)timer_arm(source->fd, watch_step(exporter->watch));
}

static void on_signal(struct loop_source *source, short revents)
{
	struct exporter *exporter =
	    (struct exporter *)(void *)((char *)source - offsetof(struct exporter, signals));

	(void)revents;
	while (signals_consume(source->fd) != 0)
		loop_quit(&exporter->loop);
}

static int add_source(struct exporter *exporter, struct loop_source *source, int fd, loop_fn *fn,
		      struct error *reterr)
{
	*source = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = fn };
	int r = fd < 0 ? fd : loop_add(&exporter->loop, source);

	return r < 0 ? error_errno(reterr, r, "event loop") : 0;
}

static int open_all(struct exporter *exporter, struct error *reterr)
{
	static const int ending[] = { SIGTERM, SIGINT, 0 };
	const struct http_config http = {
		.listen = exporter->options.listen,
		.fn = on_request,
		.context = exporter,
	};
	/* Nothing here needs root, and what reads from the network must not be it. */
	const char *user = exporter->options.user;
	int r = 0;

	if (user != NULL || geteuid() == 0)
		r = user_become("--user", user != NULL ? user : DEFAULT_USER, reterr);
	if (r < 0)
		return r;
	r = add_source(exporter, &exporter->signals, signals_open(ending), on_signal, reterr);
	if (r == 0)
		r = add_source(exporter, &exporter->timer, timer_open(), on_timer, reterr);
	if (r == 0)
		r = watch_open(&exporter->options.watch, &exporter->watch, reterr);
	if (r == 0)
		r = http_open(&http, &exporter->loop, &exporter->http, reterr);
	if (r < 0)
		return r;
	enter_sandbox();
	return timer_arm(exporter->timer.fd, 0);
}

static void close_all(struct exporter *exporter)
{
	exporter->http = http_close(exporter->http);
	exporter->watch = watch_close(exporter->watch);
	if (exporter->signals.fd > 0)
		close(exporter->signals.fd);
	if (exporter->timer.fd > 0)
		close(exporter->timer.fd);
}

int main(int argc, char **argv)
{
	static struct exporter exporter = {
		.options = {
			.listen = DEFAULT_LISTEN,
			.watch = { .directory = ISO_RUNDIR, .timeout_ns = DEFAULT_TIMEOUT_NS },
		},
	};
	struct error error = { 0 };

	log_prepare();
	log_init(LOG_INFO, getenv("JOURNAL_STREAM") != NULL);
	int status = parse_options(argc, argv, &exporter.options);
	if (status != 0)
		return status - 1;
	int r = open_all(&exporter, &error);
	if (r == 0) {
		log_info("listening at %s/", http_address(exporter.http));
		service_ready("serving metrics");
		r = loop_run(&exporter.loop);
		service_leaving();
		if (r < 0)
			(void)error_errno(&error, r, "event loop");
	}
	if (r < 0)
		log_error("isobar-exporter: %s", error.text);
	close_all(&exporter);
	if (r == -EINVAL)
		return 2;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
