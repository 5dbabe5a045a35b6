/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DRIVE_H
#define ISO_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "lib/ledger/registry.h"

/*
 * Carries out what the registry says: writes each entry before it is true,
 * delivers operations until they are answered, looks at the nodes when a
 * decision needs it.  It may be ended between any two calls of its world and
 * begun again from the file; what the world is (the network and a disk, or a
 * simulation) it does not know.
 */

enum drive_outcome {
	DRIVE_APPLIED = 1, /* moved_ucpu and record are valid */
	DRIVE_BUSY,	   /* not now: why, and when to try again */
	DRIVE_REFUSED,	   /* why; nothing was done, and repeating it changes nothing */
	DRIVE_SILENT,	   /* nobody knows whether it was done: why */
};

struct drive_answer {
	enum drive_outcome outcome;
	int64_t moved_ucpu;
	struct iso_record record;
	uint64_t retry_ns;
	char why[200];
};

struct drive_look {
	struct iso_record record;
	int64_t share_ucpu;
	int64_t floor_ucpu;
	bool guarded; /* automatic burial is possible */
};

struct drive_world {
	/* Durable when it returns 0; after an error nothing more may be done. */
	int (*write)(void *context, const struct iso_registry_entry *entry, struct error *reterr);
	void (*deliver)(void *context, const struct iso_registry_op *op,
			struct drive_answer *ret_answer);
	/* -errno with the reason: it does not answer. */
	int (*look)(void *context, uint32_t member, struct drive_look *ret_look,
		    struct error *reterr);
	uint64_t (*now_ns)(void *context);
	void (*sleep)(void *context, uint64_t ns);
	/* What is going on, once for each change: durable, and about to be true.  NULL: nobody
	 * listens. */
	void (*entry)(void *context, const struct iso_registry_entry *entry);
	void (*waiting)(void *context, const struct iso_registry_op *op, const char *why);
};

/* What a node said last, for messages. */
struct drive_node {
	uint64_t retry_at_ns;
	bool answers;
	bool disagrees; /* another life or registry than the one we know */
	char why[200];	/* it does not answer, or an operation waits; empty: all is well */
};

struct drive {
	struct iso_registry *registry;
	const struct drive_world *world;
	void *context;
	struct drive_node nodes[ISO_REGISTRY_MEMBERS_MAX];
	uint64_t looked_at_ns;
	bool looked;
};

void drive_init(struct drive *drive, struct iso_registry *registry, const struct drive_world *world,
		void *context);

/* Writes one entry and makes it true. */
int drive_enter(struct drive *drive, struct iso_registry_entry *entry, struct error *reterr);

/* Asks every live member for its state; what is new about it becomes an entry. */
int drive_look(struct drive *drive, struct error *reterr);

/* What has to come true: a procedure's id, or one of these. */
#define DRIVE_ALL    0u
#define DRIVE_BUDGET UINT64_MAX
#define DRIVE_OP(id) ((uint64_t)(id) | (uint64_t)1 << 62) /* is answered */

bool drive_done(const struct drive *drive, uint64_t what);

/*
 * Goes on until it is done.  -ETIMEDOUT: not within that time; what is missing
 * is in the registry and in nodes[].  Other errors: of writing, or an answer
 * that shows that registry and nodes do not belong together.
 */
int drive_run(struct drive *drive, uint64_t what, uint64_t timeout_ns, struct error *reterr);

/* Waits as the world waits. */
void drive_pause(struct drive *drive, uint64_t ns);

#endif
