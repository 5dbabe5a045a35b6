/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_DEMO_H
#define ISO_DEMO_DEMO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/net/curve.h"
#include "tests/demo/groups.h"
#include "tests/demo/history.h"
#include "tests/demo/processes.h"
#include "tests/demo/quotas.h"
#include "tests/demo/usage.h"

/*
 * The demo, from top to bottom:
 *   demo.c       options, and the guard that cleans up whatever happens
 *   run.c        one run: start, three phases with a co-tenant in the middle, stop
 *   setup.c      directories, keys, ports, configuration files
 *   gain.c       with shares frozen and traded in turns, and what that is worth
 *   together.c   without a coordinator: the plan, who is killed, what all have learnt
 *   learn.c      a run first, where an allocation wants to know the workers
 *   training.c   the coordinator's configuration; account.c: what training cost
 *   groups.c     cgroups, v1 or v2
 *   processes.c  the programs
 *   watch.c      waits, and hears the observer meanwhile
 *   poll.c       asks everybody how they are; ledger.c adds up what they own
 *   quotas.c     what the kernel enforces; usage.c what the jobs used
 *   history.c    what was seen, and means over it
 *   table.c      the live table
 *   checks.c     what must hold; report.c and plot.c show it
 *   observer.c   a program apart: the independent audit of the kernel's quotas
 *   cotenant.c   a program apart: wants all the CPU it can get
 */

/* What is trained and how, in the words of isobar-coordinator.conf(5); NULL: as it is there. */
struct training_options {
	bool is_decentralised; /* no coordinator: by a plan, tests/demo/together.h */
	bool is_gain;	       /* ... with unequal parts, and nobody killed: tests/demo/gain.h */
	bool is_frozen;	       /* ... shares stay as they are at the start */
	const char *method, *allocation, *partition;
	const char *alpha;	   /* of a Dirichlet partition */
	const char *learning_rate; /* NULL: what suits the method here */
	const char *profile; /* file with the workers' speeds, of a run before and for one after */
};

/* The co-tenant visits this one (node2). */
#define DEMO_VISITED 1u

struct options {
	uint64_t seconds;
	unsigned nodes;
	uint64_t budget_ucpu;
	unsigned gain_pairs; /* 0: one run */
	struct training_options training;
	const char *data;		   /* directory of the data set */
	const char *json_path, *plot_path; /* NULL: none */
	bool keep;			   /* the directory with logs and configurations */
	bool dry_run;			   /* asked for, or for want of root */
	char dry_why[256];
};

struct node {
	char name[16];
	char directory[DEMO_PATH_BYTES];  /* its configuration, keys, journal, socket, log */
	char socket[DEMO_PATH_BYTES];	  /* its control socket */
	char worker_key[CURVE_KEY_BYTES]; /* the public one of its worker */
	char group[DEMO_PATH_BYTES];	  /* its cgroup in the file system; "" in a dry run */
	uint64_t endowment_ucpu;
	unsigned port, worker_port;
	struct child isobard;
	struct quota_files quota;
	struct usage usage;
};

/* What the audits of the ledgers found over the whole run. */
struct ledger_record {
	uint64_t audits;     /* that held */
	uint64_t unanswered; /* no picture: a node did not answer */
	uint64_t rereads;
	uint64_t failures;
	char first_failure[256];
};

struct demo {
	struct options options;
	char programs[DEMO_PATH_BYTES]; /* top of the build directory */
	char directory[DEMO_PATH_BYTES];
	uid_t user; /* of whatever needs no privilege */
	gid_t gid;
	struct groups groups;
	char service_group[DEMO_PATH_BYTES]; /* of the agents and the coordinator; "": dry run */
	struct node nodes[HISTORY_NODES_MAX];
	char coordinator_socket[DEMO_PATH_BYTES];
	unsigned coordinator_port;
	struct child coordinator, observer, cotenant;
	int observer_fd;   /* the observer's lines; -1: none */
	int signal_fd;	   /* what ends the run, and SIGCHLD */
	int signal;	   /* that ended it; 0: none */
	json_t *observed;  /* its newest line; the summary at the end; NULL: none */
	json_t *agreement; /* what the referee says of all models; NULL: nothing */
	unsigned killed;   /* without a coordinator: who is killed and returns, */
	bool is_down;	   /* ... whether it is killed now */
	double killed_s, returned_s;
	int64_t killed_round;
	json_t *training;  /* the coordinator's newest status; NULL: none */
	uint64_t start_ns; /* of the first phase */
	double ready_s;	   /* from the first program's start until then */
	double measured_s; /* from then on, until the programs were stopped */
	struct ledger_record ledger;
	struct history history;
	unsigned left_behind; /* what had to be cleaned up by force */
	bool cleaned;
};

#endif
