/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DETOUR_H
#define ISO_DETOUR_H

#include "agent/net/link.h"

/*
 * Where a test may make a network worse than TCP ever is: a message that has
 * come is held back, handed up twice, or after newer ones and to a later
 * incarnation.  What is true of crash points is true of this
 * (agent/node/crash.h): in isobard it is a plain call.
 */
#ifdef ISO_CRASH_POINTS
bool detour(link_fn *fn, void *context, uint32_t neighbour, const uint8_t *bytes, size_t size);
#else
static inline bool detour(link_fn *fn, void *context, uint32_t neighbour, const uint8_t *bytes,
			  size_t size)
{
	return fn(context, neighbour, bytes, size);
}
#endif

#endif
