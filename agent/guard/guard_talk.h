/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_TALK_H
#define ISO_GUARD_TALK_H

#include <stdbool.h>

#include "agent/base/error.h"
#include "agent/guard/guard_client.h"
#include "agent/guard/guard_wire.h"

/*
 * One exchange with a guard over its connection: the request with its number
 * set, and a descriptor to go with it or -1.  0: it answered, and
 * ret_reply->error says what; -errno: it did not within patience_ns, it has
 * ended, could not start, or talks another language.  Then it is of no use.
 */
int guard_talk(int fd, struct guard_request *request, int passed_fd, uint64_t patience_ns,
	       struct guard_reply *ret_reply, struct error *reterr);

/* Whether it was not started as this configuration would have it. */
bool guard_is_other(const struct guard_reply *reply, const struct guard_client_config *config);

/*
 * Whether the guard that answered is to make way for another: it is an other one, or
 * its program is outdated.  The program is no reason for one whose watchdog cannot be
 * disarmed: if the next one does not start, the machine is reset.  Neither is another
 * watchdog, or none: nobody would pet the first one.
 */
bool guard_is_replaced(const struct guard_reply *reply, const struct guard_client_config *config,
		       bool is_outdated);

#endif
