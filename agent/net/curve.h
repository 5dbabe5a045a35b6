/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CURVE_H
#define ISO_CURVE_H

#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

#include "agent/base/error.h"

/*
 * CURVE keys on disk and on ZeroMQ sockets.  Every tcp:// socket here is
 * encrypted and knows its peer; agent/net/zap.h decides who may talk.
 *
 * A key file is text: comment lines "# ...", then one line "public-key Z85"
 * or "secret-key Z85".  A secret key file holds only the secret half; the
 * public one follows from it.
 */

/* Forty Z85 characters and the NUL. */
#define CURVE_KEY_BYTES 41u

struct curve_keypair {
	char public_key[CURVE_KEY_BYTES];
	char secret_key[CURVE_KEY_BYTES];
};

/* Whether text is a key: forty characters of Z85 that stand for 32 bytes. */
bool curve_key_valid(const char *text);

/* A fresh pair from the kernel's random source; -ENOTSUP if libzmq has no CURVE. */
int curve_keypair_new(struct curve_keypair *ret_keypair, struct error *reterr);

/*
 * Writes the halves into new files, 0600 and 0644, durably.  Neither may
 * exist (-EEXIST); if the second cannot be written, the first is taken back.
 */
int curve_keypair_write(const struct curve_keypair *keypair, const char *secret_path,
			const char *public_path, struct error *reterr);

/* -EPERM if group or others may read the file, -EINVAL if it is no secret key. */
int curve_secret_read(const char *path, struct curve_keypair *ret_keypair, struct error *reterr);
int curve_public_read(const char *path, char ret_key[CURVE_KEY_BYTES], struct error *reterr);

/* Overwrites the secret half. */
void curve_keypair_wipe(struct curve_keypair *keypair);

/*
 * An endpoint must be tcp:// with a numeric address (a name could hang the
 * I/O thread of all peers) and a port: "tcp://192.0.2.1:7400", "tcp://[::1]:7400".
 */
int curve_endpoint_check(const char *endpoint, struct error *reterr);

struct curve_limits {
	int64_t message_bytes_max; /* a longer one costs the peer its connection */
	int queue_messages_max;	   /* each way, per peer; see CURVE_RECEIVE_SPARE */
};

/*
 * So many more fit where they are received.  libzmq stops reading from a peer whose queue is full,
 * and up to 4.3.5 it can abort if the connection ends while that is so (libzmq issue 3937 and its
 * kind).  A peer that keeps to its own limit, and answers to ours, never fills it.
 */
#define CURVE_RECEIVE_SPARE 6

/*
 * Options of a socket, before bind or connect.  Besides the keys both set
 * what every socket here has: no lingering, bounded queues and messages,
 * heartbeats that find a silent peer within CURVE_SILENCE_MS, messages only
 * to peers that are connected, time limits for connecting and the handshake.
 */
#define CURVE_SILENCE_MS 6000

/* The domain is what the ZAP handler is asked for; without a handler nobody gets in. */
int curve_server(void *socket, const struct curve_keypair *keypair, const char *domain,
		 const struct curve_limits *limits, struct error *reterr);
int curve_client(void *socket, const struct curve_keypair *keypair,
		 const char server_key[CURVE_KEY_BYTES], const struct curve_limits *limits,
		 struct error *reterr);

/* zmq_bind() and zmq_connect() with the endpoint's address family and an error that names it. */
int curve_bind(void *socket, const char *endpoint, struct error *reterr);
int curve_connect(void *socket, const char *endpoint, struct error *reterr);

/*
 * The name that the ZAP handler bound to the sender's key; borrowed from the
 * message; NULL if it was not authenticated.
 */
const char *curve_user_id(zmq_msg_t *message);

#endif
