/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_NODE_PRIVATE_H
#define ISO_NODE_PRIVATE_H

/* For node.c, node_conf.c and node_status.c only. */

#include <jansson.h>

#include "agent/base/loop.h"
#include "agent/conf/conf.h"
#include "agent/control/control.h"
#include "agent/net/link.h"
#include "agent/node/host.h"
#include "agent/node/job.h"
#include "agent/node/journal.h"
#include "agent/node/node.h"
#include "lib/quant.h"
#include "lib/trade.h"

struct node {
	const struct conf *conf;
	struct loop *loop;
	struct loop_source timer;
	struct iso_quant quant;
	struct iso_trade_peer peers[CONF_NEIGHBOURS_MAX]; /* borrowed by trade */
	void *trade_memory;
	struct iso_trade *trade;
	struct journal *journal;
	struct job *job;
	struct link *link;       /* NULL: no neighbours */
	struct host *host;       /* NULL: this node does not train */
	struct control *control;
	uint32_t link_of_edge[ISO_DEGREE_MAX]; /* index in conf->neighbours; UINT32_MAX: dormant */
	uint64_t durable_seq;    /* newest record on disk */
	int64_t entitled_ucpu;   /* what the newest commit allows to enforce */
	uint64_t tick_at_ns;
	uint64_t started_ns;
	uint64_t ticks;
	uint64_t journal_writes;
	bool failed;
	bool halt_told;          /* trading has stopped; logged once */
	bool limit_failed;       /* the last lowering did; logged once */
	bool raise_failed;       /* likewise */
	const char *job_state;   /* the last that was logged; NULL: none yet */
	char decision[256];      /* the last transfer given, in words */
	uint64_t decided_ns;
};

/* A first generation; later ones come with re-admission. */
#define NODE_FIRST_GENERATION 1u

void node_quant(const struct conf *conf, struct iso_quant *ret_quant);
struct iso_cost node_cost(const struct conf *conf, uint64_t demand_ucpu);
/* peers: room for CONF_NEIGHBOURS_MAX; borrowed for as long as the config is used. */
struct iso_trade_config node_trade_config(const struct conf *conf, const struct iso_quant *quant,
					  struct iso_trade_peer *peers);

/* What the control socket answers. */
extern const struct control_command node_commands[];
extern const size_t node_command_count;

#endif
