/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of ledger.pml: what the administrator does, and the guard. */
#ifdef LEAVE
proctype administrator()
{
	leaving = true
}
#endif

#ifdef BUDGET
inline give_up()
{
	if
	:: broken == GIVE_UP -> budget--
	:: else
	fi;
	check()
}

proctype administrator()
{
	byte i;

end:	do
	:: atomic { mints > 0 ->
		mints--;
		if
		:: asked[0] == NO_OP && !applied[0] -> i = 0
		:: asked[1] == NO_OP && !applied[1] -> i = 1
		:: asked[2] == NO_OP && !applied[2] -> i = 2
		fi;
		asked[i] = MINT;
		late[i] = true;
		if
		:: broken != MINT_FIRST -> budget++
		:: else
		fi;
		i = 0 }
	:: atomic { burns > 0 ->
		burns--;
		if
		:: asked[0] == NO_OP && !applied[0] -> i = 0
		:: asked[1] == NO_OP && !applied[1] -> i = 1
		:: asked[2] == NO_OP && !applied[2] -> i = 2
		fi;
		asked[i] = BURN;
		if
		:: broken == BURN_FIRST -> budget = budget - BURN_MOST
		:: else
		fi;
		i = 0;
		check() }
	/* Given up: what was sent may still arrive. */
	:: atomic { asked[0] == MINT -> asked[0] = VOID; give_up() }
	:: atomic { asked[1] == MINT -> asked[1] = VOID; give_up() }
	:: atomic { asked[2] == MINT -> asked[2] = VOID; give_up() }
	od
}
#endif

#ifdef BURY
inline expire(other)
{
	if
	:: !lease[other] && quota[2] > FLOOR -> quota[2] = FLOOR
	:: else
	fi
}

/*
 * The guard lowers the quota in the instant in which the last lease ends.  The
 * leases of the new generation do not: there would be no end of it.
 */
proctype guard()
{
end:	do
	:: atomic { lease[0] && !fresh[TO_2(0)] -> lease[0] = false; expire(1); check() }
	:: atomic { lease[1] && !fresh[TO_2(1)] -> lease[1] = false; expire(0); check() }
	od
}

#define OWED(k) (sent[TO_2(k)] - received[TO_2(k)])
proctype administrator()
{
	burying = true;
	if
	:: atomic { phase[2] == DOWN -> dead = true }
	:: true
	fi;
	/* Everything that went to node 2 less everything that came back, wherever the rest is. */
	atomic { (certified[0] && certified[1]) || (broken == GRANT_PARTIAL && certified[0]) ->
		estate = endowment[2] + OWED(0) + OWED(1) - (broken == FLOOR_GRANTED -> 0 : FLOOR);
		known = true;
		check() }
}
#endif

#ifdef JOINT
#define FENCE(i) power_cut(i); fenced[i] = true
proctype administrator()
{
	atomic { FENCE(2); burying = true; check() };
	/* Node 3 may have closed its edge to 2 by now, and said so. */
	atomic {
		if
		:: broken == JOINT_ALIVE
		:: else -> FENCE(3)
		fi;
		check() };
	atomic { certified[1] &&
		 (certified[0] || broken == JOINT_ONE_SIDED || broken == JOINT_ALIVE) ->
		estate = endowment[2] + endowment[3] +
			 sent[EDGE(0, 1)] - received[EDGE(0, 1)] +
			 sent[EDGE(1, 0)] - received[EDGE(1, 0)];
		if
		:: broken == JOINT_INNER && certified[3] ->
			estate = estate + sent[EDGE(3, 1)] - received[EDGE(3, 1)]
		:: else
		fi;
		known = true;
		check() }
}
#endif
