/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DESK_TEXT_H
#define ISO_DESK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/ledger/registry.h"

/* What entries, refusals and states are in words. */

/* An entry that is about to be true; false if it is not worth a line. */
bool desk_text_entry(const struct iso_registry *registry, const struct iso_registry_entry *entry,
		     char *ret_text, size_t size);

/* What is refused and why, and what to do instead.  node, peer, amount: those of the reason. */
void desk_text_refusal(const struct iso_registry_reason *reason, const char *node, const char *peer,
		       const char *amount, char *ret_text, size_t size);

/* One word: "live", "joining", "draining", "left", "buried", "forgotten", "new". */
const char *desk_text_state(const struct iso_registry_member *member);

#endif
