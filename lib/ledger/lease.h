/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_LEASE_H
#define ISO_LEDGER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * The lease on what a node enforces above its floor: the reason why a node
 * that nobody reaches can be buried without asking it.
 *
 * The holder may enforce more than its floor until deadline = (when it sent
 * message n) + lease, for the newest n that a neighbour has echoed.  The
 * granter, the neighbour at the other end, closes an edge only when promise
 * has passed on its own clock since it last took in a message of the holder
 * (only such can it ever have echoed), since it was asked to close and took in no
 * more (a neighbour that is void by then may have echoed until then), and
 * since it started: what it forgot in a restart counts as granted then.  With
 * promise >= lease * (1 + eps) + slack, clocks whose rates differ by less than
 * eps, and all neighbours closed, each lease has run out.
 *
 * All times are CLOCK_BOOTTIME of the one node that keeps them; clocks of two
 * nodes are never compared.  A node without any open edge needs no lease and
 * cannot be buried without its administrator's word that it is off: whoever
 * buries must have seen that the node itself has opened one of its edges.
 */
struct iso_lease_params {
	uint64_t lease_ns;      /* 0: no leases; then nothing is ever closed without a word */
	uint64_t promise_ns;    /* > lease_ns */
	uint64_t guard_ns;      /* < lease_ns: so long before the deadline it is over */
};

/* ISO_E_RANGE: not as said above. */
ISO_MUST_USE enum iso_status iso_lease_check(const struct iso_lease_params *params);

/* Messages that may still renew the lease when they are echoed: the newest 32. */
#define ISO_LEASE_RING 32u

struct iso_lease {
	struct iso_lease_params params;
	uint64_t deadline_ns;   /* 0: none yet */
	uint64_t newest_ns;     /* when the newest message was sent */
	uint32_t inc;           /* of the holder; echoes of an earlier one are void */
	uint32_t seq;           /* newest message sent */
	uint32_t sent[ISO_LEASE_RING]; /* units of 2^20 ns (1 ms) rounded down, modulo 2^32 */
};

/* A start of the holder: nothing sent, no lease. */
void iso_lease_init(const struct iso_lease_params *params, uint32_t inc,
		    struct iso_lease *ret_lease);

/*
 * Message seq goes out, not before boot_ns: from 1 on, each number once.  A
 * time too early only shortens the lease.
 */
void iso_lease_sent(struct iso_lease *lease, uint32_t seq, uint64_t boot_ns);

/* A neighbour has echoed this message of ours; true if the deadline has moved. */
bool iso_lease_heard(struct iso_lease *lease, uint32_t echo_inc, uint64_t echo_seq);

/*
 * A deadline that outlived the agent, of this boot and generation.  An earlier
 * one than is known is ignored, and so is UINT64_MAX: it is no lease.
 */
void iso_lease_resume(struct iso_lease *lease, uint64_t deadline_ns);

/* When the floor must be enforced at the latest; 0: now.  UINT64_MAX: there are no leases. */
uint64_t iso_lease_deadline(const struct iso_lease *lease);

/* More than the floor may be enforced now, and for guard_ns longer. */
bool iso_lease_valid(const struct iso_lease *lease, uint64_t boot_ns);

/*
 * When the granter may close the edge.  heard_ns: when it last took in a
 * message of the holder, opened the edge or was asked to close it, whichever is
 * latest; 0: never.  started_ns: when the granter started.  Both on its own
 * clock.  UINT64_MAX: never.
 */
uint64_t iso_lease_close_at(const struct iso_lease_params *params, uint64_t heard_ns,
			    uint64_t started_ns);
bool iso_lease_may_close(const struct iso_lease_params *params, uint64_t heard_ns,
			 uint64_t started_ns, uint64_t now_ns);

#endif
