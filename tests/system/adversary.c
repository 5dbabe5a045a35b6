/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A ring of real agents, one of which is in hostile hands, with its key: what
 * it says that is impossible is dropped or stops whom it was said to, and what
 * is possible costs the others no more than what the manual says.
 */
#include "config.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/hostile.h"
#include "tests/test.h"

#define TIMEOUT_S 240
#define FAIR_UCPU (RING_BUDGET_UCPU / (int64_t)RING_NODES)
#define HOSTILE	  0u

static struct ring memory;
static struct hostile hostile_memory;

/* A neighbour section's keys besides those that ring.c writes. */
static void add_to_neighbour(const struct ring *ring, unsigned node, const char *line)
{
	char command[4 * DEMO_PATH_BYTES];

	snprintf(command, sizeof(command),
		 "sed -i 's/^neighbour n%u {/&\\n %s/' %s/conf && grep -q '^ %s' %s/conf", HOSTILE,
		 line, ring->nodes[node].directory, line, ring->nodes[node].directory);
	ck_assert_int_eq(system(command), 0);
}

/* Four honest agents, of which the one that is furthest away is busy. */
static void open_all(struct ring **ret_ring, struct hostile **ret_hostile, const char *line)
{
	struct ring *ring = *ret_ring = &memory;
	struct hostile *hostile = *ret_hostile = &hostile_memory;

	ring_open(ring, false);
	for (unsigned i = 0; i < RING_NODES; i++) {
		if (i == HOSTILE)
			continue;
		if (line != NULL && (i == ring_left_of(HOSTILE) || i == ring_right_of(HOSTILE)))
			add_to_neighbour(ring, i, line);
		ring_start_and_wait(ring, i);
	}
	hostile_open(hostile, ring, HOSTILE);
	hostile_meet(hostile);
	ring_burn(ring, 2, true);
}

static void close_all(struct ring *ring, struct hostile *hostile)
{
	hostile_close(hostile);
	ring_close(ring);
}

static uint64_t sent_to(const struct iso_record *record, uint64_t peer, bool received)
{
	for (uint32_t k = 0; k < record->edge_count; k++)
		if (record->edges[k].peer == peer)
			return received ? record->edges[k].received : record->edges[k].sent;
	return 0;
}

/* All honest journals as they were at one instant. */
static void read_cut(const struct ring *ring, struct iso_record records[RING_NODES])
{
	struct iso_record again;

	for (unsigned i = 0, same = 0; same < RING_NODES - 1; i = (i + 1) % RING_NODES) {
		if (i == HOSTILE)
			continue;
		ring_record(ring, i, &again);
		same = again.seq == records[i].seq ? same + 1 : 0;
		records[i] = again;
	}
}

/* What the honest nodes own, with what is on its way between them. */
static int64_t honest_ucpu(const struct ring *ring)
{
	static struct iso_record records[RING_NODES];
	int64_t sum = 0;

	memset(records, 0, sizeof(records));
	read_cut(ring, records);
	for (unsigned i = 0; i < RING_NODES; i++) {
		unsigned right = ring_right_of(i);
		uint64_t id = ring->nodes[i].id, right_id = ring->nodes[right].id;

		if (i == HOSTILE)
			continue;
		int64_t share = iso_record_holdings(&records[i]);
		ck_assert_msg(share >= RING_FLOOR_UCPU, "n%u owns %jd ucpu", i, (intmax_t)share);
		sum += share;
		if (right == HOSTILE)
			continue;
		sum += (int64_t)(sent_to(&records[i], right_id, false) -
				 sent_to(&records[right], id, true));
		sum += (int64_t)(sent_to(&records[right], id, false) -
				 sent_to(&records[i], right_id, true));
	}
	return sum;
}

static json_int_t dropped(const struct ring *ring, unsigned node, const char *reason)
{
	json_t *status = ring_status(ring, node);
	json_t *counts = json_object_get(json_object_get(status, "messages"), "dropped");
	json_t *count = json_object_get(counts, reason);

	ck_assert_msg(json_is_integer(count), "n%u does not count %s", node, reason);
	json_int_t value = json_integer_value(count);
	json_decref(status);
	return value;
}

/* An attack came to nothing: everybody trades on, with what belonged to them. */
static void check_unharmed(struct hostile *hostile, const char *what)
{
	const struct ring *ring = hostile->ring;

	hostile_live(hostile, 5 * HOSTILE_TICK_MS, NULL);
	ck_assert_msg(honest_ucpu(ring) + hostile_holdings(hostile) == RING_BUDGET_UCPU,
		      "%s: the others own %jd ucpu, beside %jd", what, (intmax_t)honest_ucpu(ring),
		      (intmax_t)hostile_holdings(hostile));
	for (unsigned i = 0; i < RING_NODES; i++)
		ck_assert_msg(i == HOSTILE || ring_up(ring, i) == 2, "%s: n%u", what, i);
	printf("# %s\n", what);
}

/* No lease is longer than it should be, and the budget is what it was. */
static void check_terms(const struct ring *ring)
{
	for (unsigned i = 1; i < RING_NODES; i++) {
		json_t *status = ring_status(ring, i);
		const json_t *lease = json_object_get(status, "lease");
		double left_s = json_number_value(json_object_get(lease, "remaining_s"));

		ck_assert_double_le(left_s, (double)ring->lease_ms / 1000);
		ck_assert_int_eq(json_integer_value(json_object_get(status, "budget_ucpu")),
				 RING_BUDGET_UCPU);
		json_decref(status);
	}
}

static void lie_about_source(struct hostile *hostile, struct hostile_edge *edge,
			     struct iso_edge_frame *frame)
{
	frame->source = hostile->ring->nodes[2].id;
	frame->sent = edge->sent + 5000;
}

static void lie_about_destination(struct hostile *hostile, struct hostile_edge *edge,
				  struct iso_edge_frame *frame)
{
	frame->destination = hostile->ring->nodes[2].id;
	frame->sent = edge->sent + 5000;
}

static void lie_about_cluster(struct hostile *hostile, struct hostile_edge *edge,
			      struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->cluster ^= 1;
	frame->sent = edge->sent + 5000;
}

static void lie_about_configuration(struct hostile *hostile, struct hostile_edge *edge,
				    struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->digest ^= 1;
	frame->sent = edge->sent + 5000;
}

static void lie_about_generation(struct hostile *hostile, struct hostile_edge *edge,
				 struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->source_gen = 2;
	frame->sent = edge->sent + 5000;
}

static void lie_about_numbers(struct hostile *hostile, struct hostile_edge *edge,
			      struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->curvature = edge->seq % 2 == 0 ? (double)NAN : -1;
	frame->head_ucpu = edge->seq % 3 == 0 ? INT64_MIN : 0;
	frame->budget_ucpu = edge->seq % 5 == 0 ? -1 : 1;
	frame->sent = edge->sent + 5000;
}

/* Any other budget that is possible, nothing learnt from it. */
static void lie_about_the_budget(struct hostile *hostile, struct hostile_edge *edge,
				 struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->budget_ucpu = edge->seq % 2 == 0 ? ISO_UNITS_MAX : 1;
}

/* An answer to what was not said yet, or long ago: neither is worth a lease. */
static void answer_the_future(struct hostile *hostile, struct hostile_edge *edge,
			      struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->echo_inc = edge->heard.inc;
	frame->echo_seq = edge->seq % 2 == 0 ? UINT32_MAX : 1;
}

static void lie_about_its_curve(struct hostile *hostile, struct hostile_edge *edge,
				struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->curvature = edge->seq % 2 == 0 ? 0x1p60 : 0;
	frame->head_ucpu = edge->seq % 3 == 0 ? INT64_MAX : 0;
	frame->degree = edge->seq % 2 == 0 ? UINT16_MAX : 0;
}

/* A later life, and then again the one before: its prices are old, its totals are not. */
static void change_incarnation(struct hostile *hostile, struct hostile_edge *edge,
			       struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->inc += edge->seq % 2 == 0 ? 100 : 0;
}

static void jump(struct hostile *hostile, struct hostile_edge *edge, struct iso_edge_frame *frame)
{
	(void)hostile;
	frame->seq = edge->seq % 2 == 0 ? UINT32_MAX : 1;
}

static void take_back(struct hostile *hostile, struct hostile_edge *edge,
		      struct iso_edge_frame *frame)
{
	(void)hostile;
	(void)edge;
	frame->sent = 0;
	frame->received = 0;
}

static const struct lie {
	const char *what, *counted;
	hostile_fn *fn;
} lies[] = {
	{ "another's name", "sender", lie_about_source },
	{ "another's message", "address", lie_about_destination },
	{ "another cluster", "cluster", lie_about_cluster },
	{ "another configuration", "config", lie_about_configuration },
	{ "another generation", "generation", lie_about_generation },
	{ "impossible numbers", "malformed", lie_about_numbers },
	{ "other totals than before", NULL, take_back },
	{ "other budgets", NULL, lie_about_the_budget },
	{ "answers to what was not said", NULL, answer_the_future },
	{ "other curves", NULL, lie_about_its_curve },
	{ "other incarnations", "stale", change_incarnation },
	{ "numbers that jump", "stale", jump },
};

/* Real credits, so that there is something to say twice. */
static void give_a_little(struct hostile *hostile)
{
	for (unsigned i = 0; i < 10; i++) {
		hostile->edges[i % 2].sent += 1000;
		hostile_live(hostile, HOSTILE_TICK_MS, NULL);
	}
}

static void replay(struct hostile *hostile)
{
	struct hostile_edge *edge = &hostile->edges[0];
	uint8_t old[ISO_EDGE_BYTES];

	give_a_little(hostile);
	memcpy(old, edge->last, sizeof(old));
	give_a_little(hostile);
	for (unsigned i = 0; i < 50; i++)
		hostile_say(edge, i % 2 == 0 ? old : edge->last, sizeof(old));
	check_unharmed(hostile, "the same credit fifty times");
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "stale"), 50);
}

static void say_garbage(struct hostile *hostile)
{
	static uint8_t bytes[100000];
	struct hostile_edge *edge = &hostile->edges[1];
	json_int_t before = dropped(hostile->ring, edge->victim, "malformed");
	struct iso_rng rng = { 1 };

	for (unsigned i = 0; i < 200; i++) {
		size_t size = 1 + i % 400;

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)iso_rng_next(&rng);
		hostile_say(edge, bytes, size);
	}
	hostile_say(edge, edge->last, sizeof(edge->last) - 1);
	hostile_say(edge, edge->last, 0);
	check_unharmed(hostile, "garbage");
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "malformed"), before + 200);
	ck_assert_uint_eq(ring_log_count(hostile->ring, edge->victim, "n0: dropped a message"), 1);
	/* Longer than a message, and longer than what a connection survives. */
	hostile_say(edge, bytes, 600);
	hostile_live(hostile, 200, NULL);
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "oversize"), 1);
	hostile_say(edge, bytes, sizeof(bytes));
	hostile_live(hostile, 1000, NULL);
	check_unharmed(hostile, "oversized messages");
}

/* Bytes over plain TCP, as from a scanner. */
static void scan(const struct ring *ring, unsigned victim, const void *bytes, size_t size)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)ring->nodes[victim].port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)send(fd, bytes, size, MSG_NOSIGNAL);
	stage_pause_ms(20);
	close(fd);
}

static void knock_as_a_stranger(struct hostile *hostile)
{
	struct hostile_edge *edge = &hostile->edges[0];
	json_int_t before = dropped(hostile->ring, edge->victim, "handshake");
	uint64_t from_ns = clock_now_ns();
	struct iso_edge_frame frame = hostile_frame(hostile, edge);
	struct curve_keypair strange;
	uint8_t bytes[ISO_EDGE_BYTES];
	struct error error;

	frame.sent = edge->sent + 5000;
	hostile_seal(&frame, bytes);
	ck_assert_int_eq(curve_keypair_new(&strange, &error), 0);
	/* On a busy machine a knock may be over before anybody has heard it. */
	for (unsigned i = 0;
	     i < 3 || (i < 30 && dropped(hostile->ring, edge->victim, "handshake") < before + 9);
	     i++) {
		hostile_knock(hostile, edge->victim, &strange, bytes, sizeof(bytes));
		hostile_knock(hostile, edge->victim, NULL, bytes, sizeof(bytes));
		/* A key that is let in elsewhere is none here. */
		hostile_knock(hostile, edge->victim, &hostile->ring->nodes[3].keys, bytes,
			      sizeof(bytes));
		scan(hostile->ring, edge->victim, "GET / HTTP/1.0\r\n\r\n", 18);
		scan(hostile->ring, edge->victim, bytes, sizeof(bytes));
	}
	check_unharmed(hostile, "strangers");
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "handshake"), before + 9);
	/* Once a minute. */
	unsigned lines = ring_log_count(hostile->ring, edge->victim, "refused a connection");

	ck_assert_uint_ge(lines, 1);
	ck_assert_uint_le(lines, 1 + (clock_now_ns() - from_ns) / (60 * 1000000000ull));
}

/* As much as it can for two seconds: the victim enforces, answers and trades on. */
static void flood(struct hostile *hostile)
{
	struct hostile_edge *edge = &hostile->edges[0];
	const struct ring *ring = hostile->ring;
	int64_t ticks = ring_number(ring, edge->victim, "ticks");
	uint64_t from_ns = clock_now_ns(), said = 0;
	uint8_t noise[400] = { 0 };

	while (clock_now_ns() - from_ns < 2000000000u) {
		hostile_say(edge, said % 2 == 0 ? edge->last : noise,
			    said % 2 == 0 ? sizeof(edge->last) : sizeof(noise));
		said++;
	}
	int64_t elapsed = ring_number(ring, edge->victim, "ticks") - ticks;
	printf("# %ju messages in 2 s, meanwhile %jd ticks of 20\n", (uintmax_t)said,
	       (intmax_t)elapsed);
	ck_assert_uint_gt(said, 1000);
	ck_assert_int_ge(elapsed, 10);
	/* Whoever else talks to the victim is not drowned. */
	ck_assert_int_eq(ring_up(ring, edge->victim), 2);
	check_unharmed(hostile, "a flood");
}

START_TEST(what_is_impossible_is_dropped_and_told)
{
	struct hostile *hostile;
	struct ring *ring;

	open_all(&ring, &hostile, NULL);
	unsigned victim = hostile->edges[0].victim;
	replay(hostile);
	say_garbage(hostile);
	knock_as_a_stranger(hostile);
	flood(hostile);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		json_int_t before =
		    lies[i].counted != NULL ? dropped(ring, victim, lies[i].counted) : 0;

		hostile_live(hostile, 5 * HOSTILE_TICK_MS, lies[i].fn);
		if (lies[i].counted != NULL)
			ck_assert_int_gt(dropped(ring, victim, lies[i].counted), before);
		/* Its own prices count again only once its numbers are the greatest. */
		if (lies[i].fn == change_incarnation)
			hostile->inc += 100;
		if (lies[i].fn == jump)
			hostile->inc++;
		check_unharmed(hostile, lies[i].what);
		check_terms(ring);
	}
	for (unsigned i = 1; i < RING_NODES; i++)
		ck_assert(ring_is(ring, i, "ok"));
	close_all(ring, hostile);
}
END_TEST

START_TEST(greed_takes_what_is_above_the_floors_and_no_more)
{
	struct hostile *hostile;
	struct ring *ring;

	open_all(&ring, &hostile, NULL);
	hostile->price = HOSTILE_GREEDY;
	uint64_t from_ns = clock_now_ns();
	while (honest_ucpu(ring) > 4 * RING_FLOOR_UCPU + 4) {
		hostile_live(hostile, HOSTILE_TICK_MS, NULL);
		ck_assert_uint_lt(clock_now_ns() - from_ns, RING_PATIENCE_NS);
	}
	printf("# everything above the floors in %.1f s\n",
	       (double)(clock_now_ns() - from_ns) / 1e9);
	hostile_live(hostile, 10 * HOSTILE_TICK_MS, NULL);
	ck_assert_int_eq(honest_ucpu(ring) + hostile_holdings(hostile), RING_BUDGET_UCPU);
	/* Nobody was robbed who would not take it back. */
	hostile->price = HOSTILE_CONTENT;
	hostile->edges[0].sent = hostile->edges[0].received;
	hostile->edges[1].sent = hostile->edges[1].received;
	check_unharmed(hostile, "what was taken is given back");
	ck_assert_int_eq(hostile_holdings(hostile), FAIR_UCPU);
	close_all(ring, hostile);
}
END_TEST

/* What a node was given over the edge to the hostile one, in net; either sign. */
static int64_t gained_ucpu(const struct ring *ring, unsigned node)
{
	return ring_net_ucpu(ring, node, ring->nodes[HOSTILE].id);
}

START_TEST(greed_takes_no_more_than_the_limits)
{
	const int64_t limit_ucpu = FAIR_UCPU / 4;
	struct hostile *hostile;
	struct ring *ring;

	open_all(&ring, &hostile, "limit = 15000ucpu");
	hostile->price = HOSTILE_GREEDY;
	hostile_live(hostile, 20 * HOSTILE_TICK_MS, NULL);
	ck_assert_int_eq(hostile_holdings(hostile), FAIR_UCPU + 2 * limit_ucpu);
	ck_assert_int_eq(honest_ucpu(ring), 4 * FAIR_UCPU - 2 * limit_ucpu);
	for (unsigned k = 0; k < 2; k++)
		ck_assert_int_eq(gained_ucpu(ring, hostile->edges[k].victim), -limit_ucpu);
	/* The rest is traded on among the others, and goes to who is busy. */
	ring_wait_share(ring, 2, 4 * FAIR_UCPU - 2 * limit_ucpu - 4 * RING_FLOOR_UCPU,
			RING_BUDGET_UCPU);
	close_all(ring, hostile);
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
	open_all(&ring, &hostile, "limit = 25000ucpu");
	hostile_live(hostile, 40 * HOSTILE_TICK_MS, forge);
	ck_assert_int_eq(honest_ucpu(ring), RING_BUDGET_UCPU - RING_FLOOR_UCPU);
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
	close_all(ring, hostile);
}
END_TEST

START_TEST(without_limits_credits_that_nobody_gave_are_believed)
{
	struct hostile *hostile;
	struct ring *ring;

	/* As the manual says; should this ever fail, so does the manual. */
	open_all(&ring, &hostile, NULL);
	hostile_live(hostile, 20 * HOSTILE_TICK_MS, forge);
	ck_assert_int_gt(honest_ucpu(ring), RING_BUDGET_UCPU);
	/* Nobody is asked who could tell, so nobody is told that all is well. */
	ck_assert_int_ne(ring_audit_status(ring, NULL), 0);
	(void)ring_observer_caught(ring);
	close_all(ring, hostile);
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

	open_all(&ring, &hostile, line);
	claims[0] = right;
	claims[1] = left;
	hostile_live(hostile, 5 * HOSTILE_TICK_MS, claim);
	check_stopped(ring, hostile->edges[0].victim, right_halt);
	check_stopped(ring, hostile->edges[1].victim, left_halt);
	/* Who has stopped keeps what it owns; the others go on. */
	ck_assert_int_eq(honest_ucpu(ring) + hostile_holdings(hostile), RING_BUDGET_UCPU);
	ck_assert(ring_is(ring, 2, "ok"));
	ck_assert(ring_is(ring, 3, "ok"));
	close_all(ring, hostile);
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

	stage_suite_add(suite, "impossible", TIMEOUT_S, what_is_impossible_is_dropped_and_told);
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
