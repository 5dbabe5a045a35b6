/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CTL_AUDIT_H
#define ISO_CTL_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/admin/office.h"
#include "agent/ctl/isobarctl.h"
#include "lib/ledger/audit.h"

/* An audit as it is gathered (isobarctl_audit.c), judged and shown (audit_report.c). */

#define NODES_MAX CTL_INSTANCES_MAX

/* More than any ledger holds, and still without overflow when NODES_MAX of them are added. */
#define NO_LIMIT_UCPU (ISO_UNITS_MAX / NODES_MAX)

struct source {
	const char *name;	       /* as given, or the instance's */
	char path[CONTROL_PATH_BYTES]; /* socket; empty: a file, which cannot be read again */
	const struct cluster_conf_node *node; /* or: over the network */
	struct office *office;
	json_t *json;
	struct status_ledger ledger;
	bool is_registered; /* as a live member, with this endowment */
	int64_t registered_ucpu;
};

struct audit;

/* Edges of which only one end knows: {"node": TEXT, "neighbour": TEXT} each, and as lines. */
json_t *audit_edges_json(const struct audit *audit);
void audit_edges_print(const struct audit *audit);

struct audit {
	struct source sources[NODES_MAX];
	struct iso_audit_node nodes[NODES_MAX];
	unsigned count;
	unsigned rereads;
	int64_t budget_ucpu;
	struct iso_audit_terms terms;
	struct iso_audit_void voids[ISO_REGISTRY_MEMBERS_MAX];
	struct iso_audit_result result;
	json_t *complaints; /* array of texts: everything that keeps it from being proven */
};

/* Something that keeps it from being proven. */
__attribute__((format(printf, 2, 3))) void audit_complain(struct audit *audit, const char *format,
							  ...);

/* How much of the sum rests on trust (audit_trust.c): a new reference; as text. */
json_t *audit_trust_json(const struct audit *audit);
void audit_trust_print(const struct audit *audit);

/* Judges what was gathered, prints it, and returns the exit status. */
int audit_finish(struct audit *audit, const struct ctl *ctl);

#endif
