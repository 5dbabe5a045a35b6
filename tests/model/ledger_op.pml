/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of ledger.pml: operations, as a record has them and as a power cut takes them back. */
#ifdef BUDGET
inline record_op(i)
{
	if
	:: op[i] == MINT ->
		endowment[i] = endowment[i] + moved[i];
		share[i] = share[i] + moved[i]
	:: op[i] == BURN ->
		endowment[i] = endowment[i] - moved[i];
		share[i] = share[i] - moved[i]
	:: op[i] == VOID
	fi;
	if
	:: broken != OP_APART -> applied[i] = true
	:: else
	fi;
	answer[i] = moved[i]
}

inline lose_op(i)
{
	if
	:: op[i] == MINT ->
		endowment[i] = endowment[i] - moved[i];
		share[i] = share[i] - moved[i]
	:: op[i] == BURN ->
		endowment[i] = endowment[i] + moved[i];
		share[i] = share[i] + moved[i]
	:: op[i] == VOID
	fi;
	applied[i] = false;
	answer[i] = 0
}
#endif
#if defined(BURY) || defined(LEAVE) || defined(JOINT)
#define NET(i, side) (received[EDGE(i, side)] - sent[EDGE(i, side)])

/* What FOLD takes out of the edge, for lose_op(): counters are below 16. */
inline keep(i)
{
	moved[i] = sent[EDGE(i, op_side[i])] + 16 * received[EDGE(i, op_side[i])]
}

inline record_op(i)
{
	if
	:: op[i] == CLOSE -> closed[EDGE(i, op_side[i])] = true
	:: op[i] == GRANT ->
		granted = true;
		endowment[i] = endowment[i] + estate;
		share[i] = share[i] + estate
	:: op[i] == FOLD ->
		/* Its amounts live on in the endowment. */
		endowment[i] = endowment[i] + NET(i, op_side[i]);
		keep(i);
		sent[EDGE(i, op_side[i])] = 0;
		received[EDGE(i, op_side[i])] = 0;
		folded[EDGE(i, op_side[i])] = true
	:: op[i] == OPEN ->
		fresh[EDGE(i, op_side[i])] = true;
		if
		/* Nobody takes those of the void generation any more. */
		:: broken != SAME_GENERATION -> wire[EDGE(i, op_side[i])] = 0
		:: else
		fi;
		if
		:: broken == OPEN_UNFOLDED ->
			sent[EDGE(i, op_side[i])] = 0;
			received[EDGE(i, op_side[i])] = 0
		:: else
		fi
	:: op[i] == FREEZE -> frozen[i] = true
	:: op[i] == LEFT || op[i] == BURIED -> halted = true
	:: op[i] == ADMIT ->
		admitted = true;
		halted = false;
		leaving = false;
		endowment[i] = moved[i];
		share[i] = moved[i];
		sent[EDGE(i, 0)] = 0;
		sent[EDGE(i, 1)] = 0;
		received[EDGE(i, 0)] = 0;
		received[EDGE(i, 1)] = 0;
		if
		:: broken != SAME_GENERATION ->
			wire[EDGE(i, 0)] = 0;
			wire[EDGE(i, 1)] = 0
		:: else
		fi
	fi
}


inline lose_op(i)
{
	if
	:: op[i] == CLOSE -> closed[EDGE(i, op_side[i])] = false
	:: op[i] == GRANT ->
		granted = false;
		endowment[i] = endowment[i] - estate;
		share[i] = share[i] - estate
	:: op[i] == FOLD ->
		folded[EDGE(i, op_side[i])] = false;
		sent[EDGE(i, op_side[i])] = moved[i] % 16;
		received[EDGE(i, op_side[i])] = moved[i] / 16;
		endowment[i] = endowment[i] - NET(i, op_side[i])
	:: op[i] == OPEN -> fresh[EDGE(i, op_side[i])] = false
	:: op[i] == FREEZE -> frozen[i] = false
	:: op[i] == LEFT || op[i] == BURIED -> halted = false
	:: op[i] == ADMIT ->
		/* The void generation again; nobody asks what it holds. */
		admitted = false;
		halted = true
	fi
}
#endif
#if !defined(BUDGET) && !defined(BURY) && !defined(LEAVE) && !defined(JOINT)
inline record_op(i) { skip }
inline lose_op(i) { skip }
#endif
