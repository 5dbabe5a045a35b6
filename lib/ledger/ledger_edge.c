/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "lib/ledger/ledger.h"
#include "lib/ledger/ledger_state.h"

/* The edges of a ledger: kept in the order they came, found by peer. */

/* The order by peer stays; the edges before it do not move. */
void iso_ledger_file(struct iso_ledger *ledger, uint32_t index)
{
	uint32_t at = index;

	assert(index < ledger->edge_count);
	for (; at > 0; at--) {
		if (ledger->edges[ledger->order[at - 1]].peer < ledger->edges[index].peer)
			break;
		ledger->order[at] = ledger->order[at - 1];
	}
	ledger->order[at] = (uint8_t)index;
}

enum iso_status iso_ledger_edge(struct iso_ledger *ledger, uint64_t peer, uint32_t peer_gen,
				uint32_t *ret_index)
{
	iso_ledger_assert(ledger);
	assert(ledger->phase == ISO_LEDGER_OPENED);
	if (peer == ledger->node || peer_gen == 0)
		return ISO_E_RANGE;
	if (iso_ledger_find(ledger, peer, ret_index) == ISO_OK)
		return ISO_OK;
	if (ledger->gen == 0 || ledger->last_op != 0)
		return ISO_E_UNKNOWN;
	if (ledger->edge_count == ledger->edges_max)
		return ISO_E_FULL;
	*ret_index = iso_ledger_append(ledger, peer, peer_gen);
	return ISO_OK;
}

uint32_t iso_ledger_append(struct iso_ledger *ledger, uint64_t peer, uint32_t peer_gen)
{
	uint32_t index = ledger->edge_count;

	assert(index < ledger->edges_max);
	assert(peer != ledger->node);
	ledger->edges[index] = (struct iso_ledger_edge){ .peer = peer, .peer_gen = peer_gen };
	ledger->edge_count++;
	iso_ledger_file(ledger, index);
	return index;
}

void iso_ledger_remove_newest(struct iso_ledger *ledger)
{
	uint32_t index = ledger->edge_count - 1, at = 0;

	assert(ledger->edge_count > 0);
	while (ledger->order[at] != index)
		at++;
	for (; at < index; at++)
		ledger->order[at] = ledger->order[at + 1];
	ledger->order[index] = 0;
	ledger->edges[index] = (struct iso_ledger_edge){ 0 };
	ledger->edge_count = index;
}

enum iso_status iso_ledger_find(const struct iso_ledger *ledger, uint64_t peer, uint32_t *ret_index)
{
	uint32_t low = 0, high = ledger->edge_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		uint32_t index = ledger->order[middle];

		assert(index < ledger->edge_count);
		if (ledger->edges[index].peer == peer) {
			*ret_index = index;
			return ISO_OK;
		}
		if (ledger->edges[index].peer < peer)
			low = middle + 1;
		else
			high = middle;
	}
	return ISO_E_UNKNOWN;
}
