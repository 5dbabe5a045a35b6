# Real agents with real cgroups; the same programs run in the virtual machine.
dist_check_SCRIPTS += %D%/trade.tap
if HOST_TESTS
TESTS += %D%/trade.tap
endif
