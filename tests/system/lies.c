/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a hostile node says that is impossible is dropped and told: lies, repeats, garbage,
 * strangers and floods.
 */
#include "config.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/siege.h"
#include "tests/test.h"

#define TIMEOUT_S 240

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
	siege_check_unharmed(hostile, "the same credit fifty times");
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
	siege_check_unharmed(hostile, "garbage");
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "malformed"), before + 200);
	ck_assert_uint_eq(ring_log_count(hostile->ring, edge->victim, "n0: dropped a message"), 1);
	/* Longer than a message, and longer than what a connection survives. */
	hostile_say(edge, bytes, 600);
	hostile_live(hostile, 200, NULL);
	ck_assert_int_ge(dropped(hostile->ring, edge->victim, "oversize"), 1);
	hostile_say(edge, bytes, sizeof(bytes));
	hostile_live(hostile, 1000, NULL);
	siege_check_unharmed(hostile, "oversized messages");
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
	siege_check_unharmed(hostile, "strangers");
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
	siege_check_unharmed(hostile, "a flood");
}

START_TEST(what_is_impossible_is_dropped_and_told)
{
	struct hostile *hostile;
	struct ring *ring;

	siege_open(&ring, &hostile, NULL);
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
		siege_check_unharmed(hostile, lies[i].what);
		check_terms(ring);
	}
	for (unsigned i = 1; i < RING_NODES; i++)
		ck_assert(ring_is(ring, i, "ok"));
	siege_close(ring, hostile);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("lies");

	stage_suite_add(suite, "impossible", TIMEOUT_S, what_is_impossible_is_dropped_and_told);
	return suite;
}
