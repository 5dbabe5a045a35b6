# SPDX-License-Identifier: LGPL-2.1-or-later
# How lib/ is broken for the explorer's mutants: one rule a line, within one
# function.  An edit that finds nothing to change fails the build (mutate.sh): then
# the code has moved on and the edit must follow it.
1a #include "tests/model/broken.h"

# lib/ledger/ledger.c
/^enum iso_status iso_ledger_open(/,/^}/s/ledger->dirty = true;/ledger->dirty = !broken(MODEL_TRUST_CACHE) || record->edge_count == 0;/
/^enum iso_status iso_ledger_heard(/,/^}/s/if (news->sent > edge->received + edge->arriving)/if (broken(MODEL_CREDIT_LAST) \&\& news->sent < edge->received) { ledger->holdings_ucpu -= (int64_t)(edge->received - news->sent); edge->received = news->sent; ledger->dirty = true; } if (news->sent > edge->received + edge->arriving || broken(MODEL_CREDIT_LAST))/
/^int64_t iso_ledger_room(/,/^}/s/!= 0 ? 0 :/!= 0 || broken(MODEL_NO_FLOOR) ? 0 :/
/^bool iso_ledger_changed(/,/^}/s/ledger->debit_ucpu != 0/(& \&\& !broken(MODEL_UNMARKED_DEBIT))/
/^int64_t iso_ledger_target(/,/^}/s/ledger->ceiling_ucpu)/broken(MODEL_NO_CEILING) ? INT64_MAX : ledger->ceiling_ucpu)/
/^void iso_ledger_plan(/,/^}/s/enforced_ucpu > iso_ledger_limit(ledger) ?/!broken(MODEL_NEVER_LOWER) \&\& &/
/^enum iso_status iso_ledger_lowered(/,/^}/s/if (readback_ucpu > iso_ledger_limit(ledger))/if (!broken(MODEL_ANY_READBACK) \&\& readback_ucpu > iso_ledger_limit(ledger))/
/^int64_t iso_ledger_abort(/,/^}/s/edge->sent -= edge->debit;/edge->sent -= broken(MODEL_ABORT_KEEPS) ? 0 : edge->debit;/
/^int64_t iso_ledger_abort(/,/^}/s/holdings_ucpu += undone;/holdings_ucpu += broken(MODEL_ABORT_KEEPS) ? 0 : undone;/
/^bool iso_ledger_undo(/,/^}/s/ledger->holdings_ucpu = iso_ledger_durable_holdings(ledger);/ledger->holdings_ucpu = iso_ledger_durable_holdings(ledger) + (broken(MODEL_UNDO_CREDITS) ? ledger->credit_ucpu : 0);/
/^bool iso_ledger_undo(/,/^}/s/ledger->arriving_ucpu += ledger->credit_ucpu;/if (!broken(MODEL_UNDO_CREDITS)) &/
/^bool iso_ledger_undo(/,/^}/s/edge->received -= edge->credit;/edge->received -= broken(MODEL_UNDO_CREDITS) ? 0 : edge->credit;/
/^bool iso_ledger_undo(/,/^}/s/edge->arriving += edge->credit;/edge->arriving += broken(MODEL_UNDO_CREDITS) ? 0 : edge->credit;/
/^static void fill_record(/,/^}/s/ret_record->last_op = ledger->last_op;/ret_record->last_op = broken(MODEL_OPID_SEPARATE) \&\& ledger->op.kind != 0 ? ledger->op.last_op : ledger->last_op;/
/^int64_t iso_ledger_target(/,/^}/s/iso_ledger_holdings(ledger),/iso_ledger_holdings(ledger) + (broken(MODEL_BURN_LATE) \&\& ledger->op.kind == ISO_OP_BURN ? ledger->last_op_ucpu : 0),/
/^bool iso_ledger_edge_open(/,/^}/s/flags == 0/flags \/ (broken(MODEL_DEBIT_CLOSED) ? 2u * ISO_EDGE_STATE_CLOSED : 1u) == 0/
/^bool iso_ledger_edge_credits(/,/^}/s/(ISO_EDGE_STATE_CLOSED |/((broken(MODEL_CREDIT_CLOSED) || broken(MODEL_DEBIT_CLOSED) ? 0u : ISO_EDGE_STATE_CLOSED) |/

# lib/ledger/ledger_op.c
/^static enum iso_status burn(/,/^}/s/amount_ucpu < room ?/amount_ucpu < room || broken(MODEL_BURN_ALL) ?/
/^enum iso_status iso_ledger_apply(/,/^}/s/if (op->id <= ledger->last_op)/if (op->id <= ledger->last_op \&\& !broken(MODEL_OP_AGAIN))/
/^enum iso_status iso_ledger_apply(/,/^}/s/ledger->last_op = op->id;/if (!broken(MODEL_VOID_FORGETS) || op->kind != ISO_OP_VOID) &/
/^void iso_ledger_unburn(/,/^}/s/if (ledger->op.kind != ISO_OP_BURN)/if (broken(MODEL_BURN_KEPT) || ledger->op.kind != ISO_OP_BURN)/
/^void iso_ledger_unapply(/,/^}/s/ledger->last_op = op->last_op;/if (!broken(MODEL_UNDO_NUMBER)) &/
/^static enum iso_status fold_edge(/,/^}/s/effect->endowment_ucpu = /&broken(MODEL_FOLD_FORGETS) ? 0 : /
/^static enum iso_status fold_edge(/,/^}/s/edge->sent = edge->received = 0;/if (!broken(MODEL_FOLD_KEEPS)) &/
/^static enum iso_status fold_edge(/,/^}/s/edge->flags = ISO_EDGE_STATE_FOLDED;/edge->flags = broken(MODEL_NO_TOMBSTONE) ? 0 : ISO_EDGE_STATE_FOLDED;/
/^static enum iso_status open_edge(/,/^}/s/edge->peer_gen >= op->peer_gen/(edge->peer_gen >= op->peer_gen \&\& !broken(MODEL_ADMIT_SAME_GENERATION))/
/^static enum iso_status check_admission(/,/^}/s/if (admission->gen <= old->gen)/if (admission->gen <= old->gen \&\& !broken(MODEL_ADMIT_SAME_GENERATION))/
/^static bool all_arrived(/,/^}/s/ledger->edges\[k\].unacked != 0/!broken(MODEL_LEAVE_UNHEARD) \&\& &/

# lib/ledger/lease.c
/^uint64_t iso_lease_close_at(/,/^}/s/heard_ns > started_ns ?/heard_ns > started_ns || broken(MODEL_GRANTER_FORGETS) ?/
/^bool iso_lease_heard(/,/^}/s/sent\[echo_seq %/sent[(broken(MODEL_LEASE_FROM_RECEIPT) ? lease->seq : echo_seq) %/

# lib/ledger/record.c
/^static bool never_complete(/,/^}/s/if (seals.intact > 0/if (broken(MODEL_PASS_OVER) || broken(MODEL_NO_PASS_OVER)) return broken(MODEL_PASS_OVER); else &/
/^enum iso_status iso_record_recover(/,/^}/s/record\[1\].seq > record\[0\].seq)/(broken(MODEL_OLDER_SLOT) != (record[1].seq > record[0].seq)))/

# lib/trade/trade_message.c
/^static enum iso_status check_envelope(/,/^}/s/if (frame->destination_gen != ledger->gen ||/if (broken(MODEL_NO_GENERATION)) (void)0; else &/
/^enum iso_status iso_trade_receive(/,/^}/s/ledger->phase == ISO_LEDGER_OPENED)/(ledger->phase == ISO_LEDGER_OPENED \&\& !broken(MODEL_EARLY_EAR)))/
/^static enum iso_status check_envelope(/,/^}/s/if (!trade_edge_live(trade, \*ret_index))/if (!broken(MODEL_ANSWER_CLOSED) \&\& !trade_edge_live(trade, *ret_index))/
/^enum iso_status iso_trade_receive(/,/^}/s/return drop(trade, ISO_DROP_HALTED, status);/if (!broken(MODEL_ANSWER_CLOSED) || status != ISO_E_UNKNOWN) &/
/^enum iso_status iso_trade_message(/,/^}/s/(!trade_edge_live(trade, index) \&\&/(!broken(MODEL_ANSWER_CLOSED) \&\& !trade_edge_live(trade, index) \&\&/

# lib/trade/trade_limit.c
/^uint64_t iso_trade_limit_sent(/,/^}/s/if (sent - seen <= in)/if (!broken(MODEL_LIMIT_FILLS) \&\& sent - seen <= in)/

# lib/trade/trade_op.c
/^static enum iso_status may_close(/,/^}/s/if (!trade_bit(trade->closing, index))/if (!trade_bit(trade->closing, index) \&\& !broken(MODEL_GRANTER_FORGETS) \&\& !broken(MODEL_WAIT_FROM_HEARD))/
/^static enum iso_status may_close(/,/^}/s/return iso_trade_may_close(/return broken(MODEL_CLOSE_EARLY) || iso_trade_may_close(/
/^bool iso_trade_done(/,/^}/s/trade_bit(trade->frozen, index)/(broken(MODEL_LEAVE_UNFROZEN) || trade_bit(trade->frozen, index))/
/^bool iso_trade_done(/,/^}/s/counters->unacked == 0;/(broken(MODEL_LEAVE_UNHEARD) || counters->unacked == 0);/
