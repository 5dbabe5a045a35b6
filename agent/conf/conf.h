/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONF_H
#define ISO_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/confutil.h"

/*
 * /etc/isobar/isobard.conf as a plain struct: everything filled in, every
 * quantity in its base unit, the meaning checked.  Nothing here is read twice:
 * after conf_load() the file does not matter any more.
 */

#define CONF_NAME_BYTES	    64
#define CONF_PATH_BYTES	    256
#define CONF_UNIT_BYTES	    256
#define CONF_ADDRESS_BYTES  160
#define CONF_KEY_BYTES	    41 /* Z85 and its NUL */
#define CONF_NEIGHBOURS_MAX 64
#define CONF_ADMINISTRATORS_MAX 16
#define CONF_WARNINGS_MAX   4

/* A neighbour that is trusted as this host itself. */
#define CONF_LIMIT_NONE UINT64_MAX

/* Smallest quota the kernel takes: 1000 µs in each period. */
#define CONF_QUOTA_US_MIN 1000

enum conf_on_exit { CONF_ON_EXIT_KEEP, CONF_ON_EXIT_RESTORE, CONF_ON_EXIT_REMOVE };
enum conf_meter { CONF_METER_AUTO, CONF_METER_KERNEL };
enum conf_cost { CONF_COST_QUADRATIC, CONF_COST_LATENCY, CONF_COST_PROPORTIONAL };
enum conf_penalty { CONF_PENALTY_SOFTPLUS, CONF_PENALTY_LOG_BARRIER, CONF_PENALTY_NONE };
enum conf_quantiser {
	CONF_QUANTISER_DIFFERENCE,
	CONF_QUANTISER_LOG,
	CONF_QUANTISER_UNIFORM,
	CONF_QUANTISER_NONE,
};
enum conf_log_level {
	CONF_LOG_ERROR,
	CONF_LOG_WARNING,
	CONF_LOG_INFO,
	CONF_LOG_DEBUG,
};

struct conf_neighbour {
	char name[CONF_NAME_BYTES];
	char address[CONF_ADDRESS_BYTES];
	char public_key[CONF_KEY_BYTES]; /* empty: none */
	/* Of its worker; empty: that does not train with ours. */
	char worker_address[CONF_ADDRESS_BYTES];
	char worker_public_key[CONF_KEY_BYTES];
	uint64_t limit_ucpu; /* net, either way; 0: as trading.limit says; or CONF_LIMIT_NONE */
	uint64_t id;			 /* conf_node_id(cluster, name) */
	int line;
};

struct conf_administrator {
	char name[CONF_NAME_BYTES];
	char public_key[CONF_KEY_BYTES];
	int line;
};

struct conf {
	char cluster[CONF_NAME_BYTES];
	char node[CONF_NAME_BYTES];
	uint64_t id;	     /* of this node on the wire */
	uint64_t cluster_id; /* conf_cluster_id(cluster) */
	uint64_t digest;     /* conf_digest(): equal on all nodes that may trade */

	uint64_t budget_ucpu;
	uint64_t endowment_ucpu; /* share at the very first start; 0: not set */
	int64_t config_epoch;

	/* The job: exactly one of the three; conf_job() names it. */
	char cgroup[CONF_PATH_BYTES]; /* below the hierarchy's root, "/a/b" */
	char unit[CONF_UNIT_BYTES];   /* of systemd */
	bool delegated;		      /* a child of the agent's own unit */
	bool create_cgroup;
	bool force_cgroup;
	uint64_t period_ns;
	uint64_t floor_ucpu,
	    ceiling_ucpu; /* floor <= ceiling <= budget, floor >= 1000 µs a period */
	bool has_ceiling; /* else the ceiling is the budget, whatever that becomes */
	int on_exit;	  /* enum conf_on_exit */
	int meter;	  /* enum conf_meter */
	bool dry_run;
	uint64_t release_after_ns; /* absent for so long, a job keeps its floor; 0: all */
	int log_level; /* enum conf_log_level */
	bool sandbox;

	struct {
		int kind; /* enum conf_cost */
		double kappa, weight;
		int penalty; /* enum conf_penalty */
		double sigma, epsilon;
	} cost;

	struct {
		uint64_t tick_ns, fresh_ns;
		int quantiser; /* enum conf_quantiser */
		double rho, gamma, dead_band;
		bool stop_and_wait;
		uint64_t lease_ns; /* 0: no leases, and no guard */
		uint64_t lease_slack_ns;
		uint64_t promise_ns; /* how long neighbours wait before they bury; or 0 */
		uint64_t guard_ns;   /* the guard lowers so long before a lease ends */
		uint64_t limit_ucpu; /* of neighbours without one of their own; 0: not set */
	} trading;

	struct {
		char executable[CONF_PATH_BYTES];
		char watchdog[CONF_PATH_BYTES]; /* device; empty: none */
		int64_t priority;		/* SCHED_FIFO; 0: not a real-time process */
	} guard;

	char listen[CONF_ADDRESS_BYTES];  /* empty: no neighbours */
	char admin_listen[CONF_ADDRESS_BYTES]; /* empty: only the control socket */
	char secret_key[CONF_PATH_BYTES]; /* file; empty: no CURVE, only without TCP */
	char state_directory[CONF_PATH_BYTES];
	char run_directory[CONF_PATH_BYTES];
	char control_group[CONF_NAME_BYTES]; /* empty: root only */

	struct {
		/* One of the two, or this node does not train: conf_trains(). */
		char coordinator[CONF_ADDRESS_BYTES];
		char plan[CONF_PATH_BYTES]; /* with the neighbours' workers */
		char coordinator_key[CONF_KEY_BYTES];
		char listen[CONF_ADDRESS_BYTES];       /* plan: of the worker */
		char state_directory[CONF_PATH_BYTES]; /* plan: its model; empty: is not kept */
		char worker_key[CONF_PATH_BYTES]; /* secret key file of the worker */
		char user[CONF_NAME_BYTES];
		char data[CONF_PATH_BYTES];
		int64_t threads; /* 0: as many as the share has whole CPUs */
		char task[CONF_PATH_BYTES]; /* a user's task; empty: none */
		uint64_t task_limit_ns;	    /* of CPU, for one call of it */
		char executable[CONF_PATH_BYTES];
	} training;

	unsigned neighbour_count;
	struct conf_neighbour neighbours[CONF_NEIGHBOURS_MAX];

	unsigned administrator_count;
	struct conf_administrator administrators[CONF_ADMINISTRATORS_MAX];

	/* What is allowed but unwise, each with its line. */
	unsigned warning_count;
	char warnings[CONF_WARNINGS_MAX][192];
};

/*
 * Reads, fills in and checks.  -EINVAL: "FILE: line 12: ..." says what is
 * wrong and what is expected; other errors are those of reading the file.
 * *ret_conf is untouched on failure.  The struct is large: keep it static or
 * on the heap.
 */
int conf_load(const char *path, struct conf *ret_conf, struct error *reterr);

/* Same, from memory; name stands for the file in messages. */
int conf_parse(const char *name, const char *text, struct conf *ret_conf, struct error *reterr);

/*
 * The meaning of what was read: fills in what depends on other values (floor,
 * ceiling, directories, ids, digest) and checks it.  lines may be NULL: then
 * messages carry no line.  Pure.
 */
int conf_check(struct conf *conf, const char *name, const struct confutil_lines *lines,
	       struct error *reterr);

/*
 * Whether a guard is needed: leases are on, and what this node holds is known
 * to others.  A dry run limits nothing, so there is nothing to guard.
 */
bool conf_is_guarded(const struct conf *conf);

/*
 * How far the node of this id is trusted, in net over the edge to it: the limit of its
 * section, else that of the section trading.  CONF_LIMIT_NONE; 0: nothing is said, which
 * conf_check() lets pass only of nodes without a section.
 */
uint64_t conf_limit_ucpu(const struct conf *conf, uint64_t id);

/* The job as a person would call it: path, unit, or "delegated". */
const char *conf_job(const struct conf *conf);

/* Whether this node hosts a worker. */
bool conf_trains(const struct conf *conf);

/*
 * The longest watchdog timeout that fits into the slack, in whole seconds; 0:
 * none does, so that a watchdog would not make automatic burial safe.
 */
unsigned conf_watchdog_s(const struct conf *conf);

/* Every option there is, for the manual, the sample file and --help. */
const struct confutil_schema *conf_schema(void);

/* XXH3 of the cluster's name: what frames and journals carry of it. */
uint64_t conf_cluster_id(const char *cluster);

/* XXH3 of "cluster\0node": how a node is called on the wire and in the journal. */
uint64_t conf_node_id(const char *cluster, const char *node);

/*
 * XXH3 of protocol version, cluster, config-epoch, quantiser, lease and the
 * promise that follows from it: two nodes whose digests differ must not trade.
 * The budget is not in it: while it is being changed, some nodes know the new one
 * and some do not yet.
 */
uint64_t conf_digest(const struct conf *conf);

#endif
