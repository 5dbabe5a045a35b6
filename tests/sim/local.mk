sim_world = %D%/world.c %D%/world.h %D%/world_admin.c %D%/world_check.c %D%/world_guard.c \
	%D%/world_lives.c %D%/world_node.c %D%/world_office.c %D%/world_office_check.c \
	%D%/world_queue.c %D%/world_state.h %D%/world_wishes.c \
	%D%/world_trace.c

sim_tests += %D%/beyond %D%/remedies
%C%_remedies_SOURCES = %D%/remedies.c %D%/remedy.c %D%/remedy.h
sim_tests += %D%/trade %D%/member
%C%_trade_SOURCES = %D%/trade.c $(sim_world)
%C%_member_SOURCES = %D%/member.c $(sim_world)
sim_tests += %D%/power %D%/quota
sim_tests += %D%/method
%C%_method_SOURCES = %D%/method.c %D%/method_check.c %D%/method_world.h \
	%D%/method_oracle.c %D%/method_oracle.h
sim_tests += %D%/training_run
sim_tests += %D%/registry
%C%_registry_SOURCES = %D%/registry.c %D%/members.c %D%/members.h
sim_tests += %D%/boxes %D%/field %D%/swarm

# The published tables: lib/ with rules that can be switched off, in these two programs alone.
sim_scenario = $(sim_world) %D%/ablate.h %D%/scenario.c %D%/scenario.h %D%/scenarios.c
sim_ablated = %D%/ablated_share.c %D%/ablated_cost.c
sim_tests += %D%/oracle
%C%_oracle_SOURCES = %D%/oracle.c $(sim_scenario)
nodist_%C%_oracle_SOURCES = $(sim_ablated)

check_PROGRAMS += %D%/tables
%C%_tables_SOURCES = %D%/tables.c $(sim_scenario)
nodist_%C%_tables_SOURCES = $(sim_ablated)

# All rows with all their runs: a quarter of an hour on two CPUs.
sim-tables: %D%/tables
	%D%/tables

# Chaos, a thousand million events: minutes.  SOAK='from=1001 events=1e8' for others.
check_PROGRAMS += %D%/soak
%C%_soak_SOURCES = %D%/soak.c $(sim_world)
soaks += soak-sim
soak-sim: %D%/soak
	%D%/soak $(SOAK)

ablate = $(AM_V_GEN)$(MKDIR_P) %D% && cd $(srcdir) && \
	$(SHELL) tests/model/mutate.sh %D%/ablate.sed
ablate_needs = %D%/ablate.sed tests/model/mutate.sh
%D%/ablated_share.c: lib/trade/share.c $(ablate_needs)
	$(ablate) lib/trade/share.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
%D%/ablated_cost.c: lib/trade/cost.c $(ablate_needs)
	$(ablate) lib/trade/cost.c >$(abs_builddir)/$@-t && mv $(abs_builddir)/$@-t $(abs_builddir)/$@
CLEANFILES += $(sim_ablated)
EXTRA_DIST += %D%/ablate.sed

sim_tests += %D%/peer
%C%_peer_SOURCES = %D%/peer.c %D%/peer_world.c %D%/peer_world.h

sim_tests += %D%/peer_course
%C%_peer_course_SOURCES = %D%/peer_course.c %D%/peer_world.c %D%/peer_world.h

sim_tests += %D%/peer_hostile
%C%_peer_hostile_SOURCES = %D%/peer_hostile.c %D%/peer_world.c %D%/peer_world.h
