/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LINK_PRIVATE_H
#define ISO_LINK_PRIVATE_H

#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/link.h"

/* What the parts of a link share: link.c (sockets and messages) and link_watch.c (who is up). */

#define LINK_NAME_BYTES    64u
#define LINK_ADDRESS_BYTES 160u

/*
 * libzmq gives up for good on a peer that has refused our key - which one does
 * that has not been told of us yet.  So a socket that reaches nobody for so
 * long is made anew; the time doubles while that does not help.
 */
#define LINK_RENEW_NS_MIN 1000000000u
#define LINK_RENEW_NS_MAX 32000000000u

struct neighbour {
	char name[LINK_NAME_BYTES];
	char address[LINK_ADDRESS_BYTES];
	char public_key[CURVE_KEY_BYTES];
	void *socket;	     /* PUSH; NULL: this place is free */
	bool is_failing;     /* the last message could not be sent */
	uint64_t failing_ns; /* since when, as a tick has seen it; 0: not */
	uint64_t renew_after_ns;
	struct link_peer peer;
	uint64_t added_ns;
	bool told; /* its first change of state was logged */
};

struct link {
	struct loop_source source; /* PULL */
	struct loop *loop;
	void *zmq_context;
	struct zap *zap; /* NULL without keys */
	bool owns_zap;
	bool has_keys;
	struct curve_keypair keys;
	link_fn *fn;
	link_parts_fn *parts_fn;
	void *context;
	uint64_t down_after_ns;
	struct link_limits limits;
	char address[160];
	struct link_counters counters;
	uint32_t count; /* places that were ever taken */
	struct neighbour neighbours[LINK_NEIGHBOURS_MAX];
};

static inline bool link_is_taken(const struct link *link, uint32_t index)
{
	return index < link->count && link->neighbours[index].socket != NULL;
}

/* A new socket to this neighbour, which has one already or not. */
int link_open_socket(const struct link *link, const struct neighbour *neighbour, void **ret_socket,
		     struct error *reterr);

#endif
