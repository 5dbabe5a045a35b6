/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/drift.h"

#include <assert.h>

static void assert_valid(const struct iso_drift *drift)
{
	assert(drift->changes <= drift->changes_total);
	assert(drift->pause_ns <= ISO_DRIFT_PAUSE_NS_MAX);
	if (drift->state == ISO_DRIFT_NONE)
		assert(drift->changes == 0);
	if (drift->differs)
		assert(drift->state != ISO_DRIFT_NONE);
}

static void calm_down(struct iso_drift *drift, uint64_t now_ns)
{
	uint64_t calm_ns = drift->state == ISO_DRIFT_CONFLICT ? ISO_DRIFT_TRUCE_NS
							      : ISO_DRIFT_CALM_NS;

	if (drift->state == ISO_DRIFT_NONE || now_ns - drift->changed_at_ns < calm_ns)
		return;
	drift->state = ISO_DRIFT_NONE;
	drift->changes = 0;
	drift->pause_ns = 0;
	drift->repair_at_ns = 0;
}

bool iso_drift_look(struct iso_drift *drift, uint64_t now_ns, bool differs)
{
	assert_valid(drift);
	assert(now_ns >= drift->changed_at_ns);
	/* One change is seen many times while we wait to repair it: it counts once. */
	if (differs && !drift->differs) {
		drift->changes++;
		drift->changes_total++;
	}
	drift->differs = differs;
	if (!differs) {
		calm_down(drift, now_ns);
		return false;
	}
	drift->changed_at_ns = now_ns;
	drift->state = drift->changes > ISO_DRIFT_CHANGES_MAX ? ISO_DRIFT_CONFLICT
							      : ISO_DRIFT_DRIFTED;
	if (now_ns < drift->repair_at_ns)
		return false;
	drift->pause_ns = drift->pause_ns == 0 ? ISO_DRIFT_PAUSE_NS_MIN : 2 * drift->pause_ns;
	if (drift->state == ISO_DRIFT_CONFLICT || drift->pause_ns > ISO_DRIFT_PAUSE_NS_MAX)
		drift->pause_ns = ISO_DRIFT_PAUSE_NS_MAX;
	drift->repair_at_ns = now_ns + drift->pause_ns;
	assert_valid(drift);
	return true;
}
