unit_tests += \
	tests/unit/data \
	tests/unit/dataset \
	tests/unit/dataset_text \
	tests/unit/method \
	tests/unit/quadratic \
	tests/unit/quant_vector \
	tests/unit/ras \
	tests/unit/rule \
	tests/unit/dispatch \
	tests/unit/liblinear \
	tests/unit/model \
	tests/unit/options \
	tests/unit/strategy \
	tests/unit/theory \
	tests/unit/textdata \
	tests/unit/train_wire

tests_unit_quant_vector_SOURCES = tests/unit/quant_vector.c tests/unit/quant_plain.c
tests_unit_quant_vector_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
