/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_FIRE_H
#define ISO_SYSTEM_FIRE_H

#include "lib/rng.h"
#include "tests/system/ring.h"

#define MS_NS	       1000000u
#define FIRE_LEASE_MS  2000u
#define FIRE_STEPS_MAX 16u

enum state { DOWN = 0, UP, STOPPED };

/* Of an agent. */
struct life {
	enum state state;
	uint64_t since_ns; /* CLOCK_BOOTTIME */
	uint64_t next_ns;  /* when something is done to it */
	size_t step;	   /* at which it dies by itself */
	bool power;	   /* what dies with it is not only the agent */
	pid_t guard;	   /* who was to lower when the agent was stopped; 0: nobody */
	bool is_alone;	   /* nothing else is done to its node while it is stopped */
	bool counted;	   /* that the limit was at the floor then */
};

/* What is done to a node's guard. */
struct guarding {
	uint64_t stopped_ns; /* CLOCK_BOOTTIME; 0: it is not stopped */
	uint64_t hit_ns;     /* the newest stop or kill */
	uint64_t next_ns;
	pid_t pid; /* that was stopped */
	bool is_alone, counted; /* likewise */
};

struct fire {
	struct ring ring;
	struct iso_rng rng;
	struct life lives[RING_NODES];
	struct guarding guards[RING_NODES];
	unsigned kills, power_cuts, torn, stops; /* of agents */
	unsigned guard_kills, guard_stops, both;
	unsigned floors[2]; /* seen after a stopped agent's lease, after a stopped guard's */
	unsigned at_step[FIRE_STEPS_MAX];
	bool burning[RING_NODES];
	uint64_t burn_ns, check_ns, weather_ns;
	struct proxy_weather weather;
};

/* A moment from now, as clock_now_ns() counts. */
uint64_t fire_within_ms(struct fire *fire, unsigned from_ms, unsigned to_ms);
/* kill -9 of an agent that runs, and what must be true then. */
void fire_kill(struct fire *fire, unsigned node);

/* Kills and stops the guard now and then; judges limits that should be at the floor. */
void fire_guard(struct fire *fire, unsigned node);
/* Its agent is to have the time that a lease promises. */
bool fire_guard_needs_agent(const struct fire *fire, unsigned node);
/* It ends with the machine. */
void fire_guard_end(struct fire *fire, unsigned node);
/* Nothing is done to it any more. */
void fire_guard_calm(struct fire *fire, unsigned node);

#endif
