/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/control/status.h"
#include "agent/ctl/audit.h"

/* The name that goes with an id, from the snapshots or from somebody's list of peers. */
static const char *name_of(const struct audit *audit, uint64_t id, char buffer[20])
{
	for (unsigned i = 0; i < audit->count; i++) {
		const struct status_ledger *ledger = &audit->sources[i].ledger;
		const struct iso_record *record = &ledger->snapshot.record;

		if (record->node == id)
			return ledger->node;
		for (uint32_t k = 0; k < record->edge_count; k++)
			if (record->edges[k].peer == id && ledger->peers[k] != NULL)
				return ledger->peers[k];
	}
	snprintf(buffer, 20, "%016" PRIx64, id);
	return buffer;
}

void audit_complain(struct audit *audit, const char *format, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_t *json = json_string(text);
	(void)json_array_append_new(audit->complaints,
				    json != NULL ? json : json_string("(unprintable)"));
}

static void explain(struct audit *audit, const struct iso_audit_finding *finding)
{
	char node_id[20], peer_id[20];
	const char *node = name_of(audit, finding->node, node_id);
	const char *peer = name_of(audit, finding->peer, peer_id);
	double found = (double)finding->found / 1e6, expected = (double)finding->expected / 1e6;
	const char *text = iso_audit_text(finding->check);

	switch (finding->check) {
	case ISO_AUDIT_PEER:
		audit_complain(audit, "node %s is not in the collection, and %s has traded with it",
			       peer, node);
		return;
	case ISO_AUDIT_VOID:
	case ISO_AUDIT_ONE_SIDED: audit_complain(audit, "%s %s: %s", node, text, peer); return;
	case ISO_AUDIT_CUT:
		audit_complain(
		    audit,
		    "%s sent %.6f to %s, which received %.6f: %s was read too early, or its "
		    "journal is an old one",
		    node, found, peer, expected, node);
		return;
	case ISO_AUDIT_CLUSTER:
	case ISO_AUDIT_TWICE:
	case ISO_AUDIT_AMOUNTS:
	case ISO_AUDIT_HALTED: audit_complain(audit, "%s %s", node, text); return;
	case ISO_AUDIT_RESERVED:
	case ISO_AUDIT_EQUATION:
	case ISO_AUDIT_ENFORCED:
	case ISO_AUDIT_CEILING:
	case ISO_AUDIT_FLOOR:
		audit_complain(audit, "%s %s: %.6f against %.6f CPU", node, text, found, expected);
		return;
	case ISO_AUDIT_ENDOWMENTS:
	case ISO_AUDIT_SUM:
	case ISO_AUDIT_TOTAL:
		audit_complain(audit, "the %s: %.6f against %.6f CPU", text, found, expected);
		return;
	case ISO_AUDIT_OK: return;
	}
}

/* Sums of what real ledgers hold cannot overflow; those of a forged one must not either. */
static bool can_be_added(struct audit *audit)
{
	int64_t terms = 1;

	for (unsigned i = 0; i < audit->count; i++)
		terms += 3 + 2 * (int64_t)audit->nodes[i].record.edge_count;
	uint64_t limit = (uint64_t)(ISO_UNITS_MAX / terms);

	for (unsigned i = 0; i < audit->count; i++) {
		const struct iso_audit_node *node = &audit->nodes[i];
		uint64_t largest =
		    (uint64_t)(node->holdings_ucpu | llabs(node->record.endowment_ucpu));

		for (uint32_t k = 0; k < node->record.edge_count; k++) {
			const struct iso_record_edge *edge = &node->record.edges[k];

			largest |= edge->sent | edge->received;
		}
		if (largest <= limit)
			continue;
		audit_complain(audit, "%s states amounts that no ledger can hold",
			       audit->sources[i].ledger.node);
		return false;
	}
	return true;
}

static void judge(struct audit *audit)
{
	if (!can_be_added(audit))
		return;
	iso_audit_run(audit->nodes, audit->count, &audit->terms, &audit->result);
	for (uint32_t i = 0; i < audit->result.findings && i < ISO_AUDIT_FINDINGS_MAX; i++)
		explain(audit, &audit->result.finding[i]);
	if (audit->result.findings > ISO_AUDIT_FINDINGS_MAX)
		audit_complain(audit, "and %" PRIu32 " more findings",
			       audit->result.findings - ISO_AUDIT_FINDINGS_MAX);
}

static bool is_proven(const struct audit *audit)
{
	return json_array_size(audit->complaints) == 0;
}

/* What all nodes together can make use of; those that have ended take no part. */
static int64_t ceilings_ucpu(const struct audit *audit)
{
	int64_t sum_ucpu = 0;

	for (unsigned i = 0; i < audit->count; i++) {
		const struct iso_audit_node *node = &audit->nodes[i];

		if (node->record.gen == 0 || node->record.halt != ISO_HALT_NONE)
			continue;
		if (__builtin_add_overflow(sum_ucpu, node->ceiling_ucpu, &sum_ucpu))
			return INT64_MAX;
	}
	return sum_ucpu;
}

static void print_json(const struct audit *audit)
{
	const struct iso_audit_result *result = &audit->result;
	json_t *nodes = json_array();

	for (unsigned i = 0; i < audit->count; i++)
		(void)json_array_append(nodes, audit->sources[i].json);
	json_t *json = json_pack(
	    "{s:b, s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:O, s:o, s:o}",
	    "ok", 1, "proven", is_proven(audit), "cluster", audit->sources[0].ledger.cluster,
	    "budget_ucpu", (json_int_t)audit->budget_ucpu, "shares_ucpu",
	    (json_int_t)result->shares_ucpu, "in_flight_ucpu", (json_int_t)result->in_flight_ucpu,
	    "endowments_ucpu", (json_int_t)result->endowments_ucpu, "enforced_ucpu",
	    (json_int_t)result->enforced_ucpu, "reserve_ucpu", (json_int_t)result->reserve_ucpu,
	    "reserved_ucpu", (json_int_t)result->reserved_ucpu, "pending_ucpu",
	    (json_int_t)result->pending_ucpu, "ceilings_ucpu", (json_int_t)ceilings_ucpu(audit),
	    "rereads", (int)audit->rereads, "complaints", audit->complaints, "trust",
	    audit_trust_json(audit), "nodes", nodes);
	(void)json_object_set_new(json, "one_sided", audit_edges_json(audit));
	ctl_print_json(json);
	json_decref(json);
}

static void print_nodes(const struct audit *audit)
{
	printf("%-16s %12s %12s %12s %12s\n", "NODE", "SHARE", "ENFORCED", "FLOOR", "CEILING");
	for (unsigned i = 0; i < audit->count; i++) {
		const struct status_ledger *ledger = &audit->sources[i].ledger;
		const struct iso_audit_node *node = &ledger->snapshot;
		char enforced[24] = "-";

		if (node->enforced_ucpu == INT64_MAX)
			snprintf(enforced, sizeof(enforced), "unlimited");
		else if (node->enforced_ucpu != STATUS_UNKNOWN)
			snprintf(enforced, sizeof(enforced), "%.6f",
				 (double)node->enforced_ucpu / 1e6);
		printf("%-16s %12.6f %12s %12.6f %12.6f\n", ledger->node,
		       (double)node->holdings_ucpu / 1e6, enforced, (double)node->floor_ucpu / 1e6,
		       (double)node->ceiling_ucpu / 1e6);
	}
}

static void print_text(const struct audit *audit)
{
	const struct iso_audit_result *result = &audit->result;

	printf("cluster %s, budget %.6f CPU, %u nodes\n\n", audit->sources[0].ledger.cluster,
	       (double)audit->budget_ucpu / 1e6, audit->count);
	print_nodes(audit);
	printf("\nshares %.6f + in flight %.6f = %.6f CPU; budget %.6f; enforced %.6f\n",
	       (double)result->shares_ucpu / 1e6, (double)result->in_flight_ucpu / 1e6,
	       (double)(result->shares_ucpu + result->in_flight_ucpu) / 1e6,
	       (double)audit->budget_ucpu / 1e6, (double)result->enforced_ucpu / 1e6);
	/* Nobody is missing anything: it cannot be enforced anywhere, and lies idle. */
	if (is_proven(audit) && ceilings_ucpu(audit) < audit->budget_ucpu)
		printf("the ceilings add up to %.6f: %.6f of the budget can be used by nobody\n",
		       (double)ceilings_ucpu(audit) / 1e6,
		       (double)(audit->budget_ucpu - ceilings_ucpu(audit)) / 1e6);
	audit_edges_print(audit);
	/* What the snapshots cannot show, from the registry. */
	bool has_more = result->reserved_ucpu != 0 || result->pending_ucpu != 0;
	if (has_more)
		printf("reserved for buried nodes %.6f, under way %.6f\n",
		       (double)result->reserved_ucpu / 1e6, (double)result->pending_ucpu / 1e6);
	audit_trust_print(audit);
	if (is_proven(audit)) {
		puts(has_more ? "proven: share + in flight + reserved + under way = budget"
			      : "proven: share + in flight = budget");
		return;
	}
	puts("NOT PROVEN:");
	for (size_t i = 0; i < json_array_size(audit->complaints); i++)
		printf("  %s\n", json_string_value(json_array_get(audit->complaints, i)));
}

int audit_finish(struct audit *audit, const struct ctl *ctl)
{
	judge(audit);
	if (ctl->json)
		print_json(audit);
	else
		print_text(audit);
	return is_proven(audit) ? CTL_DONE : CTL_FAILED;
}
