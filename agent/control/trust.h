/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TRUST_H
#define ISO_TRUST_H

#include <stdint.h>

#include "agent/control/status.h"

/*
 * What a node could do to the sum of the others' shares, should its host be in hostile
 * hands, by the limits that its neighbours have set for it (lib/trade/trade.h,
 * limits_ucpu).  Over each edge no more is credited, in net, than the limit of the other
 * end; so all others together own at most
 *
 *     budget - endowment of this node + sum of these limits,
 *
 * whatever it says.  Where more was credited before a limit was lowered, that counts in the
 * limit's place.  As long as that sum is within the endowment less the floor, they and
 * its floor stay within the budget.
 */

enum trust_verdict {
	TRUST_BOUNDED,   /* no more than it has */
	TRUST_EXCESS,    /* more, by limits_ucpu - spare_ucpu */
	TRUST_UNBOUNDED, /* somebody believes whatever it says */
	TRUST_UNKNOWN,   /* of somebody's limit nothing is known */
};

struct trust {
	enum trust_verdict verdict;
	/* Sum of those that are known, or of what was taken in net; at most INT64_MAX. */
	int64_t limits_ucpu;
	int64_t spare_ucpu;  /* endowment less floor; may be negative */
	/* UNBOUNDED: who has set none; UNKNOWN: whose is not known.  Borrowed from the ledgers. */
	unsigned because_count;
	const char *because_of[ISO_DEGREE_MAX];
};

/*
 * Whether there is something to judge: it has been let in and has not left or been buried.
 * The latter is the node's own word, which counts for nothing where the registry has it as a
 * live member.
 */
bool trust_applies(const struct status_ledger *ledger, bool is_live_member);

/*
 * Of ledgers[index], with what the others say of it.  endowment_ucpu: as the registry
 * has it, else as the node itself says.  Pure.
 */
void trust_judge(const struct status_ledger *const *ledgers, unsigned count, unsigned index,
		 int64_t endowment_ucpu, struct trust *ret_trust);

/* "bounded", "excess", "unbounded", "unknown". */
const char *trust_verdict_name(enum trust_verdict verdict);

#endif
