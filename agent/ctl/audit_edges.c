/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>

#include "agent/control/status.h"
#include "agent/ctl/audit.h"

/*
 * Edges that only one of two nodes knows, as configurations make them that do not name each
 * other.  Nothing is wrong in the books, so nothing is complained of; no single node can
 * tell, since the other one's messages end at the handshake.
 */

/* The place of a node in the collection, or audit->count. */
static unsigned place_of(const struct audit *audit, uint64_t id)
{
	unsigned i = 0;

	while (i < audit->count && audit->nodes[i].record.node != id)
		i++;
	return i;
}

static bool knows(const struct iso_record *record, uint64_t peer)
{
	for (uint32_t i = 0; i < record->edge_count; i++)
		if (record->edges[i].peer == peer)
			return true;
	return false;
}

static bool is_one_sided(const struct audit *audit, const struct iso_record *record,
			 const struct iso_record_edge *edge)
{
	unsigned i = place_of(audit, edge->peer);

	if (i == audit->count || record->halt != ISO_HALT_NONE ||
	    (edge->flags & (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)) != 0)
		return false;
	const struct iso_record *peer = &audit->nodes[i].record;
	return peer->gen == edge->peer_gen && peer->halt == ISO_HALT_NONE &&
	       !knows(peer, record->node);
}

/* The names of both ends of the next such edge; *at is 0 at the first call. */
static bool next(const struct audit *audit, unsigned *at, const char **ret_node,
		 const char **ret_neighbour)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < audit->count; i++) {
		const struct iso_record *record = &audit->nodes[i].record;

		for (uint32_t k = 0; k < record->edge_count; k++) {
			const struct iso_record_edge *edge = &record->edges[k];

			if (seen++ < *at || !is_one_sided(audit, record, edge))
				continue;
			*at = seen;
			*ret_node = audit->sources[i].ledger.node;
			*ret_neighbour = audit->sources[place_of(audit, edge->peer)].ledger.node;
			return true;
		}
	}
	return false;
}

json_t *audit_edges_json(const struct audit *audit)
{
	json_t *array = json_array();
	const char *node = NULL, *neighbour = NULL;

	for (unsigned at = 0; next(audit, &at, &node, &neighbour);)
		(void)json_array_append_new(array, json_pack("{s:s, s:s}", "node", node,
							     "neighbour", neighbour));
	return array;
}

void audit_edges_print(const struct audit *audit)
{
	const char *node = NULL, *neighbour = NULL;

	for (unsigned at = 0; next(audit, &at, &node, &neighbour);)
		printf("%s has %s as a neighbour, which does not have %s: they do not trade\n",
		       node, neighbour, node);
}
