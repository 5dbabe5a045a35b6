unit_tests += \
	tests/unit/cconf \
	tests/unit/checkpoint \
	tests/unit/curve \
	tests/unit/gradient \
	tests/unit/modelfile \
	tests/unit/part \
	tests/unit/plan \
	tests/unit/pool \
	tests/unit/probe \
	tests/unit/profile \
	tests/unit/session \
	tests/unit/track_plan \
	tests/unit/workerlink
