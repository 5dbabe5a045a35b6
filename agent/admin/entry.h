/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ENTRY_H
#define ISO_ENTRY_H

#include <jansson.h>
#include <stddef.h>

#include "agent/base/error.h"
#include "lib/ledger/registry.h"

/*
 * One entry of the registry as one line of text: a JSON object that people and
 * jq can read, sealed by an XXH3 of everything before it:
 *
 *     {"seq":7,"entry":"issue","op":3,"kind":"mint","node":"...",...,"sum":"16 digits"}
 *
 * Fields that are zero are left out.  Ids are sixteen hexadecimal digits.
 */

/* With its newline and NUL. */
#define ENTRY_LINE_BYTES 4096u

/* time: seconds since 1970, for people only; 0: none.  -EMSGSIZE: it does not fit. */
int entry_write(const struct iso_registry_entry *entry, int64_t time_s,
		char ret_line[ENTRY_LINE_BYTES], size_t *ret_size, struct error *reterr);

/* A line without its newline.  -EBADMSG: the seal is broken; -EINVAL: no entry. */
int entry_read(const char *line, size_t size, struct iso_registry_entry *ret_entry,
	       struct error *reterr);

/* One or two words: "budget wanted", "burial begins". */
const char *entry_kind_name(enum iso_registry_kind kind);
/* "mint", ..., "admit". */
const char *entry_op_name(int op_kind);
const char *entry_procedure_name(enum iso_registry_procedure_kind kind);

#endif
