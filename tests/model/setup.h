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
	MODEL_FULL_GOES_ON,	 /* a record that the full disk did not take counts as durable */
	MODEL_AMOUNTS,		 /* messages carry the last transfer, not the total */
	MODEL_NO_RETRANSMISSION, /* a total is sent once, right after its record */

	MODEL_ANSWER_EARLY, /* an operation is answered before its record is durable */

	MODEL_GUARD_RAISES, /* the guard raises the quota whatever the deadline */

	/* In lib/ itself, by mutants.sed. */
	MODEL_TRUST_CACHE,	  /* a restart makes nothing durable before it speaks */
	MODEL_CREDIT_LAST,	  /* R follows the last message instead of the largest S */
	MODEL_UNMARKED_DEBIT,	  /* a debit alone does not call for a record */
	MODEL_NEVER_LOWER,	  /* a plan never asks for a lower quota */
	MODEL_ANY_READBACK,	  /* the quota as read back is not compared */
	MODEL_ABORT_KEEPS,	  /* an abort does not undo the debits */
	MODEL_UNDO_CREDITS,	  /* what a full disk undoes keeps the credits */
	MODEL_UNDO_NUMBER,	  /* ... or the number of the operation */
	MODEL_NO_FLOOR,		  /* a donor gives what it needs itself */
	MODEL_NO_CEILING,	  /* the surplus is enforced */
	MODEL_OLDER_SLOT,	  /* recovery takes the older of two whole slots */
	MODEL_PASS_OVER,	  /* recovery passes over a damaged slot, whatever it held */
	MODEL_NO_PASS_OVER,	  /* recovery never passes over a torn slot */
	MODEL_NO_GENERATION,	  /* messages of an earlier life are taken for this one's */
	MODEL_EARLY_EAR,	  /* messages count before the new incarnation is durable */
	MODEL_OPID_SEPARATE,	  /* the number of an operation is in the record after its effect */
	MODEL_OP_AGAIN,		  /* an operation is applied whatever its number */
	MODEL_VOID_FORGETS,	  /* VOID takes no number */
	MODEL_BURN_ALL,		  /* a burn goes below the floor */
	MODEL_BURN_LATE,	  /* the quota is not lowered before a burn */
	MODEL_BURN_KEPT,	  /* an abort does not undo a burn */
	MODEL_DEBIT_CLOSED,	  /* debits over an edge that is closed */
	MODEL_CREDIT_CLOSED,	  /* a late message over a closed edge is credited */
	MODEL_FOLD_KEEPS,	  /* a fold leaves S and R as they are, beside A */
	MODEL_FOLD_FORGETS,	  /* a fold puts nothing into A */
	MODEL_NO_TOMBSTONE,	  /* after a fold the edge is as if it were new */
	MODEL_GRANTER_FORGETS,	  /* a start takes back what was promised before it */
	MODEL_WAIT_FROM_HEARD,	  /* the wait to close counts from what was heard last */
	MODEL_LEASE_FROM_RECEIPT, /* the lease counts from when it is renewed */
	MODEL_ANSWER_CLOSED,	  /* a neighbour goes on to answer after it has closed */
	MODEL_CLOSE_EARLY,	  /* an edge is closed before the lease has run out */
	MODEL_LEAVE_UNFROZEN,	  /* a node leaves without its neighbours' promise */
	MODEL_LEAVE_UNHEARD,	  /* a node leaves before what it gave has arrived */
	MODEL_LIMIT_FILLS,	  /* as much is credited as the limit lets in, given or not */

	/* By the administrator in world.c. */
	MODEL_PROMISE_LATE,	     /* the budget grows when minting is answered, not before */
	MODEL_PROMISE_EARLY,	     /* the budget falls before burning is answered */
	MODEL_GRANT_PARTIAL,	     /* an estate is granted without all certificates */
	MODEL_ADMIT_SAME_GENERATION, /* a node is admitted again under the same generation */
	MODEL_MUTANTS
};

/* What the administrator does, step by step, while all else goes on: see world.c. */
enum model_script {
	MODEL_NO_SCRIPT = 0,
	MODEL_MINTS_BURNS,     /* side by side, at two nodes */
	MODEL_MINTS_BURNS_ONE, /* at one */
	MODEL_TELLS_BUDGET,    /* mints at one, and tells the others */
	MODEL_GIVES_UP,	       /* mints and burns, and voids both when they are not answered */
	MODEL_DRAINS,	       /* and undoes it */
	MODEL_LEAVES,
	MODEL_LEAVES_REJOINS,
	MODEL_BURIES, /* by leases; the node may be alive */
	MODEL_BURIES_REJOINS,
	MODEL_LEAVES_BURIES,	/* another leaves, and the last neighbour alone buries by leases */
	MODEL_DECLARES_DEAD,	/* one whose power is off */
	MODEL_DECLARES_REJOINS, /* and a new machine takes its name */
	MODEL_DECLARES_TWO,	/* one after the other */
	MODEL_DECLARES_BOTH,	/* together */
	MODEL_SCRIPTS
};

/* What may happen, and how often; the explorer tries every order of it. */
struct model_setup {
	const char *name;
	uint8_t debits;	  /* T: transfers */
	uint8_t crashes;  /* C: kills and power cuts together */
	uint8_t losses;	  /* L: times that all messages of one direction are erased */
	uint8_t stuck;	  /* times that a quota cannot be lowered */
	uint8_t failures; /* times that fdatasync fails */
	uint8_t full;	  /* times that the disk takes nothing of a record */
	uint8_t delays;	  /* times that the candidate hears nobody until its lease runs out */
	uint8_t debit_max;
	uint8_t share; /* of every node at first; the budget is three times this */
	uint8_t floor;
	uint8_t ceiling;
	uint8_t limit; /* of every edge, in net; 0: none */
	uint8_t dark;	/* what the kernel enforces after a power cut */
	bool torn;	/* a cut may leave half of a slot */
	bool exact;	/* fold nothing: see node.h */
	bool only_sum;	/* assert I1 and the final sum only */
	uint8_t script; /* enum model_script */
	uint8_t late;	/* 1: every request of the administrator may come late, and again */
	enum model_mutant mutant;
};

#endif
