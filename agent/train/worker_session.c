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
#include "agent/train/worker_session_private.h"
#include "lib/checksum.h"
#include "lib/quantity.h"

#define HELLO_INTERVAL_NS  1000000000ull
#define UNREACHED_RETRY_NS 200000000ull
#define DONE_RETRY_NS	   5000000000ull

/* Silences of ping_ns after which the coordinator counts as gone. */
#define SILENCES_MAX 3

#define MESSAGES_PER_TURN 64

void session_arm(struct session *session)
{
	uint64_t at_ns = session->joined ? session->ping_at_ns : session->hello_at_ns;

	/* A timer that cannot be armed: the fd is ours and valid, so it can. */
	(void)timer_arm(session->timer.fd, at_ns);
}

int session_send(struct session *session, const struct iso_train_message *message,
		 zmq_msg_t *block)
{
	static const struct trainmsg_peer coordinator = { 0 };

	return trainmsg_send(session->source.socket, &coordinator, message, block);
}

static void say_hello(struct session *session, uint64_t now_ns)
{
	struct iso_train_message message = { .type = ISO_TRAIN_HELLO, .hello = session->hello };

	message.hello.speed = session->config.speed;
	int r = session_send(session, &message, NULL);
	/* Not connected: try again soon, so that a coordinator that starts is found. */
	session->hello_at_ns = now_ns + (r < 0 ? UNREACHED_RETRY_NS : HELLO_INTERVAL_NS);
}

static void say_ping(struct session *session, uint64_t now_ns)
{
	/* A ping that is lost is one more silence. */
	(void)session_send(session,
			   &(struct iso_train_message){
			       .type = ISO_TRAIN_PING,
			       .ping = { session->welcome.term, now_ns, session->config.speed } },
			   NULL);
}

void session_say_bye(struct session *session, enum iso_train_reason reason, const char *why)
{
	struct iso_train_message message = { .type = ISO_TRAIN_BYE,
					     .bye = { .term = session->welcome.term,
						      .reason = (uint32_t)reason } };

	snprintf(message.bye.text, sizeof(message.bye.text), "%s", why);
	(void)session_send(session, &message, NULL);
}

void session_leave(struct session *session, uint64_t now_ns, uint64_t retry_ns)
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
			session_leave(session, now_ns, 0);
		} else {
			if (silent_ns >= session->welcome.ping_ns)
				say_ping(session, now_ns);
			session->ping_at_ns = now_ns + session->welcome.ping_ns / 2;
		}
	}
	if (!session->joined && now_ns >= session->hello_at_ns)
		say_hello(session, now_ns);
	session_arm(session);
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
		session_say_bye(session, ISO_TRAIN_REFUSED, why);
		session_leave(session, now_ns, REFUSED_RETRY_NS);
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
		/* It has restarted.  A late one, soon after the new welcome, is void. */
		if (session->joined && bye->term == session->welcome.term &&
		    now_ns - session->since_ns < session->welcome.ping_ns)
			return;
		retry_ns = 0;
		if (session->joined)
			log_info("coordinator %s has restarted", session->config.endpoint);
		session->complaint = 0;
		break;
	case ISO_TRAIN_FAILED: session->dropped++; return;
	}
	session_leave(session, now_ns, retry_ns);
}

static void dispatch(struct session *session, struct trainmsg *message, uint64_t now_ns)
{
	const struct iso_train_message *body = &message->message;

	switch (body->type) {
	case ISO_TRAIN_WELCOME: on_welcome(session, &body->welcome, now_ns); break;
	case ISO_TRAIN_WORK: session_on_work(session, message); break;
	case ISO_TRAIN_CANCEL: session_on_cancel(session, body); break;
	case ISO_TRAIN_PING:
		(void)session_send(session,
				   &(struct iso_train_message){
				       .type = ISO_TRAIN_PONG,
				       .ping = { body->ping.term, body->ping.stamp_ns,
						 session->config.speed } },
				   NULL);
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
	session_arm(session);
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
	session_arm(session);
	*ret_session = session;
	return 0;
}

struct session *session_close(struct session *session)
{
	if (session == NULL)
		return NULL;
	if (session->source.socket != NULL) {
		/* Time for the goodbye to go out; a dead coordinator may not hold us. */
		int linger_ms = 1000; /* at most, on a busy machine */

		if (session->joined)
			session_say_bye(session, ISO_TRAIN_DONE, "the worker ends");
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
