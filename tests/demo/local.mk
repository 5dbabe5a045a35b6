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
