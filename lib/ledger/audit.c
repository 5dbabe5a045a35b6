/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/audit.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

const char *iso_audit_text(enum iso_audit_check check)
{
	switch (check) {
	case ISO_AUDIT_OK: return "holds";
	case ISO_AUDIT_CLUSTER: return "belongs to another cluster";
	case ISO_AUDIT_TWICE: return "appears twice";
	case ISO_AUDIT_PEER: return "has an edge to a node that did not answer";
	case ISO_AUDIT_ONE_SIDED: return "has an edge to an earlier or later life of its peer";
	case ISO_AUDIT_CUT: return "has sent less than its peer has received";
	case ISO_AUDIT_EQUATION: return "states a share that its counters do not give";
	case ISO_AUDIT_ENFORCED: return "enforces more than its share";
	case ISO_AUDIT_CEILING: return "enforces more than its ceiling";
	case ISO_AUDIT_FLOOR: return "has a share below its floor";
	case ISO_AUDIT_HALTED: return "has stopped trading";
	case ISO_AUDIT_AMOUNTS: return "states amounts that no ledger can hold";
	case ISO_AUDIT_ENDOWMENTS: return "endowments do not add up to the budget";
	case ISO_AUDIT_SUM: return "shares and transfers in flight do not add up to the endowments";
	case ISO_AUDIT_TOTAL: return "kernels together enforce more than the budget";
	}
	assert(!"check");
	return "";
}

static void note(struct iso_audit_result *result, struct iso_audit_finding finding)
{
	assert(finding.check != ISO_AUDIT_OK);
	if (result->findings < ISO_AUDIT_FINDINGS_MAX)
		result->finding[result->findings] = finding;
	result->findings++;
}

/* Stays at the end of the range it would leave; false if so. */
static bool add(int64_t *sum, int64_t term)
{
	if (!__builtin_add_overflow(*sum, term, sum))
		return true;
	*sum = term < 0 ? INT64_MIN : INT64_MAX;
	return false;
}

/* The same, for a difference of two terms. */
static bool add_difference(int64_t *sum, int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference)) {
		(void)add(sum, a < b ? INT64_MIN : INT64_MAX);
		return false;
	}
	return add(sum, difference);
}

static const struct iso_audit_node *find_node(const struct iso_audit_node *nodes, uint32_t count,
					      uint64_t id)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].record.node == id)
			return &nodes[i];
	return NULL;
}

/* Both ends mean the same two lives: only then may their counters be compared. */
static bool same_lives(const struct iso_record *record, const struct iso_record_edge *edge,
		       const struct iso_record *peer)
{
	if (edge->peer_gen != peer->gen)
		return false;
	for (uint32_t k = 0; k < peer->edge_count; k++)
		if (peer->edges[k].peer == record->node)
			return peer->edges[k].peer_gen == record->gen;
	return true;
}

/* What the peer has sent over an edge; nothing yet if its snapshot is older than the edge. */
static uint64_t sent_by(const struct iso_record *peer, uint64_t node)
{
	for (uint32_t k = 0; k < peer->edge_count; k++)
		if (peer->edges[k].peer == node)
			return peer->edges[k].sent;
	return 0;
}

/* What is wrong with an edge, seen from its receiving end. */
static struct iso_audit_finding check_edge(const struct iso_audit_node *nodes, uint32_t count,
					   const struct iso_record *record,
					   const struct iso_record_edge *edge)
{
	const struct iso_audit_node *peer = find_node(nodes, count, edge->peer);
	struct iso_audit_finding finding = { .node = record->node, .peer = edge->peer };

	/* An edge that never carried anything is complete without its peer. */
	if (peer == NULL && edge->sent == 0 && edge->received == 0)
		return finding;
	if (peer == NULL) {
		finding.check = ISO_AUDIT_PEER;
		return finding;
	}
	if (!same_lives(record, edge, &peer->record)) {
		finding.check = ISO_AUDIT_ONE_SIDED;
		return finding;
	}

	uint64_t sent = sent_by(&peer->record, record->node);

	if (sent >= edge->received)
		return finding;
	return (struct iso_audit_finding){ .check = ISO_AUDIT_CUT,
					   .node = edge->peer,
					   .peer = record->node,
					   .found = (int64_t)sent,
					   .expected = (int64_t)edge->received };
}

enum iso_status iso_audit_reread(const struct iso_audit_node *nodes, uint32_t count,
				 uint32_t *ret_index)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct iso_record *record = &nodes[i].record;

		for (uint32_t k = 0; k < record->edge_count; k++) {
			struct iso_audit_finding finding =
				check_edge(nodes, count, record, &record->edges[k]);

			if (finding.check != ISO_AUDIT_CUT)
				continue;

			const struct iso_audit_node *donor = find_node(nodes, count, finding.node);

			assert(donor != NULL);
			*ret_index = (uint32_t)(donor - nodes);
			return ISO_OK;
		}
	}
	return ISO_E_UNKNOWN;
}

/* False: what the node states does not fit into the sum. */
static bool check_edges(const struct iso_audit_node *nodes, uint32_t count, uint32_t index,
			struct iso_audit_result *result)
{
	const struct iso_record *record = &nodes[index].record;
	bool fits = true;

	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];
		struct iso_audit_finding finding = check_edge(nodes, count, record, edge);

		if (finding.check != ISO_AUDIT_OK)
			note(result, finding);
		/* Over all nodes each S meets the R of its other end. */
		fits &= edge->sent <= INT64_MAX && edge->received <= INT64_MAX;
		fits &= add_difference(&result->in_flight_ucpu, (int64_t)edge->sent,
				       (int64_t)edge->received);
	}
	return fits;
}

/* The same. */
static bool check_node(const struct iso_audit_node *nodes, uint32_t count, uint32_t index,
		       struct iso_audit_result *result)
{
	const struct iso_audit_node *node = &nodes[index];
	uint64_t id = node->record.node;
	int64_t x = node->holdings_ucpu, e = node->enforced_ucpu;
	int64_t counted = iso_record_holdings(&node->record);
	const struct {
		enum iso_audit_check check;
		bool broken;
		int64_t found;
		int64_t expected;
	} checks[] = {
		{ ISO_AUDIT_CLUSTER, node->record.cluster != nodes[0].record.cluster, 0, 0 },
		{ ISO_AUDIT_TWICE, find_node(nodes, count, id) != node, 0, 0 },
		{ ISO_AUDIT_EQUATION, x != counted, x, counted },
		{ ISO_AUDIT_ENFORCED, e > x, e, x },
		{ ISO_AUDIT_CEILING, e > node->ceiling_ucpu, e, node->ceiling_ucpu },
		{ ISO_AUDIT_FLOOR, x < node->floor_ucpu, x, node->floor_ucpu },
		{ ISO_AUDIT_HALTED, node->record.halt != ISO_HALT_NONE, node->record.halt, 0 },
	};

	for (uint32_t k = 0; k < sizeof(checks) / sizeof(checks[0]); k++)
		if (checks[k].broken)
			note(result,
			     (struct iso_audit_finding){ checks[k].check, id, 0, checks[k].found,
							 checks[k].expected });

	bool fits = add(&result->shares_ucpu, x);

	fits &= add(&result->endowments_ucpu, node->record.endowment_ucpu);
	fits &= add(&result->enforced_ucpu, e);
	fits &= add_difference(&result->reserve_ucpu, x, e);
	return fits;
}

void iso_audit_run(const struct iso_audit_node *nodes, uint32_t count, int64_t budget_ucpu,
		   struct iso_audit_result *ret_result)
{
	struct iso_audit_result *result = ret_result;

	memset(result, 0, sizeof(*result));
	for (uint32_t i = 0; i < count; i++) {
		assert(nodes[i].record.edge_count <= ISO_DEGREE_MAX);
		bool fits = check_node(nodes, count, i, result);

		fits &= check_edges(nodes, count, i, result);
		if (!fits)
			note(result, (struct iso_audit_finding){ .check = ISO_AUDIT_AMOUNTS,
								 .node = nodes[i].record.node });
	}

	int64_t sum = result->shares_ucpu;
	bool sum_fits = add(&sum, result->in_flight_ucpu);

	if (result->endowments_ucpu != budget_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_ENDOWMENTS, 0, 0,
							 result->endowments_ucpu, budget_ucpu });
	if (!sum_fits || sum != result->endowments_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_SUM, 0, 0, sum,
							 result->endowments_ucpu });
	if (result->enforced_ucpu > budget_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_TOTAL, 0, 0,
							 result->enforced_ucpu, budget_ucpu });
	result->proven = result->findings == 0;
}
