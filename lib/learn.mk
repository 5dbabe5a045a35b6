# Learning: allocation, rounds, models, data, training messages.
lib_libisobar_a_SOURCES += \
	lib/ata/ras.c lib/ata/ras.h \
	lib/ata/score.c lib/ata/score.h \
	lib/ata/strategy.c lib/ata/strategy.h \
	lib/data/batch.c lib/data/batch.h \
	lib/data/idx.c lib/data/idx.h \
	lib/data/partition.c lib/data/partition.h \
	lib/model/softmax.c lib/model/softmax.h \
	lib/quant_vector.h \
	lib/sgd/board.c lib/sgd/board.h \
	lib/sgd/pace.c lib/sgd/pace.h \
	lib/sgd/round.c lib/sgd/round.h \
	lib/sgd/step.c lib/sgd/step.h \
	lib/wire/train.c lib/wire/train.h
