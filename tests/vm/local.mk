# Test programs that run again under Debian's kernel with cgroup v2, in qemu.
# ./bootstrap check fetches the kernel into vm/ of the build directory.
# Each prints TAP and ends within seconds there; ISO_VM=1 tells it where it is.
vm_programs = $(abs_top_srcdir)/tests/system/trade.tap
vm_programs += $(abs_top_srcdir)/tests/system/clock.tap
vm_programs += $(abs_top_srcdir)/tests/system/facts.tap
if HAVE_CHECK
vm_programs += tests/fs/host tests/fs/library tests/fs/facts
if WITH_EBPF
vm_programs += $(bpf_tests)
endif
endif
dist_check_SCRIPTS += %D%/fetch.sh %D%/init.sh %D%/run.sh %D%/vm-programs.sh \
	%D%/delegated-guest.sh %D%/packages-guest.sh %D%/row-guest.sh %D%/suspend-guest.sh \
	%D%/systemd-guest.sh %D%/unit-guest.sh %D%/watchdog-guest.sh
EXTRA_DIST += %D%/agents.sh %D%/guest.sh %D%/merge.awk %D%/units.sh %D%/vm.service

check_PROGRAMS += %D%/tsc
%C%_tsc_SOURCES = %D%/tsc.c
%C%_tsc_LDADD =

# The longest first.
vm_tests = %D%/packages.tap %D%/systemd.tap %D%/unit.tap %D%/debian.tap %D%/matrix.tap \
	%D%/legacy.tap %D%/watchdog.tap %D%/suspend.tap
dist_check_SCRIPTS += $(vm_tests)
if HOST_TESTS
TESTS += $(vm_tests)
endif

# Last: emulated processors and tests that measure time disturb each other.  Each of
# them is one thread, and patient: side by side with make -j.
vm_logs = $(vm_tests:.tap=.log)
$(vm_logs): $(filter-out $(vm_logs),$(TEST_LOGS))

# matrix.tap with all that apt offers.
.PHONY: vm-matrix
vm-matrix: all tests/demo/observer %D%/tsc
	top_srcdir=$(abs_top_srcdir) top_builddir=$(abs_top_builddir) \
		$(SHELL) $(srcdir)/%D%/matrix.tap all
