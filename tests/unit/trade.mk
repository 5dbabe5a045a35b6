# The trading core and its journal; what isobar-protocol(7) says of them.
unit_tests += %D%/audit %D%/cost %D%/edge %D%/journal %D%/journal_room %D%/lease %D%/ledger \
	%D%/quant %D%/record %D%/share %D%/site
unit_tests += %D%/trade %D%/trade_burial %D%/trade_limit %D%/trade_message %D%/trade_op %D%/trade_start
%C%_trade_SOURCES = %D%/trade.c %D%/trade_pair.c %D%/trade_pair.h
%C%_trade_burial_SOURCES = %D%/trade_burial.c %D%/trade_trio.c %D%/trade_trio.h
%C%_trade_message_SOURCES = %D%/trade_message.c %D%/trade_pair.c %D%/trade_pair.h
%C%_trade_op_SOURCES = %D%/trade_op.c %D%/trade_trio.c %D%/trade_trio.h
%C%_trade_start_SOURCES = %D%/trade_start.c %D%/trade_pair.c %D%/trade_pair.h
unit_tests += %D%/page %D%/page_json %D%/penalty %D%/second %D%/second_price %D%/vectors %D%/vectors_train
unit_tests += %D%/audit_terms %D%/registry_look %D%/ledger_admit %D%/ledger_life %D%/ledger_op %D%/ledger_sum %D%/ledger_undo
%C%_ledger_admit_SOURCES = %D%/ledger_admit.c %D%/ledger_one.c %D%/ledger_one.h
%C%_ledger_life_SOURCES = %D%/ledger_life.c %D%/ledger_one.c %D%/ledger_one.h
%C%_ledger_op_SOURCES = %D%/ledger_op.c %D%/ledger_one.c %D%/ledger_one.h
%C%_ledger_undo_SOURCES = %D%/ledger_undo.c %D%/ledger_one.c %D%/ledger_one.h
%C%_second_SOURCES = %D%/second.c %D%/second.h
%C%_second_price_SOURCES = %D%/second_price.c %D%/second.h
EXTRA_DIST += \
	tests/vectors/edge.txt \
	tests/vectors/ids.txt \
	tests/vectors/quantiser.txt \
	tests/vectors/record.txt \
	tests/vectors/recovery.txt \
	tests/vectors/stream.txt \
	tests/vectors/train.txt \
	tests/vectors/worker.txt
