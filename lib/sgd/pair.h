/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_PAIR_H
#define ISO_SGD_PAIR_H

#include "lib/ata/strategy.h"
#include "lib/sgd/method.h"

/* Which method goes with which allocation, in the coordinator and in the simulator. */

enum iso_pair {
	ISO_PAIR_FITS = 1,
	ISO_PAIR_NEEDS_ALLOCATION, /* the method computes what is allocated */
	ISO_PAIR_TAKES_NONE,       /* all workers compute all the time, and cannot be capped */
	ISO_PAIR_GREEDY,           /* a greedy allocation is of minibatch alone */
};

/*
 * allocation 0: none.  An allocation is what the method computes, or caps it (ATA, alg. 7).
 * The greedy one waits for nobody (GTA, ATA section 3), which is what rennala does: with
 * minibatch it makes rennala, with rennala it changes nothing, and it can cap no method.
 */
enum iso_pair iso_pair_check(enum iso_method_kind kind, enum iso_strategy_kind allocation);

#endif
