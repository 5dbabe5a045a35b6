/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/trade.h"

#include <assert.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/trade_state.h"

_Static_assert(offsetof(struct trade_edge, heard) == 0, "iso_share_crowd steps over edges");

#define RING_DEFAULT 64u
#define RING_MIN     4u
#define RING_MAX     64u

static void assert_valid(const struct iso_trade *trade)
{
	assert(trade->ledger->edge_count <= trade->edges_max);
	assert(trade->ring >= RING_MIN);
	assert(trade->turn < ISO_DEGREE_MAX);
}

static struct iso_ledger_config ledger_config(const struct iso_trade_config *config)
{
	return (struct iso_ledger_config){
		.cluster = config->cluster,
		.node = config->node,
		.epoch = config->epoch,
		.budget_ucpu = config->budget_ucpu,
		.floor_ucpu = config->floor_ucpu,
		.edges_max = config->edges_max != 0 ? config->edges_max : ISO_DEGREE_MAX,
	};
}

static uint32_t ring_of(const struct iso_trade_config *config)
{
	return config->ring != 0 ? config->ring : RING_DEFAULT;
}

static bool peers_possible(const struct iso_trade_config *config)
{
	for (uint32_t i = 0; i < config->peer_count; i++) {
		if (config->peers[i].node == config->node || config->peers[i].gen == 0)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (config->peers[k].node == config->peers[i].node)
				return false;
	}
	return true;
}

static bool config_possible(const struct iso_trade_config *config)
{
	uint32_t ring = ring_of(config);

	if (config->edges_max > ISO_DEGREE_MAX || config->peer_count > ISO_DEGREE_MAX)
		return false;
	if (ring < RING_MIN || ring > RING_MAX || (ring & (ring - 1)) != 0)
		return false;
	return iso_share_check(&config->share) == ISO_OK &&
	       iso_lease_check(&config->lease) == ISO_OK && peers_possible(config);
}

size_t iso_trade_size(const struct iso_trade_config *config)
{
	uint32_t edges_max = ledger_config(config).edges_max;

	if (!config_possible(config))
		return 0;
	return sizeof(struct iso_trade) + iso_ledger_size(edges_max) +
	       edges_max * (sizeof(struct trade_edge) + ring_of(config) * sizeof(int64_t)) +
	       config->peer_count * sizeof(struct iso_trade_peer);
}

/* What every node must share for prices to mean the same on both ends. */
static uint64_t digest_of(const struct iso_trade_config *config)
{
	const struct iso_share_params *share = &config->share;
	uint8_t bytes[40];

	iso_put_le(bytes, ISO_EDGE_VERSION, 8);
	iso_put_le(bytes + 8, share->mode, 8);
	iso_put_le(bytes + 16, share->quant->digest, 8);
	iso_put_le(bytes + 24,
		   share->mode == ISO_SHARE_UNIFORM ? (uint64_t)share->uniform_step_q32 : 0, 8);
	iso_put_le(bytes + 32, config->shared_digest, 8);
	return iso_checksum(bytes, sizeof(bytes));
}

enum iso_status iso_trade_init(void *memory, size_t size, const struct iso_trade_config *config,
			       struct iso_trade **ret_trade)
{
	struct iso_ledger_config ledger = ledger_config(config);
	struct iso_trade *trade = memory;
	size_t needed = iso_trade_size(config);
	uint8_t *at = (uint8_t *)memory + sizeof(*trade);
	enum iso_status status;

	assert((uintptr_t)memory % _Alignof(struct iso_trade) == 0);
	if (needed == 0)
		return ISO_E_RANGE;
	if (config->peer_count > ledger.edges_max)
		return ISO_E_FULL;
	if (size < needed)
		return ISO_E_SHORT;
	memset(memory, 0, needed);
	status = iso_ledger_init(at, iso_ledger_size(ledger.edges_max), &ledger, &trade->ledger);
	if (status != ISO_OK)
		return status;
	at += iso_ledger_size(ledger.edges_max);
	trade->edges = (struct trade_edge *)at;
	at += ledger.edges_max * sizeof(struct trade_edge);
	trade->sent_q32 = (int64_t *)at;
	at += (size_t)ledger.edges_max * ring_of(config) * sizeof(int64_t);
	trade->peers = (struct iso_trade_peer *)at;
	for (uint32_t k = 0; k < config->peer_count; k++)
		trade->peers[k] = config->peers[k];
	trade->peer_count = config->peer_count;
	trade->share = config->share;
	trade->digest = digest_of(config);
	trade->ring = ring_of(config);
	trade->edges_max = ledger.edges_max;
	assert_valid(trade);
	*ret_trade = trade;
	return ISO_OK;
}

enum iso_status iso_trade_genesis(const struct iso_trade_config *config, uint32_t gen,
				  int64_t endowment_ucpu, struct iso_record *ret_record)
{
	struct iso_ledger_config ledger = ledger_config(config);

	return iso_ledger_genesis(&ledger, gen, endowment_ucpu, ret_record);
}

enum iso_status iso_trade_open(struct iso_trade *trade, const struct iso_record *record)
{
	enum iso_status status = iso_ledger_open(trade->ledger, record);

	if (status != ISO_OK)
		return status;
	memset(trade->edges, 0, trade->edges_max * sizeof(struct trade_edge));
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		trade->edges[k].dormant = true;
	for (uint32_t k = 0; k < trade->peer_count; k++) {
		uint32_t index = 0;

		status = iso_ledger_edge(trade->ledger, trade->peers[k].node, trade->peers[k].gen,
					 &index);
		if (status != ISO_OK) {
			iso_ledger_close(trade->ledger);
			return status;
		}
		trade->edges[index].dormant = false;
	}
	trade->seq = 0;
	trade->turn = 0;
	assert_valid(trade);
	return ISO_OK;
}

void iso_trade_close(struct iso_trade *trade)
{
	iso_ledger_close(trade->ledger);
}

static uint32_t degree_of(const struct iso_trade *trade)
{
	uint32_t degree = 0;

	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		degree += trade_edge_live(trade, k);
	return degree;
}

/* mu of the neighbourhood as heard until now, for the cost of this tick. */
static int64_t relay_at(const struct iso_trade *trade, int64_t share_ucpu)
{
	struct iso_share_crowd crowd = { &trade->edges[0].heard, sizeof(struct trade_edge),
					 trade->ledger->edge_count };

	return iso_share_relay(&trade->share, &trade->input.cost, &trade->box, share_ucpu,
			       trade->input.now_ns, &crowd);
}

/* Decides on every edge that has news; returns how much was debited. */
static int64_t decide(struct iso_trade *trade)
{
	struct iso_ledger *ledger = trade->ledger;
	uint32_t degree = degree_of(trade), count = ledger->edge_count;
	int64_t share_ucpu = iso_ledger_holdings(ledger), debited = 0;
	int64_t room_ucpu = iso_ledger_room(ledger);
	int64_t relay_q32 = relay_at(trade, share_ucpu);
	struct iso_share_offer offer =
	    iso_share_offer(&trade->input.cost, &trade->box, share_ucpu, relay_q32);

	for (uint32_t n = 0; n < count; n++) {
		/* Everyone gets the first look in turn: what is left to give is scarce. */
		uint32_t k = (n + trade->turn) % count;
		struct trade_edge *edge = &trade->edges[k];

		if (!edge->fresh || !trade_edge_live(trade, k))
			continue;
		assert(edge->heard.valid);
		edge->fresh = false;
		edge->decision = (struct iso_share_decision){
			.own_q32 = offer.price_q32,
			.upper_q32 = edge->heard.price.upper_q32,
		};
		if (trade->input.hold || ledger->halt != ISO_HALT_NONE) {
			edge->decision.reason = ISO_SHARE_HELD;
			continue;
		}
		/* The price was formed before our last transfer came in: it does not count. */
		if (trade->share.stop_and_wait && edge->peer_received != ledger->edges[k].sent) {
			edge->decision.reason = ISO_SHARE_WAITING;
			continue;
		}
		edge->decision = iso_share_flow(&trade->share, &offer, degree, &edge->heard,
						room_ucpu - debited, &edge->remainder_ucpu);
		if (edge->decision.given_ucpu == 0)
			continue;
		iso_ledger_debit(ledger, k, edge->decision.given_ucpu);
		debited += edge->decision.given_ucpu;
		offer = iso_share_offer(&trade->input.cost, &trade->box, share_ucpu - debited,
					relay_q32);
	}
	assert(iso_ledger_holdings(ledger) == share_ucpu - debited);
	trade->turn = count != 0 ? (trade->turn + 1) % count : 0;
	return debited;
}

static struct iso_trade_plan plan_of(const struct iso_trade *trade, int64_t credited_ucpu,
				     int64_t debited_ucpu)
{
	const struct iso_ledger *ledger = trade->ledger;

	return (struct iso_trade_plan){
		.share_ucpu = iso_ledger_holdings(ledger),
		.target_ucpu = iso_ledger_target(ledger),
		.limit_ucpu = iso_ledger_limit(ledger),
		.credited_ucpu = credited_ucpu,
		.debited_ucpu = debited_ucpu,
		.lower = ledger->phase == ISO_LEDGER_LOWERING,
		.record = iso_ledger_changed(ledger),
	};
}

enum iso_status iso_trade_begin(struct iso_trade *trade, const struct iso_trade_input *input,
				struct iso_trade_plan *ret_plan)
{
	assert_valid(trade);
	assert(input->now_ns >= trade->now_ns);
	if (input->ceiling_ucpu <= 0 || input->enforced_ucpu < 0 ||
	    iso_cost_check(&input->cost) != ISO_OK)
		return ISO_E_RANGE;
	trade->input = *input;
	trade->now_ns = input->now_ns;
	trade->box = (struct iso_box){ trade->ledger->floor_ucpu, input->ceiling_ucpu };

	int64_t credited = iso_ledger_begin(trade->ledger);
	int64_t debited = decide(trade);

	iso_ledger_plan(trade->ledger, input->ceiling_ucpu, input->enforced_ucpu);
	*ret_plan = plan_of(trade, credited, debited);
	return ISO_OK;
}

enum iso_status iso_trade_lowered(struct iso_trade *trade, int64_t readback_ucpu)
{
	assert_valid(trade);
	return iso_ledger_lowered(trade->ledger, readback_ucpu);
}

void iso_trade_abort(struct iso_trade *trade, struct iso_trade_plan *ret_plan)
{
	struct iso_ledger *ledger = trade->ledger;
	int64_t credited = 0;

	assert_valid(trade);
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct trade_edge *edge = &trade->edges[k];
		double debit_ucpu = (double)ledger->edges[k].debit;

		credited += (int64_t)ledger->edges[k].credit;
		if (debit_ucpu == 0)
			continue;
		/* The flow is still owed, but it must not pile up while the quota is stuck. */
		edge->remainder_ucpu += debit_ucpu;
		edge->remainder_ucpu = edge->remainder_ucpu > 1 ? 1 : edge->remainder_ucpu;
		edge->decision.reason = ISO_SHARE_ABORTED;
		edge->decision.given_ucpu = 0;
	}
	(void)iso_ledger_abort(ledger);
	*ret_plan = plan_of(trade, credited, 0);
}

void iso_trade_record(struct iso_trade *trade, struct iso_record *ret_record)
{
	assert_valid(trade);
	iso_ledger_record(trade->ledger, ret_record);
}

int64_t iso_trade_commit(struct iso_trade *trade, uint64_t durable_seq)
{
	struct iso_ledger *ledger = trade->ledger;
	int64_t share_ucpu;

	assert_valid(trade);
	iso_ledger_commit(ledger, durable_seq);
	share_ucpu = iso_ledger_holdings(ledger);
	trade->offer = iso_share_offer(&trade->input.cost, &trade->box, share_ucpu,
				       relay_at(trade, share_ucpu));
	trade->head_ucpu = iso_share_head(&trade->share, trade->box.ceiling_ucpu, share_ucpu);
	trade->degree = degree_of(trade);
	trade->seq++;
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		struct trade_edge *edge = &trade->edges[k];
		int64_t reference_q32 = 0;

		if (!trade_edge_live(trade, k))
			continue;
		edge->base = (struct trade_stamp){ 0, 0 };
		if (trade->share.mode == ISO_SHARE_DIFFERENCE && edge->heard.valid &&
		    trade->now_ns - edge->heard.at_ns <= trade->share.base_age_ns) {
			reference_q32 = edge->heard.price.value_q32;
			edge->base = edge->decoded;
		}
		edge->code = iso_share_encode(&trade->share, trade->offer.price_q32, reference_q32);
		*trade_ring(trade, k, trade->seq) = edge->code.value_q32;
	}
	return iso_ledger_target(ledger);
}
