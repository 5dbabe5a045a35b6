# Real agents with real cgroups; the same programs run in the virtual machine.
dist_check_SCRIPTS += %D%/admin.tap %D%/clock.tap %D%/trade.tap
if HOST_TESTS
TESTS += %D%/admin.tap %D%/trade.tap
endif

# isobard as it is, and with crash points (agent/node/crash.h) and detours
# (agent/net/detour.h): these objects come before the library's, which are then
# not linked.  Never installed.
check_PROGRAMS += %D%/isobard-crash
%C%_isobard_crash_SOURCES = \
	agent/isobard.c agent/net/link.c agent/node/journal.c agent/node/node.c agent/node/node_disk.c \
	agent/node/node_ops.c \
	agent/node/node_tick.c \
	agent/node/peers.c %D%/crash.c %D%/detour.c %D%/detour.h
%C%_isobard_crash_CPPFLAGS = $(AM_CPPFLAGS) -DISO_CRASH_POINTS $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_isobard_crash_LDADD = $(agent_libs)

# One that breaks the guarantee, for the observer to catch.  Never installed either.
check_PROGRAMS += %D%/isobard-late
%C%_isobard_late_SOURCES = agent/isobard.c
nodist_%C%_isobard_late_SOURCES = %D%/late_tick.c
%C%_isobard_late_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_isobard_late_LDADD = $(agent_libs)
%D%/late_tick.c: agent/node/node_tick.c %D%/late.sed
	$(AM_V_GEN)$(MKDIR_P) %D% && sed -f $(srcdir)/%D%/late.sed \
		$(srcdir)/agent/node/node_tick.c >$@-t && \
		test "`grep -c 'ticks % 8\|ucpu : plan' $@-t`" = 2 && mv $@-t $@
CLEANFILES += %D%/late_tick.c
EXTRA_DIST += %D%/late.sed

# Preloaded, so it is a shared object without any library of ours.
check_PROGRAMS += %D%/disk.so
%C%_disk_so_SOURCES = %D%/disk.c
%C%_disk_so_CFLAGS = $(AM_CFLAGS) -fPIC
%C%_disk_so_LDFLAGS = -shared
%C%_disk_so_LDADD =

if HAVE_CHECK
system_stage = %D%/stage.c %D%/stage.h
system_ring = %D%/proxy.c %D%/proxy.h %D%/ring.c %D%/ring.h \
	%D%/ring_guard.c %D%/ring_look.c $(system_stage)
system_crew = %D%/crew.c %D%/crew.h tests/cli/cluster.c tests/cli/cluster.h \
	tests/fs/group.c tests/fs/group.h
system_single = %D%/single.c %D%/single.h tests/fs/group.c tests/fs/group.h
host_tests += %D%/fire %D%/faults %D%/lease %D%/life %D%/ops %D%/promise %D%/regret %D%/resume %D%/sandbox %D%/sandboxed %D%/service %D%/together %D%/train
%C%_resume_SOURCES = %D%/resume.c %D%/course.c %D%/course.h $(system_crew)
%C%_regret_SOURCES = %D%/regret.c $(system_crew)
%C%_sandboxed_SOURCES = %D%/sandboxed.c tests/cli/cluster.c tests/cli/cluster.h $(system_single)
%C%_service_SOURCES = %D%/service.c $(system_single)
%C%_together_SOURCES = %D%/together.c %D%/villain.c %D%/villain.h
%C%_train_SOURCES = %D%/train.c %D%/course.c %D%/course.h $(system_crew)
system_members = %D%/members.c %D%/members.h $(system_stage)
%C%_life_SOURCES = %D%/life.c $(system_members)
%C%_life_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_ops_SOURCES = %D%/ops.c $(system_members)
%C%_ops_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_fire_SOURCES = %D%/fire.c %D%/fire.h %D%/fire_guard.c %D%/detour.h $(system_ring)
%C%_fire_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_lease_SOURCES = %D%/lease.c $(system_ring)
%C%_lease_LDADD = tests/demo/libdemo.a $(test_libs)
host_tests += %D%/adversary %D%/lies
system_siege = %D%/siege.c %D%/siege.h %D%/hostile.c %D%/hostile.h $(system_ring)
%C%_adversary_SOURCES = %D%/adversary.c $(system_siege)
%C%_adversary_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_lies_SOURCES = %D%/lies.c $(system_siege)
%C%_lies_LDADD = tests/demo/libdemo.a $(test_libs)
host_tests += %D%/crowd %D%/memory %D%/resilience %D%/scarce
%C%_scarce_SOURCES = %D%/scarce.c $(system_single)
%C%_crowd_SOURCES = %D%/crowd.c $(system_stage)
%C%_crowd_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_memory_SOURCES = %D%/memory.c $(system_ring)
%C%_memory_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_resilience_SOURCES = %D%/resilience.c $(system_ring)
%C%_resilience_LDADD = tests/demo/libdemo.a $(test_libs)
%C%_faults_SOURCES = %D%/faults.c $(system_ring)
%C%_faults_LDADD = tests/demo/libdemo.a $(test_libs)
endif

# What moving shares cost each form of ATA: five turns, medians, and a figure.
.PHONY: regret
regret: tests/system/regret agent/isobar-worker agent/isobar-coordinator
	top_builddir=. ISO_RUNS=5 ISO_FIGURE=regret.svg tests/system/regret
CLEANFILES += regret.svg

# A thousand kills, and half as many on bad lines; about ten minutes.
.PHONY: soak soak-system
soak: soak-system $(soaks)
soak-system: $(check_PROGRAMS)
	ISO_RUNS=1000 $(MAKE) $(AM_MAKEFLAGS) check TESTS=%D%/fire

dist_check_SCRIPTS += %D%/facts.tap
if HOST_TESTS
TESTS += %D%/facts.tap
endif
