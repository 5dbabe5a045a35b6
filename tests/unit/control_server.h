/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_CONTROL_SERVER_H
#define ISO_TESTS_CONTROL_SERVER_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/control/control.h"

/*
 * A control socket in a directory of the test's own, and a process that serves it with
 * commands ask, set (which changes the state), broken, refuse, large and later.
 */
#define SECOND_NS 1000000000ull

extern struct server {
	char directory[64], path[80];
	pid_t pid;
	struct error error; /* the latest */
} server;

/* Nobody serves at first. */
void server_set_up(void);
void server_tear_down(void);

struct control_config server_configure(void);
/* In a process of its own; returns once it listens. */
void server_start(const struct control_config *config);
void server_stop(int signal);

/* The reply to a request in JSON, which must come; the caller owns it. */
json_t *server_call(const char *text);
/* Of its text; takes the reply. */
void server_reply_is(json_t *reply, const char *expected);

/* Packet by packet: the answer to one, as text; NULL when the server hung up. */
int server_connect(void);
const char *server_raw_call(int fd, const void *bytes, size_t size);

#endif
