/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PREFLIGHT_H
#define ISO_PREFLIGHT_H

#include <stdbool.h>

/*
 * What must be there before isobard can do its job on this machine, each with
 * what is missing and what to do about it.  Nothing is changed: no cgroup is
 * made, no limit written, no file left behind.
 */

enum preflight_state {
	PREFLIGHT_OK = 1,
	PREFLIGHT_WARNING, /* works, but less well */
	PREFLIGHT_MISSING, /* isobard would refuse to start */
	PREFLIGHT_SKIPPED, /* does not apply to this configuration */
};

struct preflight_row {
	const char *requirement;
	enum preflight_state state;
	char detail[192];
	char remedy[256]; /* empty when state is OK or SKIPPED */
};

#define PREFLIGHT_ROWS_MAX 40

struct preflight {
	unsigned count;
	struct preflight_row rows[PREFLIGHT_ROWS_MAX];
};

/*
 * Checks the configuration file, and the machine for what it asks.  Without a
 * valid one only what does not depend on it.  Never fails: what cannot be
 * found out is a row.
 */
void preflight_run(const char *file, struct preflight *ret_preflight);

/* For the files preflight*.c: a new row; remedy: NULL or text. */
__attribute__((format(printf, 5, 6))) void preflight_say(struct preflight *preflight,
							 const char *requirement,
							 enum preflight_state state,
							 const char *remedy, const char *format,
							 ...);

/* Whether no row is MISSING. */
bool preflight_ready(const struct preflight *preflight);

/* "ok", "warning", "missing", "skipped". */
const char *preflight_state_text(enum preflight_state state);

#endif
