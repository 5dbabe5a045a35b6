/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/trade_state.h"

static enum iso_status drop(struct iso_trade *trade, enum iso_trade_drop why,
			    enum iso_status status)
{
	assert(why < ISO_DROP_COUNT);
	trade->drops[why]++;
	return status;
}

static enum iso_trade_drop drop_of(enum iso_status status)
{
	if (status == ISO_E_CHECKSUM)
		return ISO_DROP_CHECKSUM;
	return status == ISO_E_VERSION ? ISO_DROP_VERSION : ISO_DROP_FORM;
}

static bool newer(struct trade_stamp a, struct trade_stamp b)
{
	return a.inc > b.inc || (a.inc == b.inc && a.seq > b.seq);
}

/* The price of ours that the sender coded against; false if it is forgotten. */
static bool resolve(const struct iso_trade *trade, uint32_t index,
		    const struct iso_edge_frame *frame, int64_t *ret_reference_q32)
{
	*ret_reference_q32 = 0;
	if (frame->base_seq == 0)
		return true;
	if (trade->share.mode != ISO_SHARE_DIFFERENCE || frame->base_inc != trade->ledger->inc)
		return false;
	if (frame->base_seq > trade->seq || trade->seq - frame->base_seq >= trade->ring)
		return false;
	*ret_reference_q32 = *trade_ring(trade, index, frame->base_seq);
	return true;
}

/* The part of a message that may be too old or out of context; the ledger's part never is. */
static void take_price(struct iso_trade *trade, uint32_t index, const struct iso_edge_frame *frame)
{
	struct trade_edge *edge = &trade->edges[index];
	struct trade_stamp stamp = { frame->inc, frame->seq };
	struct iso_share_price price;
	int64_t reference_q32;

	if (!newer(stamp, edge->decoded)) {
		trade->drops[ISO_DROP_STALE]++;
		return;
	}
	if (!resolve(trade, index, frame, &reference_q32) ||
	    iso_share_decode(&trade->share, frame->symbol, frame->exact_q32, reference_q32,
			     &price) != ISO_OK) {
		trade->drops[ISO_DROP_REFERENCE]++;
		return;
	}
	edge->decoded = stamp;
	edge->heard = (struct iso_share_heard){
		.valid = true,
		.at_ns = trade->now_ns,
		.price = price,
		.curvature = frame->curvature,
		.head_ucpu = frame->head_ucpu,
		.degree = frame->degree,
	};
	edge->peer_received = frame->received;
	edge->fresh = true;
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
	status = iso_ledger_heard(ledger, index,
				  &(struct iso_ledger_news){ .sent = frame.sent,
							     .received = frame.received,
							     .known_inc = frame.echo_inc });
	if (status != ISO_OK)
		return drop(trade, ISO_DROP_HALTED, status);

	struct trade_stamp stamp = { frame.inc, frame.seq };

	if (newer(stamp, trade->edges[index].newest))
		trade->edges[index].newest = stamp;
	trade->edges[index].last_ns = now_ns;
	trade->received++;
	take_price(trade, index, &frame);
	return ISO_OK;
}

enum iso_status iso_trade_message(const struct iso_trade *trade, uint32_t index, uint64_t *ret_peer,
				  uint8_t ret_bytes[ISO_EDGE_BYTES])
{
	const struct iso_ledger *ledger = trade->ledger;

	assert(ledger->phase == ISO_LEDGER_IDLE);
	if (index >= ledger->edge_count || !trade_edge_live(trade, index))
		return ISO_E_UNKNOWN;
	if (ledger->halt != ISO_HALT_NONE)
		return ISO_E_HALTED;

	const struct iso_ledger_edge *counters = &ledger->edges[index];
	const struct trade_edge *edge = &trade->edges[index];

	/* Only what is durable may be told. */
	assert(counters->debit == 0);
	assert(counters->credit == 0);
	iso_edge_encode(&(struct iso_edge_frame){ .cluster = ledger->cluster,
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
						  .echo_inc = edge->newest.inc,
						  .echo_seq = edge->newest.seq,
						  .base_inc = edge->base.inc,
						  .base_seq = edge->base.seq,
						  .symbol = edge->code.symbol,
						  .exact_q32 = edge->code.exact_q32,
						  .curvature = trade->offer.curvature,
						  .head_ucpu = trade->head_ucpu,
						  .budget_ucpu = ledger->budget_ucpu,
						  .degree = (uint16_t)trade->degree },
			ret_bytes);
	*ret_peer = counters->peer;
	return ISO_OK;
}
