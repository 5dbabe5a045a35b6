/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_LEDGER_STATE_H
#define ISO_LEDGER_LEDGER_STATE_H

#include "lib/ledger/ledger.h"

/* Inside of lib/ledger/ledger*.c only: everyone else goes by lib/ledger/ledger.h. */

#define LEDGER_NO_EDGE UINT32_MAX

bool iso_ledger_config_possible(const struct iso_ledger_config *config);

/* What holds in every phase, in constant time. */
void iso_ledger_assert(const struct iso_ledger *ledger);

/* A new edge with zero counters; there must be room and none to this peer.  Returns its index. */
uint32_t iso_ledger_append(struct iso_ledger *ledger, uint64_t peer, uint32_t peer_gen);

/* What was appended last is not there any more. */
void iso_ledger_remove_newest(struct iso_ledger *ledger);

/* Takes the newest edge into the order by peer. */
void iso_ledger_file(struct iso_ledger *ledger, uint32_t index);

/* Undoes what the operation of this tick changed, but for x, whatever it is. */
void iso_ledger_unapply(struct iso_ledger *ledger);

/* The operation of this tick never came, if it is a BURN. */
void iso_ledger_unburn(struct iso_ledger *ledger);

/* What the operation of this tick adds to x, not durable yet. */
static inline int64_t ledger_op_change(const struct iso_ledger *ledger)
{
	if (ledger->op.kind == ISO_OP_MINT)
		return ledger->last_op_ucpu;
	return ledger->op.kind == ISO_OP_BURN ? -ledger->last_op_ucpu : 0;
}

#endif
