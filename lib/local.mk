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

# Learning: allocation, rounds, models, data, training messages.
%C%_libisobar_a_SOURCES += \
	%D%/ata/ras.c %D%/ata/ras.h \
	%D%/ata/score.c %D%/ata/score.h \
	%D%/ata/strategy.c %D%/ata/strategy.h \
	%D%/data/batch.c %D%/data/batch.h \
	%D%/data/idx.c %D%/data/idx.h \
	%D%/data/partition.c %D%/data/partition.h \
	%D%/model/softmax.c %D%/model/softmax.h \
	%D%/quant_vector.h \
	%D%/sgd/round.h \
	%D%/sgd/step.h \
	%D%/wire/train.h

%C%_libisobar_a_SOURCES += %D%/wire/worker.c %D%/wire/worker.h
	%D%/sgd/step.c %D%/sgd/step.h \
	%D%/wire/train.c %D%/wire/train.h
