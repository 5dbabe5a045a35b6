/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ADMIN_H
#define ISO_ADMIN_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/control/control.h"

struct admin;
struct curve_keypair;
struct loop;
struct zap;

/*
 * The administrators' endpoint of a node: the commands of the control socket
 * over the network.  A ROUTER with CURVE, whose ZAP domain admits the
 * administrators' keys and no other: a neighbour's key opens nothing here, nor
 * an administrator's at the neighbours' endpoint.  One message of one frame =
 * one JSON object, either way (agent/control/control.h); whoever is admitted
 * may use every command, for as long as its key is in the list: a request on a connection
 * that has outlived its entry is refused.
 */

/* The allow-list's name for it, see zap.h. */
#define ADMIN_DOMAIN "admin"

#define ADMIN_ADMINISTRATORS_MAX 16u
/* Requests that wait for a later answer; one more is refused at once. */
#define ADMIN_WAITING_MAX 16u

struct admin_peer {
	const char *name;
	const char *public_key; /* Z85 */
};

struct admin_config {
	const char *listen; /* "tcp://..."; port * picks one */
	const struct curve_keypair *keys;
	const struct admin_peer *administrators; /* copied */
	size_t administrator_count;
	const struct control_command *commands; /* borrowed until admin_close() */
	size_t command_count;
	void *context; /* for the commands */
	struct zap *zap; /* borrowed until admin_close(); gets the domain ADMIN_DOMAIN */
};

struct admin_counters {
	uint64_t requests;
	uint64_t dropped; /* not one frame, or from nobody that the allow-list knows */
};

/* zmq_context and loop are borrowed until admin_close(). */
int admin_open(const struct admin_config *config, void *zmq_context, struct loop *loop,
	       struct admin **ret_admin, struct error *reterr);

/* Takes NULL; returns NULL.  Who waits for an answer gets none. */
struct admin *admin_close(struct admin *admin);

/* The address bound, with its real port; borrowed until admin_close(). */
const char *admin_address(const struct admin *admin);
struct admin_counters admin_counters(const struct admin *admin);

#endif
