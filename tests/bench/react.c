/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * How long it takes from a change of marginal cost on one node (a busy process
 * wakes in its cgroup) to the quota written on its neighbour, through meter,
 * two agents with a tick of 10 ms, CURVE, journal and read-back; against
 * nothing but one round trip over loopback TCP and one fdatasync.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/cluster.h"

#define NAME  "change of marginal cost to the neighbour's quota / round trip + fdatasync"
#define PAIRS 11
/* For shares and demand to come to rest between two changes: the meter's mean takes seconds. */
#define REST_NS	  6000000000u
#define WITHIN_NS 5000000000u

static void nap_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				      .tv_nsec = (long)(ns % 1000000000u) }, NULL);
}

/* Burns a CPU when it is not stopped; dies with us. */
static pid_t start_burner(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		for (;;)
			__asm__ volatile("");
	}
	return pid;
}

/* Node 0's quota falls when node 1 wants more.  Negative: it did not. */
static double react_ns(const struct cluster *cluster, pid_t burner)
{
	long before_us = cluster_quota_us(cluster, 0);
	uint64_t from_ns = clock_now_ns(), elapsed_ns = 0;

	kill(burner, SIGCONT);
	while (cluster_quota_us(cluster, 0) >= before_us && elapsed_ns < WITHIN_NS) {
		nap_ns(100000);
		elapsed_ns = clock_now_ns() - from_ns;
	}
	kill(burner, SIGSTOP);
	return elapsed_ns < WITHIN_NS ? (double)elapsed_ns : -1;
}

struct plain {
	void *context, *near, *far;
	int fd;
};

static bool open_plain(struct plain *plain, const char *directory)
{
	char path[DEMO_PATH_BYTES], endpoint[128];
	size_t size = sizeof(endpoint);

	path_join(path, directory, "plain");
	plain->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	plain->context = zmq_ctx_new();
	plain->near = zmq_socket(plain->context, ZMQ_PAIR);
	plain->far = zmq_socket(plain->context, ZMQ_PAIR);
	return plain->fd >= 0 && zmq_bind(plain->far, "tcp://127.0.0.1:*") == 0 &&
	       zmq_getsockopt(plain->far, ZMQ_LAST_ENDPOINT, endpoint, &size) == 0 &&
	       zmq_connect(plain->near, endpoint) == 0;
}

static double plain_ns(const struct plain *plain)
{
	char message[160] = { 0 }, page[4096] = { 0 };
	uint64_t from_ns = clock_now_ns();

	if (zmq_send(plain->near, message, sizeof(message), 0) < 0 ||
	    zmq_recv(plain->far, message, sizeof(message), 0) < 0 ||
	    zmq_send(plain->far, message, sizeof(message), 0) < 0 ||
	    zmq_recv(plain->near, message, sizeof(message), 0) < 0 ||
	    pwrite(plain->fd, page, sizeof(page), 0) != sizeof(page) || fdatasync(plain->fd) != 0)
		abort();
	return (double)(clock_now_ns() - from_ns);
}

static void close_plain(struct plain *plain)
{
	zmq_close(plain->near);
	zmq_close(plain->far);
	zmq_ctx_term(plain->context);
	close(plain->fd);
}

static void measure(const struct cluster *cluster, pid_t burner)
{
	struct bench_pairs pairs = { 0 };
	struct plain plain;

	if (!open_plain(&plain, cluster->directory)) {
		bench_skip(NAME, "no plain sockets to compare with");
		return;
	}
	(void)plain_ns(&plain); /* connects */
	for (int i = 0; i < PAIRS; i++) {
		nap_ns(REST_NS);
		double ours_ns = react_ns(cluster, burner);

		if (ours_ns >= 0)
			bench_add(&pairs, ours_ns, plain_ns(&plain));
	}
	close_plain(&plain);
	if (pairs.count > PAIRS / 2)
		bench_print(NAME, "ns", &pairs, -1);
	else
		bench_skip(NAME, "the neighbour's quota did not move");
}

int main(void)
{
	struct cluster cluster;
	struct error error = { 0 };
	pid_t burner;

	if (geteuid() != 0) {
		bench_skip(NAME, "needs root");
		return EXIT_SUCCESS;
	}
	burner = start_burner();
	waitpid(burner, NULL, WUNTRACED);
	int r = cluster_start(&cluster, 2, "10ms", &error);
	if (r == 0)
		r = cluster_enter(&cluster, 1, burner, &error);
	if (r == 0)
		measure(&cluster, burner);
	kill(burner, SIGKILL);
	waitpid(burner, NULL, 0);
	cluster_stop(&cluster);
	if (r < 0)
		fprintf(stderr, "react: %s\n", error.text);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
