# What touches the world.  libagent.a is shared by the programs and the tests.
noinst_LIBRARIES += %D%/libagent.a
%C%_libagent_a_SOURCES = \
	%D%/cgroup.c %D%/cgroup.h %D%/cgroup_create.c %D%/cgroup_file.c \
	%D%/cgroup_internal.h %D%/cgroup_library.c %D%/cgroup_library.h %D%/cgroup_limits.c \
	%D%/cgroup_manage.c %D%/cgroup_saved.c %D%/cgroup_v1.c %D%/cgroup_v2.c \
	%D%/cgroup_write.c \
	%D%/clock.h \
	%D%/curve.c %D%/curve.h \
	%D%/directory.c %D%/directory.h \
	%D%/error.c %D%/error.h \
	%D%/journal.c %D%/journal.h \
	%D%/log.c %D%/log.h \
	%D%/loop.c %D%/loop.h \
	%D%/mounts.c %D%/mounts.h \
	%D%/zap.c %D%/zap.h
%C%_libagent_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBBPF_CFLAGS) $(CONFUSE_CFLAGS) $(JANSSON_CFLAGS) \
	$(ZMQ_CFLAGS) $(CGROUP_CFLAGS) $(CAPNG_CFLAGS)

agent_libs = %D%/libagent.a lib/libisobar.a \
	$(LIBBPF_LIBS) $(CONFUSE_LIBS) $(JANSSON_LIBS) $(ZMQ_LIBS) $(CGROUP_LIBS) $(CAPNG_LIBS)

%C%_libagent_a_SOURCES += \
	%D%/dataset.c %D%/dataset.h

include agent/train.mk

# Configuration, the socket between agents, the socket for people.
%C%_libagent_a_SOURCES += \
	%D%/conf.c %D%/conf.h %D%/confcheck.c \
	%D%/confscan.c %D%/confscan.h \
	%D%/confutil.c %D%/confutil.h \
	%D%/confvalue.c %D%/confvalue.h \
	%D%/control.c %D%/control.h %D%/controlcall.c \
	%D%/controlsock.c %D%/controlsock.h \
	%D%/link.c %D%/link.h \
	%D%/preflight.c %D%/preflight.h \
	%D%/preflightnet.c %D%/preflightnet.h \
	%D%/status.c %D%/status.h %D%/statusledger.c %D%/statusprint.c

# Measuring: eBPF or the kernel's own account, and the clock of training threads.
%C%_libagent_a_SOURCES += \
	%D%/cpuclock.c %D%/cpuclock.h \
	%D%/meter.c %D%/meter.h \
	%D%/meter_ebpf.c %D%/meter_ebpf.h \
	%D%/meter_kernel.c %D%/meter_kernel.h \
	%D%/procuse.c %D%/procuse.h

# The node: everything brought together in one order.
%C%_libagent_a_SOURCES += \
	%D%/host.c %D%/host.h \
	%D%/job.c %D%/job.h \
	%D%/node.c %D%/node.h %D%/node_private.h \
	%D%/node_conf.c \
	%D%/node_status.c

sbin_PROGRAMS += %D%/isobard
%C%_isobard_SOURCES = %D%/isobard.c
%C%_isobard_LDADD = $(agent_libs)

bin_PROGRAMS += %D%/isobarctl
%C%_isobarctl_SOURCES = \
	%D%/isobarctl.c %D%/isobarctl.h \
	%D%/isobarctl_ask.c \
	%D%/isobarctl_audit.c \
	%D%/isobarctl_check.c \
	%D%/isobarctl_keygen.c \
	%D%/isobarctl_status.c
%C%_isobarctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_isobarctl_LDADD = $(agent_libs)
