unit_tests += %D%/quantity %D%/rng

unit_tests += %D%/observer
%C%_observer_LDADD = tests/demo/libobserver.a $(test_libs)
unit_tests += %D%/curve %D%/workerlink

unit_tests += %D%/conf %D%/link
EXTRA_DIST += %D%/conf

include tests/unit/learn.mk
