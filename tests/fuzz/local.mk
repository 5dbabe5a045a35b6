# One LLVMFuzzerTestOneInput per target.  Without libFuzzer each is linked
# with replay.c and run over its committed corpus as a plain test.
# A new target TARGET: a line in fuzz_targets, its SOURCES, and corpus/TARGET/.
fuzz_targets +=

if LIBFUZZER
fuzz_main =
fuzz_ldflags = -fsanitize=fuzzer
else
fuzz_main = %D%/replay.c
fuzz_ldflags =
endif

dist_check_SCRIPTS += %D%/corpora.sh
TESTS += %D%/corpora.sh
EXTRA_DIST += %D%/replay.c

FUZZ_SECONDS = 60
.PHONY: check-fuzz
check-fuzz: $(fuzz_targets)
	for t in $(fuzz_targets); do n=$${t##*/}; \
	  $(MKDIR_P) found/$$n && \
	  ./$$t -max_total_time=$(FUZZ_SECONDS) found/$$n $(srcdir)/tests/fuzz/corpus/$$n || exit 1; \
	done

fuzz_targets += %D%/worker
%C%_worker_SOURCES = %D%/worker.c $(fuzz_main)
%C%_worker_LDADD = lib/libisobar.a
%C%_worker_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += \
	%D%/corpus/worker/empty \
	%D%/corpus/worker/fault \
	%D%/corpus/worker/fault-call \
	%D%/corpus/worker/fault-unknown \
	%D%/corpus/worker/long \
	%D%/corpus/worker/measure \
	%D%/corpus/worker/measure-infinite \
	%D%/corpus/worker/no-slot \
	%D%/corpus/worker/other-magic \
	%D%/corpus/worker/progress \
	%D%/corpus/worker/progress-not-a-truth-value \
	%D%/corpus/worker/register \
	%D%/corpus/worker/round \
	%D%/corpus/worker/round-phase \
	%D%/corpus/worker/share \
	%D%/corpus/worker/short \
	%D%/corpus/worker/slot \
	%D%/corpus/worker/type-zero \
	%D%/corpus/worker/unknown-type
fuzz_targets += %D%/conf
%C%_conf_SOURCES = %D%/conf.c $(fuzz_main)
%C%_conf_LDADD = $(agent_libs)
%C%_conf_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += %D%/corpus/conf

include tests/fuzz/agent.mk
include tests/fuzz/learn.mk
include tests/fuzz/trade.mk

fuzz_targets += %D%/checkpoint
%C%_checkpoint_SOURCES = %D%/checkpoint.c $(fuzz_main)
%C%_checkpoint_LDADD = agent/libagent.a lib/libisobar.a $(BLAS_LIBS)
%C%_checkpoint_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += \
	%D%/corpus/checkpoint/cut-off \
	%D%/corpus/checkpoint/empty \
	%D%/corpus/checkpoint/first-version \
	%D%/corpus/checkpoint/name-without-end \
	%D%/corpus/checkpoint/other-magic \
	%D%/corpus/checkpoint/too-large-a-method \
	%D%/corpus/checkpoint/too-large-a-strategy \
	%D%/corpus/checkpoint/too-many-parameters \
	%D%/corpus/checkpoint/whole \
	%D%/corpus/checkpoint/without-arrays

fuzz_targets += %D%/scenario
%C%_scenario_SOURCES = %D%/scenario.c %D%/memory.h $(fuzz_main)
%C%_scenario_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)
%C%_scenario_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += %D%/corpus/scenario

fuzz_targets += %D%/graph
%C%_graph_SOURCES = %D%/graph.c $(fuzz_main)
%C%_graph_LDADD = lib/libisobar.a
%C%_graph_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += %D%/corpus/graph
