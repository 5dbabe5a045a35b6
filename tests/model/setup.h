/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SETUP_H
#define ISO_MODEL_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_NODES 3u
#define MODEL_EDGES 2u /* per node: to each of the others */

/* A rule that is left out, to see that the explorer notices. */
enum model_mutant {
	MODEL_FAITHFUL = 0,

	/* By the order in which the explorer calls lib/. */
	MODEL_SEND_EARLY,	 /* messages leave before the record is durable */
	MODEL_SEND_UNLOWERED,	 /* messages leave before the quota is lowered */
	MODEL_LOWER_LATE,	 /* the quota is lowered after the record, before the messages */
	MODEL_RAISE_EARLY,	 /* the quota is raised before the record is durable */
	MODEL_IGNORE_STUCK,	 /* the quota could not be lowered; the ledger is told it was */
	MODEL_NO_RESYNC,	 /* a restart writes over one slot while the other is unsynced */
	MODEL_SYNC_AGAIN,	 /* a failed fdatasync is tried again, and succeeds */
	MODEL_AMOUNTS,		 /* messages carry the last transfer, not the total */
	MODEL_NO_RETRANSMISSION, /* a total is sent once, right after its record */

	/* In lib/ itself, by mutants.sed. */
	MODEL_TRUST_CACHE,    /* a restart makes nothing durable before it speaks */
	MODEL_CREDIT_LAST,    /* R follows the last message instead of the largest S */
	MODEL_UNMARKED_DEBIT, /* a debit alone does not call for a record */
	MODEL_NEVER_LOWER,    /* a plan never asks for a lower quota */
	MODEL_ANY_READBACK,   /* the quota as read back is not compared */
	MODEL_ABORT_KEEPS,    /* an abort does not undo the debits */
	MODEL_NO_FLOOR,	      /* a donor gives what it needs itself */
	MODEL_NO_CEILING,     /* the surplus is enforced */
	MODEL_OLDER_SLOT,     /* recovery takes the older of two whole slots */
	MODEL_PASS_OVER,      /* recovery passes over a damaged slot, whatever it held */
	MODEL_NO_PASS_OVER,   /* recovery never passes over a torn slot */
	MODEL_NO_GENERATION,  /* messages of an earlier life are taken for this one's */
	MODEL_EARLY_EAR,      /* messages count before the new incarnation is durable */
	MODEL_MUTANTS
};

/* What may happen, and how often; the explorer tries every order of it. */
struct model_setup {
	const char *name;
	uint8_t debits;	  /* T: transfers */
	uint8_t crashes;  /* C: kills and power cuts together */
	uint8_t losses;	  /* L: times that all messages of one direction are erased */
	uint8_t stuck;	  /* times that a quota cannot be lowered */
	uint8_t failures; /* times that fdatasync fails */
	uint8_t rejoins;  /* times that a settled node joins anew, under a new generation */
	uint8_t debit_max;
	uint8_t share; /* of every node at first; the budget is three times this */
	uint8_t floor;
	uint8_t ceiling;
	uint8_t dark;  /* what the kernel enforces after a power cut */
	bool torn;     /* a cut may leave half of a slot */
	bool exact;    /* fold nothing: see node.h */
	bool only_sum; /* assert I1 and the final sum only */
	enum model_mutant mutant;
};

#endif
