# Test programs that run again under Debian's kernel with cgroup v2, in qemu.
# ./bootstrap check fetches the kernel into vm/ of the build directory.
# Each prints TAP and ends within seconds there; ISO_VM=1 tells it where it is.
vm_programs = $(abs_top_srcdir)/tests/system/trade.tap
if HAVE_CHECK
vm_programs += tests/fs/host
if WITH_EBPF
vm_programs += $(bpf_tests)
endif
endif
dist_check_SCRIPTS += %D%/watchdog.tap %D%/watchdog-guest.sh
if HOST_TESTS
TESTS += %D%/watchdog.tap
endif
dist_check_SCRIPTS += %D%/systemd.tap %D%/systemd-guest.sh %D%/vm-programs.sh
EXTRA_DIST += %D%/vm.service
if HOST_TESTS
TESTS += %D%/systemd.tap
endif
dist_check_SCRIPTS += %D%/debian.tap %D%/fetch.sh %D%/init.sh %D%/run.sh
EXTRA_DIST += %D%/merge.awk
if HOST_TESTS
TESTS += %D%/debian.tap
endif

# Last and alone: emulated processors and tests that measure time disturb each other.
vm_logs = %D%/debian.log %D%/systemd.log
%D%/systemd.log: $(filter-out $(vm_logs),$(TEST_LOGS))
%D%/debian.log: $(filter-out %D%/debian.log,$(TEST_LOGS))
