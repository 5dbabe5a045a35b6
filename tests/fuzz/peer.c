/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/track/peer.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARAMS 3u
#define PAYLOAD_MAX 128u
#define SCRIPT_MAGIC 0x53u

#define AT_ENDS      0xf0u /* from here on: one is said with a field at an end */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Where each field of a head is; magic, version and checksum are made right afterwards. */
static const struct {
	uint8_t at, bytes;
} fields[] = {
	{ 6, 2 },   { 8, 8 },	{ 16, 8 },  { 24, 8 },	{ 32, 8 },  { 40, 8 },	{ 48, 4 },
	{ 52, 4 },  { 56, 8 },	{ 64, 4 },  { 68, 4 },	{ 72, 8 },  { 80, 8 },	{ 88, 8 },
	{ 96, 8 },  { 104, 2 }, { 106, 2 }, { 108, 4 }, { 112, 8 }, { 120, 8 }, { 128, 8 },
	{ 136, 8 }, { 144, 8 }, { 152, 4 }, { 156, 4 },
};

/* The ends of what fields may be, and of what they can. */
static const uint64_t ends[] = {
	0,
	1,
	2,
	UINT16_MAX,
	INT32_MAX,
	UINT32_MAX - 1,
	UINT32_MAX,
	INT64_MAX,
	UINT64_MAX - 1,
	UINT64_MAX,
	ISO_PEER_ROUND_MAX,
	ISO_PEER_ROUND_MAX + 1,
	ISO_PEER_AGE_MAX - 1,
	ISO_PEER_AGE_MAX,
	ISO_PEER_NEIGHBOURS_MAX,
	ISO_PEER_NEIGHBOURS_MAX + 1,
	ISO_PEER_PARAMS_MAX,
	ISO_PEER_PARAMS_MAX + 1,
};

static const double real_ends[] = {
	-0.0,
	DBL_TRUE_MIN,
	DBL_MIN,
	1 / ISO_PEER_AMOUNT_MAX,
	ISO_PEER_CURVATURE_RATIO_MAX,
	2 * ISO_PEER_CURVATURE_RATIO_MAX,
	ISO_PEER_NUMBER_RATIO_MAX,
	ISO_PEER_NUMBER_MAX,
	2 * ISO_PEER_NUMBER_MAX,
	ISO_PEER_AMOUNT_MAX,
	2 * ISO_PEER_AMOUNT_MAX,
	DBL_MAX,
	-DBL_MAX,
	(double)INFINITY,
	-(double)INFINITY,
	(double)NAN,
};

static uint64_t end_of(uint8_t which)
{
	if (which < 128)
		return ends[which % COUNT(ends)];
	return iso_bits_of_double(real_ends[which % COUNT(real_ends)]);
}

/* What decodes must encode to the same bytes. */
static void decode(const uint8_t *head, size_t size)
{
	struct iso_peer_frame frame;
	uint8_t again[ISO_PEER_HEAD_BYTES];

	if (iso_peer_frame_decode(head, size, &frame) != ISO_OK)
		return;
	iso_peer_frame_encode(&frame, again);
	assert(memcmp(again, head, size) == 0);
}

/*
 * A node and neighbours that say what they like, behind checksums that are right: whatever it
 * is, the node's assertions hold, and it sends nothing that would not decode.
 */
struct script {
	const uint8_t *at, *end;
	struct iso_peer *peer;
	uint64_t now_ns;
	double *gradient;                     /* NULL: none asked for */
	struct iso_peer_frame said[2];        /* newest frame of the node to each neighbour */
	struct iso_peer_nonce nonce[2];       /* of the neighbour, as it last used one */
	uint64_t seq[2];
	bool over;
};

static uint8_t next_byte(struct script *script)
{
	return script->at == script->end ? 0 : *script->at++;
}

static void carry_out(struct script *script)
{
	struct iso_peer_action action;
	unsigned sends = 0;

	while (iso_peer_next(script->peer, &action)) {
		struct iso_peer_frame frame;
		enum iso_status status;

		if (action.what == ISO_PEER_COMPUTE)
			script->gradient = action.gradient;
		if (action.what != ISO_PEER_SEND)
			continue;
		assert(sends++ < 16);
		status = iso_peer_frame_decode(action.head, sizeof(action.head), &frame);
		assert(status == ISO_OK);
		status = iso_peer_payload_check(&frame, action.payload, action.payload_size);
		assert(status == ISO_OK);
		script->said[action.neighbour] = frame;
	}
}

static double number_of(struct script *script, bool is_end)
{
	uint8_t byte = next_byte(script);

	return is_end ? real_ends[byte % COUNT(real_ends)] : (int8_t)byte * 0.25;
}

static size_t payload_of(struct script *script, struct iso_peer_frame *frame, uint8_t *payload)
{
	double numbers[2 * PARAMS];
	uint8_t shape = next_byte(script);

	if (frame->kind == ISO_PEER_SNAPSHOT) {
		frame->split = 8 * PARAMS;
		for (uint32_t i = 0; i < 2 * PARAMS; i++)
			numbers[i] = shape == 255 ? (double)NAN : number_of(script, shape == 254);
		memcpy(payload, numbers, sizeof(numbers));
		return sizeof(numbers);
	}
	if (frame->kind != ISO_PEER_INNOVATION)
		return 0;
	/* What a node would send, then changed. */
	struct iso_stream_config stream = { .mode = ISO_STREAM_INNOVATION, .n = PARAMS, .bits = 8,
					    .rho = 0.125 };
	double estimate[PARAMS] = { 0 };
	for (uint32_t i = 0; i < PARAMS; i++)
		numbers[i] = (int8_t)next_byte(script) * 0.25;
	size_t first = iso_stream_encode(&stream, numbers, estimate, payload);
	assert(first > 0);
	size_t second = iso_stream_encode(&stream, numbers, estimate, payload + first);
	assert(second > 0);
	assert(first + second <= PAYLOAD_MAX);
	frame->split = (uint32_t)first + (shape & 1);
	if (shape == 254) /* the highest level of y's */
		iso_put_le(payload + 8, iso_bits_of_float((float)number_of(script, true)), 4);
	else
		payload[(shape >> 1) % (first + second)] ^= next_byte(script);
	return first + second;
}

/* Some fields are at an end, whether a sender may write that or not. */
static void go_to_ends(struct script *script, uint8_t *head)
{
	unsigned count = 1 + (next_byte(script) & 1u);

	for (unsigned i = 0; i < count; i++) {
		size_t which = next_byte(script) % COUNT(fields);

		iso_put_le(head + fields[which].at, end_of(next_byte(script)), fields[which].bytes);
	}
	iso_put_le(head + 160, iso_checksum(head, 160), 8);
}

/* A frame that fits, but for what the script wants otherwise. */
static void say(struct script *script, uint8_t what, bool at_ends)
{
	unsigned who = what & 1;
	const struct iso_peer_frame *said = &script->said[who];
	uint8_t payload[PAYLOAD_MAX], head[ISO_PEER_HEAD_BYTES], odd = next_byte(script);
	struct iso_peer_frame frame = {
		.kind = (enum iso_peer_kind)((what >> 1) % 6 + 1),
		.plan = 1, .source = 20 + who, .destination = 10,
		.own = script->nonce[who], .echo = said->own,
		.params = PARAMS, .degree = 2, .alpha = 0.25, .curvature = 1, .loss = 0.5,
	};

	if ((odd & 1) != 0)
		frame.own.session = ++script->nonce[who].session;
	if ((odd & 2) != 0)
		frame.own.boot = script->nonce[who].boot = next_byte(script) + 1u;
	if ((odd & 4) != 0)
		frame.echo.session = next_byte(script) + 1u;
	if (frame.kind == ISO_PEER_HELLO) {
		frame.round = next_byte(script);
		if ((odd & 8) != 0 && said->base_session != 0) {
			frame.base_session = said->base.session;
			frame.base = (struct iso_peer_nonce){ said->own.boot, said->base_session };
			frame.settled = said->settled + (odd >> 6) - 1;
			if (frame.base_session >= frame.own.session)
				return;
		}
		script->seq[who] = 0;
	} else {
		if (frame.kind == ISO_PEER_SNAPSHOT || frame.kind == ISO_PEER_INNOVATION)
			script->seq[who]++;
		frame.seq = (odd & 16) != 0 ? next_byte(script) : script->seq[who];
		frame.ack = (odd & 32) != 0 ? next_byte(script) : said->seq;
		frame.flags = frame.kind == ISO_PEER_BYE ? ISO_PEER_DONE << (odd >> 6 & 1) : 0;
		if (frame.kind == ISO_PEER_ACK)
			frame.flags = (odd >> 6) % 3;
	}
	frame.payload_bytes = payload_of(script, &frame, payload);
	if (frame.payload_bytes > 0)
		frame.payload_checksum = iso_checksum(payload, frame.payload_bytes);
	if ((frame.kind == ISO_PEER_SNAPSHOT && frame.seq < 1) ||
	    (frame.kind == ISO_PEER_INNOVATION && frame.seq < 2) || frame.echo.boot == 0)
		if (frame.kind != ISO_PEER_HELLO)
			return;
	if (frame.echo.boot == 0)
		frame.echo.session = 0;
	iso_peer_frame_encode(&frame, head);
	if (at_ends)
		go_to_ends(script, head);
	(void)!iso_peer_receive(script->peer, script->now_ns, who, head, sizeof(head), payload,
				frame.payload_bytes);
}

static void compute(struct script *script)
{
	if (script->gradient == NULL)
		return;
	for (uint32_t i = 0; i < PARAMS; i++)
		script->gradient[i] = (int8_t)next_byte(script) * 0.5;
	script->gradient = NULL;
	if (iso_peer_gradient(script->peer, script->now_ns, 1, 1 + next_byte(script)) != ISO_OK)
		script->over = true;
}

static void run_script(const uint8_t *data, size_t size)
{
	const uint64_t neighbours[] = { 20, 21 };
	const double y[PARAMS] = { 1, -1, 0.5 };
	struct iso_peer_config config = {
		.plan = 1, .node = 10, .neighbours = neighbours, .neighbour_count = 2, .boot = 7,
		.stream = { .mode = ISO_STREAM_INNOVATION, .n = PARAMS, .bits = 8, .rho = 0.125 },
		.step = 0.5, .wait_ns = 100, .drop_ns = 1000, .resend_ns = 10,
		.rounds = size % 7,
	};
	size_t bytes = iso_peer_size(&config);
	void *memory = malloc(bytes);
	struct script script = { .at = data, .end = data + size, .now_ns = 5,
				 .nonce = { { 3, 1 }, { 4, 1 } } };

	assert(memory != NULL);
	enum iso_status status = iso_peer_init(memory, bytes, &config, y, size % 5, script.now_ns,
					       &script.peer);
	assert(status == ISO_OK);
	carry_out(&script);
	while (script.at != script.end && !script.over) {
		uint8_t what = next_byte(&script);

		if (what < 24)
			compute(&script);
		else if (what < 48)
			iso_peer_tick(script.peer, script.now_ns += 1u << (what & 7));
		else if (what < AT_ENDS)
			say(&script, what, false);
		else
			say(&script, next_byte(&script), true);
		carry_out(&script);
		assert(iso_peer_wake_ns(script.peer) >= script.now_ns);
	}
	struct iso_peer_status seen;
	iso_peer_status(script.peer, &seen);
	assert(seen.live + seen.held + seen.done <= 2);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t sealed[ISO_PEER_HEAD_BYTES];

	if (size > 0 && data[0] == SCRIPT_MAGIC) {
		run_script(data + 1, size - 1);
		return 0;
	}
	decode(data, size);
	/* The same behind a checksum that is right, which no mutation finds by itself. */
	if (size != sizeof(sealed))
		return 0;
	memcpy(sealed, data, size);
	memcpy(sealed, "ISOP\1", 5);
	sealed[5] = 0;
	iso_put_le(sealed + 160, iso_checksum(sealed, 160), 8);
	decode(sealed, sizeof(sealed));
	return 0;
}
