unit_tests += \
	tests/unit/ras \
	tests/unit/strategy
