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
