# Learning: allocation, rounds, models, data, training messages.
lib_libisobar_a_SOURCES += \
	lib/ata/drift.c lib/ata/drift.h \
	lib/ata/norm.c lib/ata/norm.h \
	lib/ata/ras.c lib/ata/ras.h \
	lib/ata/score.c lib/ata/score.h \
	lib/ata/strategy.c lib/ata/strategy.h lib/ata/strategy_state.h \
	lib/ata/strategy_cluster.c lib/ata/strategy_explore.c lib/ata/strategy_learn.c \
	lib/ata/strategy_save.c lib/ata/strategy_score.c \
	lib/carve.h \
	lib/data/binary.c lib/data/binary.h \
	lib/data/csv.c lib/data/csv.h \
	lib/data/idx.c lib/data/idx.h \
	lib/data/libsvm.c lib/data/libsvm.h \
	lib/data/partition.c lib/data/partition.h \
	lib/data/text.c lib/data/text.h \
	lib/data/toy.c lib/data/toy.h \
	lib/model/layer.c lib/model/layer.h \
	lib/model/layer_sparse.c \
	lib/model/loss.c lib/model/loss.h \
	lib/model/model.c lib/model/model.h \
	lib/model/reference.c lib/model/reference.h \
	lib/model/smooth.c lib/model/smooth.h \
	lib/model/smooth_loss.c lib/model/smooth_loss.h \
	lib/model/softplus.h \
	lib/sgd/board.c lib/sgd/board.h \
	lib/sgd/dispatch.c lib/sgd/dispatch.h \
	lib/sgd/dispatch_lease.c \
	lib/sgd/fastest.c lib/sgd/fastest.h \
	lib/sgd/method.c lib/sgd/method.h \
	lib/sgd/method_event.c \
	lib/sgd/method_state.c \
	lib/sgd/pace.c lib/sgd/pace.h \
	lib/sgd/pair.c lib/sgd/pair.h \
	lib/sgd/rule.h \
	lib/sgd/rule_async.c \
	lib/sgd/rule_average.c \
	lib/sgd/rule_flight.c \
	lib/sgd/rule_ia2sgd.c \
	lib/sgd/rule_malenia.c \
	lib/sgd/rule_ringleader.c \
	lib/sgd/rule_table.c \
	lib/sgd/theory.c lib/sgd/theory.h \
	lib/track/adapt.c lib/track/adapt.h \
	lib/track/peer.c lib/track/peer.h lib/track/peer_state.h \
	lib/track/peer_belief.c \
	lib/track/peer_receive.c \
	lib/track/peer_round.c \
	lib/track/peer_send.c \
	lib/track/peer_session.c \
	lib/track/peer_view.c \
	lib/track/step.c lib/track/step.h \
	lib/wire/peer.c lib/wire/peer.h \
	lib/wire/train.c lib/wire/train.h lib/wire/train_block.c

# Loops over vectors: vectorised whatever the level of optimisation.  Their objects go
# into libisobar.a; the flags change no result.
noinst_LIBRARIES += lib/libhot.a
lib_libhot_a_SOURCES = \
	lib/data/batch.c lib/data/batch.h \
	lib/hot.h \
	lib/model/quadratic.c lib/model/quadratic.h \
	lib/model/relu.c lib/model/relu.h \
	lib/quant/codec.c lib/quant/codec.h \
	lib/quant/pack.c lib/quant/pack.h \
	lib/quant/quant_vector.c lib/quant/quant_vector.h \
	lib/quant/stream.c lib/quant/stream.h lib/quant/stream_state.h \
	lib/quant/stream_decode.c \
	lib/sgd/rule_vector.c lib/sgd/rule_vector.h \
	lib/sgd/step.c lib/sgd/step.h \
	lib/track/flow.c lib/track/flow.h \
	lib/track/push.c lib/track/push.h
lib_libhot_a_CFLAGS = $(lib_libisobar_a_CFLAGS) $(HOT_CFLAGS)
lib_libisobar_a_LIBADD = $(lib_libhot_a_OBJECTS)
