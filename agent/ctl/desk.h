/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DESK_H
#define ISO_DESK_H

#include "agent/admin/office.h"
#include "agent/ctl/isobarctl.h"

/*
 * What the commands that change a cluster share: the office, what is said
 * while it works, questions, refusals, and the report at the end.
 */

struct desk {
	const struct ctl *ctl;
	struct office *office;
	struct iso_registry *registry;
	struct drive *drive;
	json_t *events; /* for --json: what was said */
	bool fresh;	/* nodes have been asked */
};

/* Reads the configuration; says why not on stderr, and returns the exit status. */
int desk_begin(struct desk *desk, const struct ctl *ctl);

/* Opens the registry, for itself alone unless read_only, and asks the nodes. */
int desk_open(struct desk *desk, bool read_only);

/* The same for itself alone, without a word on who does not answer. */
int desk_open_quietly(struct desk *desk);

void desk_end(struct desk *desk);

/* A line of progress, or into the report of --json. */
__attribute__((format(printf, 2, 3))) void desk_say(struct desk *desk, const char *format, ...);

/* "isobarctl: ..." on stderr, or the report of --json; returns CTL_FAILED. */
__attribute__((format(printf, 2, 3))) int desk_fail(struct desk *desk, const char *format, ...);

/* The member of that name, or NOBODY after saying which there are. */
uint32_t desk_member(struct desk *desk, const char *name);

/* What is refused, why, and what to do instead; returns CTL_FAILED. */
int desk_refuse(struct desk *desk, const struct iso_registry_reason *reason);

/*
 * Asks on the terminal.  word: what must be typed; NULL: "yes".  --yes answers;
 * without a terminal and without it the answer is no.
 */
bool desk_confirm(struct desk *desk, const char *question, const char *word);

/* Writes the entry that begins it, goes on until `what` is done (drive.h), and reports. */
int desk_carry_out(struct desk *desk, struct iso_registry_entry *entry);
int desk_go_on(struct desk *desk, uint64_t what);

/* The state of the registry: text, or JSON with what was said and how it ended. */
void desk_report(struct desk *desk, bool ok, const char *error);
json_t *desk_json(struct desk *desk);

const char *desk_name(const struct desk *desk, uint64_t id);

/* "1.5", for people: CPUs with as many digits as it takes. */
const char *desk_cpu(int64_t ucpu, char buffer[32]);

#endif
