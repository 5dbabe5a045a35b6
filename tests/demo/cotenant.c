/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The co-tenant of the demo: a process that has nothing to do with isobar and
 * wants all the CPU it can get.  It counts its laps until it is told to stop.
 */
#include "config.h"

#include <stdint.h>

int main(void)
{
	for (volatile uint64_t laps = 0;; laps++)
		continue;
}
