/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONTROL_H
#define ISO_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"

struct control;
struct loop;

/*
 * The control socket RUN-DIRECTORY/control: UNIX, SOCK_SEQPACKET, one packet =
 * one JSON object.  Request {"command": "status", ...}, reply {"ok": true, ...}
 * or {"ok": false, "error": "..."}.  Everybody may read; what changes the state
 * is for root and the control group, by the peer's credentials.
 *
 * The lock file beside it is the single-instance lock: whoever holds it owns
 * the directory, and only then is a stale socket removed.
 */

#define CONTROL_PACKET_BYTES_MAX (256u * 1024u)
#define CONTROL_CLIENTS_MAX	 16u
#define CONTROL_IDLE_NS		 10000000000u

/*
 * Answers one request (borrowed, an object).  Returns a new reference; without
 * "ok" the server adds "ok": true.  NULL becomes an internal error.
 */
typedef json_t *control_fn(void *context, const json_t *request);

struct control_command {
	const char *name;
	bool changes_state;
	control_fn *fn;
};

struct control_config {
	const char *directory; /* must exist */
	const char *group;     /* unix group that may change state; NULL or "": root only */
	bool group_only;       /* socket 0660 for root and group instead of 0666 */
	const struct control_command *commands; /* borrowed until control_close() */
	size_t command_count;
	void *context;	  /* for the commands */
	uint64_t idle_ns; /* a client that is silent for longer is dropped; 0: CONTROL_IDLE_NS */
};

/*
 * -EBUSY: another instance holds the directory (its pid is in the message).
 * -ENOENT: no such group.  Other -errno as they come.
 */
int control_open(const struct control_config *config, struct loop *loop,
		 struct control **ret_control, struct error *reterr);

/* Takes NULL; returns NULL.  Removes the socket and releases the lock. */
struct control *control_close(struct control *control);

/* {"ok": false, "error": "..."}. */
__attribute__((format(printf, 1, 2))) json_t *control_refuse(const char *format, ...);

/*
 * One call from outside: connects, asks, waits for the answer.  -errno when
 * there is nobody to talk to (-ENOENT, -ECONNREFUSED) or no answer in time
 * (-ETIMEDOUT).  A reply with "ok": false is a success here: look.  The caller
 * owns *ret_reply.
 */
int control_call(const char *path, const json_t *request, uint64_t timeout_ns, json_t **ret_reply,
		 struct error *reterr);

#endif
