
# The tools from outside: exit status, stdout and stderr, compared whole.
cli_tests = \
	%D%/admin.sh \
	%D%/audit.sh \
	%D%/browser.sh \
	%D%/check.sh \
	%D%/commands.sh \
	%D%/completion.sh \
	%D%/deployment.sh \
	%D%/examples.sh \
	%D%/exporter.sh \
	%D%/graph.sh \
	%D%/isobard.sh \
	%D%/keygen.sh \
	%D%/maintainer.sh \
	%D%/modes.sh \
	%D%/prometheus.sh \
	%D%/quickstart.sh \
	%D%/sim.sh \
	%D%/status.sh \
	%D%/statuspage.sh \
	%D%/tell.sh \
	%D%/together.sh \
	%D%/track.sh \
	%D%/train.sh \
	%D%/usage.sh
dist_check_SCRIPTS += $(cli_tests)
TESTS += $(cli_tests)
EXTRA_DIST += %D%/expect.sh %D%/exporter_expect.sh %D%/rules.yml %D%/answers %D%/ledgers

check_PROGRAMS += %D%/answer
%C%_answer_SOURCES = %D%/answer.c
%C%_answer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_answer_LDADD = $(agent_libs)
if HAVE_CHECK
host_tests += %D%/training
%C%_training_SOURCES = %D%/training.c %D%/cluster.c %D%/cluster.h
host_tests += %D%/textdata
%C%_textdata_SOURCES = %D%/textdata.c %D%/cluster.c %D%/cluster.h
endif
check_PROGRAMS += %D%/village
%C%_village_SOURCES = %D%/village.c tests/sim/members.c tests/sim/members.h
%C%_village_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
%C%_village_LDADD = $(agent_libs)
