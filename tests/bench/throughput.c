/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * How many gradients a second the coordinator takes, checks, applies and
 * answers, and how many bytes that is both ways, against a bare ROUTER socket
 * that gets and sends messages of the same sizes in the same pattern, with
 * CURVE as well.  The workers are sockets in here, which compute nothing.
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

#include "agent/base/clock.h"
#include "agent/net/curve.h"
#include "agent/train/trainmsg.h"
#include "tests/bench/bench.h"
#include "tests/demo/files.h"
#include "tests/demo/ports.h"
#include "tests/demo/processes.h"

#define DATA	  "/usr/share/datasets/fashion-mnist"
#define WORKERS	  4u
#define FEATURES  784u
#define CLASSES	  10u
#define SAMPLES	  60000u
#define FLOATS	  ((FEATURES + 1) * CLASSES)
#define PAIRS	  15
#define WINDOW_NS 300000000u
#define READY_NS  20000000000u

/* How the coordinator trains, and after how many results from all it answers. */
static const struct way {
	const char *name, *training, *allocation;
	unsigned results;
} WAYS[] = {
	{ "rounds of 16", "tasks-per-round = 16", "strategy = uta", 16 },
	{ "a step each", "method = asgd", "", 1 },
};

/* One side of the comparison: this end of its connections, and what went through. */
struct side {
	void *sockets[WORKERS];
	uint64_t results, bytes;
};

struct bed {
	char directory[DEMO_PATH_BYTES];
	void *context;
	zmq_msg_t gradient;
	struct child coordinator;
	pid_t reference;
	unsigned ports[2];
	struct curve_keypair server_keys, keys[WORKERS];
	size_t result_bytes, work_bytes; /* their heads, as they were seen */
	struct side ours, theirs;
};

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "throughput: %s\n", what);
	exit(EXIT_FAILURE);
}

static void write_conf(const struct bed *bed, const struct way *way, const char *path)
{
	FILE *out = fopen(path, "we");

	must(out != NULL, path);
	fprintf(out,
		"run = bench\nlisten = tcp://127.0.0.1:%u\nsecret-key = %s/secret\n"
		"state-directory = %s/state\nrun-directory = %s/run\ndata = " DATA "\n"
		"ping-interval = 3600s\nevaluation-interval = 86400s\n"
		"checkpoint-interval = 86400s\n"
		"training { samples-per-task = 1 %s }\nallocation { %s }\n"
		"lease { first = 3600s least = 3600s }\n",
		bed->ports[0], bed->directory, bed->directory, bed->directory, way->training,
		way->allocation);
	for (unsigned i = 0; i < WORKERS; i++)
		fprintf(out, "worker w%u { public-key = '%s' }\n", i, bed->keys[i].public_key);
	must(fclose(out) == 0, path);
}

static void start_coordinator(struct bed *bed, const struct way *way)
{
	char conf[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES];
	const char *const argv[] = { "agent/isobar-coordinator", "-f", conf, "--restart", NULL };
	const struct launch launch = { .argv = argv, .log = log };
	struct error error;

	path_join(conf, bed->directory, "conf");
	path_join(log, bed->directory, "log");
	write_conf(bed, way, conf);
	must(child_start(&bed->coordinator, "coordinator", &launch, &error) == 0, error.text);
}

static void *connect_worker(struct bed *bed, unsigned index, unsigned port)
{
	const struct curve_limits limits = { 64 << 20, 1000 };
	void *socket = zmq_socket(bed->context, ZMQ_DEALER);
	char endpoint[64];
	struct error error;

	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", port);
	must(curve_client(socket, &bed->keys[index], bed->server_keys.public_key, &limits,
			  &error) == 0 &&
		 curve_connect(socket, endpoint, &error) == 0,
	     error.text);
	return socket;
}

static void send_frames(void *socket, zmq_msg_t *id, const void *head, size_t head_bytes,
			zmq_msg_t *block)
{
	zmq_msg_t copy;

	zmq_msg_init(&copy);
	if (id != NULL) {
		zmq_msg_copy(&copy, id);
		must(zmq_msg_send(&copy, socket, ZMQ_SNDMORE) >= 0, "send");
		zmq_msg_init(&copy);
	}
	zmq_msg_copy(&copy, block);
	must(zmq_send(socket, head, head_bytes, ZMQ_SNDMORE) >= 0 &&
		 zmq_msg_send(&copy, socket, 0) >= 0,
	     "send");
}

static unsigned index_of(zmq_msg_t *ids, unsigned count, zmq_msg_t *id)
{
	unsigned i = 0;

	while (i < count &&
	       (zmq_msg_size(&ids[i]) != zmq_msg_size(id) ||
		memcmp(zmq_msg_data(&ids[i]), zmq_msg_data(id), zmq_msg_size(id)) != 0))
		i++;
	return i;
}

/*
 * The reference: answers all workers when `results` messages have come, or
 * with 1 their sender.  A worker's first message is its greeting.
 */
static void serve(const struct bed *bed, void *socket, unsigned results)
{
	static float sum[FLOATS];
	static char head[4096];
	zmq_msg_t ids[WORKERS], id, frame, block;
	unsigned known = 0, count = 0;

	zmq_msg_init_size(&block, sizeof(sum));
	memset(zmq_msg_data(&block), 0, sizeof(sum));
	for (;;) {
		zmq_msg_init(&id);
		zmq_msg_init(&frame);
		must(zmq_msg_recv(&id, socket, 0) >= 0 && zmq_msg_recv(&frame, socket, 0) >= 0,
		     "receive");
		bool is_greeting = !zmq_msg_more(&frame);
		if (!is_greeting) {
			zmq_msg_recv(&frame, socket, 0);
			count++;
		}
		zmq_msg_close(&frame);
		unsigned from = index_of(ids, known, &id);
		if (from == known) {
			zmq_msg_init(&ids[known]);
			zmq_msg_copy(&ids[known++], &id);
		}
		zmq_msg_close(&id);
		if (results == 1 && (is_greeting || count > 0))
			send_frames(socket, &ids[from], head, bed->work_bytes, &block);
		else if (count == results || (is_greeting && known == WORKERS))
			for (unsigned i = 0; i < WORKERS; i++)
				send_frames(socket, &ids[i], head, bed->work_bytes, &block);
		else
			continue;
		count = 0;
	}
}

static void start_reference(struct bed *bed, unsigned results)
{
	const int one = 1;
	char endpoint[64];

	bed->reference = fork();
	if (bed->reference != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	void *socket = zmq_socket(zmq_ctx_new(), ZMQ_ROUTER);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", bed->ports[1]);
	zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof(one));
	zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, bed->server_keys.secret_key, CURVE_KEY_BYTES);
	must(zmq_bind(socket, endpoint) == 0, "bind the reference");
	serve(bed, socket, results);
}

/* One order of the coordinator: all its tasks are done at once, with the same gradient. */
static void answer(struct bed *bed, void *socket, struct trainmsg *order)
{
	struct iso_train_message result = {
		.type = ISO_TRAIN_RESULT,
		.floats = FLOATS,
		.result = { .term = order->message.work.term,
			    .model_version = order->message.work.model_version,
			    .samples = 1,
			    .on_cpu_ns = 1000000,
			    .wall_ns = 1000000,
			    .speed = { 1, 1000000 },
			    .loss = 1 },
	};
	uint8_t head[ISO_TRAIN_FIXED_MAX];
	const struct trainmsg_peer coordinator = { 0 };

	for (unsigned i = 0; i < WORKERS; i++)
		if (bed->ours.sockets[i] == socket)
			result.result.worker = i;
	for (uint32_t i = 0; i < order->message.work.count; i++) {
		struct iso_train_task task = iso_train_task(&order->message, i);

		result.result.task = task.task;
		result.result.attempt = task.attempt;
		must(trainmsg_send(socket, &coordinator, &result, &bed->gradient) == 0, "send");
		bed->ours.results++;
	}
	must(iso_train_encode(&result, zmq_msg_data(&bed->gradient), head, sizeof(head),
			      &bed->result_bytes) == ISO_OK,
	     "a result");
	bed->work_bytes = zmq_msg_size(&order->head);
	bed->ours.bytes += bed->work_bytes + zmq_msg_size(&order->block) +
			   order->message.work.count * (bed->result_bytes + FLOATS * sizeof(float));
}

static void take_ours(struct bed *bed, void *socket)
{
	struct trainmsg message;

	while (trainmsg_receive(socket, false, &message) == 0) {
		if (message.message.type == ISO_TRAIN_WORK)
			answer(bed, socket, &message);
		must(message.message.type != ISO_TRAIN_BYE, message.message.bye.text);
		trainmsg_release(&message);
	}
}

static void take_theirs(struct bed *bed, void *socket, unsigned results)
{
	static char head[ISO_TRAIN_FIXED_MAX];
	char got[4096];
	zmq_msg_t block;
	int size;

	while ((size = zmq_recv(socket, got, sizeof(got), ZMQ_DONTWAIT)) >= 0) {
		zmq_msg_init(&block);
		must(zmq_msg_recv(&block, socket, 0) >= 0, "receive");
		bed->theirs.bytes += (size_t)size + zmq_msg_size(&block);
		zmq_msg_close(&block);
		for (unsigned i = 0; i < (results > WORKERS ? results / WORKERS : 1); i++) {
			send_frames(socket, NULL, head, bed->result_bytes, &bed->gradient);
			bed->theirs.results++;
			bed->theirs.bytes += bed->result_bytes + FLOATS * sizeof(float);
		}
	}
}

/* Answers one side for a while; the other waits meanwhile.  Returns how long it was. */
static double work(struct bed *bed, struct side *side, unsigned results, uint64_t window_ns)
{
	zmq_pollitem_t items[WORKERS];
	uint64_t from_ns = clock_now_ns(), now_ns = from_ns;

	side->results = side->bytes = 0;
	for (; now_ns - from_ns < window_ns; now_ns = clock_now_ns()) {
		for (unsigned i = 0; i < WORKERS; i++)
			items[i] =
			    (zmq_pollitem_t){ .socket = side->sockets[i], .events = ZMQ_POLLIN };
		must(zmq_poll(items, WORKERS, 10) >= 0, "poll");
		for (unsigned i = 0; i < WORKERS; i++)
			if (items[i].revents != 0 && side == &bed->ours)
				take_ours(bed, side->sockets[i]);
			else if (items[i].revents != 0)
				take_theirs(bed, side->sockets[i], results);
	}
	return (double)(now_ns - from_ns) / 1e9;
}

/* The workers say hello until the coordinator gives them work. */
static void join(struct bed *bed)
{
	struct iso_train_message hello = { .type = ISO_TRAIN_HELLO,
					   .hello = { .incarnation = 1,
						      .speed = { 1, 1000000 },
						      .samples = SAMPLES,
						      .features = FEATURES,
						      .classes = CLASSES,
						      .data_checksum = 1 } };
	const struct trainmsg_peer coordinator = { 0 };
	uint64_t from_ns = clock_now_ns();
	bool said[WORKERS] = { false };

	for (unsigned i = 0; i < WORKERS; i++)
		bed->ours.sockets[i] = connect_worker(bed, i, bed->ports[0]);
	while (bed->ours.results == 0) {
		must(clock_now_ns() - from_ns < READY_NS, "the coordinator gives no work");
		for (unsigned i = 0; i < WORKERS; i++) {
			snprintf(hello.hello.name, sizeof(hello.hello.name), "w%u", i);
			if (!said[i])
				said[i] = trainmsg_send(bed->ours.sockets[i], &coordinator, &hello,
							NULL) == 0;
		}
		(void)work(bed, &bed->ours, 0, 20000000);
	}
}

static void join_reference(struct bed *bed)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		bed->theirs.sockets[i] = connect_worker(bed, i, bed->ports[1]);
		must(zmq_send(bed->theirs.sockets[i], "", 0, 0) == 0, "greet the reference");
	}
}

static void open_bed(struct bed *bed, const struct way *way)
{
	char secret[DEMO_PATH_BYTES], public[DEMO_PATH_BYTES];
	float *gradient = calloc(FLOATS, sizeof(*gradient));
	struct error error;

	*bed = (struct bed){ .directory = "/tmp/isobar-bench-XXXXXX", .context = zmq_ctx_new() };
	must(gradient != NULL && mkdtemp(bed->directory) != NULL, "temporary directory");
	must(trainmsg_block(gradient, FLOATS, &bed->gradient) == 0, "a gradient");
	free(gradient);
	must(ports_find(2, bed->ports, &error) == 0, error.text);
	for (unsigned i = 0; i < WORKERS; i++)
		must(curve_keypair_new(&bed->keys[i], &error) == 0, error.text);
	path_join(secret, bed->directory, "secret");
	path_join(public, bed->directory, "public");
	must(curve_keypair_new(&bed->server_keys, &error) == 0 &&
		 curve_keypair_write(&bed->server_keys, secret, public, &error) == 0,
	     error.text);
	start_coordinator(bed, way);
	join(bed);
	/* Now the sizes of the coordinator's messages are known. */
	start_reference(bed, way->results);
	join_reference(bed);
}

static void close_bed(struct bed *bed)
{
	struct error error;
	const int none = 0;

	for (unsigned i = 0; i < WORKERS; i++) {
		zmq_setsockopt(bed->ours.sockets[i], ZMQ_LINGER, &none, sizeof(none));
		zmq_setsockopt(bed->theirs.sockets[i], ZMQ_LINGER, &none, sizeof(none));
		zmq_close(bed->ours.sockets[i]);
		zmq_close(bed->theirs.sockets[i]);
	}
	zmq_msg_close(&bed->gradient);
	zmq_ctx_term(bed->context);
	child_stop(&bed->coordinator, 3000);
	kill(bed->reference, SIGKILL);
	waitpid(bed->reference, NULL, 0);
	must(tree_remove(bed->directory, &error) == 0, error.text);
}

/* CPU time of a process with all its threads. */
static double cpu_us(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	must(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0,
	     "the CPU time of a process");
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void measure(const struct way *way)
{
	struct bench_pairs rate = { 0 }, volume = { 0 }, cpu = { 0 };
	struct bed bed;
	char name[128];

	open_bed(&bed, way);
	(void)work(&bed, &bed.theirs, way->results, WINDOW_NS);
	for (int i = 0; i < PAIRS; i++) {
		double ours_us = -cpu_us(bed.coordinator.pid), theirs_us = -cpu_us(bed.reference);
		double ours_s = work(&bed, &bed.ours, way->results, WINDOW_NS);
		double theirs_s = work(&bed, &bed.theirs, way->results, WINDOW_NS);

		ours_us += cpu_us(bed.coordinator.pid);
		theirs_us += cpu_us(bed.reference);
		bench_add(&cpu, ours_us / (double)bed.ours.results,
			  theirs_us / (double)bed.theirs.results);
		bench_add(&rate, (double)bed.ours.results / ours_s,
			  (double)bed.theirs.results / theirs_s);
		bench_add(&volume, (double)bed.ours.bytes / 1e6 / ours_s,
			  (double)bed.theirs.bytes / 1e6 / theirs_s);
	}
	close_bed(&bed);
	snprintf(name, sizeof(name), "coordinator, gradients of 31 kB, %s / bare ZeroMQ, CURVE",
		 way->name);
	bench_print(name, "1/s", &rate, -1);
	bench_print(name, "MB/s", &volume, -1);
	snprintf(name, sizeof(name), "... the CPU time of it a gradient, %s / bare ZeroMQ, CURVE",
		 way->name);
	bench_print(name, "us", &cpu, -1);
}

int main(void)
{
	if (access(DATA, R_OK) != 0) {
		bench_skip("coordinator / bare ZeroMQ with CURVE", "needs dataset-fashion-mnist");
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
		measure(&WAYS[i]);
	return EXIT_SUCCESS;
}
