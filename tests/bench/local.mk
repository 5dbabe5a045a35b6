# make bench: a table, and bench.json in the build directory.  A new benchmark is
# a program (bench.h says what it prints) and its name in bench_programs.
bench_programs =
bench_common = %D%/bench.c %D%/bench.h

bench_programs += %D%/allocate
%C%_allocate_SOURCES = %D%/allocate.c $(bench_common)
bench_programs += %D%/codec %D%/quantise %D%/ras %D%/swarm %D%/tick
%C%_codec_SOURCES = %D%/codec.c $(bench_common)
%C%_codec_CFLAGS = $(AM_CFLAGS) $(HOT_CFLAGS)
bench_programs += %D%/gap
%C%_gap_SOURCES = %D%/gap.c tests/tracked.c tests/tracked.h $(bench_common)
%C%_gap_LDADD = lib/libisobar.a $(BLAS_LIBS)
%C%_swarm_SOURCES = %D%/swarm.c $(bench_common)
%C%_tick_SOURCES = %D%/tick.c $(bench_common)
%C%_quantise_SOURCES = %D%/quantise.c $(bench_common)
%C%_ras_SOURCES = %D%/ras.c $(bench_common)
bench_programs += %D%/events
%C%_events_SOURCES = %D%/events.c $(bench_common)

if HAVE_CHECK
bench_programs += %D%/clock %D%/promise
%C%_promise_SOURCES = %D%/promise.c $(bench_common)
%C%_clock_SOURCES = %D%/clock.c $(bench_common)
if WITH_EBPF
bench_programs += %D%/bpf %D%/strangers
%C%_bpf_SOURCES = %D%/bpf.c $(bench_common)
%C%_strangers_SOURCES = %D%/strangers.c $(bench_common)
endif
endif

# Real agents, with what the demo has for starting them.
bench_cluster = %D%/cluster.c %D%/cluster.h $(bench_common)
bench_programs += %D%/idle %D%/react %D%/throughput
%C%_idle_SOURCES = %D%/idle.c $(bench_cluster)
%C%_idle_LDADD = tests/demo/libdemo.a $(agent_libs)
%C%_throughput_SOURCES = %D%/throughput.c $(bench_common)
%C%_throughput_LDADD = tests/demo/libdemo.a $(agent_libs)
%C%_react_SOURCES = %D%/react.c $(bench_cluster)
%C%_react_LDADD = tests/demo/libdemo.a $(agent_libs)

# Learning: a worker's gradients, and what comes of them.
bench_programs += %D%/gradient %D%/liblinear
%C%_liblinear_SOURCES = %D%/liblinear.c $(bench_common)
%C%_liblinear_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)
%C%_gradient_SOURCES = %D%/gradient.c $(bench_common)
%C%_gradient_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)

# Built with the tests, so that they do not rot; run by hand.
check_PROGRAMS += $(bench_programs) %D%/run
%C%_run_LDADD = $(JANSSON_LIBS)

.PHONY: bench
bench: $(bench_programs) tests/bench/run
	tests/bench/run bench.json $(bench_programs)
CLEANFILES += bench.json
