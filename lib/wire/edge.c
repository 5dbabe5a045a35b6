/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/wire/edge.h"

#include <assert.h>
#include <stdbool.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

#define CHECKED_BYTES (ISO_EDGE_BYTES - 8u)

_Static_assert(ISO_EDGE_BYTES == 152, "the wire format is fixed");

/* An inc and a seq name a message together, or none together. */
static bool names_message(uint32_t inc, uint64_t seq)
{
	return (inc == 0) == (seq == 0) && seq <= UINT32_MAX;
}

/* What a sender can have written; checked before sending and after receiving. */
static bool possible(const struct iso_edge_frame *frame)
{
	if (frame->source_gen == 0 || frame->destination_gen == 0)
		return false;
	if (frame->inc == 0 || !names_message(frame->inc, frame->seq))
		return false;
	if (!names_message(frame->echo_inc, frame->echo_seq) ||
	    !names_message(frame->base_inc, frame->base_seq))
		return false;
	if ((frame->flags & ~ISO_EDGE_FLAGS) != 0)
		return false;
	if (!(frame->curvature >= 0 && frame->curvature <= 0x1p60))
		return false;
	return frame->head_ucpu >= 0 && frame->budget_ucpu > 0;
}

void iso_edge_encode(const struct iso_edge_frame *frame, uint8_t ret_bytes[ISO_EDGE_BYTES])
{
	uint8_t *out = ret_bytes;

	assert(possible(frame));
	iso_put_le(out, ISO_EDGE_MAGIC, 4);
	iso_put_le(out + 4, ISO_EDGE_VERSION, 2);
	iso_put_le(out + 6, ISO_EDGE_BYTES, 2);
	iso_put_le(out + 8, frame->cluster, 8);
	iso_put_le(out + 16, frame->epoch, 4);
	iso_put_le(out + 20, frame->flags, 2);
	iso_put_le(out + 22, frame->degree, 2);
	iso_put_le(out + 24, frame->digest, 8);
	iso_put_le(out + 32, frame->source, 8);
	iso_put_le(out + 40, frame->destination, 8);
	iso_put_le(out + 48, frame->source_gen, 4);
	iso_put_le(out + 52, frame->destination_gen, 4);
	iso_put_le(out + 56, frame->inc, 4);
	iso_put_le(out + 60, frame->echo_inc, 4);
	iso_put_le(out + 64, frame->base_inc, 4);
	iso_put_le(out + 68, (uint16_t)frame->symbol, 2);
	iso_put_le(out + 70, 0, 2);
	iso_put_le(out + 72, frame->seq, 8);
	iso_put_le(out + 80, frame->sent, 8);
	iso_put_le(out + 88, frame->received, 8);
	iso_put_le(out + 96, frame->echo_seq, 8);
	iso_put_le(out + 104, frame->base_seq, 8);
	iso_put_le(out + 112, (uint64_t)frame->exact_q32, 8);
	iso_put_le(out + 120, iso_bits_of_double(frame->curvature), 8);
	iso_put_le(out + 128, (uint64_t)frame->head_ucpu, 8);
	iso_put_le(out + 136, (uint64_t)frame->budget_ucpu, 8);
	iso_put_le(out + CHECKED_BYTES, iso_checksum(out, CHECKED_BYTES), 8);
}

/* The fields behind the header, once the checksum vouches for them. */
static void read_fields(const uint8_t *in, struct iso_edge_frame *ret_frame)
{
	struct iso_edge_frame *frame = ret_frame;

	frame->cluster = iso_get_le(in + 8, 8);
	frame->epoch = (uint32_t)iso_get_le(in + 16, 4);
	frame->flags = (uint16_t)iso_get_le(in + 20, 2);
	frame->degree = (uint16_t)iso_get_le(in + 22, 2);
	frame->digest = iso_get_le(in + 24, 8);
	frame->source = iso_get_le(in + 32, 8);
	frame->destination = iso_get_le(in + 40, 8);
	frame->source_gen = (uint32_t)iso_get_le(in + 48, 4);
	frame->destination_gen = (uint32_t)iso_get_le(in + 52, 4);
	frame->inc = (uint32_t)iso_get_le(in + 56, 4);
	frame->echo_inc = (uint32_t)iso_get_le(in + 60, 4);
	frame->base_inc = (uint32_t)iso_get_le(in + 64, 4);
	frame->symbol = (int16_t)iso_get_le(in + 68, 2);
	frame->seq = iso_get_le(in + 72, 8);
	frame->sent = iso_get_le(in + 80, 8);
	frame->received = iso_get_le(in + 88, 8);
	frame->echo_seq = iso_get_le(in + 96, 8);
	frame->base_seq = iso_get_le(in + 104, 8);
	frame->exact_q32 = (int64_t)iso_get_le(in + 112, 8);
	frame->curvature = iso_double_of_bits(iso_get_le(in + 120, 8));
	frame->head_ucpu = (int64_t)iso_get_le(in + 128, 8);
	frame->budget_ucpu = (int64_t)iso_get_le(in + 136, 8);
}

enum iso_status iso_edge_decode(const void *bytes, size_t size, struct iso_edge_frame *ret_frame)
{
	const uint8_t *in = bytes;
	struct iso_edge_frame frame;

	if (size < ISO_EDGE_BYTES)
		return ISO_E_SHORT;
	if (size > ISO_EDGE_BYTES)
		return ISO_E_LONG;
	if (iso_get_le(in, 4) != ISO_EDGE_MAGIC)
		return ISO_E_MALFORMED;
	/* Before the checksum: another version may keep it elsewhere. */
	if (iso_get_le(in + 4, 2) != ISO_EDGE_VERSION)
		return ISO_E_VERSION;
	if (iso_get_le(in + CHECKED_BYTES, 8) != iso_checksum(in, CHECKED_BYTES))
		return ISO_E_CHECKSUM;
	if (iso_get_le(in + 6, 2) != ISO_EDGE_BYTES || iso_get_le(in + 70, 2) != 0)
		return ISO_E_MALFORMED;
	read_fields(in, &frame);
	if (!possible(&frame))
		return ISO_E_MALFORMED;
	*ret_frame = frame;
	return ISO_OK;
}
