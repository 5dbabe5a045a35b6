/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/node_private.h"

#include <assert.h>

/* The configuration in the terms of lib/trade/trade.h. */

struct iso_cost node_cost(const struct conf *conf, uint64_t demand_ucpu)
{
	static const enum iso_cost_kind kinds[] = {
		[CONF_COST_QUADRATIC] = ISO_COST_QUADRATIC,
		[CONF_COST_LATENCY] = ISO_COST_LATENCY,
		[CONF_COST_PROPORTIONAL] = ISO_COST_PROPORTIONAL,
	};
	static const enum iso_penalty_kind penalties[] = {
		[CONF_PENALTY_SOFTPLUS] = ISO_PENALTY_SOFTPLUS,
		[CONF_PENALTY_LOG_BARRIER] = ISO_PENALTY_BARRIER,
		[CONF_PENALTY_NONE] = ISO_PENALTY_NONE,
	};

	return (struct iso_cost){
		.kind = kinds[conf->cost.kind],
		.penalty = penalties[conf->cost.penalty],
		.weight = conf->cost.weight,
		.kappa = conf->cost.kappa,
		.penalty_eps = conf->cost.epsilon,
		.penalty_sigma = conf->cost.sigma,
		.demand_ucpu = (int64_t)demand_ucpu,
	};
}

static struct iso_share_params share_params_of(const struct conf *conf,
					       const struct iso_quant *quant)
{
	static const enum iso_share_mode modes[] = {
		[CONF_QUANTISER_DIFFERENCE] = ISO_SHARE_DIFFERENCE,
		[CONF_QUANTISER_LOG] = ISO_SHARE_LOG,
		[CONF_QUANTISER_UNIFORM] = ISO_SHARE_UNIFORM,
		[CONF_QUANTISER_NONE] = ISO_SHARE_NONE,
	};

	return (struct iso_share_params){
		.mode = modes[conf->trading.quantiser],
		.quant = quant,
		.uniform_step_q32 = iso_price_of_real(conf->trading.rho),
		.gamma = conf->trading.gamma,
		.dead_band = conf->trading.dead_band,
		.relay_allow = 0.01,
		.stop_and_wait = conf->trading.stop_and_wait,
		.base_age_ns = 32 * conf->trading.tick_ns,
		.fresh_age_ns = conf->trading.fresh_ns,
	};
}

struct iso_trade_config node_trade_config(const struct conf *conf, const struct iso_quant *quant,
					  struct iso_trade_peer *peers)
{
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		peers[i] = (struct iso_trade_peer){
			.node = conf->neighbours[i].id,
			.gen = NODE_FIRST_GENERATION,
		};
	return (struct iso_trade_config){
		.cluster = conf->cluster_id,
		.node = conf->id,
		.epoch = (uint32_t)conf->config_epoch,
		.shared_digest = conf->digest,
		.budget_ucpu = (int64_t)conf->budget_ucpu,
		.floor_ucpu = (int64_t)conf->floor_ucpu,
		.share = share_params_of(conf, quant),
		.lease = {
			.lease_ns = conf->trading.lease_ns,
			.promise_ns = conf->trading.promise_ns,
			.guard_ns = conf->trading.lease_ns != 0 ? conf->trading.guard_ns : 0,
		},
		.verify_ns = conf->trading.fresh_ns,
		.peers = peers,
		.peer_count = conf->neighbour_count,
	};
}

void node_quant(const struct conf *conf, struct iso_quant *ret_quant)
{
	enum iso_status status =
		iso_quant_init((uint32_t)(conf->trading.rho * 65536 + 0.5), ret_quant);

	assert(status == ISO_OK); /* conf_check() has seen rho */
}

uint32_t node_trade_peers(const struct peers *peers, const struct iso_record *record,
			  struct iso_trade_peer ret_peers[PEERS_MAX])
{
	uint32_t count = 0;

	for (unsigned i = 0; i < peers->count; i++) {
		const struct peer *peer = &peers->of[i];
		bool has_edge = false;

		for (uint32_t j = 0; j < record->edge_count && !has_edge; j++)
			has_edge = record->edges[j].peer == peer->id;
		if (has_edge || (!peer->is_told && record->gen > 0 && record->last_op == 0))
			ret_peers[count++] = (struct iso_trade_peer){
				.node = peer->id,
				.gen = NODE_FIRST_GENERATION,
			};
	}
	return count;
}
