/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LINK_H
#define ISO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"

struct curve_keypair;
struct link;
struct loop;
struct zap;

/*
 * ZeroMQ between agents, or between their workers: one PUSH (connect) per
 * neighbour and one PULL (bind) for everything received.  Nothing is retried and
 * nothing ever blocks: a send that does not go out now is forgotten.  Agents queue
 * nothing either, since a newer edge message dominates every older one.
 *
 * With keys, CURVE is on and the ZAP handler admits only the neighbours' keys;
 * the name that belongs to the key is handed up with each message.  It proves
 * who sent it, not that the message tells the truth about its source: compare.
 */

/*
 * What goes over a link.  All zero is what agents do: messages of up to
 * LINK_MESSAGE_BYTES_MAX, and of those that wait for a neighbour the newest only.
 */
#define LINK_MESSAGE_BYTES_MAX 512u
struct link_limits {
	size_t message_bytes_max; /* each part; a longer one is dropped, or costs the connection */
	/*
	 * Not 0: messages wait in line, so many for each neighbour, and one that finds the
	 * line full is the one that is forgotten.
	 */
	unsigned queue_messages;
};

/* Messages taken per turn of the loop; the rest waits for the next turn. */
#define LINK_DRAIN_MAX	    128u
#define LINK_NEIGHBOURS_MAX 64u
/* The neighbours' domain in the allow-list, see zap.h. */
#define LINK_DOMAIN "isobar"
/* Stands for the neighbour where there are no keys to tell. */
#define LINK_ANYBODY UINT32_MAX

/* Why the link itself dropped a message. */
enum link_drop {
	LINK_DROP_OVERSIZE, /* too long, or in too many parts */
	LINK_DROP_UNKNOWN,  /* from a key whose name is no neighbour's */
	LINK_DROP_REJECTED, /* by fn */
	LINK_DROP_BUSY,	    /* ours: the neighbour is not connected, or its pipe is full */
	LINK_DROP_COUNT,
};

/* "oversize", ... as in the status. */
const char *link_drop_text(enum link_drop drop);

/*
 * One message, borrowed for the call.  neighbour indexes the configured list,
 * or is LINK_ANYBODY without keys: then decide by what the message says, and
 * call link_heard() yourself.  Returns whether the message was good; only such
 * a message shows that the neighbour is up.
 */
typedef bool link_fn(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size);

/* The same for messages of up to LINK_PARTS_MAX parts, which arrive together or not at all. */
#define LINK_PARTS_MAX 2u
struct link_part {
	const void *bytes;
	size_t size;
};
typedef bool link_parts_fn(void *context, uint32_t neighbour, const struct link_part *parts,
			   unsigned count);

struct link_neighbour {
	const char *name;    /* shorter than 64 */
	const char *address; /* shorter than 160 */
	const char *public_key; /* Z85; NULL or "" without CURVE */
};

struct link_config {
	/* "tcp://127.0.0.1:5555"; port * picks one; NULL or "" only without neighbours, for good */
	const char *listen;
	const struct curve_keypair *keys; /* ours; NULL turns CURVE off, for ipc and inproc only */
	/* Borrowed until link_close(), gets the domain LINK_DOMAIN; NULL: one of its own. */
	struct zap *zap;
	struct link_limits limits;
	const struct link_neighbour *neighbours; /* copied */
	uint32_t neighbour_count;
	uint64_t down_after_ns; /* silence after which a neighbour is down */
	/* One of the two; agents have the first, and take no message in several parts. */
	link_fn *fn;
	link_parts_fn *parts_fn;
	void *context; /* for them */
};

struct link_peer {
	bool up;
	uint64_t heard_ns;   /* last accepted message, 0: never */
	uint64_t changed_ns; /* when up last changed */
	uint64_t sent, received, busy;
};

/*
 * Opens the sockets, adds its sources to the loop and starts to listen.
 * zmq_context and loop are borrowed until link_close().  -errno: an address
 * that cannot be bound or parsed, a key that is none.
 */
int link_open(const struct link_config *config, void *zmq_context, struct loop *loop,
	      uint64_t now_ns, struct link **ret_link, struct error *reterr);

/* Takes NULL; returns NULL.  Pending messages are discarded. */
struct link *link_close(struct link *link);

/*
 * One more neighbour, or one less, while the link is open; the allow-list
 * follows.  The index of any other does not change; that of a removed one is
 * used again.  Who is removed may still be connected: what it sends counts as
 * LINK_DROP_UNKNOWN.
 * -EEXIST: its name or its key is there.  -ENOSPC.  -EDESTADDRREQ: the link was
 * opened without an address to listen at.  Else as link_open(); nothing has
 * changed then.
 */
int link_add(struct link *link, const struct link_neighbour *neighbour, uint64_t now_ns,
	     uint32_t *ret_neighbour, struct error *reterr);
void link_remove(struct link *link, uint32_t neighbour);

/* A message for one neighbour, copied.  0, or -EAGAIN (counted): it is simply not reachable now. */
int link_send(struct link *link, uint32_t neighbour, const void *bytes, size_t size);
/* The same in parts, 1 .. LINK_PARTS_MAX; only with a queue. */
int link_send_parts(struct link *link, uint32_t neighbour, const struct link_part *parts,
		    unsigned count);

/*
 * Marks neighbours that were silent for too long as down; logs each change once,
 * with duration.  Tries anew to reach those to whom nothing can be sent.
 */
void link_tick(struct link *link, uint64_t now_ns);

/* The neighbour was heard from.  Done by the link itself where there are keys. */
void link_heard(struct link *link, uint32_t neighbour, uint64_t now_ns);

struct link_peer link_peer(const struct link *link, uint32_t neighbour);

struct link_counters {
	uint64_t sent, received; /* received: accepted */
	uint64_t dropped[LINK_DROP_COUNT];
	uint64_t refused; /* connections turned away at the handshake */
};
struct link_counters link_counters(const struct link *link);

/* The address bound, with its real port, or ""; borrowed until link_close(). */
const char *link_address(const struct link *link);

#endif
