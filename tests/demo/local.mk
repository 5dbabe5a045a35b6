# The end-to-end demo that ./bootstrap demo runs, and its independent observer.
noinst_LIBRARIES += %D%/libobserver.a
%C%_libobserver_a_SOURCES = \
	%D%/audit.c %D%/audit.h \
	%D%/quotas.c %D%/quotas.h
%C%_libobserver_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

# No library of ours but its own: it is the witness against the agents.
noinst_PROGRAMS += %D%/observer
%C%_observer_SOURCES = %D%/observer.c
%C%_observer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_observer_LDADD = %D%/libobserver.a $(JANSSON_LIBS)

# Judges what the nodes have learnt without a coordinator.
noinst_PROGRAMS += %D%/referee
%C%_referee_SOURCES = %D%/referee.c
%C%_referee_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_referee_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)

noinst_PROGRAMS += %D%/cotenant
%C%_cotenant_SOURCES = %D%/cotenant.c
%C%_cotenant_LDADD =

noinst_LIBRARIES += %D%/libdemo.a
%C%_libdemo_a_SOURCES = \
	%D%/account.c %D%/account.h \
	%D%/checks.c %D%/checks.h \
	%D%/compare.c %D%/compare.h \
	%D%/demo.h \
	%D%/files.c %D%/files.h \
	%D%/gain.c %D%/gain.h \
	%D%/groups.c %D%/groups.h \
	%D%/history.c %D%/history.h \
	%D%/learn.c %D%/learn.h \
	%D%/ledger.c %D%/ledger.h \
	%D%/plot.c %D%/plot.h \
	%D%/poll.c %D%/poll.h \
	%D%/ports.c %D%/ports.h \
	%D%/processes.c %D%/processes.h \
	%D%/report.c %D%/report.h \
	%D%/run.c %D%/run.h \
	%D%/setup.c %D%/setup.h \
	%D%/table.c %D%/table.h \
	%D%/together.c %D%/together.h \
	%D%/training.c %D%/training.h \
	%D%/usage.c %D%/usage.h \
	%D%/watch.c %D%/watch.h
%C%_libdemo_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)

noinst_PROGRAMS += %D%/demo
%C%_demo_SOURCES = %D%/demo.c
%C%_demo_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_demo_LDADD = %D%/libdemo.a %D%/libobserver.a $(agent_libs)

dist_check_SCRIPTS += %D%/demo.sh
if HOST_TESTS
TESTS += %D%/demo.sh
endif
