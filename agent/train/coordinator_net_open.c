/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The coordinator's socket: who may connect, and where. */
#include "config.h"

#include "agent/train/coordinator_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/train/coordinator_net_private.h"

static int open_zap(struct net *net, void *zmq_context, struct error *reterr)
{
	struct zap_peer *peers = calloc(net->conf->workers_count, sizeof(*peers));

	if (peers == NULL)
		return error_errno(reterr, -ENOMEM, "allow-list");
	for (uint32_t i = 0; i < net->conf->workers_count; i++) {
		memcpy(peers[i].public_key, net->conf->workers[i].public_key, CURVE_KEY_BYTES);
		snprintf(peers[i].name, sizeof(peers[i].name), "%s", net_name(net, i));
	}
	int r = zap_open(zmq_context, net->loop, NET_DOMAIN, peers, net->conf->workers_count,
			 &net->zap, reterr);
	free(peers);
	return r;
}

static int open_socket(struct net *net, void *zmq_context, const struct curve_keypair *keypair,
		       struct error *reterr)
{
	uint32_t params = run_params_count(net->run);
	const struct curve_limits limits = {
		.message_bytes_max = ISO_TRAIN_FIXED_MAX + (int64_t)params * 4,
		.queue_messages_max = trainmsg_queue_max(params),
	};
	int on = 1;

	net->source = (struct loop_source){
		.socket = zmq_socket(zmq_context, ZMQ_ROUTER),
		.fd = -1,
		.events = ZMQ_POLLIN,
		.fn = net_on_socket,
	};
	if (net->source.socket == NULL ||
	    zmq_setsockopt(net->source.socket, ZMQ_ROUTER_MANDATORY, &on, sizeof(on)) < 0)
		return error_errno(reterr, -errno, "socket");
	int r = curve_server(net->source.socket, keypair, NET_DOMAIN, &limits, reterr);
	if (r == 0)
		r = zap_watch(net->zap, NET_DOMAIN, net->source.socket, reterr);
	if (r == 0)
		r = curve_bind(net->source.socket, net->conf->listen, reterr);
	if (r == 0) {
		r = loop_add(net->loop, &net->source);
		if (r < 0)
			error_errno(reterr, r, "event loop");
	}
	return r;
}

int net_open(void *zmq_context, struct loop *loop, const struct cconf *conf,
	     const struct curve_keypair *keypair, struct run *run, net_after_fn *after,
	     void *context, struct net **ret_net, struct error *reterr)
{
	struct net *net = calloc(1, sizeof(*net));
	uint64_t now_ns = clock_now_ns();

	if (net == NULL)
		return error_errno(reterr, -ENOMEM, "network");
	net->loop = loop;
	net->conf = conf;
	net->run = run;
	net->after = after;
	net->context = context;
	net->gradient = calloc(run_params_count(run), sizeof(float));
	net->peers = calloc(conf->workers_count, sizeof(*net->peers));
	bool has_memory = frames_open(run, &net->frames) == 0;
	int r = has_memory && net->gradient != NULL && net->peers != NULL
		    ? open_zap(net, zmq_context, reterr)
		    : error_errno(reterr, -ENOMEM, "network");
	for (uint32_t i = 0; i < conf->workers_count && net->peers != NULL; i++) {
		net->peers[i].state = NET_ABSENT;
		net->peers[i].since_ns = now_ns;
	}
	if (r == 0)
		r = open_socket(net, zmq_context, keypair, reterr);
	if (r < 0) {
		net_close(net, false);
		return r;
	}
	*ret_net = net;
	return 0;
}

struct net *net_close(struct net *net, bool done)
{
	if (net == NULL)
		return NULL;
	if (net->source.socket != NULL) {
		/* Time for the goodbyes to go out. */
		int linger_ms = 1000; /* at most, on a busy machine */

		for (uint32_t i = 0; done && i < net->conf->workers_count; i++)
			if (net->peers[i].state == NET_JOINED)
				net_send_bye(net, &net->peers[i].address, ISO_TRAIN_DONE, "done");
		(void)zmq_setsockopt(net->source.socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
		loop_remove(net->loop, &net->source);
		(void)zmq_socket_monitor(net->source.socket, NULL, 0);
		zmq_close(net->source.socket);
	}
	net->zap = zap_close(net->zap);
	net->frames = frames_close(net->frames);
	free(net->gradient);
	free(net->peers);
	free(net);
	return NULL;
}
