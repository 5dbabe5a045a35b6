/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/train/trainmsg.h"
#include "agent/train/worker_part.h"
#include "lib/checksum.h"
#include "lib/quantity.h"

#define HELLO_INTERVAL_NS  1000000000ull
#define UNREACHED_RETRY_NS 200000000ull
#define DONE_RETRY_NS	   5000000000ull
#define REFUSED_RETRY_NS   30000000000ull

/* Silences of ping_ns after which the coordinator counts as gone. */
#define SILENCES_MAX 3

#define MESSAGES_PER_TURN 64

/* Tasks in a row without numbers, after which this worker gives up for a while. */
#define NOT_FINITE_MAX 20

struct session {
	struct loop_source source, timer;
	struct loop *loop;
	struct session_config config;
	struct iso_train_hello hello;

	bool joined;
	uint64_t since_ns;
	uint64_t hello_at_ns; /* while not joined */
	uint64_t heard_ns, ping_at_ns;
	enum iso_train_reason complaint; /* the last BYE that was logged; 0: none */

	struct iso_train_welcome welcome; /* term 0: never welcome */
	struct part part;
	bool has_params;
	uint64_t model_version;

	uint64_t tasks_done, dropped;
	int not_finite; /* tasks in a row */
};

static const struct trainmsg_peer coordinator = { 0 };

static void arm(struct session *session)
{
	uint64_t at_ns = session->joined ? session->ping_at_ns : session->hello_at_ns;

	/* A timer that cannot be armed: the fd is ours and valid, so it can. */
	(void)timer_arm(session->timer.fd, at_ns);
}

static int send_message(struct session *session, const struct iso_train_message *message)
{
	return trainmsg_send(session->source.socket, &coordinator, message, NULL);
}

static void say_hello(struct session *session, uint64_t now_ns)
{
	struct iso_train_message message = { .type = ISO_TRAIN_HELLO, .hello = session->hello };

	message.hello.speed = session->config.speed;
	int r = send_message(session, &message);
	/* Not connected: try again soon, so that a coordinator that starts is found. */
	session->hello_at_ns = now_ns + (r < 0 ? UNREACHED_RETRY_NS : HELLO_INTERVAL_NS);
}

static void say_ping(struct session *session, uint64_t now_ns)
{
	/* A ping that is lost is one more silence. */
	(void)send_message(session,
			   &(struct iso_train_message){
			       .type = ISO_TRAIN_PING,
			       .ping = { session->welcome.term, now_ns, session->config.speed } });
}

static void say_bye(struct session *session, enum iso_train_reason reason, const char *why)
{
	struct iso_train_message message = { .type = ISO_TRAIN_BYE,
					     .bye = { .term = session->welcome.term,
						      .reason = (uint32_t)reason } };

	snprintf(message.bye.text, sizeof(message.bye.text), "%s", why);
	(void)send_message(session, &message);
}

/* No longer joined: forgets the work and says hello in retry_ns. */
static void leave(struct session *session, uint64_t now_ns, uint64_t retry_ns)
{
	if (session->joined) {
		session->joined = false;
		session->since_ns = now_ns;
		pool_cancel(session->config.pool, NULL);
	}
	session->hello_at_ns = now_ns + retry_ns;
}

static void on_timer(struct loop_source *source, short revents)
{
	struct session *session =
	    (struct session *)(void *)((char *)source - offsetof(struct session, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	timer_consume(source->fd);
	if (session->joined && now_ns >= session->ping_at_ns) {
		uint64_t silent_ns = now_ns - session->heard_ns;

		if (silent_ns >= SILENCES_MAX * session->welcome.ping_ns) {
			log_warn("coordinator %s: silent for %.1f s; waiting for it",
				 session->config.endpoint, (double)silent_ns / 1e9);
			leave(session, now_ns, 0);
		} else {
			if (silent_ns >= session->welcome.ping_ns)
				say_ping(session, now_ns);
			session->ping_at_ns = now_ns + session->welcome.ping_ns / 2;
		}
	}
	if (!session->joined && now_ns >= session->hello_at_ns)
		say_hello(session, now_ns);
	arm(session);
}

static void on_welcome(struct session *session, const struct iso_train_welcome *welcome,
		       uint64_t now_ns)
{
	if (session->joined) {
		session->dropped++; /* an answer to a hello that was repeated */
		return;
	}
	/* Before the part it stands on is freed. */
	pool_set_lesson(session->config.pool, NULL);
	session->has_params = false;

	struct lesson lesson;
	const char *why = part_take(&session->part, welcome, session->config.data,
				    session->config.task, &lesson);
	if (why != NULL) {
		log_error("coordinator %s: %s; asking again in %llu s", session->config.endpoint,
			  why, (unsigned long long)(REFUSED_RETRY_NS / ISO_NS_PER_S));
		session->welcome.term = welcome->term;
		say_bye(session, ISO_TRAIN_REFUSED, why);
		leave(session, now_ns, REFUSED_RETRY_NS);
		return;
	}
	if (welcome->term < session->welcome.term)
		log_warn("coordinator %s: back from term %llu to %llu; was its state removed?",
			 session->config.endpoint, (unsigned long long)session->welcome.term,
			 (unsigned long long)welcome->term);
	session->welcome = *welcome;
	pool_set_lesson(session->config.pool, &lesson);
	log_info("joined coordinator %s in term %llu as worker %u of %u after %.1f s",
		 session->config.endpoint, (unsigned long long)welcome->term, welcome->worker + 1,
		 welcome->workers, (double)(now_ns - session->since_ns) / 1e9);
	session->joined = true;
	session->since_ns = now_ns;
	session->ping_at_ns = now_ns + welcome->ping_ns;
	session->complaint = 0;
	session->not_finite = 0;
	/* The share may have come after the hello. */
	say_ping(session, now_ns);
}

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

static void on_work(struct session *session, struct trainmsg *message)
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

static void on_cancel(struct session *session, const struct iso_train_message *message)
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

static void on_bye(struct session *session, const struct iso_train_bye *bye, uint64_t now_ns)
{
	enum iso_train_reason reason = (enum iso_train_reason)bye->reason;
	uint64_t retry_ns = HELLO_INTERVAL_NS;
	bool is_news = session->complaint != reason;

	session->complaint = reason;
	switch (reason) {
	case ISO_TRAIN_DONE:
		retry_ns = DONE_RETRY_NS;
		if (is_news)
			log_info("coordinator %s: the run is over; waiting for another",
				 session->config.endpoint);
		break;
	case ISO_TRAIN_REFUSED:
	case ISO_TRAIN_FULL:
		retry_ns = REFUSED_RETRY_NS;
		if (is_news)
			log_error("coordinator %s does not take this worker: %s; asking again "
				  "every %llu s",
				  session->config.endpoint, bye->text,
				  (unsigned long long)(REFUSED_RETRY_NS / ISO_NS_PER_S));
		break;
	case ISO_TRAIN_UNKNOWN:
		/* It has restarted.  A late one, after the new welcome, is void. */
		if (session->joined && bye->term == session->welcome.term)
			return;
		retry_ns = 0;
		if (session->joined)
			log_info("coordinator %s has restarted", session->config.endpoint);
		session->complaint = 0;
		break;
	case ISO_TRAIN_FAILED: session->dropped++; return;
	}
	leave(session, now_ns, retry_ns);
}

static void dispatch(struct session *session, struct trainmsg *message, uint64_t now_ns)
{
	const struct iso_train_message *body = &message->message;

	switch (body->type) {
	case ISO_TRAIN_WELCOME: on_welcome(session, &body->welcome, now_ns); break;
	case ISO_TRAIN_WORK: on_work(session, message); break;
	case ISO_TRAIN_CANCEL: on_cancel(session, body); break;
	case ISO_TRAIN_PING:
		(void)send_message(session, &(struct iso_train_message){
						.type = ISO_TRAIN_PONG,
						.ping = { body->ping.term, body->ping.stamp_ns,
							  session->config.speed } });
		break;
	case ISO_TRAIN_PONG: break;
	case ISO_TRAIN_BYE: on_bye(session, &body->bye, now_ns); break;
	case ISO_TRAIN_HELLO:
	case ISO_TRAIN_RESULT: session->dropped++; break;
	}
}

static void on_socket(struct loop_source *source, short revents)
{
	struct session *session = (struct session *)(void *)source;
	uint64_t now_ns = clock_now_ns();

	if ((revents & ZMQ_POLLOUT) != 0) {
		source->events = ZMQ_POLLIN;
		session_send_results(session);
	}
	for (int i = 0; i < MESSAGES_PER_TURN; i++) {
		struct trainmsg message;
		int r = trainmsg_receive(source->socket, false, &message);

		if (r == -EBADMSG) {
			session->dropped++;
			continue;
		}
		if (r < 0)
			break;
		session->heard_ns = now_ns;
		dispatch(session, &message, now_ns);
		trainmsg_release(&message);
	}
	arm(session);
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
		return send_message(session, &message);
	int r = trainmsg_block(result->gradient, message.floats, &block);
	if (r == 0) {
		r = trainmsg_send(session->source.socket, &coordinator, &message, &block);
		zmq_msg_close(&block);
	}
	return r;
}

/*
 * What diverges, or is wrong, gives no numbers time and again: after a while
 * the coordinator is told, and asked again later.
 */
static void watch_numbers(struct session *session, const struct task_result *result)
{
	if (!result->abandoned)
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
	say_bye(session, ISO_TRAIN_FAILED, "losses or gradients are not finite");
	leave(session, clock_now_ns(), REFUSED_RETRY_NS);
	arm(session);
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
		else if (!result.abandoned)
			session->tasks_done++;
		watch_numbers(session, &result);
		free(result.gradient);
	}
}

void session_set_speed(struct session *session, struct iso_train_speed speed)
{
	session->config.speed = speed;
	if (session->joined)
		say_ping(session, clock_now_ns());
}

static void make_hello(struct session *session)
{
	const struct dataset *data = session->config.data;
	struct iso_train_hello *hello = &session->hello;

	snprintf(hello->name, sizeof(hello->name), "%s", session->config.name);
	hello->node = iso_checksum(hello->name, strlen(hello->name));
	/* Only to tell an old process of this node from a new one. */
	hello->incarnation = (uint32_t)time(NULL);
	hello->samples = data->samples;
	hello->features = data->features;
	hello->classes = part_classes(data);
	hello->data_checksum = data->checksum;
	hello->user_task = session->config.task != NULL ? session->config.task->checksum : 0;
}

int session_open(void *context, struct loop *loop, const struct session_config *config,
		 struct session **ret_session, struct error *reterr)
{
	const struct curve_limits limits = {
		/* The model's size is the coordinator's to say, later. */
		.message_bytes_max = (int64_t)ISO_TRAIN_PARAMS_MAX * (int64_t)sizeof(float),
		.queue_messages_max = 1000,
	};
	struct session *session = calloc(1, sizeof(*session));
	int r;

	if (session == NULL)
		return error_errno(reterr, -ENOMEM, "session");
	session->loop = loop;
	session->config = *config;
	session->since_ns = session->heard_ns = clock_now_ns();
	make_hello(session);
	session->timer = (struct loop_source){
		.fd = timer_open(),
		.events = ZMQ_POLLIN,
		.fn = on_timer,
	};
	session->source = (struct loop_source){
		.socket = zmq_socket(context, ZMQ_DEALER),
		.fd = -1,
		.events = ZMQ_POLLIN,
		.fn = on_socket,
	};
	if (session->timer.fd < 0)
		r = error_errno(reterr, session->timer.fd, "timer");
	else if (session->source.socket == NULL)
		r = error_errno(reterr, -errno, "socket");
	else
		r = curve_client(session->source.socket, config->keypair, config->server_key,
				 &limits, reterr);
	if (r == 0)
		r = curve_connect(session->source.socket, config->endpoint, reterr);
	if (r == 0) {
		r = loop_add(loop, &session->source);
		r = r == 0 ? loop_add(loop, &session->timer) : r;
		if (r < 0)
			error_errno(reterr, r, "session");
	}
	if (r < 0) {
		session_close(session);
		return r;
	}
	log_info("waiting for coordinator %s", config->endpoint);
	arm(session);
	*ret_session = session;
	return 0;
}

struct session *session_close(struct session *session)
{
	if (session == NULL)
		return NULL;
	if (session->source.socket != NULL) {
		/* Time for the goodbye to go out; a dead coordinator may not hold us. */
		int linger_ms = 200;

		if (session->joined)
			say_bye(session, ISO_TRAIN_DONE, "the worker ends");
		(void)zmq_setsockopt(session->source.socket, ZMQ_LINGER, &linger_ms,
				     sizeof(linger_ms));
		loop_remove(session->loop, &session->source);
		zmq_close(session->source.socket);
	}
	loop_remove(session->loop, &session->timer);
	if (session->timer.fd >= 0)
		close(session->timer.fd);
	/* The pool's lesson stands on these. */
	pool_set_lesson(session->config.pool, NULL);
	part_close(&session->part);
	free(session);
	return NULL;
}

struct session_view session_view(const struct session *session)
{
	return (struct session_view){
		.joined = session->joined,
		.since_ns = session->since_ns,
		.tasks_done = session->tasks_done,
		.dropped = session->dropped,
	};
}
