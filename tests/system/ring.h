/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_RING_H
#define ISO_SYSTEM_RING_H

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/net/curve.h"
#include "lib/ledger/record.h"
#include "tests/demo/files.h"
#include "tests/demo/groups.h"
#include "tests/demo/processes.h"
#include "tests/system/proxy.h"
#include "tests/system/stage.h"

/*
 * Five real agents in a ring on this machine: CURVE over loopback, directly or
 * through a proxy, real cgroups with busy processes that come and go, and the
 * observer that reads the kernel's quotas more than a thousand times a second.
 */
#define RING_NODES	  5u
#define RING_BUDGET_UCPU  300000
#define RING_FLOOR_UCPU	  10000
#define RING_LEASE_MS	  5000u
#define RING_PATIENCE_NS  60000000000u
#define RING_OBSERVERS_HZ "1500" /* so that it is more than 1000 on a busy machine too */

/* Proxy lines from a node to its neighbours. */
#define RING_LINE_RIGHT(node) (2u * (node))
#define RING_LINE_LEFT(node)  (2u * (node) + 1u)

struct ring_node {
	char name[8];
	char directory[DEMO_PATH_BYTES]; /* of its files */
	char group[DEMO_PATH_BYTES];	 /* its cgroup in the file system */
	uint64_t id;
	unsigned port;
	struct curve_keypair keys;
	struct child agent;
	struct child burner;
};

struct ring {
	char directory[DEMO_PATH_BYTES];
	char service[DEMO_PATH_BYTES]; /* cgroup of the agents */
	struct groups *groups;
	struct ring_node nodes[RING_NODES];
	struct proxy *proxy; /* NULL: they talk directly */
	struct child observer;
	unsigned lease_ms;
	uint64_t kept; /* snapshots of the quotas, over all observers */
	uint64_t starts;
};

/* How an agent is started: all NULL for the installed one on a healthy disk. */
struct ring_start {
	const char *crash; /* STEP:N of tests/system/crash.c; "": that program, and no step */
	const char *detour; /* ISO_DETOUR of tests/system/detour.c, with crash */
	const char *program; /* instead of any of these, within the build directory */
	const char *disk;  /* ISO_DISK of tests/system/disk.c */
	const char *disk_while; /* ISO_DISK_WHILE of tests/system/disk.c */
	const char *keep;  /* ISO_DISK_KEEP of tests/system/disk.c */
	const char *conf;  /* NULL: the node's own */
};

/* Files, keys, cgroups and journals; nothing is started but the observer and the proxy. */
void ring_open(struct ring *ring, bool proxied);
/* The same with another lease than RING_LEASE_MS. */
void ring_open_lease(struct ring *ring, bool proxied, unsigned lease_ms);
/* Ends everything; the observer must have seen nothing wrong. */
void ring_close(struct ring *ring);

void ring_start(struct ring *ring, unsigned node, const struct ring_start *how);
void ring_start_all(struct ring *ring);
/* Starts and returns when its control socket answers; the test fails if it does not. */
void ring_start_and_wait(struct ring *ring, unsigned node);
void ring_kill(struct ring *ring, unsigned node, int signal);
/* True once it has ended; its status as of waitpid(). */
bool ring_ended(struct ring *ring, unsigned node, int *ret_status);
/* Waits for that; exit status, or -signal. */
int ring_wait_end(struct ring *ring, unsigned node);

void ring_burn(struct ring *ring, unsigned node, bool on);

/* NULL if it does not answer; the caller owns it. */
json_t *ring_status(const struct ring *ring, unsigned node);
int64_t ring_number(const struct ring *ring, unsigned node, const char *key);
int64_t ring_share(const struct ring *ring, unsigned node);
bool ring_is(const struct ring *ring, unsigned node, const char *state);
/* Neighbours that it hears; -1 if it does not answer. */
int ring_up(const struct ring *ring, unsigned node);

void ring_wait_all_up(const struct ring *ring);
void ring_wait_number(const struct ring *ring, unsigned node, const char *key, int64_t least,
		      int64_t most);
void ring_wait_share(const struct ring *ring, unsigned node, int64_t least_ucpu,
		     int64_t most_ucpu);

/* What the kernel enforces, from its own files. */
int64_t ring_quota_ucpu(const struct ring *ring, unsigned node);
int64_t ring_quotas_ucpu(const struct ring *ring);
void ring_wait_quotas(const struct ring *ring, int64_t least_ucpu);
void ring_set_quota(const struct ring *ring, unsigned node, int64_t ucpu);

/* The newest record in the journal, with the page cache's eyes. */
void ring_record(const struct ring *ring, unsigned node, struct iso_record *ret_record);
void ring_journal_path(const struct ring *ring, unsigned node, char ret_path[DEMO_PATH_BYTES]);

/*
 * No node has credited more than its donor's journal says it sent, whoever is
 * alive: read the receiver first, then the donor.
 */
void ring_check_edges(const struct ring *ring);
/* The kernel enforces no more than the journal of a node that is not running. */
void ring_check_dead(const struct ring *ring, unsigned node);

/* Received from a peer less sent to it, from the journal. */
int64_t ring_net_ucpu(const struct ring *ring, unsigned node, uint64_t peer);
/* All that was ever sent, from the journals. */
uint64_t ring_traded_ucpu(const struct ring *ring);

/* isobarctl audit over all nodes; the test fails if that does not prove the sum. */
void ring_audit(struct ring *ring);
/*
 * All are up, the audit proves the sum, and the only busy node gets most of the
 * budget; the test fails otherwise.
 */
void ring_prove(struct ring *ring, unsigned busy);
/* The exit status of an audit, for when it must not prove it; *ret_json may be NULL. */
int ring_audit_status(struct ring *ring, json_t **ret_json);

void ring_observer_start(struct ring *ring);
/* Ends it and judges what it saw. */
void ring_observer_stop(struct ring *ring);
/* Ends it when it must have seen more than the budget; how many snapshots were such. */
uint64_t ring_observer_caught(struct ring *ring);

/* Who guards a node's limit, whether or not its agent lives; 0: nobody. */
pid_t ring_guard(const struct ring *ring, unsigned node);
/* False: no new guard can be started for this node. */
void ring_guard_allow(const struct ring *ring, unsigned node, bool allowed);
/* After what a lease promises, whoever is without one has at most the floor. */
uint64_t ring_promise_ns(const struct ring *ring);

static inline unsigned ring_left_of(unsigned node)
{
	return (node + RING_NODES - 1) % RING_NODES;
}

static inline unsigned ring_right_of(unsigned node)
{
	return (node + 1) % RING_NODES;
}

/* How many lines of a node's log have these words. */
unsigned ring_log_count(const struct ring *ring, unsigned node, const char *words);
/* The end of a node's log, into the test's output. */
void ring_tell(const struct ring *ring, unsigned node);
#endif
