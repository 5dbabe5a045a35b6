/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/villain.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/peer.h"

#define PARAMS_MAX 64u
#define NUMBER	   1e300

struct villain {
	struct loop loop;
	struct link *link;
	uint32_t session;
};

static void say(const struct villain *villain, uint32_t neighbour,
		const struct iso_peer_frame *frame, const void *payload)
{
	uint8_t head[ISO_PEER_HEAD_BYTES];
	const struct link_part parts[LINK_PARTS_MAX] = {
		{ head, sizeof(head) },
		{ payload, frame->payload_bytes },
	};

	iso_peer_frame_encode(frame, head);
	(void)link_send_parts(villain->link, neighbour, parts, payload != NULL ? 2 : 1);
}

static bool on_frame(void *context, uint32_t neighbour, const struct link_part *parts,
		     unsigned count)
{
	struct villain *villain = context;
	uint8_t payload[16 * PARAMS_MAX];
	struct iso_peer_frame heard;

	(void)count;
	if (iso_peer_frame_decode(parts[0].bytes, parts[0].size, &heard) != ISO_OK ||
	    heard.params > PARAMS_MAX)
		return false;
	if (heard.kind != ISO_PEER_HELLO)
		return true;
	struct iso_peer_frame frame = {
		.kind = ISO_PEER_HELLO,
		.plan = heard.plan,
		.source = heard.destination,
		.destination = heard.source,
		.own = { 1, ++villain->session },
		.echo = heard.own,
		.round = heard.round,
		.degree = 2,
		.params = heard.params,
		.alpha = 1,
		.curvature = 1,
		.loss = 0,
	};
	say(villain, neighbour, &frame, NULL);
	for (uint32_t i = 0; i < 2 * heard.params; i++)
		iso_put_le(payload + 8 * i, iso_bits_of_double(NUMBER), 8);
	frame.kind = ISO_PEER_SNAPSHOT;
	frame.seq = 1;
	frame.split = 8 * heard.params;
	frame.payload_bytes = 16 * (uint64_t)heard.params;
	frame.payload_checksum = iso_checksum(payload, frame.payload_bytes);
	say(villain, neighbour, &frame, payload);
	return true;
}

_Noreturn void villain_play(const char *listen, const char *key_file,
			    const struct link_neighbour *neighbours, uint32_t count)
{
	struct villain villain = { .session = 0 };
	struct curve_keypair keypair;
	struct error error = { 0 };
	const struct link_config config = {
		.listen = listen,
		.keys = &keypair,
		.limits = { .message_bytes_max = 1 << 16, .queue_messages = 8 },
		.neighbours = neighbours,
		.neighbour_count = count,
		.down_after_ns = 1000000000,
		.parts_fn = on_frame,
		.context = &villain,
	};
	void *context = zmq_ctx_new();

	if (curve_secret_read(key_file, &keypair, &error) < 0 ||
	    link_open(&config, context, &villain.loop, clock_now_ns(), &villain.link, &error) < 0 ||
	    loop_run(&villain.loop) < 0)
		fprintf(stderr, "villain: %s\n", error.text);
	_exit(1);
}
