/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ADMIN_CALL_H
#define ISO_ADMIN_CALL_H

#include <jansson.h>
#include <stdint.h>

#include "agent/base/error.h"

struct curve_keypair;

/* Where a node takes commands. */
struct admin_target {
	/* "tcp://192.0.2.1:7401", or "unix:/run/isobar/a/control" on the node's own machine. */
	const char *endpoint;
	const struct curve_keypair *keys; /* the administrator's; tcp:// only */
	const char *server_key;		  /* the node's public key; tcp:// only */
};

/* Whether an endpoint is one of the two, without asking anybody.  -EINVAL. */
int admin_endpoint_check(const char *endpoint, struct error *reterr);

/*
 * One request, one reply; waits for at most timeout_ns.  zmq_context: for
 * tcp://; NULL: one is made for this call.  A reply with "ok": false is a
 * success here: look.  The caller owns *ret_reply.
 *
 * -ECONNREFUSED, -ENOENT: nobody is there.  -EACCES: the node does not know
 * our key.  -ETIMEDOUT: no answer in time.  After any of -ETIMEDOUT and
 * -ECONNRESET nobody knows whether the node has done what it was asked: ask
 * again; an operation with the same id is applied once.  -EBADMSG: the answer
 * is no JSON object.  The message names the endpoint.
 */
int admin_call(const struct admin_target *target, void *zmq_context, const json_t *request,
	       uint64_t timeout_ns, json_t **ret_reply, struct error *reterr);

#endif
