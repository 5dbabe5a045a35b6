fuzz_targets += tests/fuzz/csv tests/fuzz/idx tests/fuzz/libsvm tests/fuzz/train
tests_fuzz_idx_SOURCES = tests/fuzz/idx.c $(fuzz_main)
tests_fuzz_idx_LDADD = lib/libisobar.a
tests_fuzz_idx_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
tests_fuzz_csv_SOURCES = tests/fuzz/csv.c tests/fuzz/outcome.c tests/fuzz/outcome.h $(fuzz_main)
tests_fuzz_csv_LDADD = lib/libisobar.a
tests_fuzz_csv_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
tests_fuzz_libsvm_SOURCES = tests/fuzz/libsvm.c tests/fuzz/outcome.c tests/fuzz/outcome.h $(fuzz_main)
tests_fuzz_libsvm_LDADD = lib/libisobar.a
tests_fuzz_libsvm_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
tests_fuzz_train_SOURCES = tests/fuzz/train.c $(fuzz_main)
tests_fuzz_train_LDADD = lib/libisobar.a
tests_fuzz_train_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/csv tests/fuzz/corpus/idx tests/fuzz/corpus/libsvm tests/fuzz/corpus/train

fuzz_targets += tests/fuzz/dataset
tests_fuzz_dataset_SOURCES = tests/fuzz/dataset.c $(fuzz_main)
tests_fuzz_dataset_LDADD = $(agent_libs) $(ZLIB_LIBS) $(BLAS_LIBS)
tests_fuzz_dataset_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/dataset
fuzz_targets += tests/fuzz/method
tests_fuzz_method_SOURCES = tests/fuzz/method.c $(fuzz_main)
tests_fuzz_method_LDADD = lib/libisobar.a $(BLAS_LIBS)
tests_fuzz_method_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/method

fuzz_targets += tests/fuzz/strategy
tests_fuzz_strategy_SOURCES = tests/fuzz/strategy.c $(fuzz_main)
tests_fuzz_strategy_LDADD = lib/libisobar.a
tests_fuzz_strategy_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/strategy

fuzz_targets += tests/fuzz/stream
tests_fuzz_stream_SOURCES = tests/fuzz/stream.c $(fuzz_main)
tests_fuzz_stream_LDADD = lib/libisobar.a
tests_fuzz_stream_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/stream

fuzz_targets += tests/fuzz/peer
tests_fuzz_peer_SOURCES = tests/fuzz/peer.c $(fuzz_main)
tests_fuzz_peer_LDADD = lib/libisobar.a
tests_fuzz_peer_LDFLAGS = $(AM_LDFLAGS) $(fuzz_ldflags)
EXTRA_DIST += tests/fuzz/corpus/peer
