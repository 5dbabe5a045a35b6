/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TELLING_H
#define ISO_TELLING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which changes of a state are worth a line of a log: the begin of one that is amiss,
 * and the end of what was told.  What begins more often than once a minute (a job that
 * crashes and is started again, for ever) is counted instead.
 */

#define ISO_TELLING_STATES   8u
#define ISO_TELLING_QUIET_NS 60000000000ull

enum iso_tell {
	ISO_TELL_NOTHING,
	ISO_TELL_BEGIN, /* of the state; so many begins were not told before it */
	ISO_TELL_END,   /* nothing is amiss any more */
	ISO_TELL_COUNT, /* nothing is amiss, and has not been for a while; not told were so many */
};

/* All zero at the start. */
struct iso_telling {
	bool started;
	unsigned seen, told; /* the last state that was */
	uint64_t at_ns[ISO_TELLING_STATES]; /* when its begin was told last; 0: never */
	uint64_t changed_ns;		    /* last begin, told or not */
	uint32_t untold;
};

/*
 * One look; now_ns is monotonic, state below ISO_TELLING_STATES and 0 where nothing is
 * amiss.  The first look tells nothing.  *ret_untold is set with BEGIN and COUNT.
 */
enum iso_tell iso_telling_look(struct iso_telling *telling, uint64_t now_ns, unsigned state,
			       uint32_t *ret_untold);

#endif
