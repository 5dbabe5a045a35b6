/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/siege.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static struct ring memory;
static struct hostile hostile_memory;

/* A neighbour section's keys besides those that ring.c writes. */
static void add_to_neighbour(const struct ring *ring, unsigned node, const char *line)
{
	char command[4 * DEMO_PATH_BYTES];

	snprintf(command, sizeof(command),
		 "sed -i 's/^neighbour n%u {/&\\n %s/' %s/conf && grep -q '^ %s' %s/conf",
		 SIEGE_HOSTILE, line, ring->nodes[node].directory, line,
		 ring->nodes[node].directory);
	ck_assert_int_eq(system(command), 0);
}

void siege_open(struct ring **ret_ring, struct hostile **ret_hostile, const char *line)
{
	struct ring *ring = *ret_ring = &memory;
	struct hostile *hostile = *ret_hostile = &hostile_memory;

	ring_open(ring, false);
	for (unsigned i = 0; i < RING_NODES; i++) {
		if (i == SIEGE_HOSTILE)
			continue;
		if (line != NULL &&
		    (i == ring_left_of(SIEGE_HOSTILE) || i == ring_right_of(SIEGE_HOSTILE)))
			add_to_neighbour(ring, i, line);
		ring_start_and_wait(ring, i);
	}
	hostile_open(hostile, ring, SIEGE_HOSTILE);
	hostile_meet(hostile);
	ring_burn(ring, 2, true);
}

void siege_close(struct ring *ring, struct hostile *hostile)
{
	hostile_close(hostile);
	ring_close(ring);
}

static uint64_t sent_to(const struct iso_record *record, uint64_t peer, bool received)
{
	for (uint32_t k = 0; k < record->edge_count; k++)
		if (record->edges[k].peer == peer)
			return received ? record->edges[k].received : record->edges[k].sent;
	return 0;
}

/* All honest journals as they were at one instant. */
static void read_cut(const struct ring *ring, struct iso_record records[RING_NODES])
{
	struct iso_record again;

	for (unsigned i = 0, same = 0; same < RING_NODES - 1; i = (i + 1) % RING_NODES) {
		if (i == SIEGE_HOSTILE)
			continue;
		ring_record(ring, i, &again);
		same = again.seq == records[i].seq ? same + 1 : 0;
		records[i] = again;
	}
}

int64_t siege_honest_ucpu(const struct ring *ring)
{
	static struct iso_record records[RING_NODES];
	int64_t sum = 0;

	memset(records, 0, sizeof(records));
	read_cut(ring, records);
	for (unsigned i = 0; i < RING_NODES; i++) {
		unsigned right = ring_right_of(i);
		uint64_t id = ring->nodes[i].id, right_id = ring->nodes[right].id;

		if (i == SIEGE_HOSTILE)
			continue;
		int64_t share = iso_record_holdings(&records[i]);
		ck_assert_msg(share >= RING_FLOOR_UCPU, "n%u owns %jd ucpu", i, (intmax_t)share);
		sum += share;
		if (right == SIEGE_HOSTILE)
			continue;
		sum += (int64_t)(sent_to(&records[i], right_id, false) -
				 sent_to(&records[right], id, true));
		sum += (int64_t)(sent_to(&records[right], id, false) -
				 sent_to(&records[i], right_id, true));
	}
	return sum;
}

void siege_check_unharmed(struct hostile *hostile, const char *what)
{
	const struct ring *ring = hostile->ring;

	hostile_live(hostile, 5 * HOSTILE_TICK_MS, NULL);
	ck_assert_msg(siege_honest_ucpu(ring) + hostile_holdings(hostile) == RING_BUDGET_UCPU,
		      "%s: the others own %jd ucpu, beside %jd", what,
		      (intmax_t)siege_honest_ucpu(ring), (intmax_t)hostile_holdings(hostile));
	for (unsigned i = 0; i < RING_NODES; i++)
		ck_assert_msg(i == SIEGE_HOSTILE || ring_up(ring, i) == 2, "%s: n%u", what, i);
	printf("# %s\n", what);
}
