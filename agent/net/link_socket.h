/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LINK_SOCKET_H
#define ISO_LINK_SOCKET_H

#include "agent/base/error.h"
#include "agent/net/curve.h"
#include "agent/net/link.h"

/* The sockets of a link, with what its limits ask of them. */

/*
 * A PUSH to address; keys NULL: without CURVE, and public_key does not matter.  The
 * caller closes it.
 */
int link_socket_connect(void *zmq_context, const struct link_limits *limits,
			const struct curve_keypair *keys, const char *public_key,
			const char *address, void **ret_socket, struct error *reterr);

/* Options of the PULL, before it is bound; keys and domain NULL: without CURVE. */
int link_socket_listen(void *socket, const struct link_limits *limits,
		       const struct curve_keypair *keys, const char *domain, struct error *reterr);

#endif
