# SPDX-License-Identifier: LGPL-2.1-or-later
# How lib/ is broken for the explorer's mutants: one rule a line, within one
# function.  An edit that finds nothing to change fails the build (mutate.sh): then
# the code has moved on and the edit must follow it.
1a #include "tests/model/broken.h"

# lib/ledger/ledger.c
/^enum iso_status iso_ledger_open(/,/^}/s/ledger->dirty = true;/ledger->dirty = !broken(MODEL_TRUST_CACHE);/
/^enum iso_status iso_ledger_heard(/,/^}/s/if (news->sent > edge->received + edge->arriving)/if (broken(MODEL_CREDIT_LAST) \&\& news->sent < edge->received) { ledger->holdings_ucpu -= (int64_t)(edge->received - news->sent); edge->received = news->sent; ledger->dirty = true; } if (news->sent > edge->received + edge->arriving || broken(MODEL_CREDIT_LAST))/
/^int64_t iso_ledger_room(/,/^}/s/!= 0 ? 0 :/!= 0 || broken(MODEL_NO_FLOOR) ? 0 :/
/^int64_t iso_ledger_target(/,/^}/s/ledger->ceiling_ucpu)/broken(MODEL_NO_CEILING) ? INT64_MAX : ledger->ceiling_ucpu)/
/^bool iso_ledger_changed(/,/^}/s/ledger->debit_ucpu != 0/(& \&\& !broken(MODEL_UNMARKED_DEBIT))/
/^void iso_ledger_plan(/,/^}/s/enforced_ucpu > iso_ledger_limit(ledger) ?/!broken(MODEL_NEVER_LOWER) \&\& &/
/^enum iso_status iso_ledger_lowered(/,/^}/s/if (readback_ucpu > iso_ledger_limit(ledger))/if (!broken(MODEL_ANY_READBACK) \&\& readback_ucpu > iso_ledger_limit(ledger))/
/^int64_t iso_ledger_abort(/,/^}/s/edge->sent -= edge->debit;/edge->sent -= broken(MODEL_ABORT_KEEPS) ? 0 : edge->debit;/
/^int64_t iso_ledger_abort(/,/^}/s/holdings_ucpu += undone;/holdings_ucpu += broken(MODEL_ABORT_KEEPS) ? 0 : undone;/

# lib/ledger/record.c
/^static bool never_complete(/,/^}/s/if (seals.intact > 0/if (broken(MODEL_PASS_OVER) || broken(MODEL_NO_PASS_OVER)) return broken(MODEL_PASS_OVER); else &/
/^enum iso_status iso_record_recover(/,/^}/s/record\[1\].seq > record\[0\].seq)/(broken(MODEL_OLDER_SLOT) != (record[1].seq > record[0].seq)))/

# lib/trade_message.c
/^static enum iso_status check_envelope(/,/^}/s/if (frame->destination_gen != ledger->gen ||/if (broken(MODEL_NO_GENERATION)) (void)0; else &/
/^enum iso_status iso_trade_receive(/,/^}/s/ledger->phase == ISO_LEDGER_OPENED)/(ledger->phase == ISO_LEDGER_OPENED \&\& !broken(MODEL_EARLY_EAR)))/
