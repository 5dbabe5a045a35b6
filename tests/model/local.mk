# Every state of a small cluster, by the real code of lib/ledger.
check_LIBRARIES += %D%/libmodel.a
%C%_libmodel_a_SOURCES = \
	%D%/act.c %D%/act.h \
	%D%/broken.h \
	%D%/check.c \
	%D%/cluster.c %D%/cluster.h %D%/cluster_private.h \
	%D%/disk.c %D%/disk.h \
	%D%/emit.c %D%/emit.h \
	%D%/expand.c %D%/expand_world.c \
	%D%/fault.c \
	%D%/node.c %D%/node.h %D%/node_private.h \
	%D%/pool.c %D%/pool.h \
	%D%/print.c \
	%D%/search.c %D%/search.h \
	%D%/setup.h \
	%D%/step.c \
	%D%/world.c %D%/world.h

# Minutes, and up to 4 GiB.
check_PROGRAMS += %D%/run
%C%_run_LDADD = %D%/libmodel.a lib/libisobar.a
.PHONY: model
model: %D%/run
	%D%/run
	$(AM_V_at)top_srcdir=$(abs_top_srcdir) $(SHELL) $(srcdir)/%D%/spin.sh whole

if HAVE_CHECK
model_tests += %D%/explore %D%/mutants
%C%_explore_LDADD = %D%/libmodel.a $(test_libs)

# lib/ with rules that can be switched off; these copies are in no other program.
%C%_mutants_SOURCES = %D%/mutants.c
nodist_%C%_mutants_SOURCES = %D%/broken_ledger.c %D%/broken_ledger_op.c %D%/broken_lease.c \
	%D%/broken_record.c %D%/broken_message.c %D%/broken_limit.c %D%/broken_trade_op.c
%C%_mutants_LDADD = %D%/libmodel.a $(test_libs)
endif
mutate = $(AM_V_GEN)$(MKDIR_P) %D% && cd $(srcdir) && \
	$(SHELL) %D%/mutate.sh %D%/mutants.sed
mutate_needs = %D%/mutants.sed %D%/mutate.sh
%D%/broken_ledger.c: lib/ledger/ledger.c $(mutate_needs)
	$(mutate) lib/ledger/ledger.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_ledger_op.c: lib/ledger/ledger_op.c $(mutate_needs)
	$(mutate) lib/ledger/ledger_op.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_lease.c: lib/ledger/lease.c $(mutate_needs)
	$(mutate) lib/ledger/lease.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_trade_op.c: lib/trade/trade_op.c $(mutate_needs)
	$(mutate) lib/trade/trade_op.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_record.c: lib/ledger/record.c $(mutate_needs)
	$(mutate) lib/ledger/record.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_message.c: lib/trade/trade_message.c $(mutate_needs)
	$(mutate) lib/trade/trade_message.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/broken_limit.c: lib/trade/trade_limit.c $(mutate_needs)
	$(mutate) lib/trade/trade_limit.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
CLEANFILES += %D%/broken_ledger.c %D%/broken_ledger_op.c %D%/broken_lease.c \
	%D%/broken_record.c %D%/broken_message.c %D%/broken_limit.c %D%/broken_trade_op.c

# The same protocol in Promela, and the lease, which is a matter of time.
TESTS += %D%/spin.sh
dist_check_SCRIPTS += %D%/spin.sh
EXTRA_DIST += %D%/ledger.pml %D%/ledger_admin.pml %D%/ledger_check.pml %D%/ledger_op.pml \
	%D%/lease.pml
EXTRA_DIST += %D%/mutants.sed %D%/mutate.sh
