/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_UNITBUS_H
#define ISO_UNITBUS_H

#include <stdint.h>

#include "agent/base/error.h"

/* For unit.c only: systemd's answers about one unit, each in bounded time. */
struct unitbus;

#define UNITBUS_TEXT_BYTES 4096

enum unitbus_interface {
	UNITBUS_ANY_UNIT = 1, /* what all units have */
	UNITBUS_THIS_KIND,    /* what services, scopes or slices have */
};

/* Nothing is connected yet.  address: NULL for systemd's own; copied. */
int unitbus_new(const char *unit, const char *address, struct unitbus **ret_bus,
		struct error *reterr);
/* Takes NULL. */
void unitbus_free(struct unitbus *bus);

/* From now on all calls together take so long at most. */
void unitbus_begin(struct unitbus *bus, unsigned wait_ms);
/*
 * Hangs up, unless a call had no answer: it may be carried out yet, and what is
 * asked next has to come after it, which is so on the same connection only.
 */
void unitbus_end(struct unitbus *bus);

/* A property; -EHOSTDOWN: there is no systemd, -ETIME: no answer in time, or what it says. */
int unitbus_text(struct unitbus *bus, enum unitbus_interface interface, const char *property,
		 char ret_text[UNITBUS_TEXT_BYTES], struct error *reterr);
int unitbus_number(struct unitbus *bus, const char *property, uint64_t *ret_number,
		   struct error *reterr);

/* Ends with NULL.  free() each and the list. */
int unitbus_list(struct unitbus *bus, const char *property, char ***ret_list,
		 struct error *reterr);

/* As runtime properties.  After -ETIME they may be set yet; -ENOENT: there is no such unit. */
int unitbus_set_quota(struct unitbus *bus, uint64_t ucpu, uint64_t period_us,
		      struct error *reterr);

#endif
