/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/wire/peer.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

#define CHECKED_BYTES (ISO_PEER_HEAD_BYTES - 8u)
#define IS_LITTLE     (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define NAN_BITS      0x7ff8000000000000u
#define INFINITY_BITS 0x7ff0000000000000u
#define SIGN_BIT      0x8000000000000000u

_Static_assert(ISO_PEER_HEAD_BYTES == 168, "the wire format is fixed");
_Static_assert(sizeof(double) == 8, "snapshots are arrays of doubles");

static bool is_finite(double value)
{
	return (iso_bits_of_double(value) & ~SIGN_BIT) < INFINITY_BITS;
}

/* Not below 0, and 0 itself in one spelling; the bits are in order. */
static bool is_amount(double value)
{
	return iso_bits_of_double(value) <= iso_bits_of_double(ISO_PEER_AMOUNT_MAX);
}

static bool is_loss(double value)
{
	return is_finite(value) || iso_bits_of_double(value) == NAN_BITS;
}

static bool is_none(struct iso_peer_nonce nonce)
{
	return nonce.boot == 0 && nonce.session == 0;
}

static bool is_whole(struct iso_peer_nonce nonce)
{
	return nonce.boot != 0 && nonce.session != 0;
}

static bool possible_base(const struct iso_peer_frame *frame)
{
	if (frame->base_session == 0)
		return is_none(frame->base) && frame->settled == 0;
	return frame->kind == ISO_PEER_HELLO && is_whole(frame->base) &&
	       frame->base_session < frame->own.session;
}

static bool possible_flags(const struct iso_peer_frame *frame)
{
	if (frame->kind == ISO_PEER_BYE)
		return frame->flags == ISO_PEER_DONE || frame->flags == ISO_PEER_LEAVING;
	if (frame->kind == ISO_PEER_ACK)
		return frame->flags == 0 || frame->flags == ISO_PEER_WANT ||
		       frame->flags == ISO_PEER_DONE;
	return frame->flags == 0;
}

static bool possible_payload(const struct iso_peer_frame *frame)
{
	if (frame->kind == ISO_PEER_SNAPSHOT)
		return frame->seq >= 1 && frame->split == 8 * frame->params &&
		       frame->payload_bytes == 16 * (uint64_t)frame->params;
	/* What it is a difference to came before it. */
	if (frame->kind == ISO_PEER_INNOVATION)
		return frame->seq >= 2 && frame->split > 0 && frame->split < frame->payload_bytes;
	return frame->payload_bytes == 0 && frame->payload_checksum == 0 && frame->split == 0;
}

/* What a sender can have written; checked before sending and after receiving. */
static bool possible(const struct iso_peer_frame *frame)
{
	bool hello = frame->kind == ISO_PEER_HELLO;

	if (frame->kind < ISO_PEER_HELLO || frame->kind > ISO_PEER_BYE)
		return false;
	if (!is_whole(frame->own) || !(is_whole(frame->echo) || (hello && is_none(frame->echo))))
		return false;
	if (hello && (frame->seq != 0 || frame->ack != 0))
		return false;
	if (frame->round > ISO_PEER_ROUND_MAX)
		return false;
	if (frame->degree > ISO_PEER_NEIGHBOURS_MAX || frame->age >= ISO_PEER_AGE_MAX)
		return false;
	if (frame->params == 0 || frame->params > ISO_PEER_PARAMS_MAX)
		return false;
	if (!is_amount(frame->alpha) || !is_amount(frame->curvature) || !is_loss(frame->loss))
		return false;
	return possible_base(frame) && possible_flags(frame) && possible_payload(frame);
}

void iso_peer_frame_encode(const struct iso_peer_frame *frame,
			   uint8_t ret_head[ISO_PEER_HEAD_BYTES])
{
	uint8_t *out = ret_head;

	assert(possible(frame));
	iso_put_le(out, ISO_PEER_MAGIC, 4);
	iso_put_le(out + 4, ISO_PEER_VERSION, 2);
	iso_put_le(out + 6, frame->kind, 2);
	iso_put_le(out + 8, frame->plan, 8);
	iso_put_le(out + 16, frame->source, 8);
	iso_put_le(out + 24, frame->destination, 8);
	iso_put_le(out + 32, frame->own.boot, 8);
	iso_put_le(out + 40, frame->echo.boot, 8);
	iso_put_le(out + 48, frame->own.session, 4);
	iso_put_le(out + 52, frame->echo.session, 4);
	iso_put_le(out + 56, frame->base.boot, 8);
	iso_put_le(out + 64, frame->base_session, 4);
	iso_put_le(out + 68, frame->base.session, 4);
	iso_put_le(out + 72, frame->settled, 8);
	iso_put_le(out + 80, frame->seq, 8);
	iso_put_le(out + 88, frame->ack, 8);
	iso_put_le(out + 96, frame->round, 8);
	iso_put_le(out + 104, frame->degree, 2);
	iso_put_le(out + 106, frame->age, 2);
	iso_put_le(out + 108, frame->flags, 4);
	iso_put_le(out + 112, iso_bits_of_double(frame->alpha), 8);
	iso_put_le(out + 120, iso_bits_of_double(frame->curvature), 8);
	iso_put_le(out + 128, iso_bits_of_double(frame->loss), 8);
	iso_put_le(out + 136, frame->payload_bytes, 8);
	iso_put_le(out + 144, frame->payload_checksum, 8);
	iso_put_le(out + 152, frame->split, 4);
	iso_put_le(out + 156, frame->params, 4);
	iso_put_le(out + CHECKED_BYTES, iso_checksum(out, CHECKED_BYTES), 8);
}

static struct iso_peer_nonce read_nonce(const uint8_t *boot, const uint8_t *session)
{
	return (struct iso_peer_nonce){ iso_get_le(boot, 8), (uint32_t)iso_get_le(session, 4) };
}

/* The fields behind the version, once the checksum vouches for them. */
static void read_fields(const uint8_t *in, struct iso_peer_frame *ret_frame)
{
	*ret_frame = (struct iso_peer_frame){
		.kind = (enum iso_peer_kind)iso_get_le(in + 6, 2),
		.plan = iso_get_le(in + 8, 8),
		.source = iso_get_le(in + 16, 8),
		.destination = iso_get_le(in + 24, 8),
		.own = read_nonce(in + 32, in + 48),
		.echo = read_nonce(in + 40, in + 52),
		.base = read_nonce(in + 56, in + 68),
		.base_session = (uint32_t)iso_get_le(in + 64, 4),
		.settled = iso_get_le(in + 72, 8),
		.seq = iso_get_le(in + 80, 8),
		.ack = iso_get_le(in + 88, 8),
		.round = iso_get_le(in + 96, 8),
		.degree = (uint32_t)iso_get_le(in + 104, 2),
		.age = (uint32_t)iso_get_le(in + 106, 2),
		.flags = (uint32_t)iso_get_le(in + 108, 4),
		.alpha = iso_double_of_bits(iso_get_le(in + 112, 8)),
		.curvature = iso_double_of_bits(iso_get_le(in + 120, 8)),
		.loss = iso_double_of_bits(iso_get_le(in + 128, 8)),
		.payload_bytes = iso_get_le(in + 136, 8),
		.payload_checksum = iso_get_le(in + 144, 8),
		.split = (uint32_t)iso_get_le(in + 152, 4),
		.params = (uint32_t)iso_get_le(in + 156, 4),
	};
}

enum iso_status iso_peer_frame_decode(const void *head, size_t size,
				      struct iso_peer_frame *ret_frame)
{
	const uint8_t *in = head;
	struct iso_peer_frame frame;

	if (size < ISO_PEER_HEAD_BYTES)
		return ISO_E_SHORT;
	if (size > ISO_PEER_HEAD_BYTES)
		return ISO_E_LONG;
	if (iso_get_le(in, 4) != ISO_PEER_MAGIC)
		return ISO_E_MALFORMED;
	/* Before the checksum: another version may keep it elsewhere. */
	if (iso_get_le(in + 4, 2) != ISO_PEER_VERSION)
		return ISO_E_VERSION;
	if (iso_get_le(in + CHECKED_BYTES, 8) != iso_checksum(in, CHECKED_BYTES))
		return ISO_E_CHECKSUM;
	read_fields(in, &frame);
	if (!possible(&frame))
		return ISO_E_MALFORMED;
	*ret_frame = frame;
	return ISO_OK;
}

enum iso_status iso_peer_payload_check(const struct iso_peer_frame *frame, const void *payload,
				       size_t size)
{
	if (size < frame->payload_bytes)
		return ISO_E_SHORT;
	if (size > frame->payload_bytes)
		return ISO_E_LONG;
	if (size > 0 && iso_checksum(payload, size) != frame->payload_checksum)
		return ISO_E_CHECKSUM;
	return ISO_OK;
}

size_t iso_peer_snapshot_scratch(size_t count)
{
	return IS_LITTLE ? 0 : 8 * count;
}

const uint8_t *iso_peer_snapshot_view(const double *numbers, size_t count, uint8_t *scratch)
{
	if (IS_LITTLE)
		return (const uint8_t *)numbers;
	assert(scratch != NULL);
	for (size_t i = 0; i < count; i++)
		iso_put_le(scratch + 8 * i, iso_bits_of_double(numbers[i]), 8);
	return scratch;
}

enum iso_status iso_peer_snapshot_read(const uint8_t *payload, size_t count, double *ret_numbers)
{
	assert(count > 0);
	for (size_t i = 0; i < count; i++)
		if (!is_finite(iso_double_of_bits(iso_get_le(payload + 8 * i, 8))))
			return ISO_E_RANGE;
	for (size_t i = 0; i < count; i++)
		ret_numbers[i] = iso_double_of_bits(iso_get_le(payload + 8 * i, 8));
	return ISO_OK;
}
