# Real programs, real groups: root and kernel BTF, else skipped.
if WITH_EBPF
other_tests += %D%/cpuclock %D%/meter
endif
