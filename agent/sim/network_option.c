/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/network.h"
#include "agent/sim/option.h"

bool network_option_kind(const char *option, const char *text, enum network_kind *ret)
{
	int index;

	if (!option_name(option, text, network_names, NETWORK_KINDS, &index))
		return false;
	*ret = (enum network_kind)index;
	return true;
}

bool network_option_weights(const char *text, enum iso_weights_kind *ret)
{
	static const char *const names[] = { "metropolis", "max-degree" };
	int index;

	if (!option_name("weights", text, names, 2, &index))
		return false;
	*ret = (enum iso_weights_kind)(ISO_WEIGHTS_METROPOLIS + index);
	return true;
}

bool network_option_promise(const char *text, enum iso_switching_promise *ret)
{
	static const char *const names[] = { "free", "connected", "union" };
	int index;

	if (!option_name("promise", text, names, 3, &index))
		return false;
	*ret = (enum iso_switching_promise)(ISO_SWITCHING_FREE + index);
	return true;
}

bool network_option_size(const char *part, uint32_t sizes[NETWORK_SIZES_MAX], unsigned *count)
{
	if (*count == NETWORK_SIZES_MAX)
		return option_refuse("nodes", part, "number too many, it is beyond what fits");
	if (!option_small("nodes", part, 3, NETWORK_NODES_MAX, &sizes[*count]))
		return false;
	(*count)++;
	return true;
}
