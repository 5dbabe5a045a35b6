# Real programs, real groups: root and kernel BTF, else skipped.
if WITH_EBPF
bpf_tests = %D%/cpuclock %D%/meter %D%/visits %D%/waiting
host_tests += $(bpf_tests)
bpf_common = %D%/measure.c %D%/measure.h
%C%_cpuclock_SOURCES = %D%/cpuclock.c $(bpf_common)
%C%_meter_SOURCES = %D%/meter.c $(bpf_common)
%C%_visits_SOURCES = %D%/visits.c $(bpf_common)
%C%_visits_CPPFLAGS = $(AM_CPPFLAGS) $(LIBBPF_CFLAGS)
%C%_waiting_SOURCES = %D%/waiting.c $(bpf_common)
endif
