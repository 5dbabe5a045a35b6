/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/train/coordinator_admit.h"
#include "agent/train/coordinator_net_private.h"

#define MESSAGES_PER_TURN 128

/* Silences of ping_ns after which a worker counts as gone. */
#define SILENCES_MAX 3

static void set_state(struct net *net, uint32_t worker, enum net_state state, uint64_t now_ns)
{
	struct net_peer *peer = &net->peers[worker];

	if (peer->state == state)
		return;
	peer->state = state;
	peer->since_ns = now_ns;
	if (state != NET_REFUSED)
		peer->reason[0] = '\0';
}

/* The worker's tasks go to others; said once, by whoever noticed. */
static void lose(struct net *net, uint32_t worker, uint64_t now_ns, const char *why)
{
	if (net->peers[worker].state != NET_JOINED)
		return;
	log_warn("worker %s: %s; going on without it", net_name(net, worker), why);
	set_state(net, worker, NET_LOST, now_ns);
	run_leave(net->run, now_ns, worker);
}

/* To a worker that is joined; one whose connection is gone is lost. */
static void send_to(struct net *net, uint32_t worker, const struct iso_train_message *message,
		    zmq_msg_t *block, uint64_t now_ns)
{
	int r = trainmsg_send(net->source.socket, &net->peers[worker].address, message, block);

	if (r == 0)
		return;
	net->counters.unsent++;
	if (r == -EHOSTUNREACH)
		lose(net, worker, now_ns, "connection closed");
}

void net_send_bye(struct net *net, const struct trainmsg_peer *to, enum iso_train_reason reason,
		  const char *text)
{
	struct iso_train_message message = {
		.type = ISO_TRAIN_BYE,
		.bye = { .term = run_term(net->run), .reason = (uint32_t)reason },
	};

	snprintf(message.bye.text, sizeof(message.bye.text), "%s", text);
	/* Whoever does not hear it asks again. */
	if (trainmsg_send(net->source.socket, to, &message, NULL) < 0)
		net->counters.unsent++;
}

static void welcome(struct net *net, uint32_t worker, uint64_t now_ns)
{
	const struct iso_train_message message = {
		.type = ISO_TRAIN_WELCOME,
		.welcome = admit_welcome(net->conf, net->run, worker),
	};

	send_to(net, worker, &message, NULL, now_ns);
}

static void on_hello(struct net *net, uint32_t worker, struct trainmsg *message, uint64_t now_ns)
{
	const struct iso_train_hello *hello = &message->message.hello;
	struct net_peer *peer = &net->peers[worker];
	char text[ISO_TRAIN_TEXT_BYTES];

	if (strcmp(hello->name, net_name(net, worker)) != 0) {
		net->counters.foreign++;
		snprintf(text, sizeof(text), "its key is that of worker %s", net_name(net, worker));
		net_send_bye(net, &message->peer, ISO_TRAIN_REFUSED, text);
		return;
	}
	if (admit_misfits(net->conf, net->run, hello, text)) {
		if (peer->state != NET_REFUSED)
			log_error("worker %s refused: %s", hello->name, text);
		run_leave(net->run, now_ns, worker);
		set_state(net, worker, NET_REFUSED, now_ns);
		memcpy(peer->reason, text, sizeof(peer->reason));
		net_send_bye(net, &message->peer, ISO_TRAIN_REFUSED, text);
		return;
	}
	bool is_other = !trainmsg_same_peer(&peer->address, &message->peer);
	if (peer->state == NET_JOINED && is_other) {
		if (hello->incarnation < peer->incarnation) {
			net_send_bye(net, &message->peer, ISO_TRAIN_REFUSED,
				     "a newer worker of this name is here");
			return;
		}
		/* The old connection may be half-open: the newer process wins. */
		net_send_bye(net, &peer->address, ISO_TRAIN_REFUSED,
			     "a newer worker of this name has come");
	}
	if (run_data_checksum(net->run) == 0)
		run_set_data_checksum(net->run, hello->data_checksum);
	if (peer->state != NET_JOINED || is_other)
		log_info("worker %s joined: %u thread%s, share %.3f CPU", hello->name,
			 hello->speed.threads, hello->speed.threads == 1 ? "" : "s",
			 (double)hello->speed.share_ucpu / 1e6);
	peer->address = message->peer;
	peer->incarnation = hello->incarnation;
	set_state(net, worker, NET_JOINED, now_ns);
	welcome(net, worker, now_ns);
	if (peer->state == NET_JOINED)
		run_join(net->run, now_ns, worker, hello->speed);
}

static void on_result(struct net *net, uint32_t worker, struct trainmsg *message, uint64_t now_ns)
{
	const struct iso_train_result *from = &message->message.result;
	bool abandoned = (from->flags & ISO_TRAIN_ABANDONED) != 0;
	const float *gradient = NULL;

	net->counters.results++;
	if (from->worker != worker) {
		net->counters.out_of_turn++;
		return;
	}
	if (!abandoned && message->message.floats == run_params_count(net->run))
		gradient = trainmsg_floats(message, net->gradient);
	if (!abandoned && gradient == NULL) {
		net->counters.malformed++;
		return;
	}
	run_set_speed(net->run, now_ns, worker, from->speed);
	/* Whatever becomes of it is counted by the run. */
	run_result(net->run, now_ns, worker, from, gradient);
}

static void on_ping(struct net *net, uint32_t worker, const struct iso_train_message *message,
		    uint64_t now_ns)
{
	run_set_speed(net->run, now_ns, worker, message->ping.speed);
	if (message->type == ISO_TRAIN_PING)
		send_to(
		    net, worker,
		    &(struct iso_train_message){
			.type = ISO_TRAIN_PONG,
			.ping = { .term = message->ping.term, .stamp_ns = message->ping.stamp_ns },
		    },
		    NULL, now_ns);
}

static void on_bye(struct net *net, uint32_t worker, const struct iso_train_bye *bye,
		   uint64_t now_ns)
{
	const char *text = bye->text[0] != '\0' ? bye->text : "no reason given";

	if (bye->reason == ISO_TRAIN_FAILED)
		log_warn("worker %s: its task failed: %s; going on without it",
			 net_name(net, worker), text);
	else
		log_info("worker %s left: %s", net_name(net, worker), text);
	set_state(net, worker, NET_ABSENT, now_ns);
	run_leave(net->run, now_ns, worker);
}

static void dispatch(struct net *net, struct trainmsg *message, uint64_t now_ns)
{
	const char *user = trainmsg_user(message);
	uint32_t worker = 0;

	while (user != NULL && worker < net->conf->workers_count &&
	       strcmp(user, net_name(net, worker)) != 0)
		worker++;
	if (user == NULL || worker == net->conf->workers_count) {
		net->counters.foreign++;
		return;
	}
	struct net_peer *peer = &net->peers[worker];
	bool is_same = trainmsg_same_peer(&peer->address, &message->peer);
	if (message->message.type == ISO_TRAIN_HELLO) {
		peer->heard_ns = now_ns;
		on_hello(net, worker, message, now_ns);
		return;
	}
	/* A goodbye may be read after its connection was found closed. */
	if (peer->state == NET_LOST && is_same && message->message.type == ISO_TRAIN_BYE) {
		on_bye(net, worker, &message->message.bye, now_ns);
		return;
	}
	if (peer->state != NET_JOINED || !is_same) {
		/* We have restarted, or have given it up: it shall say hello. */
		net->counters.out_of_turn++;
		if (message->message.type != ISO_TRAIN_BYE)
			net_send_bye(net, &message->peer, ISO_TRAIN_UNKNOWN, "say hello first");
		return;
	}
	peer->heard_ns = now_ns;
	switch (message->message.type) {
	case ISO_TRAIN_RESULT: on_result(net, worker, message, now_ns); break;
	case ISO_TRAIN_PING:
	case ISO_TRAIN_PONG: on_ping(net, worker, &message->message, now_ns); break;
	case ISO_TRAIN_BYE: on_bye(net, worker, &message->message.bye, now_ns); break;
	case ISO_TRAIN_HELLO:
	case ISO_TRAIN_WELCOME:
	case ISO_TRAIN_WORK:
	case ISO_TRAIN_CANCEL: net->counters.out_of_turn++; break;
	}
}

void net_on_socket(struct loop_source *source, short revents)
{
	struct net *net = (struct net *)(void *)source;
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	for (int i = 0; i < MESSAGES_PER_TURN; i++) {
		struct trainmsg message;
		int r = trainmsg_receive(source->socket, true, &message);

		if (r == -EBADMSG) {
			net->counters.malformed++;
			continue;
		}
		if (r < 0)
			break;
		dispatch(net, &message, now_ns);
		trainmsg_release(&message);
		/* At once: the next result may move the point that they are at. */
		net_send_orders(net, now_ns);
	}
	net->after(net->context);
}

static void send_cancel(struct net *net, const struct iso_dispatch_cancel *cancel, uint64_t now_ns)
{
	const struct iso_train_task task = { .task = cancel->task, .attempt = cancel->attempt };
	const struct iso_train_message message = {
		.type = ISO_TRAIN_CANCEL,
		.cancel = {
			.term = run_term(net->run),
			.oldest = cancel->oldest,
			.count = cancel->attempt > 0,
			.tasks = &task,
		},
	};

	if (net->peers[cancel->worker].state == NET_JOINED)
		send_to(net, cancel->worker, &message, NULL, now_ns);
}

static void send_order(struct net *net, const struct iso_dispatch_order *order, uint64_t now_ns)
{
	/* Made even if it is not sent now: later the point is gone. */
	zmq_msg_t *block = frames_get(net->frames, order);
	struct iso_train_message message = {
		.type = ISO_TRAIN_WORK,
		.work = {
			.term = run_term(net->run),
			.model_version = order->version,
			.oldest = order->oldest,
			.count = order->count,
			.tasks = net->tasks,
		},
	};

	if (!order->with_params)
		block = NULL;
	if (block != NULL)
		message.floats = run_params_count(net->run);
	if (net->peers[order->worker].state == NET_JOINED)
		send_to(net, order->worker, &message, block, now_ns);
}

void net_send_orders(struct net *net, uint64_t now_ns)
{
	struct iso_dispatch_order order;
	struct iso_dispatch_cancel cancel;

	/* Advice first: it makes room for what is ordered. */
	while (run_next_cancel(net->run, &cancel))
		send_cancel(net, &cancel, now_ns);
	while (run_next_order(net->run, now_ns, net->tasks, ISO_TRAIN_TASKS_MAX, &order))
		send_order(net, &order, now_ns);
}

void net_tick(struct net *net, uint64_t now_ns)
{
	uint64_t ping_ns = net->conf->ping_ns;
	char text[64];

	if (now_ns < net->tick_at_ns)
		return;
	net->tick_at_ns = now_ns + ping_ns / 4;
	for (uint32_t i = 0; i < net->conf->workers_count; i++) {
		struct net_peer *peer = &net->peers[i];
		uint64_t silent_ns = now_ns - peer->heard_ns;

		if (peer->state != NET_JOINED || silent_ns < ping_ns)
			continue;
		if (silent_ns >= SILENCES_MAX * ping_ns) {
			snprintf(text, sizeof(text), "silent for %.1f s", (double)silent_ns / 1e9);
			lose(net, i, now_ns, text);
		} else if (now_ns - peer->pinged_ns >= ping_ns) {
			peer->pinged_ns = now_ns;
			send_to(net, i,
				&(struct iso_train_message){
				    .type = ISO_TRAIN_PING,
				    .ping = { .term = run_term(net->run), .stamp_ns = now_ns },
				},
				NULL, now_ns);
		}
	}
}

uint64_t net_wake_ns(const struct net *net)
{
	return net->tick_at_ns;
}

struct net_worker_view net_worker_view(const struct net *net, uint32_t worker)
{
	const struct net_peer *peer = &net->peers[worker];

	return (struct net_worker_view){
		.state = peer->state,
		.since_ns = peer->since_ns,
		.heard_ns = peer->heard_ns,
		.reason = peer->reason,
	};
}

const struct net_counters *net_counters(const struct net *net)
{
	return &net->counters;
}

const struct zap_counters *net_zap_counters(const struct net *net)
{
	return zap_counters(net->zap, NET_DOMAIN);
}
