# Real programs, real groups: root and kernel BTF, else skipped.
if WITH_EBPF
bpf_tests = %D%/cpuclock %D%/meter
host_tests += $(bpf_tests)
endif
