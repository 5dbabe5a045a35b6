unit_tests += \
	tests/unit/ras \
	tests/unit/round \
	tests/unit/strategy
