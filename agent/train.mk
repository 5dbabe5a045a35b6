# Training: keys, the worker and its start.
agent_libagent_a_SOURCES += \
	agent/spawn.c agent/spawn.h \
	agent/trainmsg.c agent/trainmsg.h \
	agent/worker_compute.c agent/worker_compute.h \
	agent/worker_part.c agent/worker_part.h \
	agent/worker_pool.c agent/worker_pool.h \
	agent/worker_session.c agent/worker_session.h \
	agent/workerlink.c agent/workerlink.h

# It computes.
pkglibexec_PROGRAMS += agent/isobar-worker
agent_isobar_worker_SOURCES = agent/worker.c
agent_isobar_worker_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(ZMQ_CFLAGS)
agent_isobar_worker_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)
