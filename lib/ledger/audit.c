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
	case ISO_AUDIT_VOID: return "treats a generation that has ended as if it lived";
	case ISO_AUDIT_ONE_SIDED: return "has an edge to an earlier or later life of its peer";
	case ISO_AUDIT_CUT: return "has sent less than its peer has received";
	case ISO_AUDIT_EQUATION: return "states a share that its counters do not give";
	case ISO_AUDIT_ENFORCED: return "enforces more than its share";
	case ISO_AUDIT_CEILING: return "enforces more than its ceiling";
	case ISO_AUDIT_FLOOR: return "has a share below its floor";
	case ISO_AUDIT_HALTED: return "has stopped trading";
	case ISO_AUDIT_AMOUNTS: return "states amounts that no ledger can hold";
	case ISO_AUDIT_RESERVED: return "has ended and enforces more than is reserved for it";
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

/* All snapshots and what the administrator knows beside them. */
struct audit {
	const struct iso_audit_node *nodes;
	uint32_t count;
	const struct iso_audit_terms *terms;
};

static const struct iso_audit_void *find_void(const struct audit *audit, uint64_t node,
					      uint32_t gen)
{
	for (uint32_t i = 0; i < audit->terms->void_count; i++)
		if (audit->terms->voids[i].node == node && audit->terms->voids[i].gen == gen)
			return &audit->terms->voids[i];
	return NULL;
}

/* A generation that owns nothing any more: what it had is with its neighbours. */
static bool ended(const struct audit *audit, uint64_t node, uint32_t gen)
{
	const struct iso_audit_node *left = find_node(audit->nodes, audit->count, node);

	if (find_void(audit, node, gen) != NULL)
		return true;
	return left != NULL && left->record.gen == gen && left->record.halt == ISO_HALT_LEFT;
}

static bool node_ended(const struct audit *audit, const struct iso_audit_node *node)
{
	return ended(audit, node->record.node, node->record.gen);
}

/*
 * What the peer has sent to this life over its end of an edge.  Nothing yet
 * if its snapshot is older than the edge: it knows none, or an earlier one that has
 * ended.  False: the two ends are not of the same lives.
 */
static bool sent_by(const struct audit *audit, const struct iso_record *peer,
		    const struct iso_record *record, uint64_t *ret_sent)
{
	*ret_sent = 0;
	for (uint32_t k = 0; k < peer->edge_count; k++) {
		const struct iso_record_edge *edge = &peer->edges[k];
		bool is_folded = (edge->flags & ISO_EDGE_STATE_FOLDED) != 0;

		if (edge->peer != record->node)
			continue;
		if (edge->peer_gen == record->gen) {
			*ret_sent = edge->sent;
			return !is_folded;
		}
		return edge->peer_gen < record->gen &&
		       (is_folded || ended(audit, record->node, edge->peer_gen));
	}
	return true;
}

/*
 * An edge to an ended generation stays as it is.  One that left did so after
 * both ends had all that was sent: another S or R was read before that.
 */
static bool settled(const struct iso_audit_node *peer, const struct iso_record *record,
		    const struct iso_record_edge *edge)
{
	struct iso_record_edge other = { 0 };

	if ((edge->flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FROZEN)) == 0)
		return false;
	if (peer == NULL || peer->record.gen != edge->peer_gen ||
	    peer->record.halt != ISO_HALT_LEFT)
		return true;
	for (uint32_t k = 0; k < peer->record.edge_count; k++)
		if (peer->record.edges[k].peer == record->node &&
		    peer->record.edges[k].peer_gen == record->gen)
			other = peer->record.edges[k];
	return other.sent == edge->received && other.received == edge->sent;
}

/* What is wrong with an edge, seen from its receiving end. */
static struct iso_audit_finding check_edge(const struct audit *audit,
					   const struct iso_record *record,
					   const struct iso_record_edge *edge)
{
	const struct iso_audit_node *peer = find_node(audit->nodes, audit->count, edge->peer);
	struct iso_audit_finding finding = { .node = record->node, .peer = edge->peer };
	bool is_unused = edge->sent == 0 && edge->received == 0;
	uint64_t sent;

	if ((edge->flags & ISO_EDGE_STATE_FOLDED) != 0)
		return finding;
	if (ended(audit, edge->peer, edge->peer_gen)) {
		if (!settled(peer, record, edge))
			finding.check = ISO_AUDIT_VOID;
		return finding;
	}
	/* An edge that never carried anything is complete without its peer. */
	if (is_unused && (peer == NULL || peer->record.gen < edge->peer_gen))
		return finding;
	if (peer == NULL) {
		finding.check = ISO_AUDIT_PEER;
		return finding;
	}
	if (peer->record.gen != edge->peer_gen || !sent_by(audit, &peer->record, record, &sent)) {
		finding.check = ISO_AUDIT_ONE_SIDED;
		return finding;
	}
	if (sent >= edge->received)
		return finding;
	return (struct iso_audit_finding){ .check = ISO_AUDIT_CUT,
					   .node = edge->peer,
					   .peer = record->node,
					   .found = (int64_t)sent,
					   .expected = (int64_t)edge->received };
}

enum iso_status iso_audit_reread(const struct iso_audit_node *nodes, uint32_t count,
				 const struct iso_audit_terms *terms, uint32_t *ret_index)
{
	const struct audit audit = { nodes, count, terms };

	for (uint32_t i = 0; i < count; i++) {
		const struct iso_record *record = &nodes[i].record;

		for (uint32_t k = 0; k < record->edge_count && !node_ended(&audit, &nodes[i]);
		     k++) {
			struct iso_audit_finding finding =
			    check_edge(&audit, record, &record->edges[k]);

			if (finding.check != ISO_AUDIT_CUT && finding.check != ISO_AUDIT_VOID)
				continue;

			/* The donor; or this node, read before it closed or froze the edge. */
			const struct iso_audit_node *donor = find_node(nodes, count, finding.node);

			assert(donor != NULL);
			*ret_index = (uint32_t)(donor - nodes);
			return ISO_OK;
		}
	}
	return ISO_E_UNKNOWN;
}

/* False: what the node states does not fit into the sum. */
static bool check_edges(const struct audit *audit, const struct iso_record *record,
			struct iso_audit_result *result)
{
	bool fits = true;

	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];
		struct iso_audit_finding finding = check_edge(audit, record, edge);
		int64_t sent = (int64_t)edge->sent, received = (int64_t)edge->received;

		if (finding.check != ISO_AUDIT_OK)
			note(result, finding);
		fits &= edge->sent <= INT64_MAX && edge->received <= INT64_MAX;
		/* Over all nodes each S meets the R of its other end, or becomes part of A. */
		if (ended(audit, edge->peer, edge->peer_gen))
			fits &= add_difference(&result->endowments_ucpu, received, sent);
		else
			fits &= add_difference(&result->in_flight_ucpu, sent, received);
	}
	return fits;
}

struct check {
	enum iso_audit_check check;
	bool broken;
	int64_t found;
	int64_t expected;
};

static void check_all(const struct iso_record *record, const struct check *checks, size_t count,
		      struct iso_audit_result *result)
{
	for (size_t k = 0; k < count; k++)
		if (checks[k].broken)
			note(result,
			     (struct iso_audit_finding){ checks[k].check, record->node, 0,
							 checks[k].found, checks[k].expected });
}

/* False: what the node states does not fit into the sum. */
static bool check_node(const struct audit *audit, const struct iso_audit_node *node,
		       struct iso_audit_result *result)
{
	const struct iso_record *record = &node->record;
	int64_t x = node->holdings_ucpu, e = node->enforced_ucpu;
	int64_t counted = iso_record_holdings(record);
	bool owns_floor = record->gen != 0 && (record->flags & ISO_NODE_LEAVING) == 0;
	const struct check checks[] = {
		{ ISO_AUDIT_EQUATION, x != counted, x, counted },
		{ ISO_AUDIT_ENFORCED, e > x, e, x },
		{ ISO_AUDIT_CEILING, e > node->ceiling_ucpu, e, node->ceiling_ucpu },
		{ ISO_AUDIT_FLOOR, owns_floor && x < node->floor_ucpu, x, node->floor_ucpu },
		{ ISO_AUDIT_HALTED, record->halt != ISO_HALT_NONE, record->halt, 0 },
	};

	check_all(record, checks, sizeof(checks) / sizeof(checks[0]), result);

	bool fits = add(&result->shares_ucpu, x);

	fits &= add(&result->endowments_ucpu, record->endowment_ucpu);
	fits &= add(&result->enforced_ucpu, e);
	fits &= add_difference(&result->reserve_ucpu, x, e);
	return check_edges(audit, record, result) && fits;
}

/* Whatever it states, it may enforce what is reserved for it. */
static void check_ended(const struct audit *audit, const struct iso_audit_node *node,
			struct iso_audit_result *result)
{
	const struct iso_record *record = &node->record;
	const struct iso_audit_void *voids = find_void(audit, record->node, record->gen);
	int64_t reserved = voids != NULL ? voids->reserved_ucpu : 0;
	const struct check check = { ISO_AUDIT_RESERVED, node->enforced_ucpu > reserved,
				     node->enforced_ucpu, reserved };

	check_all(record, &check, 1, result);
}

/* The same for what the administrator states. */
static bool add_terms(const struct iso_audit_terms *terms, struct iso_audit_result *result)
{
	bool fits = terms->minting_ucpu >= 0 && terms->burning_ucpu >= 0;

	fits &= add(&result->pending_ucpu, terms->minting_ucpu);
	fits &= add(&result->pending_ucpu, terms->burning_ucpu);
	for (uint32_t i = 0; i < terms->void_count; i++) {
		fits &= terms->voids[i].reserved_ucpu >= 0;
		fits &= add(&result->reserved_ucpu, terms->voids[i].reserved_ucpu);
	}
	return fits;
}

static void check_whole(const struct iso_audit_terms *terms, bool fits,
			struct iso_audit_result *result)
{
	int64_t owned = result->shares_ucpu, promised = result->endowments_ucpu;
	int64_t enforced = result->enforced_ucpu;

	fits &= add(&promised, result->pending_ucpu) && add(&promised, result->reserved_ucpu);
	if (!fits || promised != terms->budget_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_ENDOWMENTS, 0, 0, promised,
							 terms->budget_ucpu });
	if (!add(&owned, result->in_flight_ucpu) || owned != result->endowments_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_SUM, 0, 0, owned,
							 result->endowments_ucpu });
	if (!add(&enforced, result->reserved_ucpu) || enforced > terms->budget_ucpu)
		note(result, (struct iso_audit_finding){ ISO_AUDIT_TOTAL, 0, 0, enforced,
							 terms->budget_ucpu });
}

void iso_audit_run(const struct iso_audit_node *nodes, uint32_t count,
		   const struct iso_audit_terms *terms, struct iso_audit_result *ret_result)
{
	const struct audit audit = { nodes, count, terms };
	struct iso_audit_result *result = ret_result;

	memset(result, 0, sizeof(*result));
	for (uint32_t i = 0; i < count; i++) {
		const struct iso_record *record = &nodes[i].record;
		bool is_second = find_node(nodes, count, record->node) != &nodes[i];
		const struct check checks[] = {
			{ ISO_AUDIT_CLUSTER, record->cluster != nodes[0].record.cluster, 0, 0 },
			{ ISO_AUDIT_TWICE, is_second, 0, 0 },
		};

		assert(record->edge_count <= ISO_DEGREE_MAX);
		check_all(record, checks, 2, result);
		if (node_ended(&audit, &nodes[i]))
			check_ended(&audit, &nodes[i], result);
		else if (!check_node(&audit, &nodes[i], result))
			note(result, (struct iso_audit_finding){ .check = ISO_AUDIT_AMOUNTS,
								 .node = record->node });
	}
	check_whole(terms, add_terms(terms, result), result);
	result->proven = result->findings == 0;
}
