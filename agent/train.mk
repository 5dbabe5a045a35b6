# Training: keys, the worker and its start, the coordinator.
agent_libagent_a_SOURCES += \
	agent/checkpoint.c agent/checkpoint.h \
	agent/coordinator_admit.c agent/coordinator_admit.h \
	agent/coordinator_conf.c agent/coordinator_conf.h \
	agent/coordinator_net.c agent/coordinator_net.h \
	agent/coordinator_run.c agent/coordinator_run.h agent/coordinator_runstate.h \
	agent/coordinator_save.c \
	agent/coordinator_status.c agent/coordinator_status.h \
	agent/evaluate.c agent/evaluate.h \
	agent/spawn.c agent/spawn.h \
	agent/trainmsg.c agent/trainmsg.h \
	agent/worker_compute.c agent/worker_compute.h \
	agent/worker_part.c agent/worker_part.h \
	agent/worker_pool.c agent/worker_pool.h \
	agent/worker_session.c agent/worker_session.h \
	agent/workerlink.c agent/workerlink.h

# Only these two programs compute.
pkglibexec_PROGRAMS += agent/isobar-worker
agent_isobar_worker_SOURCES = agent/worker.c
agent_isobar_worker_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(ZMQ_CFLAGS)
agent_isobar_worker_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)

sbin_PROGRAMS += agent/isobar-coordinator
agent_isobar_coordinator_SOURCES = agent/coordinator.c
agent_isobar_coordinator_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(ZMQ_CFLAGS) $(JANSSON_CFLAGS)
agent_isobar_coordinator_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)
