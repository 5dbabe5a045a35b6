/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_SESSION_H
#define ISO_WORKER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/train/dataset.h"
#include "agent/train/usertask.h"
#include "agent/train/worker_pool.h"
#include "lib/wire/train.h"

/*
 * The worker's side of the talk with the coordinator: says hello until it is
 * welcome, passes tasks to the pool and results back, notices a coordinator
 * that is silent or has restarted, and waits for it without end.  A lost
 * message is made good by the coordinator's leases, so nothing is repeated here.
 */
struct session;

struct session_config {
	const char *endpoint;
	const char *name; /* of this node; what its key stands for at the coordinator */
	char server_key[CURVE_KEY_BYTES];
	const struct curve_keypair *keypair;
	const struct dataset *data;
	const struct usertask *task; /* NULL: none */
	struct pool *pool;
	struct iso_train_speed speed;
};

/* Everything in config is borrowed until session_close(). */
int session_open(void *context, struct loop *loop, const struct session_config *config,
		 struct session **ret_session, struct error *reterr);

/* Says goodbye if it can at once.  Takes NULL; returns NULL. */
struct session *session_close(struct session *session);

/* Tells the coordinator at once, since it plans with it. */
void session_set_speed(struct session *session, struct iso_train_speed speed);

/* The pool may have results: sends them. */
void session_send_results(struct session *session);

struct session_view {
	bool joined;
	uint64_t since_ns; /* joined, or waiting, since */
	uint64_t tasks_done;
	uint64_t dropped; /* messages: malformed, of another term, out of turn */
};
struct session_view session_view(const struct session *session);

#endif
