/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_DETOUR_H
#define ISO_SYSTEM_DETOUR_H

#include <stdint.h>

#include "agent/net/link.h"

/*
 * The file that ISO_DETOUR names: messages that an agent has received, over all
 * of its lives, from which any may be handed up again at any time, and counts.
 * Whole messages: on the line they are inside an encrypted stream with a
 * counter, which lets nobody double or swap them.
 */
#define DETOUR_SLOTS 64u

struct detour_slot {
	uint32_t neighbour, size; /* size 0: none */
	uint32_t pid;		  /* who received it */
	uint8_t bytes[LINK_MESSAGE_BYTES_MAX];
};

struct detour_file {
	uint64_t received;
	uint64_t held;	   /* not handed up when they came; later, or never */
	uint64_t repeated; /* out of the slots, by then behind newer ones or doubled */
	uint64_t bequeathed; /* those that a former incarnation had received */
	struct detour_slot slots[DETOUR_SLOTS];
};

#endif
