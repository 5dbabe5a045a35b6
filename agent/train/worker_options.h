/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WORKER_OPTIONS_H
#define ISO_WORKER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/net/link.h"

/* The command line of isobar-worker; all text is borrowed from it, and cut where it lies. */
struct worker_options {
	const char *coordinator;
	const char *coordinator_key; /* a public key, or the file that holds it */
	const char *key;
	const char *name;
	const char *data;
	const char *task; /* NULL: no user's task */
	const char *user; /* whom it becomes if it is root; NULL: who it is */
	uint32_t threads;
	uint64_t share_ucpu; /* 0: not given */
	uint64_t task_limit_ns;
	bool evaluate;
	bool no_sandbox;
	bool verbose;
	/* A training without coordinator. */
	const char *plan;
	const char *listen;
	const char *state_directory; /* NULL: the model is not kept */
	struct link_neighbour neighbours[LINK_NEIGHBOURS_MAX];
	uint32_t neighbours_count;
};

/* 0: go on; else the exit status + 1, and what is to be said was said. */
int worker_options_parse(int argc, char **argv, struct worker_options *ret_options);

#endif
