/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Agents and their guards under fire: killed at random moments and at every
 * step of a tick, and stopped; their messages held back, doubled, swapped and
 * handed to a later life; directly connected and behind lines that hold, swallow
 * and cut.  All the while an observer reads the kernel's quotas, and at the end the
 * ledgers prove the sum and shares follow demand.
 */
#include "config.h"

#include "tests/system/fire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/detour.h"
#include "tests/test.h"

#define LIFE_NS_MAX (4000u * (uint64_t)MS_NS)
/* In make check, and half as many on bad lines; ISO_RUNS says otherwise. */
#define KILLS	    140
#define TIMEOUT_S   (300 + 3 * test_runs(KILLS))
/* Each of these is seen so often at least, however many kills were asked for. */
#define CHECKS	    2u

/* Steps at which an agent can be made to die, and how often one start can reach them. */
static const struct step {
	const char *name;
	unsigned most;
} steps[] = {
	{ "opened", 1 },   { "begin", 12 },	{ "lowered", 2 }, { "recorded", 6 },
	{ "durable", 6 },  { "committed", 12 }, { "raised", 12 }, { "sending", 24 },
	{ "sent", 12 },	   { "linked", 1 },
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))
#define RANDOM_KILL STEPS

_Static_assert(STEPS < FIRE_STEPS_MAX, "all are counted");

uint64_t fire_within_ms(struct fire *fire, unsigned from_ms, unsigned to_ms)
{
	return clock_now_ns() +
	       (from_ms + iso_rng_below(&fire->rng, to_ms - from_ms)) * (uint64_t)MS_NS;
}

/* The one that was hit least; every second life ends at a random moment. */
static size_t choose_step(struct fire *fire)
{
	size_t least = iso_rng_below(&fire->rng, STEPS);

	if (iso_rng_below(&fire->rng, 2) == 0)
		return RANDOM_KILL;
	for (size_t i = 0; i < STEPS; i++)
		if (fire->at_step[i] < fire->at_step[least])
			least = i;
	return least;
}

static void before_path(const struct fire *fire, unsigned node, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, fire->ring.nodes[node].directory, "before");
}

static void detour_path(const struct fire *fire, unsigned node, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, fire->ring.nodes[node].directory, "detour");
}

/* planned: it may die at a step. */
static void begin_life(struct fire *fire, unsigned node, bool planned)
{
	struct life *life = &fire->lives[node];
	char crash[32] = "", before[DEMO_PATH_BYTES], detour[DEMO_PATH_BYTES];
	struct ring_start how = { .crash = crash, .detour = detour };

	detour_path(fire, node, detour);
	before_path(fire, node, before);
	life->step = planned ? choose_step(fire) : RANDOM_KILL;
	life->state = UP;
	life->power = false;
	life->since_ns = clock_boot_ns();
	if (life->step == RANDOM_KILL) {
		life->next_ns = fire_within_ms(fire, 0, iso_rng_below(&fire->rng, 2) ? 3000 : 500);
		/* The installed program, where nothing is asked of the other one. */
		if (iso_rng_below(&fire->rng, 3) == 0)
			how = (struct ring_start){ 0 };
	} else {
		life->next_ns = clock_now_ns() + LIFE_NS_MAX;
		/* A write that was not synced is where a power cut differs most. */
		life->power = iso_rng_below(&fire->rng, 3) == 0 ||
			      strcmp(steps[life->step].name, "recorded") == 0;
		if (life->power)
			how.keep = before;
		snprintf(crash, sizeof(crash), "%s:%u", steps[life->step].name,
			 1 + (unsigned)iso_rng_below(&fire->rng, steps[life->step].most));
	}
	ring_start(&fire->ring, node, &how);
}

/*
 * What a power cut leaves of a write that was not synced: any of its sectors.
 * The record must be the old or the new one.
 */
static void tear(struct fire *fire, unsigned node)
{
	uint8_t journal[ISO_JOURNAL_BYTES], before[ISO_SLOT_BYTES];
	char path[DEMO_PATH_BYTES], kept[DEMO_PATH_BYTES];
	struct iso_record record, after;

	ring_record(&fire->ring, node, &record);
	uint8_t *slot = journal + record.seq % 2 * ISO_SLOT_BYTES;
	ring_journal_path(&fire->ring, node, path);
	before_path(fire, node, kept);
	FILE *file = fopen(path, "r+e"), *old = fopen(kept, "re");
	ck_assert(file != NULL && old != NULL);
	ck_assert_uint_eq(fread(journal, 1, sizeof(journal), file), sizeof(journal));
	ck_assert_uint_eq(fread(before, 1, sizeof(before), old), sizeof(before));
	for (size_t at = 0; at < ISO_SLOT_BYTES; at += ISO_SECTOR_BYTES)
		if (iso_rng_below(&fire->rng, 2) == 0)
			memcpy(slot + at, before + at, ISO_SECTOR_BYTES);
	rewind(file);
	ck_assert_uint_eq(fwrite(journal, 1, sizeof(journal), file), sizeof(journal));
	ck_assert_int_eq(fclose(file), 0);
	fclose(old);
	ring_record(&fire->ring, node, &after);
	ck_assert(after.seq == record.seq || after.seq == record.seq - 1);
	fire->torn++;
}

/* The machine is off: the job has ended, and comes back with the least limit. */
static void cut_power(struct fire *fire, unsigned node)
{
	ring_burn(&fire->ring, node, false);
	fire->burning[node] = false;
	fire_guard_end(fire, node);
	ring_set_quota(&fire->ring, node, RING_FLOOR_UCPU);
	if (strcmp(steps[fire->lives[node].step].name, "recorded") == 0)
		tear(fire, node);
	fire->power_cuts++;
}

static void end_life(struct fire *fire, unsigned node, int status)
{
	struct life *life = &fire->lives[node];

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		ring_tell(&fire->ring, node);
		ck_abort_msg("node %u ended by itself, status %x", node, (unsigned)status);
	}
	ring_check_dead(&fire->ring, node);
	if (life->power && life->step != RANDOM_KILL)
		cut_power(fire, node);
	fire->kills++;
	fire->at_step[life->step]++;
	life->state = DOWN;
	life->next_ns = fire_within_ms(fire, 0, 250);
}

void fire_kill(struct fire *fire, unsigned node)
{
	struct child *agent = &fire->ring.nodes[node].agent;
	int status;

	(void)kill(agent->pid, SIGKILL);
	ck_assert_int_eq(waitpid(agent->pid, &status, 0), agent->pid);
	agent->pid = 0;
	/* The step may have come first, by a hair; it counts as what was meant. */
	fire->lives[node].step = RANDOM_KILL;
	end_life(fire, node, status);
}

static void live(struct fire *fire, unsigned node)
{
	struct life *life = &fire->lives[node];
	bool due = clock_now_ns() >= life->next_ns && !fire_guard_needs_agent(fire, node);
	int status;

	if (life->state != DOWN && ring_ended(&fire->ring, node, &status)) {
		if (life->step == RANDOM_KILL)
			status = 0; /* nobody has asked it to */
		end_life(fire, node, status);
	} else if (life->state == DOWN && due) {
		begin_life(fire, node, true);
	} else if (life->state == UP && due && iso_rng_below(&fire->rng, 5) == 0) {
		life->guard = fire->guards[node].stopped_ns == 0 ? ring_guard(&fire->ring, node) :
								   0;
		(void)kill(fire->ring.nodes[node].agent.pid, SIGSTOP);
		life->state = STOPPED;
		life->since_ns = clock_boot_ns();
		life->counted = false;
		life->is_alone = iso_rng_below(&fire->rng, 2) == 0;
		life->next_ns = life->is_alone ? fire_within_ms(fire, 3000, 4000) :
						 fire_within_ms(fire, 100, 3000);
		fire->stops++;
	} else if (life->state == STOPPED && due && iso_rng_below(&fire->rng, 2) == 0) {
		(void)kill(fire->ring.nodes[node].agent.pid, SIGCONT);
		life->state = UP;
		life->since_ns = clock_boot_ns();
		life->next_ns = fire_within_ms(fire, 0, 1000);
	} else if (life->state != DOWN && due) {
		fire_kill(fire, node);
	}
}

/* Busy processes come and go, so that there is always a reason to trade; most are there. */
static void burn(struct fire *fire)
{
	unsigned node = (unsigned)iso_rng_below(&fire->rng, RING_NODES);

	if (clock_now_ns() < fire->burn_ns)
		return;
	fire->burning[node] = iso_rng_below(&fire->rng, 4) != 0;
	ring_burn(&fire->ring, node, fire->burning[node]);
	fire->burn_ns = fire_within_ms(fire, 200, 1000);
}

static void turn(struct fire *fire)
{
	for (unsigned i = 0; i < RING_NODES; i++) {
		live(fire, i);
		fire_guard(fire, i);
	}
	burn(fire);
	if (clock_now_ns() >= fire->check_ns) {
		ring_check_edges(&fire->ring);
		fire->check_ns = fire_within_ms(fire, 50, 150);
	}
	if (fire->ring.proxy != NULL && clock_now_ns() >= fire->weather_ns) {
		proxy_weather(fire->ring.proxy,
			      (unsigned)iso_rng_below(&fire->rng, fire->ring.proxy->count),
			      &fire->rng, &fire->weather);
		fire->weather_ns = fire_within_ms(fire, 50, 400);
	}
	stage_pause_ms(3);
}

/* Nobody shoots any more: everybody is up, the sum is proven, and shares follow demand. */
static void settle(struct fire *fire, unsigned busy)
{
	struct ring *ring = &fire->ring;

	if (ring->proxy != NULL)
		proxy_calm(ring->proxy);
	for (unsigned i = 0; i < RING_NODES; i++) {
		fire_guard_calm(fire, i);
		if (fire->lives[i].state != DOWN) {
			(void)kill(ring->nodes[i].agent.pid, SIGCONT);
			ring_kill(ring, i, SIGKILL);
			ring_check_dead(ring, i);
		}
		fire->lives[i].state = DOWN;
		ring_burn(ring, i, i == busy);
		fire->burning[i] = i == busy;
		ring_start(ring, i, NULL);
	}
	ring_prove(ring, busy);
}

static void print_counts(const struct fire *fire)
{
	printf("# %u kills: %u of agents, %u of them as power cuts (%u torn writes), %u of guards, "
	       "%u times both\n", fire->kills + fire->guard_kills, fire->kills, fire->power_cuts,
	       fire->torn, fire->guard_kills, fire->both);
	printf("# %u stops of agents, %u of guards; %u + %u times at the floor when the lease's "
	       "promise was over\n", fire->stops, fire->guard_stops, fire->floors[0],
	       fire->floors[1]);
	printf("# %ju starts, traded: %.3f CPU in all\n", (uintmax_t)fire->ring.starts,
	       (double)ring_traded_ucpu(&fire->ring) / 1e6);
	printf("# agents killed at:");
	for (size_t i = 0; i < STEPS; i++)
		printf(" %s %u,", steps[i].name, fire->at_step[i]);
	printf(" a random moment %u\n", fire->at_step[RANDOM_KILL]);
}

static bool every_step_hit(const struct fire *fire, unsigned times)
{
	for (size_t i = 0; i <= STEPS; i++)
		if (fire->at_step[i] < times)
			return false;
	return true;
}

/* Kills, and what a kill alone does not show. */
static bool is_enough(const struct fire *fire, unsigned kills)
{
	return fire->kills + fire->guard_kills >= kills && fire->both >= CHECKS &&
	       fire->floors[0] >= CHECKS && fire->floors[1] >= CHECKS;
}

/* The fire starts when the kernel enforces nearly all that there is: any excess shows. */
static void open_fire(struct fire *fire, bool proxied)
{
	struct ring *ring = &fire->ring;

	*fire = (struct fire){ .rng = { test_seed_base() } };
	printf("# seed %ju\n", (uintmax_t)test_seed_base());
	ring_open_lease(ring, proxied, FIRE_LEASE_MS);
	for (unsigned i = 0; i < RING_NODES; i++) {
		begin_life(fire, i, false);
		fire->burning[i] = true;
		ring_burn(ring, i, true);
	}
	ring_wait_quotas(ring, RING_BUDGET_UCPU * 9 / 10);
	for (unsigned i = 0; i < RING_NODES; i++) {
		fire->lives[i].next_ns = fire_within_ms(fire, 0, 3000);
		fire->guards[i].next_ns = fire_within_ms(fire, 0, 3000);
	}
}

/* What happened to messages, over all nodes. */
static void check_detours(const struct fire *fire)
{
	struct detour_file sum = { 0 }, one;
	char path[DEMO_PATH_BYTES];

	for (unsigned i = 0; i < RING_NODES; i++) {
		detour_path(fire, i, path);
		FILE *file = fopen(path, "re");
		if (file == NULL)
			continue; /* it was never started with one */
		ck_assert_uint_eq(fread(&one, 1, sizeof(one), file), sizeof(one));
		fclose(file);
		sum.received += one.received;
		sum.held += one.held;
		sum.repeated += one.repeated;
		sum.bequeathed += one.bequeathed;
	}
	printf("# messages: %ju received, %ju held back, %ju old ones repeated, %ju of them to a "
	       "later life\n", (uintmax_t)sum.received, (uintmax_t)sum.held,
	       (uintmax_t)sum.repeated, (uintmax_t)sum.bequeathed);
	ck_assert_uint_gt(sum.held, 0);
	ck_assert_uint_gt(sum.repeated - sum.bequeathed, 0);
	ck_assert_uint_gt(sum.bequeathed, 0);
}

START_TEST(kills_at_every_step_exceed_nothing_and_lose_nothing)
{
	unsigned wanted = (unsigned)test_runs(KILLS);
	static struct fire fire;

	open_fire(&fire, false);
	while (!is_enough(&fire, wanted) || !every_step_hit(&fire, 2))
		turn(&fire);
	print_counts(&fire);
	check_detours(&fire);
	settle(&fire, 2);
	ring_close(&fire.ring);
}
END_TEST

static uint64_t resets(const struct proxy *proxy)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < proxy->count; i++)
		sum += proxy->lines[i].resets;
	return sum;
}

START_TEST(late_lost_doubled_and_swapped_messages_and_kills_exceed_nothing)
{
	unsigned wanted = (unsigned)test_runs(KILLS) / 2;
	static struct fire fire;
	const struct proxy_weather *weather = &fire.weather;

	open_fire(&fire, true);
	while (!is_enough(&fire, wanted) || resets(fire.ring.proxy) == 0 || weather->holes == 0)
		turn(&fire);
	print_counts(&fire);
	printf("# lines: %ju delayed, %ju held, %ju black holes, %ju of one direction, %ju cut, "
	       "%ju refused; %ju connections reset\n",
	       (uintmax_t)weather->delays, (uintmax_t)weather->holds, (uintmax_t)weather->holes,
	       (uintmax_t)weather->half_holes, (uintmax_t)weather->cuts,
	       (uintmax_t)weather->refusals, (uintmax_t)resets(fire.ring.proxy));
	check_detours(&fire);
	settle(&fire, 4);
	ring_close(&fire.ring);
}
END_TEST

/* 5 ms with the least above the budget. */
static void exceed_for_a_moment(const struct ring *ring)
{
	ring_set_quota(ring, 0,
		       RING_BUDGET_UCPU - (int64_t)(RING_NODES - 1) * RING_FLOOR_UCPU + 10);
	stage_pause_ms(5);
	ring_set_quota(ring, 0, RING_FLOOR_UCPU);
	stage_pause_ms(20);
}

START_TEST(the_observer_catches_what_lasts_five_milliseconds)
{
	static struct ring ring;

	ring_open(&ring, false);
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_set_quota(&ring, i, RING_FLOOR_UCPU);
	stage_pause_ms(500);
	for (unsigned i = 0; i < 20; i++)
		exceed_for_a_moment(&ring);
	uint64_t caught = ring_observer_caught(&ring);
	printf("# observer: %ju snapshots of 20 moments above the budget\n", (uintmax_t)caught);
	/* It may miss some where the machine has no time for it, but not many. */
	ck_assert_uint_ge(caught, 10);
	ring_close(&ring);
}
END_TEST

/* As everybody is trusted to do in time; tests/system/late.sed. */
START_TEST(the_observer_catches_agents_that_lower_too_late)
{
	static const struct ring_start late = { .program = "tests/system/isobard-late" };
	static struct ring ring;
	uint64_t caught = 0;

	ring_open(&ring, false);
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_start(&ring, i, &late);
	ring_wait_all_up(&ring);
	for (unsigned turns = 0; turns < 10 && caught == 0; turns++) {
		for (unsigned i = 0; i < RING_NODES; i++)
			ring_burn(&ring, i, i == turns % RING_NODES);
		stage_pause_ms(3000);
		caught = ring_observer_caught(&ring);
		ring_observer_start(&ring);
		printf("# observer: %ju snapshots above the budget after %u s\n",
		       (uintmax_t)caught, 3 * (turns + 1));
	}
	ck_assert_uint_gt(caught, 0);
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_kill(&ring, i, SIGKILL);
	(void)ring_observer_caught(&ring); /* what they leave is as wrong as before */
	ring_close(&ring);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("agents under fire");

	stage_suite_add(suite, "moments", TIMEOUT_S,
		       the_observer_catches_what_lasts_five_milliseconds);
	stage_suite_add(suite, "late", TIMEOUT_S, the_observer_catches_agents_that_lower_too_late);
	stage_suite_add(suite, "kills", TIMEOUT_S,
		       kills_at_every_step_exceed_nothing_and_lose_nothing);
	stage_suite_add(suite, "lines", TIMEOUT_S,
		       late_lost_doubled_and_swapped_messages_and_kills_exceed_nothing);
	return suite;
}
