unit_tests += \
	tests/unit/data \
	tests/unit/dataset \
	tests/unit/ras \
	tests/unit/round \
	tests/unit/softmax \
	tests/unit/strategy \
	tests/unit/train_wire
