/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ISOBARCTL_H
#define ISO_ISOBARCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/control/controlsock.h"

/* What the commands of isobarctl share. */

#define CTL_DONE   0
#define CTL_FAILED 1
#define CTL_USAGE  2

#define CTL_INSTANCES_MAX  256
#define CTL_NAME_BYTES	   64
#define CTL_NEIGHBOURS_MAX 64

/* Options as given; NULL or 0 where not. */
struct ctl {
	const char *instance;
	const char *socket;
	const char *run_directory;
	const char *file;
	const char *output;
	bool json;
	bool stream; /* JSON is a line for each event, not one report at the end */
	uint64_t count;
	uint64_t interval_ns;
	/* Commands that change a cluster. */
	const char *cluster; /* configuration file */
	const char *node, *heir;
	const char *neighbours[CTL_NEIGHBOURS_MAX];
	unsigned neighbour_count;
	uint64_t share_ucpu;
	uint64_t timeout_ns, bury_after_ns;
	bool yes, add, undo, fenced, trust_guard;
};

/* As given, or the usual one. */
static inline const char *ctl_cluster_file(const struct ctl *ctl)
{
	return ctl->cluster != NULL ? ctl->cluster : ISO_SYSCONFDIR "/isobar/cluster.conf";
}

typedef int ctl_fn(const struct ctl *ctl, int argc, char **argv);

struct ctl_command {
	const char *name;
	const char *operands; /* as shown in the usage; "" for none */
	const char *options;  /* the short letters of those that it takes */
	const char *summary;
	ctl_fn *fn;
};

/* Names of what runs, or ran, below the run directory; sorted. */
struct ctl_instances {
	unsigned count;
	char names[CTL_INSTANCES_MAX][CTL_NAME_BYTES];
};
void ctl_instances(const struct ctl *ctl, struct ctl_instances *ret_instances);

/* RUN-DIRECTORY/NAME/control; false if that is too long. */
bool ctl_path(const struct ctl *ctl, const char *name, char ret_path[CONTROL_PATH_BYTES]);

/*
 * The one socket that is meant: by --socket, by --instance, or the only one
 * there is.  Otherwise says on stderr which there are and returns the exit
 * status.
 */
int ctl_socket(const struct ctl *ctl, char ret_path[CONTROL_PATH_BYTES]);

/*
 * Asks the one node that is meant: that of ctl_socket(), or with --cluster and
 * --node one of the cluster, over the network.  The caller owns *ret_reply.  On
 * failure says why on stderr and what to do about it, and returns the exit status.
 */
int ctl_ask(const struct ctl *ctl, const char *command, json_t **ret_reply);

/* The same with a request that has more in it than its command; steals it. */
int ctl_ask_this(const struct ctl *ctl, json_t *request, json_t **ret_reply);

/* Indented, keys sorted, one newline at the end. */
void ctl_print_json(const json_t *json);

ctl_fn ctl_status, ctl_top, ctl_ledger, ctl_audit, ctl_check, ctl_keygen, ctl_metrics;
ctl_fn ctl_freeze, ctl_thaw, ctl_log_level, ctl_reload;
/* isobarctl_history.c */
ctl_fn ctl_history, ctl_explain;
ctl_fn ctl_registry, ctl_budget, ctl_join, ctl_drain, ctl_leave, ctl_bury, ctl_forget, ctl_watch,
    ctl_resume;

#endif
