/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lease on what a node holds above its floor, in time: one holder (agent,
 * guard and watchdog), one neighbour that grants it and may want to close the edge.
 *
 * Time is discrete and has no end.  With every tick of real time each clock
 * advances by 2 or 3 units, chosen anew: rates differ by up to 1.5, nothing is
 * synchronised.  Times are kept as ages and remainders that saturate, so the
 * states are finite.  Messages are lost, duplicated, reordered and delayed
 * without bound.  Agent, guard, granter and machine fail any number of times.
 *
 * - The lease counts from when the holder sent what the granter answered.
 * - Only the guard writes the quota while it lives; the agent asks it, and what it
 *   asked may wait in the socket for any time, also when the agent is dead.  The
 *   guard lowers to the floor when the lease ends and refuses to go above then.
 * - The agent sees within REACTION ticks that the guard is dead or stopped: it kills
 *   it, waits until it is dead, lowers the quota itself, starts another.
 * - The watchdog resets the machine when the guard has not petted it for RESET ticks.
 * - The granter closes when its promise, from its last answer or its start, is over.
 *   The program waits from the request to close, which is never earlier: it has
 *   more than one granter to think of.
 * Whatever happens: the edge is closed -> the quota is at most the floor.
 */
#ifndef LEASE
#define LEASE 6
#endif
#define REACTION 1
#ifndef MESSAGES
#define MESSAGES 3	/* of the holder that can be told apart */
#endif
#define FLOOR 1
#define HIGH 2

#define RUNS	0
#define STOPPED 1	/* SIGSTOP */
#define DEAD	2

/* Rules that can be left out: BROKEN in the environment. */
#define FROM_RECEIPT	  1	/* the lease counts from the arrival of the answer */
#define NO_LEARNING	  2	/* a granter that restarted forgets its promises */
#define ANSWER_CLOSED	  3	/* the granter answers after it has closed */
#define ANY_INCARNATION	  4	/* an answer to an earlier incarnation counts */
#define KEEPS_DEADLINE	  5	/* the deadline outlives a reboot, which starts the clock anew */
#define AGENT_WRITES	  6	/* the agent writes the quota past its guard */
#define GUARD_OBEYS	  7	/* the guard raises whenever it is asked */
#define GUARD_UNWATCHED	  8	/* the agent does not notice that its guard is gone */
#define ADOPTS_QUOTA	  9	/* an agent that finds no guard starts one and leaves the quota */
#define STOPPED_IS_FINE	  10	/* only a dead guard is replaced, not a stopped one */

byte broken;
byte promise;		/* what the granter waits, by its own clock */
byte reset_after;	/* ticks until the watchdog resets; 0: there is none */
bool one_at_a_time;	/* agent and guard are never both down */

byte age[MESSAGES];	/* of the holder's messages, its own clock; saturates at LEASE */
bool known[MESSAGES];	/* the agent remembers when it sent this one */
byte asked, answered;	/* messages and answers on the wire, one bit each */
byte agent_left;	/* of the lease, as the agent knows */
byte guard_left;	/* as the guard knows */
byte quota = FLOOR;
byte silence;		/* ticks since the guard last ran; saturates */
byte promised;		/* age of the granter's newest promise; saturates at promise */
bool closed, granter_up = true, agent_up = true, dark;
byte guard = RUNS;
bool request;		/* to raise the quota, in the guard's socket */
bool decided;		/* AGENT_WRITES: it has looked at the deadline and is about to write */

#define check() assert(!closed || quota <= FLOOR)
#define AT_MOST(a, b) ((a) < (b) -> (a) : (b))
#define LESS(a, b) ((a) > (b) -> (a) - (b) : 0)
#define REFLEXES (reset_after > REACTION -> reset_after : REACTION)

inline forget()
{
	known[0] = false;
	known[1] = false;
#if MESSAGES > 2
	known[2] = false;
#endif
	agent_left = 0;
	decided = false
}

inline lower()
{
	if
	:: quota > FLOOR -> quota = FLOOR
	:: else
	fi
}

inline power_off()
{
	dark = true;
	agent_up = false;
	guard = DEAD;
	quota = 0;
	request = false;
	silence = 0;
	if
	:: broken != KEEPS_DEADLINE -> guard_left = 0
	:: else
	fi;
	forget()
}

inline pass(d)
{
	age[0] = AT_MOST(age[0] + d, LEASE);
	age[1] = AT_MOST(age[1] + d, LEASE);
#if MESSAGES > 2
	age[2] = AT_MOST(age[2] + d, LEASE);
#endif
	if
	:: !dark -> agent_left = LESS(agent_left, d); guard_left = LESS(guard_left, d)
	:: else
	fi;
	if
	:: guard == RUNS && guard_left == 0 -> lower()
	:: else
	fi
}

/* What must have been done before more time can pass. */
#define AGENT_LATE (agent_up && guard != RUNS && silence >= REACTION && \
		    broken != GUARD_UNWATCHED && (broken != STOPPED_IS_FINE || guard == DEAD))
#define WATCHDOG_LATE (!dark && reset_after > 0 && guard != RUNS && silence >= reset_after)

proctype clock()
{
end:	do
	:: atomic { !AGENT_LATE && !WATCHDOG_LATE ->
		if
		:: guard == RUNS || dark -> silence = 0
		:: else -> silence = AT_MOST(silence + 1, REFLEXES)
		fi;
		if
		:: pass(2)
		:: pass(3)
		fi;
		if
		:: promised = AT_MOST(promised + 2, promise)
		:: promised = AT_MOST(promised + 3, promise)
		fi;
		check() }
	:: atomic { WATCHDOG_LATE -> power_off() }
	od
}

inline heard(n)
{
	if
	:: broken == FROM_RECEIPT -> agent_left = LEASE
	:: broken != FROM_RECEIPT && LEASE - age[n] > agent_left -> agent_left = LEASE - age[n]
	:: else
	fi;
	/* RENEW; what it says is worth less the longer it waits, so let it wait for nothing. */
	if
	:: guard == RUNS && agent_left > guard_left -> guard_left = agent_left
	:: else
	fi
}

inline send(n)
{
	age[n] = 0;
	known[n] = true;
	asked = asked | (1 << n);
	/* An answer that is on its way names the message that had this number before. */
	if
	:: broken != FROM_RECEIPT && broken != ANY_INCARNATION ->
		answered = answered & (255 - (1 << n))
	:: else
	fi
}

proctype agent()
{
end:	do
	/* A number is used again when an answer to its last message is worth nothing. */
	:: atomic { agent_up && (age[0] == LEASE || !known[0]) -> send(0) }
	:: atomic { agent_up && (age[1] == LEASE || !known[1]) -> send(1) }
#if MESSAGES > 2
	:: atomic { agent_up && (age[2] == LEASE || !known[2]) -> send(2) }
	:: atomic { agent_up && (answered & 4) && known[2] -> heard(2) }
#endif
	:: atomic { agent_up && (answered & 1) && known[0] -> heard(0) }
	:: atomic { agent_up && (answered & 2) && known[1] -> heard(1) }
	:: atomic { agent_up && guard == RUNS && agent_left > 0 && quota < HIGH && !request ->
		request = true }
	:: atomic { broken == AGENT_WRITES && agent_up && agent_left > 0 && quota < HIGH ->
		decided = true }
	:: atomic { decided -> decided = false; quota = HIGH; check() }
	/* The guard is gone or does not answer. */
	:: atomic { agent_up && guard != RUNS && broken != GUARD_UNWATCHED &&
		    (broken != STOPPED_IS_FINE || guard == DEAD) ->
		lower();
		guard = RUNS;
		silence = 0;
		request = false;
		guard_left = agent_left }
	:: atomic { agent_up && (!one_at_a_time || guard == RUNS) -> agent_up = false; forget() }
	/* It takes up what the guard knows, or starts one. */
	:: atomic { !agent_up && !dark ->
		agent_up = true;
		if
		:: guard == RUNS -> agent_left = guard_left
		:: guard != RUNS ->
			if
			:: broken != ADOPTS_QUOTA -> lower()
			:: else
			fi;
			guard = RUNS;
			silence = 0;
			request = false;
			guard_left = 0
		fi }
	/* Before any task runs in it again, the group is made with the floor. */
	:: atomic { dark ->
		dark = false;
		agent_up = true;
		guard = RUNS;
		quota = FLOOR;
		if
		:: broken == KEEPS_DEADLINE -> agent_left = guard_left
		:: else
		fi;
		check() }
	:: atomic { !dark -> power_off() }
	od
}

proctype guards()
{
end:	do
	:: atomic { guard == RUNS && request ->
		request = false;
		if
		:: guard_left > 0 || broken == GUARD_OBEYS -> quota = HIGH
		:: else
		fi;
		check() }
	:: atomic { guard == RUNS && (!one_at_a_time || agent_up) ->
		if
		:: guard = STOPPED
		:: guard = DEAD; guard_left = 0; request = false
		fi }
	/* SIGCONT; its timer has long expired. */
	:: atomic { guard == STOPPED ->
		guard = RUNS;
		silence = 0;
		if
		:: guard_left == 0 -> lower()
		:: else
		fi }
	od
}

inline answer(n)
{
	promised = 0;
	answered = answered | (1 << n)
}

proctype granter()
{
end:	do
	:: atomic { granter_up && (!closed || broken == ANSWER_CLOSED) && (asked & 1) -> answer(0) }
	:: atomic { granter_up && (!closed || broken == ANSWER_CLOSED) && (asked & 2) -> answer(1) }
#if MESSAGES > 2
	:: atomic { granter_up && (!closed || broken == ANSWER_CLOSED) && (asked & 4) -> answer(2) }
#endif
	:: atomic { granter_up && !closed && promised >= promise -> closed = true; check() }
	:: atomic { granter_up -> granter_up = false }
	:: atomic { !granter_up ->
		granter_up = true;
		if
		:: broken == NO_LEARNING -> promised = promise
		:: else -> promised = 0
		fi }
	od
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
	atomic {
		c_code {
			now.broken = setting("BROKEN", 0);
			now.promise = setting("PROMISE", 12);
			now.reset_after = setting("RESET", 1);
			now.one_at_a_time = setting("ONE_AT_A_TIME", 0);
		};
		promised = promise;
		age[0] = LEASE;
		age[1] = LEASE;
#if MESSAGES > 2
		age[2] = LEASE;
#endif
		run clock();
		run agent();
		run guards();
		run granter()
	}
}
