/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * What an idle agent with 8 neighbours costs at a tick of 1 s, against a
 * process that does nothing but the same messages over the same kind of
 * sockets: eight CURVE connections out and one socket in.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/bench/bench.h"
#include "tests/bench/cluster.h"

#define CPU_NAME "CPU of an idle agent with 8 neighbours / the same messages alone"
#define RSS_NAME "memory of an idle agent with 8 neighbours / the same messages alone"
#define NEIGHBOURS 8u
#define PAIRS	   3
#define WINDOW_S   8

/* In the child: eight pushes to our own pull, one message each a second. */
static _Noreturn void just_messages(void)
{
	static const struct curve_limits limits = { .message_bytes_max = 512,
						    .queue_messages_max = 16 };
	void *context = zmq_ctx_new(), *in = zmq_socket(context, ZMQ_PULL), *out[NEIGHBOURS];
	struct curve_keypair keys;
	char endpoint[128], message[160] = { 0 };
	size_t size = sizeof(endpoint);
	int yes = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (curve_keypair_new(&keys, NULL) < 0)
		_exit(1);
	/* No ZAP handler here: any key may connect. */
	zmq_setsockopt(in, ZMQ_CURVE_SERVER, &yes, sizeof(yes));
	zmq_setsockopt(in, ZMQ_CURVE_SECRETKEY, keys.secret_key, CURVE_KEY_BYTES);
	if (zmq_bind(in, "tcp://127.0.0.1:*") != 0 ||
	    zmq_getsockopt(in, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0)
		_exit(1);
	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		out[i] = zmq_socket(context, ZMQ_PUSH);
		if (curve_client(out[i], &keys, keys.public_key, &limits, NULL) < 0 ||
		    zmq_connect(out[i], endpoint) != 0)
			_exit(1);
	}
	for (;;) {
		for (unsigned i = 0; i < NEIGHBOURS; i++)
			(void)zmq_send(out[i], message, sizeof(message), ZMQ_DONTWAIT);
		sleep(1);
		while (zmq_recv(in, message, sizeof(message), ZMQ_DONTWAIT) >= 0)
			;
	}
}

/* User and system time of a process in ns, to the ns where the kernel says so. */
static double cpu_ns(pid_t pid)
{
	char path[64], text[64];
	clockid_t clock;
	struct timespec used;

	if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	return file_get(path, text, sizeof(text)) < 0 ? 0 : (double)strtoull(text, NULL, 10);
}

static double rss_bytes(pid_t pid)
{
	uint64_t cpu, rss = 0;

	return process_read(pid, &cpu, &rss) ? (double)rss : 0;
}

static void measure(const struct cluster *cluster, pid_t plain)
{
	struct bench_pairs cpu = { 0 }, rss = { 0 };
	pid_t agent = cluster->agents[0].pid;

	sleep(3); /* past the start */
	for (int i = 0; i < PAIRS; i++) {
		double agent_ns = cpu_ns(agent), plain_ns = cpu_ns(plain);

		sleep(WINDOW_S);
		/* µs of CPU time a second, both over the same window. */
		bench_add(&cpu, (cpu_ns(agent) - agent_ns) / 1e3 / WINDOW_S,
			  (cpu_ns(plain) - plain_ns) / 1e3 / WINDOW_S);
		bench_add(&rss, rss_bytes(agent), rss_bytes(plain));
	}
	bench_print(CPU_NAME, "us/s", &cpu, -1);
	bench_print(RSS_NAME, "bytes", &rss, -1);
}

int main(void)
{
	struct cluster cluster;
	struct error error = { 0 };

	if (geteuid() != 0) {
		bench_skip(CPU_NAME, "needs root");
		bench_skip(RSS_NAME, "needs root");
		return EXIT_SUCCESS;
	}
	pid_t plain = fork();
	if (plain == 0)
		just_messages();
	int r = cluster_start(&cluster, NEIGHBOURS + 1, "1s", &error);
	if (r == 0)
		measure(&cluster, plain);
	kill(plain, SIGKILL);
	waitpid(plain, NULL, 0);
	cluster_stop(&cluster);
	if (r < 0)
		fprintf(stderr, "idle: %s\n", error.text);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
