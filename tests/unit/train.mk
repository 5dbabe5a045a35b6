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
	tests/unit/run_resume \
	tests/unit/session \
	tests/unit/track_plan \
	tests/unit/workerlink
tests_unit_plan_SOURCES = tests/unit/plan.c tests/unit/small_run.c tests/unit/small_run.h
tests_unit_run_resume_SOURCES = tests/unit/run_resume.c tests/unit/small_run.c tests/unit/small_run.h
