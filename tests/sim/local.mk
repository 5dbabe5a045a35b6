

sim_tests += %D%/bandit
sim_tests += %D%/trade
%C%_trade_SOURCES = %D%/trade.c %D%/world.c %D%/world.h
sim_tests += %D%/quota
sim_tests += %D%/round
