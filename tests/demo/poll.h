/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_POLL_H
#define ISO_DEMO_POLL_H

#include "tests/demo/demo.h"

/*
 * Asks every node and the coordinator through their control sockets, reads the
 * quotas from the kernel and audits the ledgers.  Who does not answer leaves
 * NAN and -1.  at_s is left to the caller.
 */
void poll_everybody(struct demo *demo, struct sample *ret_sample);

/*
 * Whether the demo may begin: all nodes enforce, measure and hear a neighbour,
 * and the training has begun.  If not, says on whom it waits.
 */
bool poll_ready(const struct demo *demo, const struct sample *sample, char ret_who[64]);

#endif
