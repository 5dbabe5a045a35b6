fuzz_targets += tests/fuzz/idx tests/fuzz/train
tests_fuzz_idx_SOURCES = tests/fuzz/idx.c $(fuzz_main)
tests_fuzz_idx_LDADD = lib/libisobar.a
tests_fuzz_idx_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
tests_fuzz_train_SOURCES = tests/fuzz/train.c $(fuzz_main)
tests_fuzz_train_LDADD = lib/libisobar.a
tests_fuzz_train_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/idx tests/fuzz/corpus/train
