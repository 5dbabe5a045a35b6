/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_BENCH_CLUSTER_H
#define ISO_BENCH_CLUSTER_H

#include "agent/base/error.h"
#include "agent/net/curve.h"
#include "tests/demo/files.h"
#include "tests/demo/groups.h"
#include "tests/demo/processes.h"

/*
 * Real agents on this machine, for benchmarks: node 0 in the middle, the
 * others its only neighbours; CURVE over loopback, real cgroups, no training.
 */
#define CLUSTER_MAX 9u

struct cluster {
	char directory[DEMO_PATH_BYTES];
	struct groups groups;
	unsigned count;
	unsigned ports[CLUSTER_MAX];
	struct curve_keypair keys[CLUSTER_MAX];
	struct child agents[CLUSTER_MAX];
};

/* Starts isobard count times (from the build directory) and waits until all hear each other. */
int cluster_start(struct cluster *cluster, unsigned count, const char *tick, struct error *reterr);

/* Ends and removes everything; what cluster_start() left half-built, too. */
void cluster_stop(struct cluster *cluster);

/* The quota file's value in µs per period, or -errno. */
long cluster_quota_us(const struct cluster *cluster, unsigned node);

/* Moves a process into a node's cgroup. */
int cluster_enter(const struct cluster *cluster, unsigned node, pid_t pid, struct error *reterr);

#endif
