# Control groups: trees of plain files, then the real hierarchy of this host.
unit_tests += %D%/cgroup %D%/cgroup_job %D%/delegated %D%/keeper %D%/mounts
%C%_delegated_SOURCES = %D%/delegated.c %D%/tree.c %D%/tree.h
if WITH_SYSTEMD
unit_tests += %D%/unit
%C%_unit_SOURCES = %D%/unit.c %D%/manager.c %D%/manager.h
%C%_unit_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
host_tests += %D%/job_unit
%C%_job_unit_SOURCES = %D%/job_unit.c %D%/manager.c %D%/manager.h \
	%D%/onejob.c %D%/onejob.h %D%/group.c %D%/group.h
%C%_job_unit_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
endif
host_tests += %D%/guard %D%/guard_client %D%/watchdog %D%/host %D%/job %D%/library %D%/load
jobtree = %D%/jobtree.c %D%/jobtree.h %D%/tree.c %D%/tree.h
%C%_cgroup_SOURCES = %D%/cgroup.c $(jobtree)
%C%_cgroup_job_SOURCES = %D%/cgroup_job.c $(jobtree)
%C%_keeper_SOURCES = %D%/keeper.c %D%/tree.c %D%/tree.h
%C%_mounts_SOURCES = %D%/mounts.c %D%/tree.c %D%/tree.h
guarded = %D%/guarded.c %D%/guarded.h %D%/group.c %D%/group.h %D%/tree.c %D%/tree.h
%C%_guard_SOURCES = %D%/guard.c $(guarded)
%C%_guard_client_SOURCES = %D%/guard_client.c $(guarded)
%C%_watchdog_SOURCES = %D%/watchdog.c $(guarded)
# Preloaded, so it is a shared object without any library of ours.
check_PROGRAMS += %D%/watchdog_device.so
%C%_watchdog_device_so_SOURCES = %D%/watchdog_device.c
%C%_watchdog_device_so_CFLAGS = $(AM_CFLAGS) -fPIC
%C%_watchdog_device_so_LDFLAGS = -shared
%C%_watchdog_device_so_LDADD =
%C%_host_SOURCES = %D%/host.c %D%/group.c %D%/group.h
%C%_job_SOURCES = %D%/job.c %D%/onejob.c %D%/onejob.h %D%/group.c %D%/group.h
%C%_library_SOURCES = %D%/library.c %D%/group.c %D%/group.h
%C%_load_SOURCES = %D%/load.c %D%/group.c %D%/group.h

host_tests += %D%/demo
%C%_demo_LDADD = tests/demo/libdemo.a tests/demo/libobserver.a $(test_libs)

unit_tests += %D%/hostfacts
%C%_hostfacts_SOURCES = %D%/hostfacts.c %D%/tree.c %D%/tree.h
host_tests += %D%/facts
%C%_facts_SOURCES = %D%/facts.c %D%/onejob.c %D%/onejob.h %D%/group.c %D%/group.h
