/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_NET_H
#define ISO_COORDINATOR_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/zap.h"
#include "agent/train/coordinator_conf.h"
#include "agent/train/coordinator_run.h"

/*
 * The coordinator's talk with its workers: who is here, by the name that the
 * key stands for; orders and parameters out, results in.
 */
struct net;

enum net_state {
	NET_ABSENT = 1, /* not heard of, or said goodbye */
	NET_JOINED,
	NET_LOST,    /* was here and is silent, or its connection broke */
	NET_REFUSED, /* its data does not fit */
};

struct net_worker_view {
	enum net_state state;
	uint64_t since_ns;
	uint64_t heard_ns;
	const char *reason; /* REFUSED: why; else "" */
};

/* Messages that had no effect, since the start. */
struct net_counters {
	uint64_t malformed;
	uint64_t foreign;     /* not authenticated, or a name that is not the key's */
	uint64_t out_of_turn; /* from a worker that has not said hello, or of another slot */
	uint64_t unsent;      /* the worker's queue was full, or it was gone */
	uint64_t results;     /* that came */
};

/*
 * Opens the allow-list and the socket and listens.  conf, keypair and run are
 * borrowed until net_close().  `after` is called with context after each batch
 * of messages.
 */
typedef void net_after_fn(void *context);
int net_open(void *zmq_context, struct loop *loop, const struct cconf *conf,
	     const struct curve_keypair *keypair, struct run *run, net_after_fn *after,
	     void *context, struct net **ret_net, struct error *reterr);

/* Tells the workers that it is over (done) or not, and closes.  Takes NULL; returns NULL. */
struct net *net_close(struct net *net, bool done);

/* Sends what the run wants sent. */
void net_send_orders(struct net *net, uint64_t now_ns);

/* Asks silent workers, gives up those that stay silent.  Call no later than net_wake_ns(). */
void net_tick(struct net *net, uint64_t now_ns);
uint64_t net_wake_ns(const struct net *net);

struct net_worker_view net_worker_view(const struct net *net, uint32_t worker);
const struct net_counters *net_counters(const struct net *net);
const struct zap_counters *net_zap_counters(const struct net *net);

#endif
