/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PROPERTY_H
#define ISO_PROPERTY_H

#include <stdint.h>

/*
 * The limit that a service manager keeps for the job, beside the kernel's: it
 * writes that one again whenever it likes (at a reload, when the job starts
 * anew), so it must never be above the share either.
 *
 *   - What it may write is bounded by the values it was last told, answered or
 *     not (bound_ucpu).  The share is only enforced where that bound is not
 *     above it: so the value is lowered before a lowering counts as done.
 *   - It is raised after the kernel's limit, when that is worth the work.
 *   - It is kept in whole hundredths of a CPU: systemd cuts off the rest when
 *     it writes its files, and takes what is then "0%" for no limit at all.
 */

#define ISO_PROPERTY_STEP_UCPU	  10000u
#define ISO_PROPERTY_RAISE_PART	  64u         /* a raise by less than that part waits */
#define ISO_PROPERTY_RAISE_GAP_NS 1000000000u
#define ISO_PROPERTY_PAUSE_NS_MIN 1000000000u /* after a call without an answer */
#define ISO_PROPERTY_PAUSE_NS_MAX 8000000000u
#define ISO_PROPERTY_UNLIMITED	  UINT64_MAX

struct iso_property {
	uint64_t value_ucpu;  /* as last read or confirmed; unlimited at first */
	uint64_t bound_ucpu;  /* the manager may write no more than that */
	uint64_t raise_at_ns; /* no raise earlier */
	uint64_t call_at_ns;  /* no call earlier: the last one had no answer */
	uint64_t pause_ns;
};

enum iso_property_wish {
	ISO_PROPERTY_KEEP = 1, /* it is as it should be */
	ISO_PROPERTY_LOWER,    /* now, before the kernel's limit */
	ISO_PROPERTY_RAISE,    /* after the kernel's limit, or later */
	ISO_PROPERTY_WAIT,     /* to be lowered, but the manager does not answer: uncertain */
};

void iso_property_init(struct iso_property *property);

/* The value for a share: rounded down to the step, of which there is at least one. */
uint64_t iso_property_of(uint64_t share_ucpu);

/* What to do about it, for this share.  Changes nothing. */
enum iso_property_wish iso_property_wish(const struct iso_property *property, uint64_t now_ns,
					 uint64_t share_ucpu);

/* The manager is about to be told: from now on either value may be its own. */
void iso_property_tell(struct iso_property *property, uint64_t now_ns, uint64_t value_ucpu);

/* It answered, and all it was told before is past: this is the value it has. */
void iso_property_confirm(struct iso_property *property, uint64_t value_ucpu);

/* Others may have set it: any value, until it answers. */
void iso_property_doubt(struct iso_property *property);

/* There was no answer: the bound stays, and it is left alone for a while. */
void iso_property_fail(struct iso_property *property, uint64_t now_ns);

#endif
