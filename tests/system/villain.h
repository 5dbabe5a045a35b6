/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_SYSTEM_VILLAIN_H
#define TESTS_SYSTEM_VILLAIN_H

#include <stdint.h>

#include "agent/net/link.h"

/*
 * Plays the worker of a neighbour in hostile hands, which has the key of that neighbour: agrees
 * to every session and then sends a snapshot of huge numbers.  Never returns.
 */
_Noreturn void villain_play(const char *listen, const char *key_file,
			    const struct link_neighbour *neighbours, uint32_t count);

#endif
