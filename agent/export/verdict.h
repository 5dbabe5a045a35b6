/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_VERDICT_H
#define ISO_VERDICT_H

#include <stdint.h>
#include <stdio.h>

#include "agent/export/collect.h"

/*
 * What can be proven of the sum share + in flight = budget with the ledgers of this
 * machine alone: all of it where a whole cluster runs here, else that these
 * nodes keep to the rules.  lib/ledger/audit.h has the proof.  What needs the
 * registry (a budget change under way, of which no more is judged than that no
 * budget is exceeded that a node was told, and burials) is left to isobarctl audit -c.
 */

#define VERDICT_CLUSTERS_MAX 16
#define VERDICT_NAME_BYTES   64
#define VERDICT_WHY_MAX	     4
#define VERDICT_WHY_BYTES    160

enum verdict_result {
	VERDICT_PROVEN,
	VERDICT_PARTIAL, /* nothing is wrong here; other nodes of the cluster are elsewhere */
	VERDICT_CHANGING, /* the same, and not all have been told the same budget: why has it */
	VERDICT_BROKEN,	 /* something is, or is under way: why has it */
};

struct verdict {
	char cluster[VERDICT_NAME_BYTES];
	enum verdict_result result;
	unsigned nodes;
	int64_t shares_ucpu, in_flight_ucpu, enforced_ucpu, budget_ucpu;
	unsigned why_count;
	char why[VERDICT_WHY_MAX][VERDICT_WHY_BYTES];
};

struct verdicts {
	unsigned count;
	struct verdict clusters[VERDICT_CLUSTERS_MAX];
};

/*
 * ledgers: the replies to "ledger".  Some are asked for again, within timeout_ns
 * for all of them, until they are one instant; those replies change.
 */
void verdicts_make(struct collect *ledgers, uint64_t timeout_ns, struct verdicts *ret_verdicts);

/* "proven", "partial", "changing", "broken". */
const char *verdict_name(enum verdict_result result);

/* As metrics (agent/export/metrics.h), by the label cluster. */
void verdicts_metrics(FILE *out, const struct verdicts *verdicts);

#endif
