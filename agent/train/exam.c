/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/exam.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent/train/evaluate_pass.h"
#include "agent/train/fence.h"
#include "agent/train/taskwatch.h"
#include "agent/train/worker_part.h"

struct exam {
	int fd, memory_fd;
	struct objective objective;
	struct pass *pass;
	struct fence init; /* where the task puts its first parameters */
	float *memory;	   /* shared; mapped when there is something in it */
	size_t bytes;
};

static int send_packet(const struct exam *exam, struct exam_packet packet)
{
	packet.magic = EXAM_MAGIC;
	return send(exam->fd, &packet, sizeof(packet), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Its size is known to the coordinator only after our first word. */
static int map_memory(struct exam *exam, struct error *reterr)
{
	struct stat status;
	void *map;

	if (exam->memory != NULL)
		return 0;
	if (fstat(exam->memory_fd, &status) < 0)
		return error_errno(reterr, -errno, "shared memory");
	if ((size_t)status.st_size != exam->bytes)
		return error_set(reterr, -EPROTO, "shared memory of another size");
	map = mmap(NULL, exam->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, exam->memory_fd, 0);
	if (map == MAP_FAILED)
		return error_errno(reterr, -errno, "map shared memory");
	exam->memory = map;
	return 0;
}

static void make_first(struct exam *exam, uint64_t seed)
{
	objective_init(&exam->objective, seed, exam->init.data);
	if (!fence_intact(&exam->init))
		taskwatch_fault(ISO_WORKER_OVERRAN, ISO_WORKER_INIT, 0,
				"wrote beyond its parameters");
	memcpy(exam->memory, exam->init.data, exam->bytes);
}

static int answer(struct exam *exam, const struct exam_packet *question, struct error *reterr)
{
	struct exam_packet done = { .type = EXAM_DONE, .number = question->number };
	int r = map_memory(exam, reterr);

	if (r < 0)
		return r;
	if (question->type == EXAM_INIT) {
		make_first(exam, question->number);
	} else if (question->type == EXAM_EVALUATE) {
		pass_start(exam->pass, exam->memory);
		while (!pass_step(exam->pass))
			;
		struct pass_result result = pass_result(exam->pass);
		done.loss = result.loss;
		done.correct = result.correct;
		done.samples = result.samples;
	} else {
		return error_set(reterr, -EPROTO, "an unknown question");
	}
	r = send_packet(exam, done);
	return r < 0 ? error_errno(reterr, r, "answer") : 0;
}

static int serve(struct exam *exam, struct error *reterr)
{
	for (;;) {
		struct pollfd ready = { .fd = exam->fd, .events = POLLIN };
		struct exam_packet question;
		ssize_t size;
		int r;

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			return error_errno(reterr, -errno, "poll");
		size = recv(exam->fd, &question, sizeof(question), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (size <= 0)
			return 0; /* nobody asks any more */
		if (size != sizeof(question) || question.magic != EXAM_MAGIC)
			return error_set(reterr, -EPROTO, "no packet of ours");
		r = answer(exam, &question, reterr);
		if (r < 0)
			return r;
	}
}

/* The task's word on these data; -EINVAL was said to the coordinator. */
static int prepare(struct exam *exam, const struct usertask *task, const struct dataset *data,
		   struct error *reterr)
{
	const struct isobar_task_shape shape = { data->features, part_classes(data) };
	struct exam_packet packet = { .type = EXAM_REFUSED };
	char text[OBJECTIVE_TEXT_BYTES];
	const char *why = objective_of_task(task->task, &shape, text, &exam->objective);

	if (why != NULL) {
		snprintf(packet.text, sizeof(packet.text), "%s", why);
		(void)send_packet(exam, packet);
		return error_set(reterr, -EINVAL, "task '%s': %s", task->task->name, why);
	}
	exam->bytes = exam->objective.params * sizeof(float);
	if (pass_open(&exam->objective, data, &exam->pass) < 0 ||
	    fence_open(exam->bytes, &exam->init) < 0)
		return error_errno(reterr, -ENOMEM, "evaluation");
	packet.type = EXAM_READY;
	packet.number = task->checksum;
	packet.params = exam->objective.params;
	snprintf(packet.text, sizeof(packet.text), "%s", task->task->name);
	int r = send_packet(exam, packet);
	return r < 0 ? error_errno(reterr, r, "answer") : 0;
}

int exam_serve(int fd, int memory_fd, const struct usertask *task, const struct dataset *data,
	       struct error *reterr)
{
	struct exam exam = { .fd = fd, .memory_fd = memory_fd };
	int r = prepare(&exam, task, data, reterr);

	if (r == 0)
		r = serve(&exam, reterr);
	if (exam.memory != NULL)
		(void)munmap(exam.memory, exam.bytes);
	pass_close(exam.pass);
	fence_close(&exam.init);
	return r;
}
