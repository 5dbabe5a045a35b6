/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PAGE_H
#define ISO_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "agent/export/collect.h"
#include "agent/export/history.h"
#include "agent/export/verdict.h"

/*
 * The status page: one document without scripts, drawings inline, the style from
 * /style.css.  A function of its input alone; whatever comes from an agent is
 * escaped.
 */

struct page {
	const char *host;	   /* this machine */
	const char *when;	   /* the time, for people */
	const char *directory;	   /* where agents are looked for */
	const struct collect *agents; /* with the replies to "status" */
	const struct history *history;
	uint64_t slot; /* of now, as in history */
	const struct verdicts *verdicts;
};

void page_write(FILE *out, const struct page *page);

/* One node or other agent of it, that with this index: page_node.c. */
void page_write_agent(FILE *out, const struct page *page, unsigned index);

/* The style sheet: page_style.c.  Static. */
extern const char page_style[];

/* Text at key, for HTML already escaped; "–" where there is none. */
void page_text(FILE *out, const json_t *object, const char *key);

/* A number at key over per, with so many decimals and a unit; "–" where it is unknown. */
void page_number(FILE *out, const json_t *object, const char *key, double per, int decimals,
		 const char *unit);

/* The class of a state's badge: "good", "note" or "bad". */
const char *page_state_class(const char *state);

#endif
