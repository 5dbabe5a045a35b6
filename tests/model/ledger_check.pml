/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of ledger.pml: what is asserted after every step. */
#if !defined(BURY) && !defined(LEAVE) && !defined(JOINT)
inline check_rest()
{
	assert(EQUATION(2));
	assert(NOTHING_UNSENT(0, 1) && NOTHING_UNSENT(1, 0));
	assert(NOTHING_UNSENT(2, 0) && NOTHING_UNSENT(2, 1));
	assert(share[2] >= FLOOR);
	assert(share[0] + share[1] + share[2] +
	       BETWEEN(0, 0) + BETWEEN(0, 1) + BETWEEN(1, 0) + BETWEEN(1, 1) +
	       BETWEEN(2, 0) + BETWEEN(2, 1) == endowment[0] + endowment[1] + endowment[2])
}
#endif
#if defined(BURY) || defined(LEAVE)
/* Before: node 2 is one of three.  While it is void: what the administrator has reserved. */
inline check_rest()
{
	if
	:: !GONE && !admitted ->
		assert(EQUATION(2));
#ifdef BURY
		assert(!halted || quota[2] <= FLOOR);
#endif
		assert(NOTHING_UNSENT(0, 1) && NOTHING_UNSENT(1, 0));
		assert(NOTHING_UNSENT(2, 0) && NOTHING_UNSENT(2, 1));
		assert(share[2] >= LEAST(2));
		assert(share[0] + share[1] + share[2] +
		       BETWEEN(0, 0) + BETWEEN(0, 1) + BETWEEN(1, 0) + BETWEEN(1, 1) +
		       BETWEEN(2, 0) + BETWEEN(2, 1) == budget)
	:: GONE && !admitted ->
#ifdef BURY
		assert(quota[2] <= FLOOR);
		assert(share[0] + share[1] + BETWEEN(0, 0) + BETWEEN(1, 1) + FLOOR +
		       (granted -> 0 : estate) +
		       (fresh[TO_2(0)] -> sent[TO_2(0)] : 0) +
		       (fresh[TO_2(1)] -> sent[TO_2(1)] : 0) == budget)
#else
		assert(quota[2] == 0 && share[2] == 0);
		assert(share[0] + share[1] + BETWEEN(0, 0) + BETWEEN(1, 1) +
		       (fresh[TO_2(0)] -> sent[TO_2(0)] : 0) +
		       (fresh[TO_2(1)] -> sent[TO_2(1)] : 0) == budget)
#endif
	:: admitted ->
		assert(EQUATION(2));
		assert(NOTHING_UNSENT(2, 0) && NOTHING_UNSENT(2, 1));
		assert(NOTHING_UNSENT(0, 1) && NOTHING_UNSENT(1, 0));
#ifdef BURY
		assert(share[2] >= FLOOR);
#endif
		assert(share[0] + share[1] + share[2] + (granted || !known -> 0 : estate) +
		       BETWEEN(0, 0) + BETWEEN(0, 1) + BETWEEN(1, 0) + BETWEEN(1, 1) +
		       BETWEEN(2, 0) + BETWEEN(2, 1) == budget)
	fi
}
#endif
#ifdef JOINT
/* Nodes 2 and 3 are buried together; 1 is 2's neighbour, 0 is 3's. */
inline check_rest()
{
	if
	:: !known ->
		assert(EQUATION(2) && EQUATION(3));
		assert(quota[3] <= MIN(share[3], ceiling));
		assert(NOTHING_UNSENT(0, 1) && NOTHING_UNSENT(1, 0));
		assert(NOTHING_UNSENT(2, 0) && NOTHING_UNSENT(2, 1));
		assert(NOTHING_UNSENT(3, 0) && NOTHING_UNSENT(3, 1));
		assert(share[2] >= FLOOR && share[3] >= FLOOR);
		assert(share[0] + share[1] + share[2] + share[3] +
		       BETWEEN(0, 0) + BETWEEN(0, 1) + BETWEEN(1, 0) + BETWEEN(1, 1) +
		       BETWEEN(2, 0) + BETWEEN(2, 1) + BETWEEN(3, 0) + BETWEEN(3, 1) == budget)
	:: else ->
		assert(quota[2] == 0 && quota[3] == 0);
		assert(share[0] + share[1] + BETWEEN(0, 0) + BETWEEN(1, 1) +
		       (granted -> 0 : estate) == budget)
	fi
}
#endif

inline check()
{
	d_step {
		/* I1 */
#ifdef JOINT
		assert(quota[0] + quota[1] + quota[2] + quota[3] <= budget);
#else
		assert(quota[0] + quota[1] + quota[2] <= budget);
#endif
		if
		:: only_sum
		:: else ->
			/* I2 */
			assert(quota[0] <= MIN(share[0], ceiling));
			assert(quota[1] <= MIN(share[1], ceiling));
			assert(quota[2] <= MIN(share[2], ceiling));
			/* What is kept beside the counters is what they say. */
			assert(EQUATION(0) && EQUATION(1));
			/* I3, I4, I5 */
			assert(NOTHING_UNSENT(0, 0) && NOTHING_UNSENT(1, 1));
			assert(share[0] >= FLOOR && share[1] >= FLOOR);
			check_rest()
		fi
	}
}
