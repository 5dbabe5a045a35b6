/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/trade/trade_state.h"

static enum iso_status drop(struct iso_trade *trade, enum iso_trade_drop why,
			    enum iso_status status)
{
	assert(why < ISO_DROP_COUNT);
	iso_trade_dropped(trade, why);
	return status;
}

static enum iso_trade_drop drop_of(enum iso_status status)
{
	if (status == ISO_E_CHECKSUM)
		return ISO_DROP_CHECKSUM;
	return status == ISO_E_VERSION ? ISO_DROP_VERSION : ISO_DROP_FORM;
}

/* The price of ours that the sender coded against; false if there is none of that name. */
static bool resolve(const struct iso_trade *trade, struct trade_edge *edge,
		    const struct iso_edge_frame *frame, int64_t *ret_reference_q32)
{
	const struct trade_shown *shown;

	*ret_reference_q32 = 0;
	if (frame->base_seq == 0)
		return true;
	if (trade->share.mode != ISO_SHARE_DIFFERENCE || frame->base_inc != trade->ledger->inc)
		return false;
	shown = trade_shown(edge, (uint32_t)frame->base_seq);
	if (shown == NULL)
		return false;
	*ret_reference_q32 = (int64_t)shown->value_q32;
	return true;
}

/* What the sender has had the choice of and does not name, it will never name again. */
static void release(const struct iso_trade *trade, struct trade_edge *edge,
		    const struct iso_edge_frame *frame)
{
	if (frame->echo_inc != trade->ledger->inc)
		return;
	for (uint32_t n = 0; n < TRADE_SHOWN_MAX; n++) {
		struct trade_shown *shown = &edge->shown[n];
		bool named = frame->base_inc == trade->ledger->inc && frame->base_seq == shown->seq;

		if (shown->seq <= frame->echo_seq && !named)
			shown->seq = 0;
	}
}

/* The neighbour has started again: it knows nothing of what was said before. */
static void begin_anew(struct iso_trade *trade, struct trade_edge *edge, uint32_t peer_inc)
{
	bool was_relative = edge->reference_seq != 0;

	edge->peer_inc = peer_inc;
	edge->echo_seq = 0;
	edge->reference_seq = 0;
	/* The next message was to refer to a price that nobody has any more. */
	if (was_relative)
		iso_trade_code_price(trade, edge);
}

/* The part of a message that may be too old or out of context; the ledger's part never is. */
static void take_price(struct iso_trade *trade, uint32_t index, const struct iso_edge_frame *frame)
{
	struct trade_edge *edge = &trade->edges[index];
	struct iso_share_price price = { 0, 0 };
	int64_t reference_q32;

	if (frame->inc < edge->peer_inc ||
	    (frame->inc == edge->peer_inc && frame->seq <= edge->newest_seq)) {
		iso_trade_dropped(trade, ISO_DROP_STALE);
		return;
	}
	if (frame->inc > edge->peer_inc)
		begin_anew(trade, edge, frame->inc);
	edge->newest_seq = (uint32_t)frame->seq;
	edge->heard_at = trade_coarse(trade->now_ns);
	edge->priced = resolve(trade, edge, frame, &reference_q32) &&
		       iso_share_decode(&trade->share, frame->symbol, frame->exact_q32,
					reference_q32, &price) == ISO_OK;
	release(trade, edge, frame);
	edge->fresh = edge->priced;
	edge->referable = edge->priced && (frame->flags & ISO_EDGE_REFERABLE) != 0;
	if (!edge->priced) {
		iso_trade_dropped(trade, ISO_DROP_REFERENCE);
		return;
	}
	edge->value_q32 = (float)price.value_q32;
	edge->upper_q32 = (float)price.upper_q32;
	edge->curvature = (float)frame->curvature;
	edge->head_ucpu = frame->head_ucpu < UINT32_MAX ? (uint32_t)frame->head_ucpu : UINT32_MAX;
	edge->degree = (frame->degree < ISO_DEGREE_MAX ? frame->degree : ISO_DEGREE_MAX) & 0x7f;
	edge->settled = frame->received == trade->ledger->edges[index].sent;
}

/* Whether the life that the message comes from has ended, as this edge shows. */
static void note_ended(struct iso_trade *trade, uint32_t index, uint32_t source_gen)
{
	uint32_t peer_gen = trade->ledger->edges[index].peer_gen;

	if (source_gen > peer_gen ||
	    (source_gen == peer_gen && iso_ledger_edge_credits(trade->ledger, index)))
		return;
	/* If there are several, not always the same one. */
	if (trade->ended_gen != 0 && trade->ended_edge != trade->tombstone_edge)
		return;
	trade->ended_edge = index;
	trade->ended_gen = source_gen;
}

/* A neighbour says that a life of this node has ended. */
static enum iso_status take_tombstone(struct iso_trade *trade, const struct iso_edge_frame *frame)
{
	if (frame->destination_gen != trade->ledger->gen)
		return drop(trade, ISO_DROP_GENERATION, ISO_E_FOREIGN);
	iso_ledger_void(trade->ledger);
	return drop(trade, ISO_DROP_HALTED, ISO_E_HALTED);
}

/* Whom the message is for and from; the checks of the edge record come after. */
static enum iso_status check_envelope(struct iso_trade *trade, const struct iso_edge_frame *frame,
				      uint64_t sender, uint32_t *ret_index)
{
	const struct iso_ledger *ledger = trade->ledger;

	if (frame->cluster != ledger->cluster)
		return drop(trade, ISO_DROP_CLUSTER, ISO_E_FOREIGN);
	if (frame->destination != ledger->node)
		return drop(trade, ISO_DROP_ADDRESS, ISO_E_FOREIGN);
	if (frame->source != sender || iso_ledger_find(ledger, sender, ret_index) != ISO_OK)
		return drop(trade, ISO_DROP_SENDER, ISO_E_FOREIGN);
	if ((frame->flags & ISO_EDGE_TOMBSTONE) != 0)
		return take_tombstone(trade, frame);
	note_ended(trade, *ret_index, frame->source_gen);
	if (frame->destination_gen != ledger->gen ||
	    frame->source_gen != ledger->edges[*ret_index].peer_gen)
		return drop(trade, ISO_DROP_GENERATION, ISO_E_FOREIGN);
	if (frame->epoch != ledger->epoch || frame->digest != trade->digest)
		return drop(trade, ISO_DROP_CONFIG, ISO_E_CONFIG);
	if (!trade_edge_live(trade, *ret_index))
		return drop(trade, ISO_DROP_CLOSED, ISO_E_UNKNOWN);
	return ISO_OK;
}

enum iso_status iso_trade_receive(struct iso_trade *trade, uint64_t now_ns, uint64_t sender,
				  const void *bytes, size_t size)
{
	struct iso_ledger *ledger = trade->ledger;
	struct iso_edge_frame frame;
	enum iso_status status;
	uint32_t index = 0;

	assert(now_ns >= trade->now_ns);
	trade->now_ns = now_ns;
	if (ledger->phase == ISO_LEDGER_CLOSED || ledger->phase == ISO_LEDGER_OPENED)
		return drop(trade, ISO_DROP_CLOSED, ISO_E_UNKNOWN);
	status = iso_edge_decode(bytes, size, &frame);
	if (status != ISO_OK)
		return drop(trade, drop_of(status), status);
	status = check_envelope(trade, &frame, sender, &index);
	if (status != ISO_OK)
		return status;

	uint64_t sent = iso_trade_limit_sent(trade, index, frame.sent);

	status = iso_ledger_heard(ledger, index,
				  &(struct iso_ledger_news){ .sent = sent,
							     .received = frame.received,
							     .known_inc = frame.echo_inc,
							     .budget_ucpu = frame.budget_ucpu });
	if (status != ISO_OK)
		return drop(trade, ISO_DROP_HALTED, status);
	trade->received++;
	if (frame.echo_inc == ledger->inc)
		trade->vouched |= (uint64_t)1 << index;
	(void)iso_lease_heard(&trade->lease, frame.echo_inc, frame.echo_seq);
	/* Neither is ever taken back: an old message says it as well as a new one. */
	if ((frame.flags & ISO_EDGE_LEAVING) != 0)
		trade->leaving |= (uint64_t)1 << index;
	if ((frame.flags & ISO_EDGE_FROZEN) != 0)
		trade->frozen |= (uint64_t)1 << index;
	take_price(trade, index, &frame);
	return ISO_OK;
}

/* To a life of the peer that has ended, should it still be there: names alone. */
static void encode_tombstone(const struct iso_trade *trade, uint8_t ret_bytes[ISO_EDGE_BYTES])
{
	const struct iso_ledger *ledger = trade->ledger;

	iso_edge_encode(
	    &(struct iso_edge_frame){ .cluster = ledger->cluster,
				      .epoch = ledger->epoch,
				      .digest = trade->digest,
				      .source = ledger->node,
				      .destination = ledger->edges[trade->tombstone_edge].peer,
				      .source_gen = ledger->gen,
				      .destination_gen = trade->tombstone_gen,
				      .inc = ledger->inc,
				      .seq = trade->seq,
				      .budget_ucpu = ledger->budget_ucpu,
				      .flags = ISO_EDGE_TOMBSTONE },
	    ret_bytes);
}

static uint16_t flags_of(const struct iso_trade *trade, uint32_t index)
{
	uint32_t flags = 0;

	if ((trade->ledger->flags & ISO_NODE_LEAVING) != 0)
		flags |= ISO_EDGE_LEAVING;
	if ((trade->ledger->edges[index].flags & ISO_EDGE_STATE_FROZEN) != 0)
		flags |= ISO_EDGE_FROZEN;
	if (trade_shown(&trade->edges[index], trade->seq) != NULL)
		flags |= ISO_EDGE_REFERABLE;
	return (uint16_t)flags;
}

/* Room in the share, and within the limit: an honest donor sends no more. */
static int64_t head_of(const struct iso_trade *trade, uint32_t index)
{
	int64_t in_ucpu = iso_trade_limit_in(trade, index);

	return trade->head_ucpu < in_ucpu ? trade->head_ucpu : in_ucpu;
}

enum iso_status iso_trade_message(const struct iso_trade *trade, uint32_t index, uint64_t *ret_peer,
				  uint8_t ret_bytes[ISO_EDGE_BYTES])
{
	const struct iso_ledger *ledger = trade->ledger;

	assert(ledger->phase == ISO_LEDGER_IDLE);
	if (index >= ledger->edge_count ||
	    (!trade_edge_live(trade, index) && !trade_tombstone(trade, index)))
		return ISO_E_UNKNOWN;
	if (ledger->halt != ISO_HALT_NONE)
		return ISO_E_HALTED;

	const struct iso_ledger_edge *counters = &ledger->edges[index];
	const struct trade_edge *edge = &trade->edges[index];
	bool exact = trade->share.mode == ISO_SHARE_NONE;

	*ret_peer = counters->peer;
	if (trade_tombstone(trade, index)) {
		encode_tombstone(trade, ret_bytes);
		return ISO_OK;
	}
	/* Only what is durable may be told. */
	assert(counters->debit == 0);
	assert(counters->credit == 0);
	iso_edge_encode(
	    &(struct iso_edge_frame){ .cluster = ledger->cluster,
				      .epoch = ledger->epoch,
				      .digest = trade->digest,
				      .source = ledger->node,
				      .destination = counters->peer,
				      .source_gen = ledger->gen,
				      .destination_gen = counters->peer_gen,
				      .inc = ledger->inc,
				      .seq = trade->seq,
				      .sent = counters->sent,
				      .received = counters->received,
				      .echo_inc = edge->echo_seq != 0 ? edge->peer_inc : 0,
				      .echo_seq = edge->echo_seq,
				      .base_inc = edge->reference_seq != 0 ? edge->peer_inc : 0,
				      .base_seq = edge->reference_seq,
				      .symbol = edge->symbol,
				      .exact_q32 = exact ? trade->offer.price_q32 : 0,
				      .flags = flags_of(trade, index),
				      .curvature = trade->offer.curvature,
				      .head_ucpu = head_of(trade, index),
				      .budget_ucpu = ledger->budget_ucpu,
				      .degree = (uint16_t)trade->degree },
	    ret_bytes);
	return ISO_OK;
}

void iso_trade_code_price(struct iso_trade *trade, struct trade_edge *edge)
{
	int64_t reference_q32 = edge->reference_seq != 0 ? (int64_t)edge->reference_q32 : 0;
	struct iso_share_code code =
	    iso_share_encode(&trade->share, trade->offer.price_q32, reference_q32);
	struct trade_shown *shown = trade_shown(edge, trade->seq);

	edge->symbol = code.symbol;
	if (trade->share.mode != ISO_SHARE_DIFFERENCE || trade->seq == UINT32_MAX)
		return;
	if (shown == NULL)
		shown = trade_shown(edge, 0);
	if (shown != NULL)
		*shown = (struct trade_shown){ trade->seq, (float)code.value_q32 };
}
