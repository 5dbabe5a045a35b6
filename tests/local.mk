# Tests in the order of what they cost; each folder adds its own local.mk.
if HARDENED
hardened = yes
else
hardened = no
endif
TEST_EXTENSIONS = .sh .tap
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
# Compiled tests speak TAP: every Check test is one automake result.
LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)
# Scripts that speak TAP themselves.
TAP_LOG_DRIVER = $(TAP_DRIVER)
TAP_LOG_COMPILER = $(SHELL)
# BLAS without threads of its own, as the programs run it.
AM_TESTS_ENVIRONMENT = OPENBLAS_NUM_THREADS=1; export OPENBLAS_NUM_THREADS; \
	CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent \
	top_srcdir=$(abs_top_srcdir) top_builddir=$(abs_top_builddir) \
	vm_programs='$(vm_programs)' MANDOC='$(MANDOC)' HARDENED=$(hardened) left_out='$(left_out)' programs='$(bin_PROGRAMS) $(sbin_PROGRAMS) $(pkglibexec_PROGRAMS)'; export left_out programs HARDENED CK_TAP_LOG_FILE_NAME CK_VERBOSITY \
	top_srcdir top_builddir MANDOC vm_programs;

# Every program that names no libraries of its own is a test and gets these.
LDADD = $(test_libs)
test_libs =

soaks =
unit_tests =
sim_tests =
model_tests =
host_tests =
fuzz_targets =

if HAVE_CHECK
check_LIBRARIES += %D%/libisobartest.a
%C%_libisobartest_a_SOURCES = \
	%D%/cgroup_fixture.c %D%/cgroup_fixture.h \
	%D%/load.c %D%/load.h \
	%D%/pagetable.c %D%/pagetable.h \
	%D%/promise.c %D%/promise.h \
	%D%/switchtime.c %D%/switchtime.h \
	%D%/test.c %D%/test.h \
	%D%/tracked.c %D%/tracked.h \
	%D%/vectorfield.c %D%/vectorfield.h \
	%D%/vectorfile.c %D%/vectorfile.h
test_libs += %D%/libisobartest.a $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS) $(CHECK_LIBS)

include tests/unit/local.mk
include tests/sim/local.mk
include tests/fs/local.mk
include tests/bpf/local.mk
endif
include tests/task/local.mk
include tests/model/local.mk
include tests/fuzz/local.mk
include tests/lint/local.mk
include tests/cli/local.mk
include tests/bench/local.mk
include tests/repro/local.mk
include tests/demo/local.mk
include tests/system/local.mk
include tests/vm/local.mk

check_PROGRAMS += $(unit_tests) $(sim_tests) $(model_tests) $(host_tests) $(fuzz_targets)
TESTS += $(unit_tests) $(sim_tests) $(model_tests)
if HOST_TESTS
TESTS += $(host_tests)
endif

# The tests that need neither privileges nor a kernel feature: what sanitizers run.
.PHONY: print-pure-tests print-calm-tests print-waiting-tests print-alone-tests print-vm-tests
.PHONY: check-valgrind sim-tables soak-sim
print-pure-tests:
	@echo $(unit_tests) $(sim_tests)
# Those that only compute may run side by side.  What uses cgroups or real time does so
# too if it waits most of the time, and runs alone if it measures what a busy machine
# would spoil.  `make check` makes no difference; ./bootstrap check does.
calm_tests = $(unit_tests) $(sim_tests) $(model_tests) $(lint_tests) $(repro_programs) \
	$(cli_tests) tests/fuzz/corpora.sh tests/model/spin.sh
alone_tests = $(bpf_tests) tests/cli/training tests/demo/demo.sh \
	tests/fs/facts tests/fs/guard tests/fs/guard_client tests/fs/job tests/fs/load \
	tests/fs/watchdog tests/system/crowd tests/system/lease tests/system/memory \
	tests/system/promise
print-calm-tests:
	@echo $(calm_tests)
# Half a minute and more; first, so that none of them is left over.
long_tests = tests/system/train tests/system/fire tests/system/regret tests/task/training \
	tests/system/resume tests/system/faults tests/system/resilience
print-waiting-tests:
	@echo $(filter-out $(calm_tests) $(alone_tests) $(vm_tests), \
		$(foreach test,$(long_tests),$(filter $(test),$(TESTS))) \
		$(filter-out $(long_tests),$(TESTS)))
print-alone-tests:
	@echo $(filter $(alone_tests),$(TESTS))
print-vm-tests:
	@echo $(filter $(vm_tests),$(TESTS))
check-valgrind: $(check_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)' \
	  LOG_COMPILER='$(VALGRIND) -q --error-exitcode=99 --leak-check=full --trace-children=yes'
