# The pure part: no system calls, no clock, no allocation, no logging.
noinst_LIBRARIES += %D%/libisobar.a
%C%_libisobar_a_SOURCES = \
	%D%/bytes.h \
	%D%/checksum.h \
	%D%/cost.h \
	%D%/graph.h \
	%D%/ledger/audit.h \
	%D%/ledger/ledger.h \
	%D%/ledger/record.h \
	%D%/price.h \
	%D%/quant.h \
	%D%/quantity.c %D%/quantity.h \
	%D%/rng.c %D%/rng.h \
	%D%/share.h \
	%D%/status.c %D%/status.h \
	%D%/trade.h \
	%D%/wire/edge.h
# Same result on every machine: no contraction into FMA.
%C%_libisobar_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
%C%_libisobar_a_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS)

include lib/learn.mk

%C%_libisobar_a_SOURCES += %D%/wire/worker.c %D%/wire/worker.h
