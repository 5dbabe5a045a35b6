/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_CREW_H
#define ISO_TESTS_CREW_H

#include "agent/train/spawn.h"
#include "tests/cli/cluster.h"

/*
 * The workers of a cluster, as an agent hosts them and without one: each in a
 * control group of its own that limits it, told its share, and heard when it
 * says how much it has done.
 */
struct crew_worker {
	struct spawn_child child; /* pid 0: not running */
	uint64_t told;		  /* tasks done, as this process said last */
	uint64_t told_before;	  /* ... as those before it said last */
};

struct crew {
	struct cluster cluster;
	unsigned period_us; /* of the quotas; crew_open() says 100 ms */
	struct crew_worker workers[CLUSTER_WORKERS];
};

/* Skips the whole program where no group can be made; call from test_suite(). */
void crew_prepare(void);
void crew_finish(void); /* the last teardown, outside of the forked tests */

void crew_open(struct crew *crew);
void crew_close(struct crew *crew);

/* As much as the kernel knows, they come before everybody else on this machine. */
void crew_outweigh(void);

/* Starts a worker with one thread. */
void crew_start(struct crew *crew, unsigned index, uint64_t share_ucpu);

/* What it owns from now on: the kernel enforces it, and the worker is told. */
void crew_set_share(struct crew *crew, unsigned index, uint64_t share_ucpu);

/* What the kernel lets it have, unknown to the worker. */
void crew_limit(struct crew *crew, unsigned index, uint64_t ucpu);

/* The signal, SIGKILL or SIGTERM, and waits for its end. */
void crew_end(struct crew *crew, unsigned index, int signal);

/* Takes what the workers have said; call now and then. */
void crew_listen(struct crew *crew);

/* Tasks that all processes of this worker said to have done; of a killed one the last second may
 * miss. */
uint64_t crew_done(const struct crew *crew, unsigned index);

#endif
