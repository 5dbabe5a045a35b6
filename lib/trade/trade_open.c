/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a node comes to trade: its configuration, its first record, and a start from the newest. */
#include "lib/trade/trade.h"

#include <assert.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/trade/trade_state.h"

_Static_assert(sizeof(struct trade_edge) == 64, "8 KiB a node hang on it");

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
	if (config->edges_max > ISO_DEGREE_MAX || config->peer_count > ISO_DEGREE_MAX)
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
	       edges_max * sizeof(struct trade_edge);
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
	trade->peers = config->peers;
	trade->peer_count = config->peer_count;
	trade->limits_ucpu = config->limits_ucpu;
	trade->share = config->share;
	iso_lease_init(&config->lease, 0, &trade->lease);
	trade->verify_ns = config->verify_ns;
	trade->digest = digest_of(config);
	trade->edges_max = ledger.edges_max;
	trade_assert(trade);
	*ret_trade = trade;
	return ISO_OK;
}

enum iso_status iso_trade_genesis(const struct iso_trade_config *config, uint32_t gen,
				  int64_t endowment_ucpu, struct iso_record *ret_record)
{
	struct iso_ledger_config ledger = ledger_config(config);

	return iso_ledger_genesis(&ledger, gen, endowment_ucpu, ret_record);
}

enum iso_status iso_trade_admit(const struct iso_trade_config *config, const struct iso_record *old,
				const struct iso_ledger_admission *admission,
				struct iso_record *ret_record)
{
	struct iso_ledger_config ledger = ledger_config(config);

	return iso_ledger_admit(&ledger, old, admission, ret_record);
}

/* The edges to the configured peers; those of the journal alone stay dormant. */
static enum iso_status wake_peers(struct iso_trade *trade)
{
	for (uint32_t k = 0; k < trade->peer_count; k++) {
		uint32_t index = 0;
		enum iso_status status = iso_ledger_edge(trade->ledger, trade->peers[k].node,
							 trade->peers[k].gen, &index);

		if (status == ISO_E_UNKNOWN)
			continue;
		if (status != ISO_OK)
			return status;
		trade->edges[index].dormant =
		    (trade->ledger->edges[index].flags & ISO_EDGE_STATE_FOLDED) != 0;
	}
	return ISO_OK;
}

enum iso_status iso_trade_open(struct iso_trade *trade, const struct iso_record *record)
{
	const struct iso_lease_params lease = trade->lease.params;
	enum iso_status status = iso_ledger_open(trade->ledger, record);

	if (status != ISO_OK)
		return status;
	memset(trade->edges, 0, trade->edges_max * sizeof(struct trade_edge));
	for (uint32_t k = 0; k < trade->ledger->edge_count; k++)
		trade->edges[k].dormant = true;
	status = wake_peers(trade);
	if (status != ISO_OK) {
		iso_ledger_close(trade->ledger);
		return status;
	}
	trade->seq = 0;
	trade->turn = 0;
	trade->closing = trade->leaving = trade->frozen = trade->withheld = trade->vouched = 0;
	trade->ended_gen = trade->tombstone_gen = 0;
	iso_lease_init(&lease, trade->ledger->inc, &trade->lease);
	trade_assert(trade);
	return ISO_OK;
}

void iso_trade_close(struct iso_trade *trade)
{
	iso_ledger_close(trade->ledger);
}
