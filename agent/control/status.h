/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_AGENT_STATUS_H
#define ISO_AGENT_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/error.h"
#include "agent/base/sandbox.h"
#include "lib/ledger/audit.h"

/*
 * What a node says about itself: the plain struct that isobard fills, the
 * JSON that leaves through the control socket, and the screen that isobarctl
 * makes of it.  All three live here so that they cannot drift apart.  Unknown
 * is not zero: STATUS_UNKNOWN, NAN and NULL become null and are shown as "-".
 */

#define STATUS_UNKNOWN INT64_MIN

struct status_neighbour {
	const char *name;
	const char *address;
	const char *state; /* "up", "down", "refused", ... */
	double age_s;	   /* since the last message */
	double price;	   /* its marginal cost as we know it */
	int64_t sent_ucpu, received_ucpu, in_flight_ucpu;
	double remainder;  /* signed rest of the flow, below one unit */
	int64_t generation; /* of the edge */
	const char *edge;   /* "open", "frozen", "closing", "closed", "folded", "dormant" */
	const char *decision; /* of the last tick: iso_share_reason_text() */
	int64_t limit_ucpu;  /* net, either way; unknown: none */
	bool is_withheld;    /* it says that it gave more than its limit lets in */
	int64_t close_in_ms; /* until it may be closed without a word; unknown: never */
};

struct status_drop {
	const char *reason;
	int64_t count;
};

struct status {
	const char *node, *cluster, *instance, *version;
	/*
	 * ok drifted conflict gone degraded frozen isolated dry-run; or where the node is in its
	 * life: "waiting for admission", draining leaving left buried
	 */
	const char *state;
	const char *reason; /* NULL when there is nothing to say */
	const char *cgroup, *unit; /* the job's group; its unit of systemd, or NULL */
	int64_t share_ucpu, enforced_ucpu;
	int64_t quota_us, period_us, readback_us;
	int64_t effective_ucpu;
	const char
	    *effective_by; /* who limits: "quota", "cpuset", "online CPUs", an ancestor's path */
	int64_t cpus;	       /* it may run on: online, and in its cpuset */
	int64_t limit_changes; /* by other writers, since the start */
	int64_t reserve_ucpu, floor_ucpu, ceiling_ucpu, budget_ucpu, endowment_ucpu;
	int64_t on_cpu_ucpu, wait_ucpu, demand_ucpu;
	double marginal_cost, price;
	int64_t debt_ns, throttled_ns;
	const char *presence; /* of the job: running empty frozen gone; NULL: not known */
	bool is_released;     /* what is above the floor is for the others meanwhile */
	bool is_dry_run;
	/* What of the job runs whatever its quota is. */
	struct {
		int64_t realtime_threads, realtime_ucpu;
		const char *sched_ext; /* the scheduler's name; NULL: none is loaded */
	} unbound;
	/* Of the last whole window of each, lib/enforce/facts.h; NAN: not known. */
	struct {
		double use;                /* by what the job may use */
		double throttled_use;      /* of the quota, in periods that ended it */
		double meter;              /* by the kernel's own account of the job */
		double stolen, interrupts; /* parts of the host's CPU time */
	} ratios;
	const char *const *notes; /* what else an administrator should know */
	unsigned note_count;
	const char *meter, *meter_reason; /* "ebpf" or "cpu.stat", and why not eBPF */
	int64_t generation, incarnation;
	const char *halt; /* as in the ledger; NULL: none */
	bool is_draining, is_leaving, is_frozen;
	int64_t last_op, last_op_ucpu;
	const char *admin; /* where administrators are listened to; NULL: nowhere but here */
	double uptime_s;
	int64_t ticks_late;        /* that did not come in time, or not at all */
	int64_t sleeps;            /* of the machine, since the start */
	double slept_s;            /* how long those were together */
	int64_t ticks, journal_writes, quota_writes;
	const char *last_decision;
	const char *journal_error; /* why it cannot be written now; NULL: it can */
	const char *reload; /* outcome of the last one; NULL: none since the start */

	const struct status_neighbour *neighbours;
	unsigned neighbour_count;

	int64_t messages_sent, messages_received;
	const struct status_drop *drops;
	unsigned drop_count;

	bool has_lease; /* leases are on */
	struct {
		bool valid;	    /* more than the floor may be enforced */
		double remaining_s; /* NAN: none is needed */
	} lease;

	bool has_worker;
	struct {
		const char *state;
		int64_t pid, restarts, threads, tasks;
	} worker;

	bool has_training; /* by a plan, and the worker has said how it stands */
	struct {
		int64_t round, live, neighbours, sent_bytes;
		double loss, accuracy, spread, alpha;
	} training;

	struct {
		const char *state;  /* "ok", "restarting", "none"; NULL: leases are off */
		const char *reason; /* NULL when there is nothing to say */
		const char *watchdog; /* "none", "armed", "too slow", "failed" */
		int64_t pid, restarts;
		double lease_s; /* until it lowers the limit; NAN: no lease needed */
		bool auto_burial; /* safe, as far as this node can tell */
	} guard;

	struct {
		int64_t cpu_ns, rss_bytes;
	} agent;

	struct sandbox_view sandbox; /* of the agent */
};

/* Everything unknown; fill in what you know. */
void status_init(struct status *ret_status);

/* A new reference, {"ok": true, ...}; NULL when memory runs out. */
json_t *status_json(const struct status *status);

/* One screen of text from what status_json() made, perhaps elsewhere and by another version. */
void status_print(FILE *out, const json_t *status);

/* One line of a table over several nodes; header true prints the column heads instead. */
void status_print_row(FILE *out, const json_t *status, bool header);

/* As the JSON calls it; NULL: none. */
const char *status_halt_name(enum iso_halt halt);

/* One atomic snapshot of a node's ledger, with what the numbers do not say. */
struct status_ledger {
	const char *cluster, *node;
	struct iso_audit_node snapshot; /* from iso_trade_snapshot(), between two ticks */
	/* Name of the peer of edge i; NULL where the configuration does not know it. */
	const char *peers[ISO_DEGREE_MAX];
	/* How far the peer of edge i is trusted; INT64_MAX: without limit; STATUS_UNKNOWN. */
	int64_t limits_ucpu[ISO_DEGREE_MAX];
};

/* A new reference, {"ok": true, ...}; NULL when memory runs out. */
json_t *status_ledger_json(const struct status_ledger *ledger);

/*
 * Reads such a snapshot back, from a socket or from a file somebody copied.
 * Strings are borrowed from the JSON.  -EINVAL names the field that is missing
 * or cannot be.
 */
int status_ledger_read(const json_t *json, struct status_ledger *ret_ledger, struct error *reterr);

#endif
