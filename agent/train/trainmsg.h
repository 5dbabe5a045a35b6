/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRAINMSG_H
#define ISO_TRAINMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "lib/wire/train.h"

/*
 * Training messages (lib/wire/train.h) on a ROUTER or DEALER socket: a head
 * frame and at most one block frame, behind the peer's address on a ROUTER.
 * Nothing here blocks.
 */

#define TRAINMSG_PEER_BYTES 255u

/* Where an answer goes on a ROUTER socket. */
struct trainmsg_peer {
	uint8_t size; /* 0: a DEALER, which has one peer */
	uint8_t id[TRAINMSG_PEER_BYTES];
};

bool trainmsg_same_peer(const struct trainmsg_peer *a, const struct trainmsg_peer *b);

struct trainmsg {
	struct trainmsg_peer peer;
	struct iso_train_message message;
	/* Frames; the message borrows from them. */
	zmq_msg_t head, block;
};

/*
 * Takes the next message.  0; -EAGAIN: there is none; -EBADMSG: one came and
 * was dropped because it was malformed (ret is then untouched).  After 0 call
 * trainmsg_release().
 */
int trainmsg_receive(void *socket, bool is_router, struct trainmsg *ret);
void trainmsg_release(struct trainmsg *message);

/* The name that the sender's key stands for; NULL: not authenticated. */
const char *trainmsg_user(struct trainmsg *message);

/* Checks the block and copies its message.floats floats; 0 or -EBADMSG. */
int trainmsg_read_block(struct trainmsg *message, float *ret_floats);

/*
 * The same without a copy where the machine allows: where they lie in the message, or in
 * scratch, which has room for them.  NULL: the block is damaged.
 */
const float *trainmsg_floats(struct trainmsg *message, float *scratch);

/*
 * Sends; block holds message->floats floats and is copied by reference only
 * (zmq_msg_copy), NULL without.  0; -EAGAIN: the queue is full or nobody is
 * connected; -EHOSTUNREACH: that peer is gone; -EINVAL: not encodable.
 */
int trainmsg_send(void *socket, const struct trainmsg_peer *peer,
		  const struct iso_train_message *message, zmq_msg_t *block);

/* A block frame from floats[count]; 0 or -ENOMEM.  Close it with zmq_msg_close(). */
int trainmsg_block(const float *floats, uint32_t count, zmq_msg_t *ret_block);

/* Queue length that keeps what may pile up of one peer within bounds. */
int trainmsg_queue_max(uint32_t params);

#endif
