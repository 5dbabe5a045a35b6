/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_session.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/train/worker_session_private.h"
#include "lib/quantity.h"

/* What a joined worker does: tasks to the pool, and its results to the coordinator. */

/* Tasks in a row without numbers, after which this worker gives up for a while. */
#define NOT_FINITE_MAX 20

/* Parameters that are new or known; false: tasks cannot be computed with what is here. */
static bool take_params(struct session *session, struct trainmsg *message)
{
	const struct iso_train_work *work = &message->message.work;
	bool is_known = session->has_params && work->model_version == session->model_version;

	/* Without a block it may be an earlier one: the pool knows. */
	if (message->message.floats == 0 || is_known)
		return true;
	if (message->message.floats != session->welcome.params)
		return false;

	float *params = calloc(message->message.floats, sizeof(*params));
	if (params == NULL || trainmsg_read_block(message, params) < 0) {
		free(params);
		return false;
	}
	if (pool_set_point(session->config.pool, work->model_version, params) < 0)
		return false;
	session->has_params = true;
	session->model_version = work->model_version;
	return true;
}

void session_on_work(struct session *session, struct trainmsg *message)
{
	const struct iso_train_work *work = &message->message.work;

	if (!session->joined || work->term != session->welcome.term ||
	    !take_params(session, message)) {
		session->dropped++;
		return;
	}
	pool_cancel_older(session->config.pool, work->oldest);
	for (uint32_t i = 0; i < work->count; i++) {
		struct iso_train_task task = iso_train_task(&message->message, i);
		const struct task submitted = {
			.term = work->term,
			.version = work->model_version,
			.seed = task.seed,
			.task = task.task,
			.attempt = task.attempt,
			.samples = task.samples,
		};

		/* What does not fit in comes again when its lease has ended. */
		if (pool_submit(session->config.pool, &submitted) < 0)
			session->dropped++;
	}
}

void session_on_cancel(struct session *session, const struct iso_train_message *message)
{
	const struct iso_train_cancel *cancel = &message->cancel;

	if (!session->joined || cancel->term != session->welcome.term)
		return;
	pool_cancel_older(session->config.pool, cancel->oldest);
	for (uint32_t i = 0; i < cancel->count; i++) {
		struct iso_train_task task = iso_train_task(message, i);

		pool_cancel(session->config.pool, &(struct task){ .term = cancel->term,
								  .task = task.task,
								  .attempt = task.attempt });
	}
}

/* -EAGAIN: later; anything else: the result is dealt with. */
static int send_result(struct session *session, const struct task_result *result)
{
	struct iso_train_message message = {
		.type = ISO_TRAIN_RESULT,
		.floats = result->abandoned ? 0 : session->welcome.params,
		.result = {
			.term = result->task.term,
			.model_version = result->task.version,
			.worker = session->welcome.worker,
			.task = result->task.task,
			.attempt = result->task.attempt,
			.flags = result->abandoned ? ISO_TRAIN_ABANDONED : 0,
			.samples = result->abandoned ? 0 : result->task.samples,
			.on_cpu_ns = result->on_cpu_ns,
			.wall_ns = result->wall_ns,
			.speed = session->config.speed,
			.loss = result->abandoned ? 0 : result->loss,
		},
	};
	zmq_msg_t block;

	if (result->abandoned)
		return session_send(session, &message, NULL);
	int r = trainmsg_block(result->gradient, message.floats, &block);
	if (r == 0) {
		r = session_send(session, &message, &block);
		zmq_msg_close(&block);
	}
	return r;
}

/*
 * What diverges, or is wrong, gives no numbers time and again: the coordinator hears
 * of each, so that nobody waits for it, and after a while it is asked again later.
 */
static void watch_numbers(struct session *session, const struct task_result *result)
{
	if (!result->abandoned && !result->not_finite)
		session->not_finite = 0;
	if (!result->not_finite || session->not_finite >= NOT_FINITE_MAX)
		return;
	if (session->not_finite++ == 0)
		log_error("task %llu at version %llu: loss or gradient is not a finite number",
			  (unsigned long long)result->task.task,
			  (unsigned long long)result->task.version);
	if (session->not_finite < NOT_FINITE_MAX || !session->joined)
		return;
	log_error("coordinator %s: %d tasks in a row were not finite; asking again in %llu s",
		  session->config.endpoint, NOT_FINITE_MAX,
		  (unsigned long long)(REFUSED_RETRY_NS / ISO_NS_PER_S));
	session_say_bye(session, ISO_TRAIN_FAILED, "losses or gradients are not finite");
	session_leave(session, clock_now_ns(), REFUSED_RETRY_NS);
	session_arm(session);
}

void session_send_results(struct session *session)
{
	struct task_result result;

	while (pool_take(session->config.pool, &result)) {
		bool is_ours = session->joined && result.task.term == session->welcome.term;
		int r = is_ours ? send_result(session, &result) : 0;

		if (r == -EAGAIN && pool_untake(session->config.pool, &result) == 0) {
			/* The queue is full: go on when there is room. */
			session->source.events = ZMQ_POLLIN | ZMQ_POLLOUT;
			return;
		}
		if (r < 0)
			session->dropped++;
		else if (!result.abandoned && !result.not_finite)
			session->tasks_done++;
		watch_numbers(session, &result);
		free(result.gradient);
	}
}
