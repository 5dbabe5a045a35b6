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
 * is for root and the control group, by the peer's credentials.  A client has
 * one request under way at a time: a second before the answer ends it.
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

/*
 * Stands for a client that waits for an answer; copy it.  Good for one
 * control_answer(), and until the transport that it came through is closed.
 */
struct control_token {
	void (*answer)(void *transport, uint64_t number, json_t *reply); /* moves reply */
	void *transport;
	uint64_t number;
	char who[80]; /* for the log: "uid 0", "administrator alice" */
};

/* Same as control_fn, but NULL means: the answer comes later, through the token. */
typedef json_t *control_later_fn(void *context, const json_t *request,
				 const struct control_token *token);

/*
 * The answer (moves reply; NULL: an internal error), with "ok" added as above.
 * A client that has gone meanwhile gets none, and nothing else happens.
 */
void control_answer(const struct control_token *token, json_t *reply);

/* One table serves the control socket and the administrators' endpoint (agent/net/admin.h). */
struct control_command {
	const char *name;
	bool changes_state;
	control_fn *fn; /* or: */
	control_later_fn *later;
};

struct control_table {
	const struct control_command *commands; /* borrowed */
	size_t command_count;
	void *context; /* for the commands */
};

/*
 * What any transport does with the bytes of one request.  may_not: NULL if the
 * client may change the state, else who may, for the refusal ("only root may").
 * Returns the reply, or NULL where the token will be answered later.
 */
json_t *control_dispatch(const struct control_table *table, const char *bytes, size_t size,
			 const char *may_not, const struct control_token *token);

struct control_config {
	const char *directory; /* must exist */
	const char *group;     /* unix group that may change state; NULL or "": root only */
	bool group_only;       /* socket 0660 for root and group instead of 0666 */
	const struct control_command *commands; /* borrowed until control_close() */
	size_t command_count;
	void *context;	  /* for the commands */
	/* A client that waits for an answer is not silent, however long that takes. */
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
