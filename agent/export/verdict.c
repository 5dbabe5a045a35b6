/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/control/status.h"
#include "agent/export/metrics.h"
#include "lib/ledger/audit.h"

#define REREADS_MAX    50
#define REREAD_TIME_NS 200000000u

/* More than any ledger holds, and still without overflow when all are added. */
#define NO_LIMIT_UCPU (ISO_UNITS_MAX / COLLECT_AGENTS_MAX)

/* The ledgers of one cluster. */
struct audit {
	unsigned count;
	struct collect_agent *agents[COLLECT_AGENTS_MAX];
	struct status_ledger ledgers[COLLECT_AGENTS_MAX];
	struct iso_audit_node nodes[COLLECT_AGENTS_MAX];
	struct iso_audit_terms terms;
	struct iso_audit_result result;
};

const char *verdict_name(enum verdict_result result)
{
	switch (result) {
	case VERDICT_PROVEN: return "proven";
	case VERDICT_PARTIAL: return "partial";
	case VERDICT_CHANGING: return "changing";
	case VERDICT_BROKEN: return "broken";
	}
	return "broken";
}

__attribute__((format(printf, 2, 3))) static void say(struct verdict *verdict, const char *format,
						       ...)
{
	va_list ap;

	if (verdict->why_count == VERDICT_WHY_MAX)
		return;
	va_start(ap, format);
	vsnprintf(verdict->why[verdict->why_count++], VERDICT_WHY_BYTES, format, ap);
	va_end(ap);
}

/* False: no ledger that can be read, or another cluster's. */
static bool take(struct audit *audit, unsigned index, const char *cluster)
{
	struct status_ledger *ledger = &audit->ledgers[index];
	struct iso_audit_node *node = &audit->nodes[index];
	json_t *reply = audit->agents[index]->reply;

	if (reply == NULL || status_ledger_read(reply, ledger, NULL) < 0 ||
	    strcmp(ledger->cluster, cluster) != 0)
		return false;
	*node = ledger->snapshot;
	if (node->enforced_ucpu == STATUS_UNKNOWN)
		node->enforced_ucpu = 0;
	if (node->enforced_ucpu > NO_LIMIT_UCPU)
		node->enforced_ucpu = NO_LIMIT_UCPU;
	return true;
}

/* Until the snapshots are one instant of the cluster, or time is over. */
static bool make_cut(struct audit *audit, const char *cluster, uint64_t deadline_ns)
{
	uint32_t index;

	for (unsigned i = 0; i < REREADS_MAX && clock_now_ns() < deadline_ns; i++) {
		if (iso_audit_reread(audit->nodes, audit->count, &audit->terms, &index) != ISO_OK)
			break;
		collect_ask_one(audit->agents[index], "ledger", REREAD_TIME_NS);
		if (!take(audit, index, cluster))
			return false;
	}
	return true;
}

static const char *name_of(const struct audit *audit, uint64_t id, char buffer[20])
{
	for (unsigned i = 0; i < audit->count; i++) {
		const struct iso_record *record = &audit->ledgers[i].snapshot.record;

		if (record->node == id)
			return audit->ledgers[i].node;
		for (uint32_t k = 0; k < record->edge_count; k++)
			if (record->edges[k].peer == id && audit->ledgers[i].peers[k] != NULL)
				return audit->ledgers[i].peers[k];
	}
	snprintf(buffer, 20, "%016" PRIx64, id);
	return buffer;
}

/* Whether it is no more than that others of the cluster are elsewhere. */
static bool is_elsewhere(const struct iso_audit_finding *finding)
{
	return finding->check == ISO_AUDIT_PEER ||
	       (finding->check == ISO_AUDIT_ENDOWMENTS && finding->found < finding->expected);
}

static void judge(const struct audit *audit, struct verdict *verdict)
{
	const struct iso_audit_result *result = &audit->result;
	char node[20], peer[20];

	for (uint32_t i = 0; i < result->findings && i < ISO_AUDIT_FINDINGS_MAX; i++) {
		const struct iso_audit_finding *finding = &result->finding[i];

		if (is_elsewhere(finding)) {
			if (verdict->result == VERDICT_PROVEN)
				verdict->result = VERDICT_PARTIAL;
			continue;
		}
		verdict->result = VERDICT_BROKEN;
		if (finding->node == 0)
			say(verdict, "%s: %.6f, not %.6f", iso_audit_text(finding->check),
			    (double)finding->found / 1e6, (double)finding->expected / 1e6);
		else
			say(verdict, "%s %s%s%s", name_of(audit, finding->node, node),
			    iso_audit_text(finding->check), finding->peer != 0 ? ": " : "",
			    finding->peer != 0 ? name_of(audit, finding->peer, peer) : "");
	}
}

/*
 * The greatest that a node was told.  The registry tells an increase before anybody may use it,
 * and a decrease once what is to go has been given up: between the two the nodes were
 * told different ones, and own no more than the greatest.
 */
static void take_budget(struct audit *audit, struct verdict *verdict)
{
	const struct status_ledger *least = NULL, *most = NULL;

	for (unsigned i = 0; i < audit->count; i++) {
		const struct status_ledger *ledger = &audit->ledgers[i];
		const struct iso_record *record = &ledger->snapshot.record;

		if (record->gen == 0 || record->halt == ISO_HALT_LEFT)
			continue;
		if (least == NULL || record->budget_ucpu < least->snapshot.record.budget_ucpu)
			least = ledger;
		if (most == NULL || record->budget_ucpu > most->snapshot.record.budget_ucpu)
			most = ledger;
	}
	if (most == NULL)
		return;
	verdict->budget_ucpu = most->snapshot.record.budget_ucpu;
	audit->terms = (struct iso_audit_terms){ .budget_ucpu = verdict->budget_ucpu };
	if (least->snapshot.record.budget_ucpu == verdict->budget_ucpu)
		return;
	verdict->result = VERDICT_CHANGING;
	say(verdict, "budget change under way: %s was told %.6f CPU, %s %.6f", least->node,
	    (double)least->snapshot.record.budget_ucpu / 1e6, most->node,
	    (double)verdict->budget_ucpu / 1e6);
}

static void audit_cluster(struct audit *audit, struct verdict *verdict, uint64_t deadline_ns)
{
	if (!make_cut(audit, verdict->cluster, deadline_ns)) {
		verdict->result = VERDICT_BROKEN;
		say(verdict, "a node has gone while it was looked at");
		return;
	}
	take_budget(audit, verdict);
	iso_audit_run(audit->nodes, audit->count, &audit->terms, &audit->result);
	verdict->shares_ucpu = audit->result.shares_ucpu;
	verdict->in_flight_ucpu = audit->result.in_flight_ucpu;
	verdict->enforced_ucpu = audit->result.enforced_ucpu;
	judge(audit, verdict);
}

/* The first cluster that none of the verdicts is about; NULL: there is none. */
static const char *next_cluster(const struct collect *ledgers, const struct verdicts *verdicts)
{
	for (unsigned i = 0; i < ledgers->count; i++) {
		const char *cluster =
			json_string_value(json_object_get(ledgers->agents[i].reply, "cluster"));
		bool is_known = cluster == NULL || strlen(cluster) >= VERDICT_NAME_BYTES;

		for (unsigned k = 0; k < verdicts->count && !is_known; k++)
			is_known = strcmp(verdicts->clusters[k].cluster, cluster) == 0;
		if (!is_known)
			return cluster;
	}
	return NULL;
}

void verdicts_make(struct collect *ledgers, uint64_t timeout_ns, struct verdicts *ret_verdicts)
{
	uint64_t deadline_ns = clock_now_ns() + timeout_ns;
	struct audit *audit = malloc(sizeof(*audit));
	const char *cluster;

	ret_verdicts->count = 0;
	while (audit != NULL && ret_verdicts->count < VERDICT_CLUSTERS_MAX &&
	       (cluster = next_cluster(ledgers, ret_verdicts)) != NULL) {
		struct verdict *verdict = &ret_verdicts->clusters[ret_verdicts->count++];

		*verdict = (struct verdict){ .result = VERDICT_PROVEN };
		snprintf(verdict->cluster, sizeof(verdict->cluster), "%s", cluster);
		memset(audit, 0, sizeof(*audit));
		for (unsigned i = 0; i < ledgers->count; i++) {
			audit->agents[audit->count] = &ledgers->agents[i];
			if (take(audit, audit->count, verdict->cluster))
				audit->count++;
		}
		verdict->nodes = audit->count;
		if (audit->count > 0) {
			audit_cluster(audit, verdict, deadline_ns);
		} else {
			verdict->result = VERDICT_BROKEN;
			say(verdict, "no ledger of it can be read");
		}
	}
	free(audit);
}

static void amounts(FILE *out, const struct verdicts *verdicts, const char *name, const char *help,
		    size_t offset)
{
	metrics_head(out, name, "gauge", help);
	for (unsigned i = 0; i < verdicts->count; i++) {
		const char *verdict = (const char *)&verdicts->clusters[i];
		int64_t ucpu;

		memcpy(&ucpu, verdict + offset, sizeof(ucpu));
		fprintf(out, "%s{cluster=", name);
		metrics_label(out, verdicts->clusters[i].cluster);
		fprintf(out, "} %.15g\n", (double)ucpu / 1e6);
	}
}

void verdicts_metrics(FILE *out, const struct verdicts *verdicts)
{
	metrics_head(out, "isobar_audit", "gauge",
		     "1 for the result of the audit of the ledgers of this machine, else 0.");
	for (unsigned i = 0; i < verdicts->count; i++)
		for (int result = VERDICT_PROVEN; result <= VERDICT_BROKEN; result++) {
			fputs("isobar_audit{cluster=", out);
			metrics_label(out, verdicts->clusters[i].cluster);
			fprintf(out, ",result=\"%s\"} %d\n",
				verdict_name((enum verdict_result)result),
				verdicts->clusters[i].result == (enum verdict_result)result);
		}
	amounts(out, verdicts, "isobar_audit_shares_cpus", "CPUs that the audited nodes own.",
		offsetof(struct verdict, shares_ucpu));
	amounts(out, verdicts, "isobar_audit_in_flight_cpus",
		"CPUs that audited nodes have given and none of them has got yet.",
		offsetof(struct verdict, in_flight_ucpu));
	amounts(out, verdicts, "isobar_audit_enforced_cpus",
		"CPUs that the kernels allow the jobs of the audited nodes.",
		offsetof(struct verdict, enforced_ucpu));
	amounts(out, verdicts, "isobar_audit_budget_cpus",
		"CPUs of all nodes together, as the audited ones were told.",
		offsetof(struct verdict, budget_ucpu));
}
