/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_frames.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/wire/train.h"

struct frame {
	bool is_made;
	uint64_t version;
	zmq_msg_t block;
};

struct frames {
	const struct run *run;
	uint32_t count, end; /* none is made from the end on */
	struct frame of[];   /* by point */
};

int frames_open(const struct run *run, struct frames **ret_frames)
{
	uint32_t count = run_points(run);
	struct frames *frames = calloc(1, sizeof(*frames) + count * sizeof(frames->of[0]));

	if (frames == NULL)
		return -ENOMEM;
	frames->run = run;
	frames->count = count;
	*ret_frames = frames;
	return 0;
}

static void drop(struct frame *frame)
{
	if (frame->is_made)
		zmq_msg_close(&frame->block);
	frame->is_made = false;
}

struct frames *frames_close(struct frames *frames)
{
	for (uint32_t i = 0; frames != NULL && i < frames->end; i++)
		drop(&frames->of[i]);
	free(frames);
	return NULL;
}

/* The parameters into a message, without a copy in between. */
static int make_block(const struct run *run, zmq_msg_t *ret_block)
{
	uint32_t count = run_params_count(run);

	if (zmq_msg_init_size(ret_block, (size_t)count * sizeof(float)) < 0)
		return -ENOMEM;
	/* A message's own memory is aligned; on a big-endian machine they turn in place. */
	float *floats = zmq_msg_data(ret_block);
	run_point(run, floats);
	(void)iso_train_block(floats, count, floats);
	return 0;
}

zmq_msg_t *frames_get(struct frames *frames, const struct iso_dispatch_order *order)
{
	struct frame *frame = &frames->of[order->point];

	assert(order->point < frames->count);
	if (frame->is_made && frame->version == order->version)
		return &frame->block;
	/* Without memory at its first order it cannot be made later. */
	if (order->version != run_version(frames->run))
		return NULL;
	/* Those that no order can need any more are freed when one is made. */
	for (uint32_t i = 0; i < frames->end; i++)
		if (!run_needs_point(frames->run, i, frames->of[i].version))
			drop(&frames->of[i]);
	drop(frame);
	if (make_block(frames->run, &frame->block) < 0)
		return NULL;
	frame->is_made = true;
	frame->version = order->version;
	if (order->point >= frames->end)
		frames->end = order->point + 1;
	return &frame->block;
}
