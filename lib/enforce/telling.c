/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/telling.h"

#include <assert.h>

static bool is_quiet(uint64_t since_ns, uint64_t now_ns)
{
	assert(now_ns >= since_ns);
	return since_ns != 0 && now_ns - since_ns < ISO_TELLING_QUIET_NS;
}

static uint32_t take_untold(struct iso_telling *telling)
{
	uint32_t untold = telling->untold;

	telling->untold = 0;
	return untold;
}

enum iso_tell iso_telling_look(struct iso_telling *telling, uint64_t now_ns, unsigned state,
			       uint32_t *ret_untold)
{
	bool is_new = state != telling->seen;

	assert(state < ISO_TELLING_STATES);
	if (!telling->started) {
		telling->started = true;
		telling->seen = telling->told = state;
		return ISO_TELL_NOTHING;
	}
	telling->seen = state;
	if (is_new && state != 0)
		telling->changed_ns = now_ns;
	if (state == telling->told) {
		if (state != 0 || telling->untold == 0 || is_quiet(telling->changed_ns, now_ns))
			return ISO_TELL_NOTHING;
		*ret_untold = take_untold(telling);
		return ISO_TELL_COUNT;
	}
	if (state == 0) {
		telling->told = 0;
		return ISO_TELL_END;
	}
	/* One that stays is told all the same, when the minute is over. */
	if (is_quiet(telling->at_ns[state], now_ns)) {
		telling->untold += is_new;
		return ISO_TELL_NOTHING;
	}
	telling->told = state;
	telling->at_ns[state] = now_ns;
	/* If it has begun before without a word, it is told now. */
	if (!is_new && telling->untold > 0)
		telling->untold--;
	*ret_untold = take_untold(telling);
	return ISO_TELL_BEGIN;
}
