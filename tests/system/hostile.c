/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/hostile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/conf/conf.h"
#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/trade/price.h"
#include "tests/test.h"

#define MS_NS 1000000u

/* It may say more than any agent takes. */
static const struct curve_limits limits = { 1 << 20, 1000 };

static void *connect_to(const struct hostile *hostile, unsigned victim,
			const struct curve_keypair *keys)
{
	const struct ring_node *node = &hostile->ring->nodes[victim];
	void *socket = zmq_socket(hostile->context, ZMQ_PUSH);
	int linger_ms = 0, timeout_ms = 2000;
	char address[64];
	struct error error;

	ck_assert_ptr_nonnull(socket);
	if (keys != NULL)
		ck_assert_msg(curve_client(socket, keys, node->keys.public_key, &limits, &error) ==
				  0,
			      "%s", error.text);
	ck_assert_int_eq(zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(int)), 0);
	ck_assert_int_eq(zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout_ms, sizeof(int)), 0);
	snprintf(address, sizeof(address), "tcp://127.0.0.1:%u", node->port);
	ck_assert_int_eq(zmq_connect(socket, address), 0);
	return socket;
}

/* Without an allow-list: whoever connects is welcome. */
static void listen_at(struct hostile *hostile)
{
	const struct ring_node *self = &hostile->ring->nodes[hostile->node];
	char address[64];
	int on = 1;

	hostile->pull = zmq_socket(hostile->context, ZMQ_PULL);
	ck_assert_ptr_nonnull(hostile->pull);
	ck_assert_int_eq(zmq_setsockopt(hostile->pull, ZMQ_CURVE_SERVER, &on, sizeof(on)), 0);
	ck_assert_int_eq(zmq_setsockopt(hostile->pull, ZMQ_CURVE_SECRETKEY, self->keys.secret_key,
					CURVE_KEY_BYTES),
			 0);
	snprintf(address, sizeof(address), "tcp://127.0.0.1:%u", self->port);
	ck_assert_int_eq(zmq_bind(hostile->pull, address), 0);
}

void hostile_open(struct hostile *hostile, struct ring *ring, unsigned node)
{
	struct iso_record record;

	*hostile = (struct hostile){
		.ring = ring,
		.node = node,
		.context = zmq_ctx_new(),
		.price = HOSTILE_CONTENT,
		.is_taking = true,
	};
	ck_assert_ptr_nonnull(hostile->context);
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &hostile->quant));
	ring_record(ring, node, &record);
	hostile->inc = record.inc + 1;
	listen_at(hostile);
	for (unsigned k = 0; k < 2; k++) {
		struct hostile_edge *edge = &hostile->edges[k];

		edge->victim = k == 0 ? ring_right_of(node) : ring_left_of(node);
		edge->push = connect_to(hostile, edge->victim, &ring->nodes[node].keys);
	}
}

void hostile_close(struct hostile *hostile)
{
	int linger_ms = 0;

	for (unsigned k = 0; k < 2; k++)
		zmq_close(hostile->edges[k].push);
	zmq_setsockopt(hostile->pull, ZMQ_LINGER, &linger_ms, sizeof(int));
	zmq_close(hostile->pull);
	zmq_ctx_term(hostile->context);
}

static void take(struct hostile *hostile, const struct iso_edge_frame *frame)
{
	for (unsigned k = 0; k < 2; k++) {
		struct hostile_edge *edge = &hostile->edges[k];

		if (hostile->ring->nodes[edge->victim].id != frame->source)
			continue;
		edge->is_heard = true;
		edge->heard = *frame;
		if (hostile->is_taking && frame->sent > edge->received)
			edge->received = frame->sent;
	}
}

static void listen_until(struct hostile *hostile, uint64_t until_ns)
{
	uint8_t bytes[2 * ISO_EDGE_BYTES];
	struct iso_edge_frame frame;
	uint64_t now_ns;

	while ((now_ns = clock_now_ns()) < until_ns) {
		zmq_pollitem_t item = { .socket = hostile->pull, .events = ZMQ_POLLIN };

		if (zmq_poll(&item, 1, (long)((until_ns - now_ns) / MS_NS) + 1) <= 0)
			continue;
		int size = zmq_recv(hostile->pull, bytes, sizeof(bytes), ZMQ_DONTWAIT);
		if (size > 0 && iso_edge_decode(bytes, (size_t)size, &frame) == ISO_OK)
			take(hostile, &frame);
	}
}

struct iso_edge_frame hostile_frame(struct hostile *hostile, struct hostile_edge *edge)
{
	const struct iso_edge_frame *heard = &edge->heard;

	ck_assert(edge->is_heard);
	return (struct iso_edge_frame){
		.cluster = heard->cluster,
		.epoch = heard->epoch,
		.digest = heard->digest,
		.source = hostile->ring->nodes[hostile->node].id,
		.destination = heard->source,
		.source_gen = heard->destination_gen,
		.destination_gen = heard->source_gen,
		.inc = hostile->inc,
		.seq = ++edge->seq,
		.sent = edge->sent,
		.received = edge->received,
		.echo_inc = heard->inc,
		.echo_seq = heard->seq,
		.symbol = iso_quant_symbol(&hostile->quant, iso_price_of_real(hostile->price)),
		.curvature = 1,
		.head_ucpu = RING_BUDGET_UCPU,
		.budget_ucpu = RING_BUDGET_UCPU,
		.degree = 2,
	};
}

void hostile_seal(const struct iso_edge_frame *frame, uint8_t ret_bytes[ISO_EDGE_BYTES])
{
	struct iso_edge_frame possible = *frame;

	/* What the encoder would not write comes in behind its back. */
	possible.curvature = 1;
	possible.head_ucpu = 1;
	possible.budget_ucpu = 1;
	iso_edge_encode(&possible, ret_bytes);
	iso_put_le(ret_bytes + 120, iso_bits_of_double(frame->curvature), 8);
	iso_put_le(ret_bytes + 128, (uint64_t)frame->head_ucpu, 8);
	iso_put_le(ret_bytes + 136, (uint64_t)frame->budget_ucpu, 8);
	iso_put_le(ret_bytes + ISO_EDGE_BYTES - 8, iso_checksum(ret_bytes, ISO_EDGE_BYTES - 8), 8);
}

void hostile_say(struct hostile_edge *edge, const void *bytes, size_t size)
{
	ck_assert_int_eq(zmq_send(edge->push, bytes, size, 0), (int)size);
}

void hostile_live(struct hostile *hostile, unsigned ms, hostile_fn *fn)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)ms * MS_NS;

	while (clock_now_ns() < end_ns) {
		for (unsigned k = 0; k < 2; k++) {
			struct hostile_edge *edge = &hostile->edges[k];

			if (!edge->is_heard)
				continue;
			struct iso_edge_frame frame = hostile_frame(hostile, edge);
			if (fn != NULL)
				fn(hostile, edge, &frame);
			hostile_seal(&frame, edge->last);
			hostile_say(edge, edge->last, sizeof(edge->last));
		}
		listen_until(hostile, clock_now_ns() + HOSTILE_TICK_MS * MS_NS);
	}
}

void hostile_meet(struct hostile *hostile)
{
	uint64_t from_ns = clock_now_ns();
	bool are_met;

	do {
		hostile_live(hostile, 2 * HOSTILE_TICK_MS, NULL);
		are_met = true;
		for (unsigned k = 0; k < 2; k++)
			are_met = are_met && hostile->edges[k].is_heard &&
				  ring_up(hostile->ring, hostile->edges[k].victim) == 2;
		ck_assert_msg(clock_now_ns() - from_ns < RING_PATIENCE_NS,
			      "the hostile node is not listened to");
	} while (!are_met);
}

void hostile_knock(struct hostile *hostile, unsigned victim, const struct curve_keypair *keys,
		   const void *bytes, size_t size)
{
	void *socket = connect_to(hostile, victim, keys);
	int timeout_ms = 500;

	/* Who is turned away may not even notice. */
	ck_assert_int_eq(zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout_ms, sizeof(int)), 0);
	if (zmq_send(socket, bytes, size, 0) < 0)
		ck_assert_int_eq(errno, EAGAIN);
	listen_until(hostile, clock_now_ns() + 300u * MS_NS);
	zmq_close(socket);
}

int64_t hostile_holdings(const struct hostile *hostile)
{
	uint64_t ucpu = RING_BUDGET_UCPU / RING_NODES;

	for (unsigned k = 0; k < 2; k++)
		ucpu += hostile->edges[k].received - hostile->edges[k].sent;
	return (int64_t)ucpu;
}
