unit_tests += \
	tests/unit/curve \
	tests/unit/pool \
	tests/unit/workerlink
