/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a hostile node says that is possible costs the others no more than what the manual
 * says, or stops whom it was said to.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "tests/system/siege.h"
#include "tests/test.h"

#define TIMEOUT_S 240
#define FAIR_UCPU (RING_BUDGET_UCPU / (int64_t)RING_NODES)

START_TEST(greed_takes_what_is_above_the_floors_and_no_more)
{
	struct hostile *hostile;
	struct ring *ring;

	siege_open(&ring, &hostile, NULL);
	hostile->price = HOSTILE_GREEDY;
	uint64_t from_ns = clock_now_ns();
	while (siege_honest_ucpu(ring) > 4 * RING_FLOOR_UCPU + 4) {
		hostile_live(hostile, HOSTILE_TICK_MS, NULL);
		ck_assert_uint_lt(clock_now_ns() - from_ns, RING_PATIENCE_NS);
	}
	printf("# everything above the floors in %.1f s\n",
	       (double)(clock_now_ns() - from_ns) / 1e9);
	hostile_live(hostile, 10 * HOSTILE_TICK_MS, NULL);
	ck_assert_int_eq(siege_honest_ucpu(ring) + hostile_holdings(hostile), RING_BUDGET_UCPU);
	/* Nobody was robbed who would not take it back. */
	hostile->price = HOSTILE_CONTENT;
	hostile->edges[0].sent = hostile->edges[0].received;
	hostile->edges[1].sent = hostile->edges[1].received;
	siege_check_unharmed(hostile, "what was taken is given back");
	ck_assert_int_eq(hostile_holdings(hostile), FAIR_UCPU);
	siege_close(ring, hostile);
}
END_TEST

/* What a node was given over the edge to the hostile one, in net; either sign. */
static int64_t gained_ucpu(const struct ring *ring, unsigned node)
{
	return ring_net_ucpu(ring, node, ring->nodes[SIEGE_HOSTILE].id);
}

START_TEST(greed_takes_no_more_than_the_limits)
{
	const int64_t limit_ucpu = FAIR_UCPU / 4;
	struct hostile *hostile;
	struct ring *ring;

	siege_open(&ring, &hostile, "limit = 15000ucpu");
	hostile->price = HOSTILE_GREEDY;
	hostile_live(hostile, 20 * HOSTILE_TICK_MS, NULL);
	ck_assert_int_eq(hostile_holdings(hostile), FAIR_UCPU + 2 * limit_ucpu);
	ck_assert_int_eq(siege_honest_ucpu(ring), 4 * FAIR_UCPU - 2 * limit_ucpu);
	for (unsigned k = 0; k < 2; k++)
		ck_assert_int_eq(gained_ucpu(ring, hostile->edges[k].victim), -limit_ucpu);
	/* The rest is traded on among the others, and goes to who is busy. */
	ring_wait_share(ring, 2, 4 * FAIR_UCPU - 2 * limit_ucpu - 4 * RING_FLOOR_UCPU,
			RING_BUDGET_UCPU);
	siege_close(ring, hostile);
}
END_TEST

static const json_t *edge_to_hostile(const json_t *status)
{
	const json_t *neighbours = json_object_get(status, "neighbours"), *neighbour;
	size_t i;

	json_array_foreach (neighbours, i, neighbour) {
		const char *name = json_string_value(json_object_get(neighbour, "name"));

		if (name != NULL && strcmp(name, "n0") == 0)
			return neighbour;
	}
	ck_abort_msg("no neighbour n0");
}

/* Gives what nobody ever had, again and again. */
static void forge(struct hostile *hostile, struct hostile_edge *edge, struct iso_edge_frame *frame)
{
	(void)hostile;
	edge->sent += 50000;
	frame->sent = edge->sent;
}

START_TEST(credits_that_nobody_gave_stay_within_the_limits)
{
	const int64_t limit_ucpu = (FAIR_UCPU - RING_FLOOR_UCPU) / 2;
	struct hostile *hostile;
	struct ring *ring;

	/* Together as much as it may have had above its floor. */
	siege_open(&ring, &hostile, "limit = 25000ucpu");
	hostile_live(hostile, 40 * HOSTILE_TICK_MS, forge);
	ck_assert_int_eq(siege_honest_ucpu(ring), RING_BUDGET_UCPU - RING_FLOOR_UCPU);
	for (unsigned k = 0; k < 2; k++) {
		unsigned victim = hostile->edges[k].victim;
		json_t *status = ring_status(ring, victim);
		const json_t *edge = edge_to_hostile(status);

		ck_assert_int_eq(gained_ucpu(ring, victim), limit_ucpu);
		ck_assert(ring_is(ring, victim, "ok"));
		ck_assert(json_is_true(json_object_get(edge, "withheld")));
		ck_assert_int_eq(json_integer_value(json_object_get(edge, "limit_ucpu")),
				 limit_ucpu);
		json_decref(status);
		ck_assert_uint_eq(ring_log_count(ring, victim, "gave more than its limit"), 1);
	}
	/* What is enforced is all that, and the observer sees no more than the budget. */
	ring_wait_quotas(ring, RING_BUDGET_UCPU * 8 / 10);
	siege_close(ring, hostile);
}
END_TEST

START_TEST(without_limits_credits_that_nobody_gave_are_believed)
{
	struct hostile *hostile;
	struct ring *ring;

	/* As the manual says; should this ever fail, so does the manual. */
	siege_open(&ring, &hostile, NULL);
	hostile_live(hostile, 20 * HOSTILE_TICK_MS, forge);
	ck_assert_int_gt(siege_honest_ucpu(ring), RING_BUDGET_UCPU);
	/* Nobody is asked who could tell, so nobody is told that all is well. */
	ck_assert_int_ne(ring_audit_status(ring, NULL), 0);
	(void)ring_observer_caught(ring);
	siege_close(ring, hostile);
}
END_TEST

static void acknowledge_too_much(struct hostile *hostile, struct hostile_edge *edge,
				 struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->received = edge->heard.sent + 1;
}

static void know_a_later_life(struct hostile *hostile, struct hostile_edge *edge,
			      struct iso_edge_frame *frame)
{
	(void)hostile;
	(void)edge;
	frame->echo_inc++;
}

static void give_too_much(struct hostile *hostile, struct hostile_edge *edge,
			  struct iso_edge_frame *frame)
{
	(void)hostile;
	(void)edge;
	frame->sent = INT64_MAX;
}

static void bury(struct hostile *hostile, struct hostile_edge *edge, struct iso_edge_frame *frame)
{
	(void)hostile;
	(void)edge;
	frame->flags = ISO_EDGE_TOMBSTONE;
}

/* Other claims for the two victims at once. */
static hostile_fn *claims[2];

static void claim(struct hostile *hostile, struct hostile_edge *edge, struct iso_edge_frame *frame)
{
	claims[edge == &hostile->edges[1]](hostile, edge, frame);
}

static void check_stopped(const struct ring *ring, unsigned node, const char *halt)
{
	json_t *status = ring_status(ring, node);
	const char *reason = json_string_value(json_object_get(status, "reason"));
	const char *is = json_string_value(json_object_get(status, "halt"));

	ck_assert_msg(is != NULL && strcmp(is, halt) == 0, "n%u: halt is %s, not %s", node,
		      is != NULL ? is : "null", halt);
	ck_assert_msg(reason != NULL && strstr(reason, "n0") != NULL, "n%u: %s", node, reason);
	json_decref(status);
	ck_assert_int_le(ring_quota_ucpu(ring, node), RING_FLOOR_UCPU);
	ck_assert_uint_eq(ring_log_count(ring, node, "the limit goes to the floor"), 1);
}

static void stop_both(const char *line, hostile_fn *right, const char *right_halt, hostile_fn *left,
		      const char *left_halt)
{
	struct hostile *hostile;
	struct ring *ring;

	siege_open(&ring, &hostile, line);
	claims[0] = right;
	claims[1] = left;
	hostile_live(hostile, 5 * HOSTILE_TICK_MS, claim);
	check_stopped(ring, hostile->edges[0].victim, right_halt);
	check_stopped(ring, hostile->edges[1].victim, left_halt);
	/* Who has stopped keeps what it owns; the others go on. */
	ck_assert_int_eq(siege_honest_ucpu(ring) + hostile_holdings(hostile), RING_BUDGET_UCPU);
	ck_assert(ring_is(ring, 2, "ok"));
	ck_assert(ring_is(ring, 3, "ok"));
	siege_close(ring, hostile);
}

START_TEST(claims_about_the_victims_own_ledger_stop_it_at_its_floor)
{
	stop_both(NULL, acknowledge_too_much, "amnesia", know_a_later_life, "amnesia");
}
END_TEST

START_TEST(claims_beyond_the_budget_and_false_burials_stop_the_victim_at_its_floor)
{
	stop_both(NULL, give_too_much, "overdraft", bury, "buried");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("adversary");

	stage_suite_add(suite, "greed", TIMEOUT_S,
			greed_takes_what_is_above_the_floors_and_no_more);
	stage_suite_add(suite, "limited greed", TIMEOUT_S, greed_takes_no_more_than_the_limits);
	stage_suite_add(suite, "forgery", TIMEOUT_S,
			without_limits_credits_that_nobody_gave_are_believed);
	stage_suite_add(suite, "limited forgery", TIMEOUT_S,
			credits_that_nobody_gave_stay_within_the_limits);
	stage_suite_add(suite, "amnesia", TIMEOUT_S,
			claims_about_the_victims_own_ledger_stop_it_at_its_floor);
	stage_suite_add(suite, "overdraft", TIMEOUT_S,
			claims_beyond_the_budget_and_false_burials_stop_the_victim_at_its_floor);
	return suite;
}
