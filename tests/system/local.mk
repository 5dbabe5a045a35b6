# Real agents with real cgroups; the same programs run in the virtual machine.
dist_check_SCRIPTS += %D%/trade.tap
if HOST_TESTS
TESTS += %D%/trade.tap
endif

# isobard as it is, and with crash points (agent/node/crash.h): these objects come
# before the library's, which are then not linked.  Never installed.
check_PROGRAMS += %D%/isobard-crash
%C%_isobard_crash_SOURCES = agent/isobard.c agent/node/node.c agent/node/journal.c %D%/crash.c
%C%_isobard_crash_CPPFLAGS = $(AM_CPPFLAGS) -DISO_CRASH_POINTS $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_isobard_crash_LDADD = $(agent_libs)
