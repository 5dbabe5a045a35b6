/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_LEDGER_REGISTRY_H
#define ISO_LEDGER_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/ledger/op.h"
#include "lib/ledger/record.h"
#include "lib/status.h"

/*
 * The administrator's side of the ledger: what the cluster consists of, which
 * budget is in force, and what is under way.  State is nothing but the entries
 * of the registry file, applied in order; the file is written first, always:
 *
 *     iso_registry_next()         -> an entry
 *     (the entry becomes durable)
 *     iso_registry_apply()        the entry is true from here on
 *     iso_registry_due()          -> an operation to deliver, as often as needed
 *     iso_registry_acknowledge()  its answer -> an entry, which is written, applied, ...
 *
 * So it can stop after any entry and before any answer, and goes on from the
 * file.  No call, no clock, no order of arrival matters to the sum, which is
 *
 *     budget = sum of endowments + pool + sum held by procedures + sum reserved
 *
 * where an amount minted is counted from the moment it is issued and an
 * amount burned until the moment it is acknowledged.
 */

#define ISO_REGISTRY_MEMBERS_MAX    256u
#define ISO_REGISTRY_EDGES_MAX	    4096u
#define ISO_REGISTRY_OPS_MAX	    1024u /* issued and not yet acknowledged */
#define ISO_REGISTRY_PROCEDURES_MAX 16u
#define ISO_REGISTRY_LIST_MAX	    64u
#define ISO_REGISTRY_NAME_BYTES	    64u
#define ISO_REGISTRY_NOBODY	    UINT32_MAX

/* Budgets, shares and floors: so that all members' can be added. */
#define ISO_REGISTRY_UCPU_MAX (ISO_UNITS_MAX / (int64_t)ISO_REGISTRY_MEMBERS_MAX)

/* An operation of enum iso_op_kind, or the one that gives a node its life. */
#define ISO_REGISTRY_ADMIT 100

enum iso_registry_kind {
	ISO_REGISTRY_CREATE = 1, /* op: the first number; amount: the budget */
	ISO_REGISTRY_MEMBER,	 /* of the creation: node, gen, name, amount, floor, flags */
	ISO_REGISTRY_EDGE,	 /* node, peer; of the creation: open.  Later: to be opened */
	ISO_REGISTRY_READY,	 /* ends the creation: endowments are the budget */
	ISO_REGISTRY_NOTE,	 /* node: floor and flags as last heard from it */
	ISO_REGISTRY_TARGET,	 /* amount: the budget wanted; node: who gets an increase, or 0 */
	ISO_REGISTRY_RAISE,	 /* amount: the budget grows by it, into the pool */
	ISO_REGISTRY_SHRINK,	 /* amount: the budget falls by it, out of the pool */
	ISO_REGISTRY_BEGIN,	 /* a procedure: begins, node, list, ... */
	ISO_REGISTRY_ISSUE,	 /* an operation, numbered */
	ISO_REGISTRY_ACK,	 /* its answer: moved amount, or the certificate of a CLOSE */
	ISO_REGISTRY_CERTIFY,	 /* node's counters towards peer, as told by a peer that left */
	ISO_REGISTRY_VOID,	 /* a procedure's nodes are no more; amount: the estate */
	ISO_REGISTRY_UNDO,	 /* a join is given up before its admission */
	ISO_REGISTRY_END,	 /* a procedure is over */
};

enum iso_registry_procedure_kind {
	ISO_REGISTRY_JOIN = 1,
	ISO_REGISTRY_LEAVE,
	ISO_REGISTRY_BURY,
	ISO_REGISTRY_FORGET,
};

/* Flags of entries, members and procedures. */
#define ISO_REGISTRY_FENCED  0x1u /* the administrator vouches that the job does not run */
#define ISO_REGISTRY_ADDS    0x2u /* JOIN: the share is added to the budget */
#define ISO_REGISTRY_ON	     0x4u /* DRAIN: begin rather than end */
#define ISO_REGISTRY_GUARDED 0x8u /* NOTE, MEMBER: automatic burial is possible */

struct iso_registry_entry {
	enum iso_registry_kind kind;
	uint64_t seq;	    /* 1, 2, 3, ... */
	uint64_t procedure; /* 0: none */
	enum iso_registry_procedure_kind begins;
	uint64_t op;
	int op_kind;   /* enum iso_op_kind, or ISO_REGISTRY_ADMIT */
	uint64_t node; /* id */
	uint32_t gen;
	uint64_t peer;
	uint32_t peer_gen;
	int64_t amount_ucpu;
	int64_t budget_ucpu;
	int64_t floor_ucpu;
	uint64_t sent, received;
	uint32_t flags;
	char name[ISO_REGISTRY_NAME_BYTES];
	uint32_t list_count; /* BEGIN: neighbours of a JOIN, further nodes of a BURY */
	uint64_t list[ISO_REGISTRY_LIST_MAX];
};

enum iso_registry_member_state {
	ISO_REGISTRY_NEW = 1,	/* named, never admitted */
	ISO_REGISTRY_LIVE,	/* admitted, or its admission is issued */
	ISO_REGISTRY_LEFT,	/* gave everything away */
	ISO_REGISTRY_BURIED,	/* void; its floor may be reserved */
	ISO_REGISTRY_FORGOTTEN, /* void; nothing is reserved */
};

struct iso_registry_member {
	uint64_t id;
	char name[ISO_REGISTRY_NAME_BYTES];
	uint32_t gen; /* of its present or last life; 0: none yet */
	enum iso_registry_member_state state;
	bool admitted; /* LIVE: the admission is acknowledged */
	bool draining;
	int64_t endowment_ucpu; /* A as it will be when all that is issued is applied */
	int64_t reserved_ucpu;	/* BURIED: what it may still enforce */
	int64_t floor_ucpu;	/* as last heard */
	int64_t told_ucpu;	/* the newest budget that it acknowledged */
	uint64_t last_op;	/* the newest that it acknowledged */
	uint32_t flags;		/* ISO_REGISTRY_GUARDED */
	/* From the newest look at it; not in the file. */
	bool seen;
	bool halted; /* has stopped trading: takes no operation */
	bool fed;    /* its part of an increase has been issued since */
	int64_t share_ucpu, room_ucpu;
};

enum iso_registry_end_state {
	ISO_REGISTRY_WANTED = 0, /* to be opened */
	ISO_REGISTRY_OPENING,	 /* OPEN is issued */
	ISO_REGISTRY_OPENED,
	ISO_REGISTRY_CLOSING, /* CLOSE is issued */
	ISO_REGISTRY_CLOSED,  /* certified: sent and received are final */
	ISO_REGISTRY_FOLDING, /* FOLD is issued */
};

/* What a node has towards its peer. */
struct iso_registry_end {
	uint32_t member;
	uint32_t gen;
	enum iso_registry_end_state state;
	uint64_t sent, received; /* once certified */
	bool offered;		 /* by a peer that left; not in the file */
};

struct iso_registry_edge {
	struct iso_registry_end end[2];
};

/* Issued, not acknowledged. */
struct iso_registry_op {
	uint64_t id;
	int kind;
	uint64_t procedure;
	uint32_t member;
	uint32_t gen;
	uint32_t peer; /* member, or ISO_REGISTRY_NOBODY */
	uint32_t peer_gen;
	int64_t amount_ucpu;
	int64_t budget_ucpu;
	uint64_t sent, received;
	bool on;
};

/* A set of members. */
struct iso_registry_set {
	uint64_t bits[ISO_REGISTRY_MEMBERS_MAX / 64];
};

struct iso_registry_procedure {
	uint64_t id; /* seq of its BEGIN */
	enum iso_registry_procedure_kind kind;
	uint32_t flags;
	struct iso_registry_set nodes;	    /* JOIN, LEAVE, FORGET: one */
	struct iso_registry_set neighbours; /* JOIN: to be; LEAVE, BURY: were */
	uint32_t heir;			    /* member, or ISO_REGISTRY_NOBODY */
	uint32_t gen;			    /* JOIN: of the new life */
	int64_t share_ucpu;		    /* JOIN: to be gathered */
	int64_t floor_ucpu;		    /* JOIN: of the node */
	int64_t held_ucpu;		    /* gathered, and not yet handed on */
	int64_t reserved_ucpu; /* JOIN: part of it that was the node's reserved floor */
	bool asked;	       /* LEAVE: it has been told to go */
	bool voided;	       /* LEAVE, BURY */
	bool repair;	       /* its neighbours have lost their connection */
	bool undone;	       /* JOIN */
};

/* Read it freely; only the functions below change it.  Large: not for the stack. */
struct iso_registry {
	uint64_t cluster;
	uint64_t seq; /* of the newest entry */
	uint64_t next_op;
	bool ready;
	int64_t budget_ucpu; /* in force: the sum of what is enforced never exceeds it */
	int64_t target_ucpu; /* wanted */
	int64_t pool_ucpu;   /* added to the budget and not yet minted */
	uint64_t favourite;  /* who gets an increase; 0: everybody */
	uint32_t member_count, edge_count, op_count, procedure_count;
	struct iso_registry_member members[ISO_REGISTRY_MEMBERS_MAX];
	struct iso_registry_edge edges[ISO_REGISTRY_EDGES_MAX];
	struct iso_registry_op ops[ISO_REGISTRY_OPS_MAX]; /* by id */
	struct iso_registry_procedure procedures[ISO_REGISTRY_PROCEDURES_MAX];
};

void iso_registry_init(struct iso_registry *registry);

/*
 * Makes an entry true.  Nothing changes unless ISO_OK:
 * ISO_E_MALFORMED  not an entry that can follow: a registry that was changed by hand
 * ISO_E_UNKNOWN    of a node, procedure or operation that there is not
 * ISO_E_FULL       no room
 */
ISO_MUST_USE enum iso_status iso_registry_apply(struct iso_registry *registry,
						const struct iso_registry_entry *entry);

/* budget - (endowments + pool + held + reserved): 0, once it is ready. */
int64_t iso_registry_imbalance(const struct iso_registry *registry);

/* ISO_REGISTRY_NOBODY: no such member. */
uint32_t iso_registry_find(const struct iso_registry *registry, uint64_t id);
uint32_t iso_registry_find_name(const struct iso_registry *registry, const char *name);

/* NULL: none. */
const struct iso_registry_procedure *iso_registry_procedure(const struct iso_registry *registry,
							    uint64_t id);
const struct iso_registry_procedure *iso_registry_procedure_of(const struct iso_registry *registry,
							       uint32_t member);

/* Leaving, or being buried: gets nothing any more. */
bool iso_registry_going(const struct iso_registry *registry, uint32_t member);

bool iso_registry_has(const struct iso_registry_set *set, uint32_t member);
void iso_registry_include(struct iso_registry_set *set, uint32_t member);

/* Edges to live members. */
uint32_t iso_registry_degree(const struct iso_registry *registry, uint32_t member);
bool iso_registry_adjacent(const struct iso_registry *registry, uint32_t a, uint32_t b);

/* Sum of what burns that are under way may still take off. */
int64_t iso_registry_burning(const struct iso_registry *registry, uint64_t procedure);

/*
 * Who has not acknowledged yet that the budget is smaller, or NOBODY.  A node's
 * budget bounds what may be under way towards it: as long as a smaller
 * one may still arrive there, the sum must not grow.
 */
uint32_t iso_registry_lowering(const struct iso_registry *registry);

/* The least budget there can be: floors of those who live, what is reserved and held. */
int64_t iso_registry_least_budget(const struct iso_registry *registry);

/*
 * A snapshot of a node, or NULL when it did not answer.  It is what decreases
 * are spread by, and how a leaving node's end is found; nothing that is
 * written depends on how old it is.  ISO_E_FOREIGN: not the life that the
 * registry knows.  ISO_E_STALE: it has applied operations that this registry has
 * not issued yet: this one is an old copy, or another one is in use.
 * ISO_E_DAMAGED: it has forgotten one that it acknowledged: its journal is an old
 * copy, and it counts as one that did not answer.
 */
struct iso_registry_look {
	const struct iso_record *record;
	int64_t share_ucpu;
	int64_t floor_ucpu;
};
ISO_MUST_USE enum iso_status iso_registry_look(struct iso_registry *registry, uint64_t node,
					       const struct iso_registry_look *look);

/*
 * What to write next.
 * ISO_OK         *ret_entry must become durable, then be applied
 * ISO_E_SHORT    a look at the members is needed, or at more of them
 * ISO_E_UNKNOWN  nothing: wait for answers, or all is done
 */
ISO_MUST_USE enum iso_status iso_registry_next(const struct iso_registry *registry,
					       struct iso_registry_entry *ret_entry);

/*
 * The operations to deliver: of each node the oldest only, since a node
 * applies them in the order of their numbers.  *cursor: 0 at first.  NULL: no more.
 */
const struct iso_registry_op *iso_registry_due(const struct iso_registry *registry,
					       uint32_t *cursor);

/* As the node must see it; kind is not ISO_REGISTRY_ADMIT. */
void iso_registry_message(const struct iso_registry *registry, const struct iso_registry_op *op,
			  struct iso_op *ret_op);

/*
 * A node says that it applied an operation, now or earlier: the entry for it.
 * record: its ledger after that.
 * ISO_E_UNKNOWN    it is not under way (any more)
 * ISO_E_FOREIGN    the node knows newer operations: another registry is in use
 * ISO_E_MALFORMED  the answer cannot be: it moved more than asked, or no edge is closed
 */
ISO_MUST_USE enum iso_status iso_registry_acknowledge(const struct iso_registry *registry,
						      uint64_t op, int64_t moved_ucpu,
						      const struct iso_record *record,
						      struct iso_registry_entry *ret_entry);

/*
 * Proportional to the rooms, each at most its room, sum exactly the lesser of
 * amount and all room.  ret_part: count.
 */
void iso_registry_spread(int64_t amount_ucpu, const int64_t *room_ucpu, uint32_t count,
			 int64_t *ret_part);

/* Why something that an administrator asks for is not done. */
enum iso_registry_refusal {
	ISO_REGISTRY_FINE = 0,
	ISO_REGISTRY_NO_SUCH_NODE,
	ISO_REGISTRY_NOT_LIVE,
	ISO_REGISTRY_IS_LIVE,
	ISO_REGISTRY_UNDER_WAY,	      /* the same is being done already */
	ISO_REGISTRY_OTHER_UNDER_WAY, /* something else is being done with it */
	ISO_REGISTRY_LOWERING,	      /* peer: may still be told a smaller budget */
	ISO_REGISTRY_BELOW_FLOORS,    /* amount: the least budget */
	ISO_REGISTRY_SHARE_TOO_SMALL, /* amount: the floor */
	ISO_REGISTRY_SHARE_TOO_LARGE, /* amount: what the others can give */
	ISO_REGISTRY_LAST_ONE,
	ISO_REGISTRY_UNSETTLED, /* peer: an edge to it is being opened, closed or folded */
	ISO_REGISTRY_NO_NEIGHBOUR,
	ISO_REGISTRY_NEIGHBOUR_DYING,  /* peer: under burial, or leaving */
	ISO_REGISTRY_NEIGHBOUR_SILENT, /* peer: did not answer */
	ISO_REGISTRY_UNADMINISTERED, /* peer: has had no operation yet, so it may have more edges */
	ISO_REGISTRY_NODE_SILENT,    /* it must take part in this and does not answer */
	ISO_REGISTRY_UNGUARDED,	     /* no automatic burial */
	ISO_REGISTRY_NEEDS_FENCE,    /* amount: what it may still enforce */
	ISO_REGISTRY_JOINT_NEEDS_FENCE, /* several together */
	ISO_REGISTRY_BAD_HEIR,
	ISO_REGISTRY_TOO_MANY_EDGES, /* peer */
	ISO_REGISTRY_TOO_MUCH,	     /* a table is full */
	ISO_REGISTRY_TOO_LATE,	     /* it is admitted already */
};

/* What is asked for; fields as the command has them. */
struct iso_registry_wish {
	uint64_t node;
	const char *name;    /* JOIN: of a node not known yet */
	uint32_t gen;	     /* JOIN: the life that its journal knows, 0: none */
	int64_t amount_ucpu; /* the budget; JOIN: the share */
	int64_t floor_ucpu;  /* JOIN */
	uint64_t heir;	     /* 0: no wish */
	uint32_t flags;
	bool trust; /* BURY: its guard is vouched for */
	uint32_t list_count;
	const uint64_t *list;
};

struct iso_registry_reason {
	enum iso_registry_refusal why;
	uint64_t node, peer;
	int64_t amount_ucpu;
};

/*
 * Whether it may be done, and the entry that begins it.  Looks must be fresh.
 * On refusal *ret_entry is untouched.
 */
struct iso_registry_reason iso_registry_budget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_join(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_undo(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_drain(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_leave(const struct iso_registry *registry,
					      const struct iso_registry_wish *wish,
					      struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_bury(const struct iso_registry *registry,
					     const struct iso_registry_wish *wish,
					     struct iso_registry_entry *ret_entry);
struct iso_registry_reason iso_registry_forget(const struct iso_registry *registry,
					       const struct iso_registry_wish *wish,
					       struct iso_registry_entry *ret_entry);

#endif
