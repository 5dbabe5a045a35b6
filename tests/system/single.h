/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_SINGLE_H
#define ISO_TESTS_SINGLE_H

#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One agent without neighbours that owns all of a budget of 0.3 CPU: its
 * configuration, its directories and the group of its job, "job".
 */

#define SINGLE_BEFORE_US   77000 /* of 100 ms; what the kernel had before the agent came */
#define SINGLE_OURS_US	   30000
#define SINGLE_PATIENCE_MS 20000

struct single {
	char folder[64]; /* of all that is below */
	char conf[96], control[96];
	char isobard[PATH_MAX];
	char job[PATH_MAX]; /* the group's directory */
};

extern struct single single;

/* name: of the test, for its folder in /tmp.  The group has SINGLE_BEFORE_US. */
void single_begin(const char *name);
/* Removes the group and the folder. */
void single_end(void);

/* Writes the configuration; more: further keys, one a line. */
void single_configure(const char *more);
/* Likewise, and makes the journal. */
void single_init(const char *more);
/* A key pair, a.key and a.pub in the folder. */
void single_make_keys(void);

/* Runs isobard with this option, or none if NULL; log: becomes its stderr, or -1. */
pid_t single_run(const char *option, int log);
/* Likewise, to its end: the exit status. */
int single_says(const char *option);

/* The answer over the control socket; NULL if there is none. */
json_t *single_ask(const char *command);
/* Waits for it; an agent that ends or says nothing in SINGLE_PATIENCE_MS fails the test. */
json_t *single_status(pid_t agent);

/* The limit that the kernel has, per 100 ms. */
void single_assert_limit(int64_t quota_us);

#endif
