/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HOST_H
#define ISO_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "lib/wire/worker.h"

struct job;
struct loop;

/*
 * Hosts the node's training worker: starts it in the job's cgroup, gives its
 * threads their on-CPU clocks, tells it the share, and starts it again when
 * it ends, after a pause that doubles while it keeps ending early.  A user's task
 * that ends one worker after the other is given up until its file changes.
 * Nothing that happens to the worker touches enforcing or trading.
 */
struct host;

struct host_config {
	const struct conf *conf; /* its training section; all are borrowed until host_close() */
	struct job *job;         /* where the worker runs and who measures it */
	struct loop *loop;
};

/* Starts nothing yet.  -ENOENT, -EPERM: the user or the executable will not do. */
int host_open(const struct host_config *config, struct host **ret_host, struct error *reterr);

/* Ends the worker.  Takes NULL; returns NULL. */
struct host *host_close(struct host *host);

/*
 * Starts the worker if one is due, and passes on a changed share and CPU
 * count.  Call it at each tick; it asks for no other.
 */
void host_step(struct host *host, uint64_t now_ns, uint64_t share_ucpu, uint32_t cpus);

/* Ends the worker; none starts again until host_step() is called again. */
void host_pause(struct host *host);

struct host_status {
	/*
	 * "running", "waiting for coordinator" or "waiting for neighbours",
	 * "done", "restarting"; with a user's task also "restarting: task: WHY" and
	 * "given up: task: WHY".  Valid until the next call.
	 */
	const char *state;
	int64_t pid;       /* 0: none */
	int64_t restarts;
	int64_t threads;
	uint64_t tasks_done; /* since this worker started */
	/* Of a plan, as this worker has said; what it has not said is NAN. */
	bool has_training;
	uint64_t round;
	uint32_t live;
	double measures[ISO_WORKER_MEASURES]; /* by enum iso_worker_measure, from 1 */
};
struct host_status host_status(struct host *host);

#endif
