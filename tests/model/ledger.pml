/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger protocol beside its explorer: the same words and the same order of
 * steps as lib/ledger, but written down a second time, from the specification,
 * so that a mistake in the code and one in the model would have to agree.  The
 * explorer walks the real code; this model reaches further: budget operations,
 * burial of a node that is dead or only unreachable, its tombstone and
 * re-admission, joint burial of two, leaving.  tests/model/spin.sh runs it.
 *
 * NODES nodes in a ring; with three of them everybody is a neighbour of both
 * others.  A tick credits, debits or applies one operation and goes
 *	quota lowered -> record in the page cache -> durable -> quota raised -> messages
 * and a kill or a power cut may come between any two of these.  A record in the
 * page cache survives the kill; a power cut keeps or loses it.  Messages carry S,
 * the cumulative counter.  The network is the set of all values ever sent: any
 * of them may arrive at any time, any number of times, or never; `losses` times
 * a whole set is erased, so that repeating S is needed as well.
 *
 * One build for each of BUDGET, BURY, LEAVE, JOINT or none of them.  How much
 * may happen, and which rule is broken, is read from the environment.
 */
#ifdef JOINT
#define NODES 4
#else
#define NODES 3
#endif
#define EDGES (2 * NODES)
#define SHARE 2
#define FLOOR 1

/* Node i's edge on side 0 leads to node i + 1, on side 1 to node i - 1. */
#define EDGE(i, side) (2 * (i) + (side))
#define PEER(i, side) (((i) + ((side) == 0 -> 1 : NODES - 1)) % NODES)
#define BACK(i, side) EDGE(PEER(i, side), 1 - (side))

/* Where a node is; as enum model_pc of the explorer. */
#define IDLE	0
#define READY	1	/* planned, the quota lowered, nothing written */
#define WRITTEN 2	/* in the page cache */
#define SYNCED	3	/* durable; the quota not raised yet */
#define DOWN	4
#define READ	5	/* restarted: journal read, not made durable again */
#define OPENED	6

/* What a record does beside credit and debit. */
#define NO_OP	0
#define MINT	1
#define BURN	2
#define VOID	3	/* takes the number of a MINT that was given up */
#define CLOSE	4
#define GRANT	5	/* MINT of an estate; the budget stays */
#define FOLD	6
#define OPEN	7
#define FREEZE	8
#define LEFT	9
#define BURIED	10	/* heard a tombstone for the own generation */
#define ADMIT	11

/* Rules that can be left out: BROKEN in the environment. */
#define SEND_EARLY	  1	/* messages leave before the record is durable */
#define LOWER_LATE	  2	/* the quota is lowered only after the messages */
#define TRUST_CACHE	  3	/* a restart makes nothing durable before it speaks */
#define AMOUNTS		  4	/* messages carry an amount, not the total */
#define NO_RETRANSMISSION 5	/* a total is not sent again */
#define OP_APART	  6	/* the operation's number is not in the record of its effect */
#define ANSWER_APART	  7	/* how much was burnt is not in that record: a retry says all */
#define MINT_FIRST	  8	/* the budget rises after the mint */
#define BURN_FIRST	  9	/* the budget falls before the burn */
#define GIVE_UP		  10	/* a mint is given up without taking its number */
#define CLOSE_EARLY	  11	/* close although a lease may be valid */
#define CREDIT_CLOSED	  12	/* a closed edge still credits */
#define GRANT_PARTIAL	  13	/* the estate with one certificate missing */
#define CERTIFY_EARLY	  14	/* a certificate before the close is durable */
#define FLOOR_GRANTED	  15	/* the floor of a node that may still run is granted too */
#define SAME_GENERATION	  16	/* admitted again under the generation that was buried */
#define OPEN_UNFOLDED	  17	/* the edge is opened anew before the old one is folded */
#define NO_TOMBSTONE	  18	/* a buried node is not told */
#define OLD_TOMBSTONE	  19	/* a tombstone counts for any generation */
#define OPEN_FIRST	  20	/* the edges are opened anew before the node is admitted */
#define LEAVE_UNFROZEN	  21	/* left while neighbours may still give */
#define FREEZE_EARLY	  22	/* the freeze is announced before it is durable */
#define JOINT_INNER	  23	/* the edge between the two buried is counted as well */
#define JOINT_ALIVE	  24	/* buried as fenced, but one of them runs */
#define JOINT_ONE_SIDED	  25	/* the estate of two with one survivor's certificate */
#define RAISE_EARLY	  26	/* not a rule: it holds all the same */
#define UNFINISHED	  27	/* not one either: some run does come to its end */

byte broken;
byte only_sum;			/* assert I1 and the final sum only */
byte ceiling;
byte debit_max;
byte debits, crashes, losses;	/* left */

byte sent[EDGES], received[EDGES];	/* S and R, as in the page cache */
byte wire[EDGES];			/* set of the S that were sent: bit S */
byte share[NODES];			/* kept beside the counters, to be compared with them */
short endowment[NODES];
byte quota[NODES];			/* what the kernel enforces */
byte phase[NODES];
bool unsynced[NODES];			/* the record below is in the cache, not on disk */
bool dark[NODES];			/* no power: the quota stays 0 */
byte budget;

/* The record under way. */
byte credit[NODES], debit[NODES];
bool credit_side[NODES], debit_side[NODES];
byte op[NODES], moved[NODES];
bool op_side[NODES];

#define CLEAR(i) credit[i] = 0; credit_side[i] = 0; debit[i] = 0; debit_side[i] = 0; \
	op[i] = NO_OP; op_side[i] = 0; moved[i] = 0

#ifdef BUDGET
byte mints, burns;		/* left */
byte asked[NODES];		/* operation that the administrator repeats until it is answered */
bool late[NODES];		/* a MINT on its way, even if it was given up */
bool applied[NODES];		/* id <= last_op; durable with the effect */
byte answer[NODES];		/* last_op_ucpu; durable with the effect */
#define BURN_MOST 2
#endif
#if defined(BURY) || defined(LEAVE) || defined(JOINT)
bool closed[EDGES], folded[EDGES], fresh[EDGES]; /* fresh: open under the new generation */
bool certified[NODES];
bool known, granted;		/* the estate; whether its heir has it */
byte estate;
bool halted, admitted;		/* node 2: BURIED or LEFT; lives on under a new generation */
bool lease[2];			/* node 2's from its neighbours 0 and 1 */
bool burying, dead;		/* dead: until it is admitted again */
bool fenced[NODES];		/* seen to be off, for good */
bool tombstone;			/* on its way, from now on for ever */
bool leaving, frozen[2], told[2];
#endif

#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* An operation is answered only once it is durable. */
#define DONE(i, kind, flag) (flag && (!(unsynced[i] && op[i] == kind)))
#define FOLDED(k) DONE(k, FOLD, folded[TO_2(k)])
#define WELCOME DONE(2, ADMIT, admitted)

/* Neighbour k's edge to node 2, and node 2's back. */
#define TO_2(k) ((k) == 0 -> EDGE(0, 1) : EDGE(1, 0))
#define FROM_2(k) ((k) == 0 -> EDGE(2, 0) : EDGE(2, 1))

/* Whether node i may give to the one on this side, or take from it; what it may enforce. */
#ifdef BURY
#define GONE known /* node 2's first generation is void */
#define GIVES(i, side) (PEER(i, side) != 2 || !closed[EDGE(i, side)] || fresh[EDGE(i, side)])
#define CREDITS(i, side) \
	(broken == CREDIT_CLOSED || \
	 (PEER(i, side) == 2 -> (!closed[EDGE(i, side)] || (fresh[EDGE(i, side)] && admitted)) : \
	  ((i) != 2 || !admitted || fresh[BACK(i, side)])))
#define TARGET(i) \
	((i) == 2 && (halted || (!lease[0] && !lease[1])) -> \
	 MIN(share[i], FLOOR) : MIN(share[i], ceiling))
#endif
#ifdef LEAVE
#define GONE halted
#define GIVES(i, side) \
	(PEER(i, side) == 2 -> \
	 ((!frozen[i] && !halted) || fresh[EDGE(i, side)]) : ((i) != 2 || !halted))
#define CREDITS(i, side) \
	(PEER(i, side) == 2 -> \
	 (!folded[EDGE(i, side)] || (fresh[EDGE(i, side)] && admitted)) : \
	 ((i) != 2 || (!halted && (!admitted || fresh[BACK(i, side)]))))
/* In a message of k: it has all that was sent; it gives no more, and all of that has come. */
#define ACKED(k) (phase[k] == IDLE && received[TO_2(k)] == sent[FROM_2(k)])
#define SETTLED(k) (told[k] && received[FROM_2(k)] == sent[TO_2(k)])
#endif
#ifdef JOINT
#define GIVES(i, side) (!closed[EDGE(i, side)])
#define CREDITS(i, side) (!closed[EDGE(i, side)] || broken == CREDIT_CLOSED)
#endif
#ifndef GIVES
#define GIVES(i, side) true
#define CREDITS(i, side) true
#endif
#ifndef TARGET
#define TARGET(i) MIN(share[i], ceiling)
#endif

#define ON_WIRE(i, side, s) ((wire[BACK(i, side)] >> (s)) & 1)
#define CREDITABLE(i, side) \
	(CREDITS(i, side) && \
	 (broken == AMOUNTS -> wire[BACK(i, side)] != 0 : \
	  (wire[BACK(i, side)] >> (received[EDGE(i, side)] + 1)) != 0))
#ifdef LEAVE
#define LEAST(i) ((i) == 2 && leaving -> 0 : FLOOR)
#else
#define LEAST(i) FLOOR
#endif
#define GIVABLE(i, side) (debits > 0 && GIVES(i, side) && share[i] + credit[i] >= LEAST(i) + 1)

/* S on disk. */
#define DURABLE(i, side) \
	(sent[EDGE(i, side)] - \
	 ((unsynced[i] && debit[i] > 0 && debit_side[i] == (side)) -> debit[i] : 0))
#define NOTHING_UNSENT(i, side) (DURABLE(i, side) >= received[BACK(i, side)])
#define EQUATION(i) \
	(share[i] + sent[EDGE(i, 0)] + sent[EDGE(i, 1)] == \
	 endowment[i] + received[EDGE(i, 0)] + received[EDGE(i, 1)])
#define BETWEEN(i, side) (sent[EDGE(i, side)] - received[BACK(i, side)])


#include "ledger_check.pml"

/* Any value on the wire above R; the others change nothing. */
inline pick_credit(i, side)
{
	credit_side[i] = side;
	if
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 1) -> credit[i] = 1
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 2) -> credit[i] = 2
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 3) -> credit[i] = 3
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 4) -> credit[i] = 4
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 5) -> credit[i] = 5
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 6) -> credit[i] = 6
	:: ON_WIRE(i, side, received[EDGE(i, side)] + 7) -> credit[i] = 7
	:: broken == AMOUNTS && wire[BACK(i, side)] != 0 -> credit[i] = 1
	fi
}

inline pick_debit(i, side)
{
	debit_side[i] = side;
	if
	:: debit[i] = 1
	:: debit_max >= 2 && share[i] + credit[i] >= LEAST(i) + 2 -> debit[i] = 2
	fi;
	debits--
}

/* Before the record: the quota may only fall, to what is left without the new credits. */
inline lower(i)
{
	if
	:: broken != LOWER_LATE && quota[i] > share[i] + credit[i] - debit[i] ->
		quota[i] = share[i] + credit[i] - debit[i]
	:: else
	fi
}

/* Into the page cache, and back out of it if a power cut comes before it is durable. */
inline record(i)
{
	d_step {
		if
		:: credit[i] > 0 ->
			received[EDGE(i, credit_side[i])] =
				received[EDGE(i, credit_side[i])] + credit[i]
		:: else
		fi;
		if
		:: debit[i] > 0 ->
			sent[EDGE(i, debit_side[i])] = sent[EDGE(i, debit_side[i])] + debit[i]
		:: else
		fi;
		share[i] = share[i] + credit[i] - debit[i];
		if
		:: op[i] != NO_OP -> record_op(i)
		:: else
		fi;
		unsynced[i] = true
	}
}

inline lose(i)
{
	d_step {
		if
		:: op[i] != NO_OP -> lose_op(i)
		:: else
		fi;
		if
		:: credit[i] > 0 ->
			received[EDGE(i, credit_side[i])] =
				received[EDGE(i, credit_side[i])] - credit[i]
		:: else
		fi;
		if
		:: debit[i] > 0 ->
			sent[EDGE(i, debit_side[i])] = sent[EDGE(i, debit_side[i])] - debit[i]
		:: else
		fi;
		share[i] = share[i] - credit[i] + debit[i]
	}
}

#include "ledger_op.pml"

inline power_cut(i)
{
	if
	:: unsynced[i] ->
		if
		:: lose(i)
		:: skip
		fi
	:: else
	fi;
	unsynced[i] = false;
	CLEAR(i);
	quota[i] = 0;
	dark[i] = true;
	phase[i] = DOWN
}

inline begin_op(i, kind, side)
{
	op[i] = kind;
	op_side[i] = side;
	phase[i] = READY
}

/* Whether a total has to be sent; with the heartbeat it is sent again and again. */
#if defined(BURY) || defined(LEAVE) || defined(JOINT)
#ifdef JOINT
#define TALKS(i, side) (!closed[EDGE(i, side)])
#endif
#ifdef BURY
#define TALKS(i, side) GIVES(i, side)
#endif
#ifdef LEAVE
#define TALKS(i, side) \
	(PEER(i, side) == 2 -> \
	 (!folded[EDGE(i, side)] || fresh[EDGE(i, side)]) : ((i) != 2 || !halted))
#endif
#else
#define TALKS(i, side) true
#endif
#define UNSENT(i, side) \
	(TALKS(i, side) && sent[EDGE(i, side)] > 0 && \
	 ((wire[EDGE(i, side)] >> sent[EDGE(i, side)]) & 1) == 0)
#define NOTHING_HAPPENED (crashes == crashes_first && losses == losses_first)
#define MAY_SEND(i) \
	((phase[i] == IDLE && (broken != NO_RETRANSMISSION || NOTHING_HAPPENED)) || \
	 (broken == SEND_EARLY && phase[i] == WRITTEN) || \
	 (broken == LOWER_LATE && phase[i] == SYNCED))

byte crashes_first, losses_first;

inline send(i, side)
{
	wire[EDGE(i, side)] = wire[EDGE(i, side)] | (1 << sent[EDGE(i, side)])
}

#ifdef BURY
#define RETURNS(i) ((i) != 2 || !dead || (folded[TO_2(0)] && folded[TO_2(1)]))
#define RESTARTS(i) RETURNS(i)
#endif
#ifdef JOINT
#define RESTARTS(i) (!fenced[i])
#endif
#ifndef RESTARTS
#define RESTARTS(i) true
#endif

proctype node(byte i)
{
end:	do
	/* A tick: at most one credit, one debit. */
	:: atomic { phase[i] == IDLE &&
		    (CREDITABLE(i, 0) || CREDITABLE(i, 1) || GIVABLE(i, 0) || GIVABLE(i, 1)) ->
		if
		:: CREDITABLE(i, 0) -> pick_credit(i, 0)
		:: CREDITABLE(i, 1) -> pick_credit(i, 1)
		:: GIVABLE(i, 0) || GIVABLE(i, 1) -> skip
		fi;
		if
		:: credit[i] > 0
		:: GIVABLE(i, 0) -> pick_debit(i, 0)
		:: GIVABLE(i, 1) -> pick_debit(i, 1)
		fi;
		lower(i);
		phase[i] = READY;
		check() }
	:: atomic { phase[i] == READY -> record(i); phase[i] = WRITTEN; check() }
	:: atomic { phase[i] == WRITTEN && broken == RAISE_EARLY -> quota[i] = TARGET(i); check() }
	:: atomic { phase[i] == WRITTEN ->
		unsynced[i] = false;
#ifdef BUDGET
		if
		:: broken == OP_APART && op[i] != NO_OP -> applied[i] = true
		:: else
		fi;
#endif
		CLEAR(i);
		phase[i] = SYNCED;
		check() }
	:: atomic { phase[i] == SYNCED -> quota[i] = TARGET(i); phase[i] = IDLE; check() }
	:: atomic { MAY_SEND(i) && UNSENT(i, 0) ->
		send(i, 0); check() }
	:: atomic { MAY_SEND(i) && UNSENT(i, 1) ->
		send(i, 1); check() }
	/* kill -9 */
	:: atomic { crashes > 0 && phase[i] != DOWN ->
		crashes--;
		if
		:: !unsynced[i] -> CLEAR(i)
		:: else
		fi;
		phase[i] = DOWN;
		check() }
	/* Power cut, also of a node whose agent is down. */
	:: atomic { crashes > 0 && !dark[i] ->
		crashes--;
		power_cut(i);
		check() }
	:: atomic { phase[i] == DOWN && RESTARTS(i) -> dark[i] = false; phase[i] = READ }
	:: atomic { phase[i] == READ ->
		if
		:: broken != TRUST_CACHE -> unsynced[i] = false; CLEAR(i)
		:: else
		fi;
		phase[i] = OPENED }
	:: atomic { phase[i] == OPENED -> quota[i] = TARGET(i); phase[i] = IDLE; check() }
#ifdef BUDGET
	/* Operations are repeated until answered, and applied iff their number is new. */
	:: atomic { phase[i] == IDLE && late[i] && !applied[i] ->
		moved[i] = 1;
		begin_op(i, MINT, 0);
		check() }
	:: atomic { phase[i] == IDLE && asked[i] == VOID && !applied[i] ->
		begin_op(i, VOID, 0) }
	:: atomic { phase[i] == IDLE && asked[i] == BURN && !applied[i] ->
		/* At most what was asked for, at most what is above the floor. */
		moved[i] = MIN(BURN_MOST, share[i] - FLOOR);
		if
		:: quota[i] > share[i] - moved[i] -> quota[i] = share[i] - moved[i]
		:: else
		fi;
		begin_op(i, BURN, 0);
		check() }
	/* The answer, from what is durable. */
	:: atomic { phase[i] == IDLE && applied[i] && asked[i] != NO_OP ->
		if
		:: asked[i] == BURN && broken != BURN_FIRST ->
			budget = budget - (broken == ANSWER_APART -> BURN_MOST : answer[i])
		:: asked[i] == MINT && broken == MINT_FIRST -> budget++
		:: asked[i] == VOID && broken != GIVE_UP && answer[i] == 0 -> budget--
		:: else
		fi;
		asked[i] = NO_OP;
		check() }
#endif
#ifdef BURY
	/* A neighbour answers node 2: the lease is valid again. */
	:: atomic { i < 2 && phase[i] == IDLE && phase[2] == IDLE && !lease[i] && !halted &&
		    (!closed[TO_2(i)] || (fresh[TO_2(i)] && admitted)) ->
		lease[i] = true;
		quota[2] = TARGET(2);
		check() }
	:: atomic { i < 2 && phase[i] == IDLE && burying && !closed[TO_2(i)] &&
		    (!lease[i] || broken == CLOSE_EARLY) ->
		begin_op(i, CLOSE, 1 - i) }
	:: atomic { i < 2 && burying && closed[TO_2(i)] && !certified[i] &&
		    (phase[i] == IDLE || (broken == CERTIFY_EARLY && phase[i] == WRITTEN)) ->
		certified[i] = true }
	:: atomic { i == 0 && phase[0] == IDLE && known && !granted -> begin_op(0, GRANT, 0) }
	:: atomic { i < 2 && phase[i] == IDLE && known && !folded[TO_2(i)] &&
		    (!fresh[TO_2(i)]) && broken != OPEN_UNFOLDED ->
		begin_op(i, FOLD, 1 - i) }
	/* A closed or folded edge that hears the void generation says so. */
	:: atomic { i < 2 && phase[i] == IDLE && closed[TO_2(i)] && !fresh[TO_2(i)] && !tombstone &&
		    phase[2] == IDLE && !admitted && broken != NO_TOMBSTONE ->
		tombstone = true }
	:: atomic { i == 2 && phase[2] == IDLE && tombstone && !halted &&
		    (!admitted || broken == OLD_TOMBSTONE) ->
		if
		:: quota[2] > FLOOR -> quota[2] = FLOOR
		:: else
		fi;
		begin_op(2, BURIED, 0) }
	:: atomic { i == 2 && phase[2] == IDLE && halted && !admitted &&
		    ((known && FOLDED(0) && FOLDED(1)) ||
		     (broken == OPEN_UNFOLDED && known)) ->
		moved[2] = FLOOR;
		begin_op(2, ADMIT, 0) }
	/* Last of all: until then an edge that is still folded tells the void generation. */
	:: atomic { i < 2 && phase[i] == IDLE && known && !fresh[TO_2(i)] &&
		    (FOLDED(i) || broken == OPEN_UNFOLDED) &&
		    (WELCOME || broken == OPEN_FIRST) ->
		begin_op(i, OPEN, 1 - i) }
#endif
#ifdef LEAVE
	:: atomic { i < 2 && phase[i] == IDLE && leaving && !halted && !admitted && !frozen[i] ->
		begin_op(i, FREEZE, 1 - i) }
	:: atomic { i < 2 && leaving && frozen[i] && !told[i] &&
		    (phase[i] == IDLE || (broken == FREEZE_EARLY && phase[i] == WRITTEN)) ->
		told[i] = true }
	/* The drain: everything, floor included. */
	:: atomic { i == 2 && phase[2] == IDLE && leaving && !halted && share[2] > 0 &&
		    sent[EDGE(2, 0)] + share[2] <= 7 && sent[EDGE(2, 1)] + share[2] <= 7 ->
		if
		:: debit_side[2] = 0
		:: debit_side[2] = 1
		fi;
		debit[2] = share[2];
		lower(2);
		phase[2] = READY;
		check() }
	/* A message of a neighbour at rest shows what is durable there. */
	:: atomic { i == 2 && phase[2] == IDLE && leaving && !halted && share[2] == 0 &&
		    quota[2] == 0 && ACKED(0) && ACKED(1) &&
		    (broken == LEAVE_UNFROZEN || (SETTLED(0) && SETTLED(1))) ->
		begin_op(2, LEFT, 0) }
	:: atomic { i < 2 && phase[i] == IDLE && DONE(2, LEFT, halted) && !folded[TO_2(i)] ->
		begin_op(i, FOLD, 1 - i) }
	/* And back, with nothing, under a new generation. */
	:: atomic { i == 2 && phase[2] == IDLE && halted && FOLDED(0) && FOLDED(1) ->
		moved[2] = 0;
		begin_op(2, ADMIT, 0) }
	:: atomic { i < 2 && phase[i] == IDLE && (halted || admitted) && FOLDED(0) && FOLDED(1) &&
		    !fresh[TO_2(i)] ->
		begin_op(i, OPEN, 1 - i) }
#endif
#ifdef JOINT
	/* Declared: whoever still runs closes at once what leads to a node that is off. */
	:: atomic { phase[i] == IDLE && burying && fenced[PEER(i, 0)] && !closed[EDGE(i, 0)] ->
		begin_op(i, CLOSE, 0) }
	:: atomic { phase[i] == IDLE && burying && fenced[PEER(i, 1)] && !closed[EDGE(i, 1)] ->
		begin_op(i, CLOSE, 1) }
	:: atomic { i == 0 && phase[0] == IDLE && closed[EDGE(0, 1)] && !certified[0] ->
		certified[0] = true }
	:: atomic { i == 1 && phase[1] == IDLE && closed[EDGE(1, 0)] && !certified[1] ->
		certified[1] = true }
	:: atomic { i == 3 && phase[3] == IDLE && closed[EDGE(3, 1)] && !certified[3] ->
		certified[3] = true }
	:: atomic { i == 0 && phase[0] == IDLE && known && !granted -> begin_op(0, GRANT, 0) }
	:: atomic { i == 0 && phase[0] == IDLE && known && !folded[EDGE(0, 1)] ->
		begin_op(0, FOLD, 1) }
	:: atomic { i == 1 && phase[1] == IDLE && known && !folded[EDGE(1, 0)] ->
		begin_op(1, FOLD, 0) }
#endif
	od
}


#include "ledger_admin.pml"

proctype network()
{
	byte e;

end:	do
	:: atomic { losses > 0 ->
		losses--;
		select (e : 0 .. EDGES - 1);
		wire[e] = 0;
		e = 0 }
	/* What was left undone ends too, so that every run comes to rest. */
	:: atomic { losses > 0 -> losses = 0 }
	:: atomic { crashes > 0 -> crashes = 0 }
	:: atomic { debits > 0 -> debits = 0 }
	od
}

#define ENFORCED(i) (phase[i] == IDLE && quota[i] == TARGET(i))

/* Nothing can happen any more: everything has arrived and is enforced. */
proctype rest()
{
	timeout;
	atomic {
		assert(broken != UNFINISHED);
#ifdef JOINT
		assert(granted && folded[EDGE(0, 1)] && folded[EDGE(1, 0)]);
		assert(ENFORCED(0) && ENFORCED(1));
		assert(BETWEEN(0, 0) == 0 && BETWEEN(1, 1) == 0);
		assert(share[0] + share[1] == budget);
		assert(endowment[0] + endowment[1] == budget)
#else
#ifdef BURY
		assert(granted && admitted && !halted);
#endif
#ifdef LEAVE
		assert(admitted && fresh[TO_2(0)] && fresh[TO_2(1)]);
#endif
		assert(ENFORCED(0) && ENFORCED(1) && ENFORCED(2));
		assert(BETWEEN(0, 0) == 0 && BETWEEN(0, 1) == 0 && BETWEEN(1, 0) == 0 &&
		       BETWEEN(1, 1) == 0 && BETWEEN(2, 0) == 0 && BETWEEN(2, 1) == 0);
		assert(share[0] + share[1] + share[2] == budget);
		assert(endowment[0] + endowment[1] + endowment[2] == budget)
#endif
	}
}

c_decl {
	extern char *getenv(const char *);
	extern int atoi(const char *);
	static int setting(const char *name, int otherwise)
	{
		const char *value = getenv(name);

		return value ? atoi(value) : otherwise;
	}
}

init {
	byte i;

	atomic {
		c_code {
			now.broken = setting("BROKEN", 0);
			now.only_sum = setting("ONLY_SUM", 0);
			now.ceiling = setting("CEILING", 4);
			now.debit_max = setting("DEBIT_MAX", 2);
			now.debits = setting("DEBITS", 1);
			now.crashes = setting("CRASHES", 1);
			now.losses = setting("LOSSES", 1);
		};
		crashes_first = crashes;
		losses_first = losses;
		do
		:: i < NODES ->
			share[i] = SHARE;
			endowment[i] = SHARE;
			quota[i] = SHARE;
			i++
		:: else -> break
		od;
		i = 0;
		budget = NODES * SHARE;
#ifdef BUDGET
		c_code {
			now.mints = setting("MINTS", 1);
			now.burns = setting("BURNS", 1);
		};
#endif
#ifdef BURY
		lease[0] = true;
		lease[1] = true;
		run guard();
#endif
#if defined(BUDGET) || defined(BURY) || defined(LEAVE) || defined(JOINT)
		run administrator();
#endif
		run node(0);
		run node(1);
		run node(2);
#ifdef JOINT
		run node(3);
#endif
		run network();
		run rest()
	}
}
