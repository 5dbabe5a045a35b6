/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ZAP_H
#define ISO_ZAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "agent/base/error.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"

/*
 * The allow-list behind every CURVE server of this process (ZeroMQ RFC 27):
 * a known key gets in and its messages carry the name bound to it
 * (curve_user_id()); everyone else is refused at the handshake.
 *
 * One handler a context: libzmq asks at a fixed inproc address.  Each service
 * of the process is a domain with a list of its own; a key opens no other.
 */
#define ZAP_DOMAINS_MAX 4u

/* Longest node name a ZAP reply can carry. */
#define ZAP_NAME_BYTES 256u

struct zap_peer {
	char public_key[CURVE_KEY_BYTES];
	char name[ZAP_NAME_BYTES];
};

/* Of one domain. */
struct zap_counters {
	uint64_t accepted;	   /* handshakes of known keys */
	uint64_t refused_key;	   /* a key that is not in the list */
	uint64_t refused_other;	   /* no CURVE, malformed request; unknown domain: at the first */
	uint64_t refused_greeting; /* zap_watch(): no CURVE greeting (NULL, PLAIN, noise) */
};

struct zap;

/*
 * Opens the handler in the loop with its first domain, as zap_set_peers().
 * The context must outlive it.
 */
int zap_open(void *context, struct loop *loop, const char *domain, const struct zap_peer *peers,
	     size_t peers_count, struct zap **ret_zap, struct error *reterr);

/*
 * Counts handshakes on this server socket that fail before ZAP is asked:
 * clients that offer NULL or PLAIN, or no ZMTP at all.  Call before bind.
 */
#define ZAP_WATCHES_MAX 4u
int zap_watch(struct zap *zap, const char *domain, void *socket, struct error *reterr);

/*
 * Before the socket is closed, watched or not: an event that nobody takes any
 * more would block the I/O thread of the context.
 */
void zap_unwatch(void *socket);

/*
 * Replaces the list of a domain, or begins one; connections that are up stay
 * up.  Sockets bound with curve_server() name their domain.  Copies the peers;
 * two peers with one key or one name are -EEXIST, a name too long or a key
 * that is none -EINVAL, a domain too many -ENOSPC: the list is as before then.
 */
int zap_set_peers(struct zap *zap, const char *domain, const struct zap_peer *peers,
		  size_t peers_count, struct error *reterr);

/*
 * Whether who sent this message may still come in: its key is in the list as it is now, under
 * the name that it had at the handshake.  Connections that are up outlive their entry.
 */
bool zap_admits(const struct zap *zap, const char *domain, zmq_msg_t *message);

/* All zero for a domain that there is not. */
const struct zap_counters *zap_counters(const struct zap *zap, const char *domain);

/* After zap_unwatch() of what was watched.  Takes NULL, returns NULL. */
struct zap *zap_close(struct zap *zap);

#endif
