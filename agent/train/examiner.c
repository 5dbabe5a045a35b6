/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/examiner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/train/exam.h"
#include "agent/train/spawn.h"
#include "agent/train/taskfault.h"
#include "lib/quantity.h"

/* A whole evaluation may take this many limits of one call; by then its own watch has failed. */
#define LIMITS_MAX   10u
/* And this long to start, on a busy machine and with a large data set. */
#define START_NS     30000000000ull
#define PAUSE_NS_MIN 1000000000ull
#define PAUSE_NS_MAX 60000000000ull
#define POLL_NS	     10000000ull

enum state {
	DOWN = 1, /* no child */
	STARTING, /* it has not said a word yet, and is to evaluate then */
	IDLE,
	BUSY,
};

struct examiner {
	struct examiner_config config;
	struct spawn_child child;
	enum state state;
	int memory_fd;
	float *memory;
	uint32_t params;
	uint64_t checksum;
	char name[64];
	uint64_t serial, deadline_ns;
	/* What went wrong, last. */
	char fault[TASKFAULT_TEXT_BYTES];
	char why[200], text[240];
	uint64_t retry_at_ns, pause_ns;
	unsigned failures; /* in a row */
};

static int start_child(struct examiner *examiner, struct error *reterr)
{
	char limit[32];
	const char *arguments[] = { "isobar-worker",	   "--evaluate", "--task",
				    examiner->config.task, "--data",	 examiner->config.data,
				    "--task-limit",	   limit,	 NULL };
	struct spawn_config config = {
		.executable = examiner->config.executable,
		/* The descriptor after the link, which is what EXAM_MEMORY_FD says. */
		.clock_fd = examiner->memory_fd,
	};

	snprintf(limit, sizeof(limit), "%lluns", (unsigned long long)examiner->config.limit_ns);
	/* exec takes char *const[] and changes nothing. */
	memcpy(&config.argv, &(const char **){ arguments }, sizeof(config.argv));
	examiner->fault[0] = '\0';
	return spawn_worker(&config, &examiner->child, reterr);
}

/* Ends the child, if there is one; why has the reason, or how it ended is one. */
static void end_child(struct examiner *examiner, const char *why)
{
	struct pollfd ended = { .fd = examiner->child.pidfd, .events = POLLIN };
	char how[SPAWN_TEXT_BYTES] = "";

	if (examiner->child.pid > 0 && why == NULL) {
		/* It is about to end: what of is worth a moment. */
		(void)poll(&ended, 1, 1000);
		if (spawn_reap(&examiner->child, how) == 0)
			why = how;
	}
	spawn_kill(&examiner->child, 0);
	if (examiner->fault[0] != '\0')
		why = examiner->fault;
	snprintf(examiner->why, sizeof(examiner->why), "%s", why != NULL ? why : "gone");
	examiner->state = DOWN;
}

static void lose(struct examiner *examiner, uint64_t now_ns, const char *why)
{
	end_child(examiner, why);
	examiner->failures++;
	examiner->retry_at_ns = now_ns + examiner->pause_ns;
	if (examiner->failures >= EXAMINER_FAILURES_MAX)
		log_error("evaluation by task '%s' is given up: %s, and so %u times in a row; "
			  "training goes on",
			  examiner->config.task, examiner->why, examiner->failures);
	else
		log_error("evaluation by task '%s': %s; training goes on, the next try is in %u s "
			  "at the earliest",
			  examiner->config.task, examiner->why,
			  (unsigned)(examiner->pause_ns / ISO_NS_PER_S));
	examiner->pause_ns *= 2;
	if (examiner->pause_ns > PAUSE_NS_MAX)
		examiner->pause_ns = PAUSE_NS_MAX;
}

/* One packet; -EAGAIN: none, -EPIPE: gone, -EPROTO: something else came. */
static int receive(struct examiner *examiner, struct exam_packet *ret_packet)
{
	struct exam_packet packet;
	struct iso_worker_record record;
	ssize_t size = recv(examiner->child.link_fd, &packet, sizeof(packet), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (size <= 0)
		return -EPIPE;
	if (iso_worker_decode((const uint8_t *)&packet, (size_t)size, &record) == ISO_OK &&
	    record.type == ISO_WORKER_FAULT) {
		taskfault_text(record.fault.what, record.fault.call, record.fault.number,
			       examiner->fault);
		return -EAGAIN; /* its end comes next */
	}
	if (size != sizeof(packet) || packet.magic != EXAM_MAGIC)
		return -EPROTO;
	packet.text[sizeof(packet.text) - 1] = '\0';
	*ret_packet = packet;
	return 0;
}

static bool ask(struct examiner *examiner, enum exam_type type, uint64_t number)
{
	const struct exam_packet packet = {
		.magic = EXAM_MAGIC,
		.type = (uint32_t)type,
		.number = number,
	};

	return send(examiner->child.link_fd, &packet, sizeof(packet),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(packet);
}

void examiner_wait(const struct examiner *examiner, int wait_ms)
{
	struct pollfd ready = { .fd = examiner->child.link_fd, .events = POLLIN };

	if (examiner->child.pid > 0)
		(void)poll(&ready, 1, wait_ms);
}

/* The next packet, waited for; else the child is ended and *reterr says why. */
static int wait_packet(struct examiner *examiner, enum exam_type type,
		       struct exam_packet *ret_packet, struct error *reterr)
{
	uint64_t until_ns = clock_now_ns() + START_NS + LIMITS_MAX * examiner->config.limit_ns;
	int r;

	while ((r = receive(examiner, ret_packet)) == -EAGAIN && clock_now_ns() < until_ns)
		examiner_wait(examiner, 100);
	if (r == 0 && ret_packet->type == (uint32_t)type)
		return 0;
	if (r == 0 && ret_packet->type == EXAM_REFUSED)
		end_child(examiner, ret_packet->text);
	else
		end_child(examiner, r == -EAGAIN  ? "no answer"
				    : r == -EPIPE ? NULL
						  : "an answer that makes no sense");
	return error_set(reterr, -ECHILD, "task '%.160s': %s", examiner->config.task,
			 examiner->why);
}

/* Only now its size is known; from here on the child cannot change that. */
static int size_memory(struct examiner *examiner, struct error *reterr)
{
	off_t bytes = (off_t)(examiner->params * sizeof(float));
	struct stat status;
	void *map;

	if (ftruncate(examiner->memory_fd, bytes) < 0 ||
	    fcntl(examiner->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
		0 ||
	    fstat(examiner->memory_fd, &status) < 0)
		return error_errno(reterr, -errno, "memory for parameters");
	if (status.st_size != bytes)
		return error_set(reterr, -EPROTO, "memory for parameters: another size");
	map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, examiner->memory_fd, 0);
	if (map == MAP_FAILED)
		return error_errno(reterr, -errno, "memory for parameters");
	examiner->memory = map;
	return 0;
}

static int open_child(struct examiner *examiner, struct error *reterr)
{
	struct exam_packet ready;
	int r = start_child(examiner, reterr);

	if (r == 0)
		r = wait_packet(examiner, EXAM_READY, &ready, reterr);
	if (r < 0)
		return r;
	if (ready.params == 0 || ready.params > ISOBAR_TASK_PARAMS_MAX)
		return error_set(reterr, -EPROTO,
				 "task '%.160s': an impossible number of "
				 "parameters",
				 examiner->config.task);
	examiner->state = IDLE;
	examiner->params = ready.params;
	examiner->checksum = ready.number;
	snprintf(examiner->name, sizeof(examiner->name), "%.63s", ready.text);
	return size_memory(examiner, reterr);
}

int examiner_open(const struct examiner_config *config, struct examiner **ret_examiner,
		  struct error *reterr)
{
	struct examiner *examiner = calloc(1, sizeof(*examiner));
	int r = 0;

	assert(config->limit_ns > 0);
	if (examiner == NULL)
		return error_errno(reterr, -ENOMEM, "evaluation");
	examiner->config = *config;
	examiner->child = (struct spawn_child)SPAWN_NO_CHILD;
	examiner->state = DOWN;
	examiner->pause_ns = PAUSE_NS_MIN;
	examiner->memory_fd = memfd_create("isobar-parameters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (examiner->memory_fd < 0)
		r = error_errno(reterr, -errno, "memory for parameters");
	if (r == 0)
		r = open_child(examiner, reterr);
	if (r < 0) {
		examiner_close(examiner);
		return r;
	}
	*ret_examiner = examiner;
	return 0;
}

struct examiner *examiner_close(struct examiner *examiner)
{
	if (examiner == NULL)
		return NULL;
	spawn_kill(&examiner->child, 0);
	if (examiner->memory != NULL)
		(void)munmap(examiner->memory, examiner->params * sizeof(float));
	if (examiner->memory_fd >= 0)
		close(examiner->memory_fd);
	free(examiner);
	return NULL;
}

uint32_t examiner_params(const struct examiner *examiner)
{
	return examiner->params;
}

uint64_t examiner_checksum(const struct examiner *examiner)
{
	return examiner->checksum;
}

const char *examiner_name(const struct examiner *examiner)
{
	return examiner->name;
}

int examiner_init(struct examiner *examiner, uint64_t seed, float *ret_params, struct error *reterr)
{
	struct exam_packet done;

	assert(examiner->state == IDLE);
	if (!ask(examiner, EXAM_INIT, seed))
		return error_errno(reterr, -errno, "task '%.160s'", examiner->config.task);
	int r = wait_packet(examiner, EXAM_DONE, &done, reterr);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < examiner->params; i++)
		if (!isfinite(examiner->memory[i]))
			return error_set(reterr, -EINVAL,
					 "task '%.160s': parameter %u of %u is not finite at the "
					 "start",
					 examiner->config.task, i + 1, examiner->params);
	memcpy(ret_params, examiner->memory, examiner->params * sizeof(*ret_params));
	return 0;
}

static bool is_given_up(const struct examiner *examiner)
{
	return examiner->state == DOWN && examiner->failures >= EXAMINER_FAILURES_MAX;
}

bool examiner_start(struct examiner *examiner, const float *params, uint64_t now_ns)
{
	struct error error;

	if (is_given_up(examiner) || (examiner->state == DOWN && now_ns < examiner->retry_at_ns) ||
	    examiner->state == STARTING || examiner->state == BUSY)
		return false;
	memcpy(examiner->memory, params, examiner->params * sizeof(*params));
	examiner->deadline_ns = now_ns + LIMITS_MAX * examiner->config.limit_ns;
	examiner->serial++;
	if (examiner->state == IDLE) {
		examiner->state = BUSY;
		/* One that does not take it is gone, and found so by the poll that follows. */
		(void)ask(examiner, EXAM_EVALUATE, examiner->serial);
		return true;
	}
	examiner->deadline_ns += START_NS;
	if (start_child(examiner, &error) < 0) {
		lose(examiner, now_ns, error.text);
		return false;
	}
	examiner->state = STARTING;
	return true;
}

/* One that started again knows the same task, or is of no use. */
static const char *take_ready(struct examiner *examiner, const struct exam_packet *packet)
{
	if (packet->type == EXAM_REFUSED)
		return packet->text;
	if (packet->type != EXAM_READY)
		return "an answer that makes no sense";
	if (packet->number != examiner->checksum || packet->params != examiner->params)
		return "the file is not the one that this run began with";
	examiner->state = BUSY;
	(void)ask(examiner, EXAM_EVALUATE, examiner->serial);
	return NULL;
}

static const char *take_done(struct examiner *examiner, const struct exam_packet *packet)
{
	if (packet->type != EXAM_DONE || packet->number != examiner->serial ||
	    packet->samples == 0 || packet->correct > packet->samples)
		return "an answer that makes no sense";
	if (!isfinite(packet->loss))
		return "its loss is not a finite number";
	examiner->state = IDLE;
	examiner->failures = 0;
	examiner->pause_ns = PAUSE_NS_MIN;
	return NULL;
}

enum examiner_answer examiner_poll(struct examiner *examiner, uint64_t now_ns, double *ret_loss,
				   double *ret_accuracy)
{
	struct exam_packet packet;
	const char *why = NULL;
	int r;

	assert(examiner->state == STARTING || examiner->state == BUSY);
	while ((r = receive(examiner, &packet)) == 0 && why == NULL) {
		if (examiner->state == STARTING) {
			why = take_ready(examiner, &packet);
			continue;
		}
		why = take_done(examiner, &packet);
		if (why != NULL)
			break;
		*ret_loss = packet.loss;
		*ret_accuracy = (double)packet.correct / packet.samples;
		return EXAMINER_DONE;
	}
	if (why == NULL && r == -EPROTO)
		why = "an answer that makes no sense";
	if (why == NULL && r == -EAGAIN && now_ns < examiner->deadline_ns)
		return EXAMINER_BUSY;
	if (why == NULL && r == -EAGAIN)
		why = "no answer in time";
	lose(examiner, now_ns, why);
	return EXAMINER_FAILED;
}

uint64_t examiner_wake_ns(const struct examiner *examiner, uint64_t now_ns)
{
	return examiner->state == STARTING || examiner->state == BUSY ? now_ns + POLL_NS
								      : UINT64_MAX;
}

const char *examiner_state(struct examiner *examiner)
{
	if (examiner->state != DOWN)
		return "running";
	snprintf(examiner->text, sizeof(examiner->text), "%s: %s",
		 is_given_up(examiner) ? "given up" : "failed", examiner->why);
	return examiner->text;
}
