unit_tests += \
	tests/unit/codec \
	tests/unit/data \
	tests/unit/dataset \
	tests/unit/dataset_text \
	tests/unit/fastest \
	tests/unit/method \
	tests/unit/method_state \
	tests/unit/quadratic \
	tests/unit/quant_vector \
	tests/unit/pair \
	tests/unit/partition \
	tests/unit/ras \
	tests/unit/stream \
	tests/unit/second_stream \
	tests/unit/stream_track \
	tests/unit/vectors_stream \
	tests/unit/reference \
	tests/unit/rule_async \
	tests/unit/rule_round \
	tests/unit/rule_table \
	tests/unit/smooth \
	tests/unit/dispatch \
	tests/unit/liblinear \
	tests/unit/model \
	tests/unit/options tests/unit/options_state \
	tests/unit/strategy \
	tests/unit/theory \
	tests/unit/textdata \
	tests/unit/toy \
	tests/unit/train_wire

tests_unit_codec_SOURCES = tests/unit/codec.c tests/unit/codec_avx2.c \
	tests/unit/codec_copy.h tests/unit/codec_plain.c
tests_unit_codec_CFLAGS = $(AM_CFLAGS) $(HOT_CFLAGS) -ffp-contract=off
tests_unit_second_stream_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
tests_unit_quant_vector_SOURCES = tests/unit/quant_vector.c tests/unit/quant_plain.c
tests_unit_quant_vector_CFLAGS = $(AM_CFLAGS) -ffp-contract=off

tests_unit_options_SOURCES = tests/unit/options.c tests/unit/pupil.c tests/unit/pupil.h
tests_unit_options_state_SOURCES = tests/unit/options_state.c \
	tests/unit/pupil.c tests/unit/pupil.h
tests_unit_strategy_SOURCES = tests/unit/strategy.c tests/unit/pupil.c tests/unit/pupil.h

timeline = tests/unit/timeline.c tests/unit/timeline.h
tests_unit_method_state_SOURCES = tests/unit/method_state.c $(timeline)
tests_unit_rule_async_SOURCES = tests/unit/rule_async.c $(timeline)
tests_unit_rule_round_SOURCES = tests/unit/rule_round.c $(timeline)
tests_unit_rule_table_SOURCES = tests/unit/rule_table.c $(timeline)
