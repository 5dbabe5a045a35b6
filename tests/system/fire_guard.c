/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens to guards under fire, and what their nodes' limits must be then. */
#include "config.h"

#include "tests/system/fire.h"

#include <signal.h>
#include <stdio.h>

#include "agent/base/clock.h"
#include "tests/test.h"

/* An agent that was started so long ago knows its guard. */
#define SETTLED_NS (1000u * (uint64_t)MS_NS)

static bool promise_is_over(const struct fire *fire, uint64_t since_ns)
{
	return clock_boot_ns() >= since_ns + ring_promise_ns(&fire->ring);
}

static void check_floor(struct fire *fire, unsigned node, const char *who, uint64_t since_ns)
{
	int64_t quota_ucpu = ring_quota_ucpu(&fire->ring, node);

	if (quota_ucpu <= RING_FLOOR_UCPU)
		return;
	ring_tell(&fire->ring, node);
	ck_abort_msg("n%u, whose %s was stopped %ju ms ago: the kernel enforces %jd ucpu", node,
		     who, (uintmax_t)(clock_boot_ns() - since_ns) / MS_NS, (intmax_t)quota_ucpu);
}

/* The agent stands still; its guard, to which nothing was done, has lowered. */
static void check_stopped_agent(struct fire *fire, unsigned node)
{
	struct life *life = &fire->lives[node];

	if (life->state != STOPPED || life->guard == 0 ||
	    fire->guards[node].hit_ns >= life->since_ns || !promise_is_over(fire, life->since_ns))
		return;
	check_floor(fire, node, "agent", life->since_ns);
	if (!life->counted)
		fire->floors[0]++;
	life->counted = true;
}

/* The guard stands still; its agent has ended it and lowered in its place. */
static void check_stopped_guard(struct fire *fire, unsigned node)
{
	struct guarding *guard = &fire->guards[node];
	const struct life *life = &fire->lives[node];
	uint64_t known_ns = life->since_ns + SETTLED_NS;
	uint64_t since_ns = guard->stopped_ns > known_ns ? guard->stopped_ns : known_ns;

	if (life->state != UP || !promise_is_over(fire, since_ns))
		return;
	check_floor(fire, node, "guard", since_ns);
	pid_t pid = ring_guard(&fire->ring, node);
	if (pid != 0) {
		ring_tell(&fire->ring, node);
		ck_abort_msg("n%u: guard %d is still there, %d was stopped", node, (int)pid,
			     (int)guard->pid);
	}
	if (!guard->counted)
		fire->floors[1]++;
	guard->counted = true;
}

static void kill_guard(struct fire *fire, unsigned node)
{
	pid_t pid = ring_guard(&fire->ring, node);

	if (pid == 0)
		return;
	(void)kill(pid, SIGKILL);
	fire->guards[node].hit_ns = clock_boot_ns();
	fire->guard_kills++;
}

static void pause_a_little(struct fire *fire)
{
	stage_pause_ms((unsigned)iso_rng_below(&fire->rng, 2) *
		      (unsigned)iso_rng_below(&fire->rng, 30));
}

/* In either order, at once or a moment apart. */
static void kill_both(struct fire *fire, unsigned node)
{
	unsigned kills = fire->guard_kills;

	if (iso_rng_below(&fire->rng, 2) == 0) {
		kill_guard(fire, node);
		pause_a_little(fire);
		fire_kill(fire, node);
	} else {
		fire_kill(fire, node);
		pause_a_little(fire);
		kill_guard(fire, node);
	}
	fire->both += fire->guard_kills > kills;
}

/*
 * No other one can start while it is stopped: what the agent does in its place
 * stays, and can be looked at.
 */
static void stop_guard(struct fire *fire, unsigned node, pid_t pid)
{
	struct guarding *guard = &fire->guards[node];

	ring_guard_allow(&fire->ring, node, false);
	(void)kill(pid, SIGSTOP);
	guard->pid = pid;
	guard->stopped_ns = guard->hit_ns = clock_boot_ns();
	guard->counted = false;
	guard->is_alone = iso_rng_below(&fire->rng, 2) == 0;
	guard->next_ns = guard->is_alone ? fire_within_ms(fire, 4000, 5000) :
					   fire_within_ms(fire, 100, 3000);
	fire->guard_stops++;
}

bool fire_guard_needs_agent(const struct fire *fire, unsigned node)
{
	return fire->lives[node].state == UP && fire->guards[node].stopped_ns != 0 &&
	       fire->guards[node].is_alone;
}

void fire_guard_calm(struct fire *fire, unsigned node)
{
	struct guarding *guard = &fire->guards[node];

	/* Unless the agent has ended it. */
	if (guard->stopped_ns != 0 && ring_guard(&fire->ring, node) == guard->pid)
		(void)kill(guard->pid, SIGCONT);
	guard->stopped_ns = 0;
	guard->next_ns = fire_within_ms(fire, 200, 3000);
	ring_guard_allow(&fire->ring, node, true);
}

void fire_guard_end(struct fire *fire, unsigned node)
{
	pid_t pid = ring_guard(&fire->ring, node);

	if (pid > 0)
		(void)kill(pid, SIGKILL);
	while (ring_guard(&fire->ring, node) != 0)
		stage_pause_ms(1);
	fire_guard_calm(fire, node);
	fire->guards[node].hit_ns = clock_boot_ns();
}

void fire_guard(struct fire *fire, unsigned node)
{
	struct guarding *guard = &fire->guards[node];
	bool due = clock_now_ns() >= guard->next_ns;

	check_stopped_agent(fire, node);
	if (guard->stopped_ns != 0) {
		check_stopped_guard(fire, node);
		if (due)
			fire_guard_calm(fire, node);
		return;
	}
	if (!due || (fire->lives[node].state == STOPPED && fire->lives[node].is_alone))
		return;
	pid_t pid = ring_guard(&fire->ring, node);
	if (pid == 0)
		return;
	guard->next_ns = fire_within_ms(fire, 200, 3000);
	uint64_t what = iso_rng_below(&fire->rng, 8);
	if (what < 2)
		stop_guard(fire, node, pid);
	else if (what < 4 && fire->lives[node].state == UP)
		kill_both(fire, node);
	else
		kill_guard(fire, node);
}
