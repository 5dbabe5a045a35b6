/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DRIFT_H
#define ISO_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What to do when another writer changes our limit: put it right at once,
 * then with a doubling pause, and when it keeps coming back stop fighting:
 * one try a minute, so that two controllers do not refill the job's pool
 * against each other.
 */

#define ISO_DRIFT_PAUSE_NS_MIN 1000000000ull
#define ISO_DRIFT_PAUSE_NS_MAX 60000000000ull
#define ISO_DRIFT_CALM_NS      30000000000ull  /* drifted is over after so long without a change */
#define ISO_DRIFT_TRUCE_NS     180000000000ull /* conflict: three unchallenged tries */
#define ISO_DRIFT_CHANGES_MAX  5u              /* so many in one go are a conflict */

enum iso_drift_state {
	ISO_DRIFT_NONE,
	ISO_DRIFT_DRIFTED,
	ISO_DRIFT_CONFLICT,
};

/* All zero at the start. */
struct iso_drift {
	enum iso_drift_state state;
	bool differs;            /* at the last look */
	unsigned changes;        /* in this episode */
	uint64_t changes_total;
	uint64_t changed_at_ns;  /* last time it was found different */
	uint64_t repair_at_ns;
	uint64_t pause_ns;
};

/*
 * One look at the limit: does it differ from what we wrote?  Returns whether
 * to write it again now; the caller looks again after that with the result.
 */
bool iso_drift_look(struct iso_drift *drift, uint64_t now_ns, bool differs);

#endif
