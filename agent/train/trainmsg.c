/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/trainmsg.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "agent/net/curve.h"

/* Per peer and direction. */
#define QUEUE_BYTES_MAX (256u << 20)

bool trainmsg_same_peer(const struct trainmsg_peer *a, const struct trainmsg_peer *b)
{
	return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

int trainmsg_queue_max(uint32_t params)
{
	uint64_t bytes = (uint64_t)params * sizeof(float) + ISO_TRAIN_FIXED_MAX;
	uint64_t count = QUEUE_BYTES_MAX / bytes;

	return count > 1000 ? 1000 : count < 4 ? 4 : (int)count;
}

/* Takes the rest of a message off the socket. */
static void skip(void *socket, zmq_msg_t *frame)
{
	while (zmq_msg_more(frame))
		if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0)
			return;
}

/* The frames of one message into ret; -EBADMSG if they are too few or too many. */
static int receive_frames(void *socket, bool is_router, struct trainmsg *ret)
{
	zmq_msg_t *frame = is_router ? &ret->block : &ret->head;

	if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	ret->peer.size = 0;
	if (is_router) {
		size_t size = zmq_msg_size(frame);

		/* libzmq's limit, too. */
		assert(size <= TRAINMSG_PEER_BYTES);
		ret->peer.size = (uint8_t)size;
		memcpy(ret->peer.id, zmq_msg_data(frame), size);
		if (!zmq_msg_more(frame))
			return -EBADMSG;
		if (zmq_msg_recv(&ret->head, socket, ZMQ_DONTWAIT) < 0)
			return -EBADMSG;
		zmq_msg_close(&ret->block);
		zmq_msg_init(&ret->block);
	}
	if (!zmq_msg_more(&ret->head))
		return 0;
	if (zmq_msg_recv(&ret->block, socket, ZMQ_DONTWAIT) < 0)
		return -EBADMSG;
	if (!zmq_msg_more(&ret->block))
		return 0;
	skip(socket, &ret->block);
	return -EBADMSG;
}

int trainmsg_receive(void *socket, bool is_router, struct trainmsg *ret)
{
	struct trainmsg message;

	zmq_msg_init(&message.head);
	zmq_msg_init(&message.block);
	int r = receive_frames(socket, is_router, &message);
	if (r == 0 && iso_train_decode(zmq_msg_data(&message.head), zmq_msg_size(&message.head),
				       &message.message) != ISO_OK)
		r = -EBADMSG;
	if (r == 0) {
		size_t block_bytes = (size_t)message.message.floats * sizeof(float);

		if (zmq_msg_size(&message.block) != block_bytes)
			r = -EBADMSG;
	}
	if (r < 0) {
		trainmsg_release(&message);
		return r;
	}
	*ret = message;
	/* A zmq_msg_t must not be copied by assignment: move both. */
	zmq_msg_init(&ret->head);
	zmq_msg_init(&ret->block);
	zmq_msg_move(&ret->head, &message.head);
	zmq_msg_move(&ret->block, &message.block);
	trainmsg_release(&message);
	return 0;
}

void trainmsg_release(struct trainmsg *message)
{
	zmq_msg_close(&message->head);
	zmq_msg_close(&message->block);
}

const char *trainmsg_user(struct trainmsg *message)
{
	return curve_user_id(&message->head);
}

int trainmsg_read_block(struct trainmsg *message, float *ret_floats)
{
	enum iso_status status =
	    iso_train_read_block(&message->message, zmq_msg_data(&message->block),
				 zmq_msg_size(&message->block), ret_floats);

	return status == ISO_OK ? 0 : -EBADMSG;
}

const float *trainmsg_floats(struct trainmsg *message, float *scratch)
{
	const void *block = zmq_msg_data(&message->block);
	size_t bytes = zmq_msg_size(&message->block);
	const float *floats = iso_train_view_block(&message->message, block, bytes);

	if (floats != NULL)
		return floats;
	return trainmsg_read_block(message, scratch) == 0 ? scratch : NULL;
}

int trainmsg_block(const float *floats, uint32_t count, zmq_msg_t *ret_block)
{
	size_t bytes = (size_t)count * sizeof(float);

	if (zmq_msg_init_size(ret_block, bytes) < 0)
		return -ENOMEM;
	const void *block = iso_train_block(floats, count, zmq_msg_data(ret_block));
	/* On a big-endian machine it is in its place already. */
	if (block != zmq_msg_data(ret_block))
		memcpy(zmq_msg_data(ret_block), block, bytes);
	return 0;
}

int trainmsg_send(void *socket, const struct trainmsg_peer *peer,
		  const struct iso_train_message *message, zmq_msg_t *block)
{
	uint8_t head[ISO_TRAIN_HEAD_MAX];
	size_t bytes;

	assert((block != NULL) == (message->floats > 0));
	if (iso_train_encode(message, block != NULL ? zmq_msg_data(block) : NULL, head,
			     sizeof(head), &bytes) != ISO_OK)
		return -EINVAL;
	/*
	 * Only the first frame can fail for want of room or peer: libzmq keeps
	 * the frames of a message together.
	 */
	if (peer->size > 0 &&
	    zmq_send(socket, peer->id, peer->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
		return -errno;
	if (zmq_send(socket, head, bytes, ZMQ_DONTWAIT | (block != NULL ? ZMQ_SNDMORE : 0)) < 0)
		return -errno;
	if (block != NULL) {
		zmq_msg_t copy;

		zmq_msg_init(&copy);
		zmq_msg_copy(&copy, block);
		if (zmq_msg_send(&copy, socket, ZMQ_DONTWAIT) < 0) {
			int r = -errno;

			zmq_msg_close(&copy);
			return r;
		}
	}
	return 0;
}
