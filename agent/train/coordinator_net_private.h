/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_NET_PRIVATE_H
#define ISO_COORDINATOR_NET_PRIVATE_H

#include "agent/train/coordinator_frames.h"
#include "agent/train/coordinator_net.h"
#include "agent/train/trainmsg.h"

/*
 * What the parts of the network share: coordinator_net.c (messages) and
 * coordinator_net_open.c (the socket).
 */

/* The name under which the allow-list is asked. */
#define NET_DOMAIN "isobar-training"

struct net_peer {
	enum net_state state;
	uint64_t since_ns, heard_ns, pinged_ns;
	struct trainmsg_peer address; /* of the latest hello */
	uint32_t incarnation;
	char reason[ISO_TRAIN_TEXT_BYTES];
};

struct net {
	struct loop_source source;
	struct loop *loop;
	const struct cconf *conf;
	struct run *run;
	struct zap *zap;
	net_after_fn *after;
	void *context;
	struct net_peer *peers;
	struct net_counters counters;
	uint64_t tick_at_ns;

	float *gradient; /* of the result at hand, where it must be copied */
	struct frames *frames;
	struct iso_train_task tasks[ISO_TRAIN_TASKS_MAX];
};

static inline const char *net_name(const struct net *net, uint32_t worker)
{
	return net->conf->workers[worker].name;
}

/* What the loop calls when messages have come. */
void net_on_socket(struct loop_source *source, short revents);

void net_send_bye(struct net *net, const struct trainmsg_peer *to, enum iso_train_reason reason,
		  const char *text);

#endif
