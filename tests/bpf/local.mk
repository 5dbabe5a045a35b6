# Real programs, real groups: root and kernel BTF, else skipped.
if WITH_EBPF
host_tests += %D%/cpuclock %D%/meter
endif
