# The pure part: no system calls, no clock, no allocation, no logging.
noinst_LIBRARIES += %D%/libisobar.a
%C%_libisobar_a_SOURCES = \
	%D%/bytes.h \
	%D%/checksum.h \
	%D%/draw.c %D%/draw.h \
	%D%/quantity.c %D%/quantity.h \
	%D%/rng.c %D%/rng.h \
	%D%/smaller.h \
	%D%/status.c %D%/status.h \
	%D%/enforce/absence.c %D%/enforce/absence.h \
	%D%/enforce/demand.c %D%/enforce/demand.h \
	%D%/enforce/drift.c %D%/enforce/drift.h \
	%D%/enforce/facts.c %D%/enforce/facts.h \
	%D%/enforce/property.c %D%/enforce/property.h \
	%D%/enforce/quota.c %D%/enforce/quota.h \
	%D%/enforce/quota_phase.c %D%/enforce/quota_phase.h \
	%D%/enforce/sleep.c %D%/enforce/sleep.h \
	%D%/enforce/telling.c %D%/enforce/telling.h \
	%D%/ledger/audit.c %D%/ledger/audit.h \
	%D%/ledger/lease.c %D%/ledger/lease.h \
	%D%/ledger/ledger.c %D%/ledger/ledger.h %D%/ledger/ledger_state.h \
	%D%/ledger/ledger_edge.c \
	%D%/ledger/ledger_op.c \
	%D%/ledger/op.c %D%/ledger/op.h \
	%D%/ledger/record.c %D%/ledger/record.h \
	%D%/ledger/registry.c %D%/ledger/registry.h %D%/ledger/registry_state.h \
	%D%/ledger/registry_apply.c \
	%D%/ledger/registry_begin.c \
	%D%/ledger/registry_bury.c \
	%D%/ledger/registry_issue.c \
	%D%/ledger/registry_next.c \
	%D%/ledger/registry_wish.c %D%/ledger/registry_wish.h \
	%D%/quant/quant.c %D%/quant/quant.h \
	%D%/sim/field.c %D%/sim/field.h %D%/sim/field_state.h \
	%D%/sim/field_look.c \
	%D%/sim/field_round.c \
	%D%/sim/points.c %D%/sim/points.h \
	%D%/sim/queue.h \
	%D%/sim/site.c %D%/sim/site.h \
	%D%/sim/speeds.c %D%/sim/speeds.h \
	%D%/sim/split.c %D%/sim/split.h \
	%D%/sim/swarm.c %D%/sim/swarm.h \
	%D%/sim/times.c %D%/sim/times.h \
	%D%/sim/training.c %D%/sim/training.h %D%/sim/training_state.h \
	%D%/sim/training_regret.c \
	%D%/sim/training_task.c \
	%D%/trade/cost.c %D%/trade/cost.h \
	%D%/trade/price.h \
	%D%/trade/share.c %D%/trade/share.h \
	%D%/trade/trade.c %D%/trade/trade.h %D%/trade/trade_state.h \
	%D%/trade/trade_drain.c \
	%D%/trade/trade_lease.c \
	%D%/trade/trade_limit.c \
	%D%/trade/trade_message.c \
	%D%/trade/trade_op.c \
	%D%/trade/trade_open.c \
	%D%/trade/trade_view.c \
	%D%/wire/edge.c %D%/wire/edge.h
# Same result on every machine: no contraction into FMA.
%C%_libisobar_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
%C%_libisobar_a_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS)

include lib/learn.mk
include lib/graph/local.mk

%C%_libisobar_a_SOURCES += \
	%D%/threads.c %D%/threads.h \
	%D%/tridiagonal.c %D%/tridiagonal.h \
	%D%/wire/worker.c %D%/wire/worker.h

# For those who write tasks; the only header that is installed.
pkginclude_HEADERS = %D%/isobar/task.h
