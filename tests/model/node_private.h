/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_NODE_PRIVATE_H
#define ISO_MODEL_NODE_PRIVATE_H

#include "lib/trade/trade.h"
#include "lib/trade/trade_state.h"
#include "tests/model/node.h"

/* Inside of node.c, step.c and fault.c only. */

struct iso_trade *model_trade(uint32_t node);
struct iso_ledger *model_ledger(uint32_t node);
uint32_t model_edge_to(uint32_t node, uint32_t peer);

struct iso_ledger_config model_ledger_config(const struct model_setup *setup, uint32_t node);

/* The memory of a process that has not opened its journal. */
void model_make_process(const struct model_setup *setup, uint32_t node);

/* It needs no lease, or has one that has not run out. */
bool model_leased(const struct model_setup *setup, uint32_t node);

/* As journal_create() does: the same record in both slots. */
void model_make_journal(struct model_outside *outside, struct model_record record);

/* The process ends and takes what it knew with it. */
bool model_die(const struct model_setup *setup, uint32_t node);

/* Everything in the page cache is on the disk now. */
void model_write_back(struct model_outside *outside);

#endif
