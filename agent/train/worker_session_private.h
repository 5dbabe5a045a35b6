/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_SESSION_PRIVATE_H
#define ISO_WORKER_SESSION_PRIVATE_H

#include "agent/train/trainmsg.h"
#include "agent/train/worker_part.h"
#include "agent/train/worker_session.h"

/* Between the files of worker_session.h. */

#define REFUSED_RETRY_NS 30000000000ull

struct session {
	struct loop_source source, timer;
	struct loop *loop;
	struct session_config config;
	struct iso_train_hello hello;

	bool joined;
	uint64_t since_ns;
	uint64_t hello_at_ns; /* while not joined */
	uint64_t heard_ns, ping_at_ns;
	enum iso_train_reason complaint; /* the last BYE that was logged; 0: none */

	struct iso_train_welcome welcome; /* term 0: never welcome */
	struct part part;
	bool has_params;
	uint64_t model_version;

	uint64_t tasks_done, dropped;
	int not_finite; /* tasks in a row */
};

/* worker_session.c: coming and going.  block as in trainmsg_send(), may be NULL. */
int session_send(struct session *session, const struct iso_train_message *message,
		 zmq_msg_t *block);
void session_say_bye(struct session *session, enum iso_train_reason reason, const char *why);
/* No longer joined: forgets the work and says hello in retry_ns. */
void session_leave(struct session *session, uint64_t now_ns, uint64_t retry_ns);
void session_arm(struct session *session);

/* worker_session_work.c: tasks that come, and results that go. */
void session_on_work(struct session *session, struct trainmsg *message);
void session_on_cancel(struct session *session, const struct iso_train_message *message);

#endif
