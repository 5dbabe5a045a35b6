/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/trust.h"

#include <assert.h>

#define ENDED (ISO_EDGE_STATE_CLOSED | ISO_EDGE_STATE_FOLDED)

bool trust_applies(const struct status_ledger *ledger, bool is_live_member)
{
	const struct iso_record *record = &ledger->snapshot.record;

	return record->gen != 0 && (is_live_member || (record->halt != ISO_HALT_LEFT &&
						       record->halt != ISO_HALT_BURIED));
}

static void note(struct trust *trust, enum trust_verdict verdict, const char *name)
{
	/* What is believed without a limit is worse than what is not known. */
	if (trust->verdict != verdict) {
		if (trust->verdict == TRUST_UNBOUNDED)
			return;
		trust->verdict = verdict;
		trust->because_count = 0;
	}
	if (trust->because_count < ISO_DEGREE_MAX)
		trust->because_of[trust->because_count++] = name != NULL ? name : "?";
}

/*
 * What of the node's one of the others can have taken in: its limit, or what it took in net
 * before the limit was lowered.
 */
static int64_t most_taken(int64_t limit_ucpu, const struct iso_record_edge *edge)
{
	int64_t taken_ucpu = (int64_t)(edge->received - edge->sent);

	return limit_ucpu > taken_ucpu ? limit_ucpu : taken_ucpu;
}

/* What one of the others has set for the node, if it trades with that life of it. */
static void add_limit(const struct status_ledger *from, const struct iso_record *node,
		      struct trust *trust)
{
	const struct iso_record *record = &from->snapshot.record;

	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];
		int64_t limit_ucpu = from->limits_ucpu[k], most_ucpu;

		if (edge->peer != node->node || edge->peer_gen != node->gen ||
		    (edge->flags & ENDED) != 0)
			continue;
		if (limit_ucpu == INT64_MAX) {
			note(trust, TRUST_UNBOUNDED, from->node);
			continue;
		}
		if (limit_ucpu == STATUS_UNKNOWN) {
			note(trust, TRUST_UNKNOWN, from->node);
			continue;
		}
		most_ucpu = most_taken(limit_ucpu, edge);
		if (most_ucpu > INT64_MAX - trust->limits_ucpu)
			trust->limits_ucpu = INT64_MAX;
		else
			trust->limits_ucpu += most_ucpu;
	}
}

static bool is_there(const struct status_ledger *const *ledgers, unsigned count, uint64_t node)
{
	for (unsigned i = 0; i < count; i++)
		if (ledgers[i]->snapshot.record.node == node)
			return true;
	return false;
}

void trust_judge(const struct status_ledger *const *ledgers, unsigned count, unsigned index,
		 int64_t endowment_ucpu, struct trust *ret_trust)
{
	const struct status_ledger *ledger = ledgers[index];
	const struct iso_record *record = &ledger->snapshot.record;
	struct trust *trust = ret_trust;

	assert(index < count);
	*trust = (struct trust){ .verdict = TRUST_BOUNDED };
	/* Both are within 2^62 of zero. */
	trust->spare_ucpu = endowment_ucpu - ledger->snapshot.floor_ucpu;
	for (unsigned i = 0; i < count; i++)
		if (i != index)
			add_limit(ledgers[i], record, trust);
	for (uint32_t k = 0; k < record->edge_count; k++)
		if ((record->edges[k].flags & ENDED) == 0 &&
		    !is_there(ledgers, count, record->edges[k].peer))
			note(trust, TRUST_UNKNOWN, ledger->peers[k]);
	if (trust->verdict == TRUST_BOUNDED && trust->limits_ucpu > trust->spare_ucpu &&
	    trust->limits_ucpu > 0)
		trust->verdict = TRUST_EXCESS;
}

const char *trust_verdict_name(enum trust_verdict verdict)
{
	static const char *const names[] = {
		[TRUST_BOUNDED] = "bounded",
		[TRUST_EXCESS] = "excess",
		[TRUST_UNBOUNDED] = "unbounded",
		[TRUST_UNKNOWN] = "unknown",
	};

	assert((unsigned)verdict < sizeof(names) / sizeof(names[0]));
	return names[verdict];
}
