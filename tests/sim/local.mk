

sim_tests += %D%/bandit
sim_tests += %D%/trade
%C%_trade_SOURCES = %D%/trade.c %D%/world.c %D%/world.h %D%/world_check.c %D%/world_node.c \
	%D%/world_queue.c %D%/world_state.h
sim_tests += %D%/power %D%/quota
sim_tests += %D%/round
sim_tests += %D%/registry
%C%_registry_SOURCES = %D%/registry.c %D%/members.c %D%/members.h
