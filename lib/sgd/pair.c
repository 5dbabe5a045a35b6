/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/pair.h"

#include <assert.h>

enum iso_pair iso_pair_check(enum iso_method_kind kind, enum iso_strategy_kind allocation)
{
	struct iso_method_traits traits = iso_method_traits(kind);

	assert((unsigned)allocation <= ISO_STRATEGY_ATA_POOLED);
	if (allocation == 0)
		return traits.wants_allocation ? ISO_PAIR_NEEDS_ALLOCATION : ISO_PAIR_FITS;
	if (allocation == ISO_STRATEGY_GTA && kind == ISO_METHOD_RENNALA)
		return ISO_PAIR_FITS;
	if (!traits.wants_allocation && !traits.can_cap)
		return ISO_PAIR_TAKES_NONE;
	if (allocation == ISO_STRATEGY_GTA && kind != ISO_METHOD_MINIBATCH)
		return ISO_PAIR_GREEDY;
	return ISO_PAIR_FITS;
}
