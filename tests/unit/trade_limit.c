/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Limits of edges, in a cluster of four, each a neighbour of all others: between
 * honest nodes they bind and nothing else happens; of one that lies no more than
 * their sum comes in or goes out, whatever it says.
 */
#include <string.h>

#include "lib/trade/trade.h"
#include "tests/test.h"

#define NODES	     4u
#define EDGES	     (NODES - 1)
#define LIAR	     0u
#define MEMORY_WORDS 1024u
#define TICK_NS	     200000000u
#define SHARE_UCPU   1000000
#define BUDGET_UCPU  (SHARE_UCPU * (int64_t)NODES)
#define FLOOR_UCPU   50000
#define LEASE_NS     (30 * (uint64_t)TICK_NS)

struct node {
	struct iso_trade_peer peers[EDGES];
	struct iso_trade_config config;
	int64_t limits[EDGES];
	uint64_t memory[MEMORY_WORDS];
	struct iso_trade *trade;
	struct iso_record disk;
	int64_t enforced_ucpu, demand_ucpu;
	uint64_t lied[EDGES]; /* of S */
};

static struct iso_quant quant;
static struct node nodes[NODES];
static uint64_t now_ns;

static uint32_t peer_of(uint32_t node, uint32_t edge)
{
	return (node + 1 + edge) % NODES;
}

static uint32_t edge_to(uint32_t node, uint32_t peer)
{
	return (peer + NODES - node - 1) % NODES;
}

static void start(uint32_t i, int64_t limit_ucpu)
{
	struct node *node = &nodes[i];

	memset(node, 0, sizeof(*node));
	for (uint32_t k = 0; k < EDGES; k++) {
		bool is_liars = i == LIAR || peer_of(i, k) == LIAR;

		node->peers[k] = (struct iso_trade_peer){ 1000 + peer_of(i, k), 1 };
		node->limits[k] = is_liars ? limit_ucpu : INT64_MAX;
	}
	node->config = (struct iso_trade_config){
		.cluster = 7,
		.node = 1000 + i,
		.budget_ucpu = BUDGET_UCPU,
		.floor_ucpu = FLOOR_UCPU,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .base_age_ns = 32 * (uint64_t)TICK_NS,
			   .fresh_age_ns = 50 * (uint64_t)TICK_NS },
		.lease = { .lease_ns = LEASE_NS,
			   .promise_ns = 2 * LEASE_NS,
			   .guard_ns = TICK_NS },
		.edges_max = EDGES,
		.peers = node->peers,
		.peer_count = EDGES,
		.limits_ucpu = node->limits,
	};
	ck_assert_ok(
	    iso_trade_init(node->memory, sizeof(node->memory), &node->config, &node->trade));
	ck_assert_ok(iso_trade_genesis(&node->config, 1, SHARE_UCPU, &node->disk));
	ck_assert_ok(iso_trade_open(node->trade, &node->disk));
	node->demand_ucpu = SHARE_UCPU;
}

static void set_up(int64_t limit_ucpu)
{
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	now_ns = 0;
	for (uint32_t i = 0; i < NODES; i++)
		start(i, limit_ucpu);
}

static void tick(struct node *node)
{
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = node->enforced_ucpu,
		.ceiling_ucpu = BUDGET_UCPU,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = node->demand_ucpu },
	};
	struct iso_trade_plan plan;

	ck_assert_ok(iso_trade_begin(node->trade, &input, &plan));
	if (plan.lower)
		ck_assert_ok(iso_trade_lowered(node->trade, plan.limit_ucpu));
	if (plan.record)
		iso_trade_record(node->trade, &node->disk);
	node->enforced_ucpu = iso_trade_commit(node->trade, node->disk.seq);
}

static struct iso_trade_edge edge_of(uint32_t i, uint32_t peer)
{
	struct iso_trade_edge edge;

	ck_assert_ok(iso_trade_edge(nodes[i].trade, edge_to(i, peer), &edge));
	return edge;
}

/* What else there is in a message: nothing of it may count. */
static void lie_about_the_rest(uint32_t edge, struct iso_edge_frame *frame, struct iso_rng *rng)
{
	static const double curvatures[] = { 0, 1e-300, 0x1p60 };

	frame->curvature = curvatures[iso_rng_below(rng, 3)];
	frame->head_ucpu = iso_rng_below(rng, 2) == 0 ? INT64_MAX : 0;
	frame->degree = (uint16_t)iso_rng_below(rng, UINT16_MAX);
	frame->budget_ucpu = iso_rng_below(rng, 2) == 0 ? ISO_UNITS_MAX : 1;
	/* Of the life that the other one has; of a later one, it would stop. */
	frame->echo_inc = nodes[peer_of(LIAR, edge)].disk.inc;
	frame->echo_seq = iso_rng_below(rng, 3) == 0 ? UINT32_MAX : 1 + iso_rng_below(rng, 999);
	if (iso_rng_below(rng, 4) == 0)
		frame->received = iso_rng_below(rng, frame->received + 1);
	if (iso_rng_below(rng, 100) == 0)
		frame->inc += 1;
	/* Late, since whoever believes it gives nothing over this edge any more. */
	if (now_ns > 300 * (uint64_t)TICK_NS && iso_rng_below(rng, 50) == 0)
		frame->flags |= ISO_EDGE_LEAVING | ISO_EDGE_FROZEN;
}

/* What the liar does to a message of its own. */
static void lie(uint32_t edge, struct iso_edge_frame *frame, struct iso_rng *rng)
{
	uint64_t *lied = &nodes[LIAR].lied[edge];

	if (iso_rng_below(rng, 2) == 0)
		*lied += iso_rng_below(rng, BUDGET_UCPU / 2);
	frame->sent += *lied;
	frame->symbol = (int16_t)(iso_rng_below(rng, 3) == 0 ? 300 : -300);
	frame->base_inc = 0;
	frame->base_seq = 0;
	lie_about_the_rest(edge, frame, rng);
}

/* Every message of a tick, some of them lost; rng NULL: all arrive, and nobody lies. */
static void deliver(struct iso_rng *rng)
{
	uint8_t bytes[ISO_EDGE_BYTES];
	struct iso_edge_frame frame;
	uint64_t peer;

	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < EDGES; k++) {
			struct node *to = &nodes[peer_of(i, k)];

			ck_assert_ok(iso_trade_message(nodes[i].trade, k, &peer, bytes));
			if (rng != NULL && iso_rng_below(rng, 4) == 0)
				continue;
			ck_assert_ok(iso_edge_decode(bytes, sizeof(bytes), &frame));
			if (rng != NULL && i == LIAR)
				lie(k, &frame, rng);
			/* Its own ledger does not hear of what it lied about. */
			if (frame.received > edge_of(peer_of(i, k), i).sent)
				frame.received = edge_of(peer_of(i, k), i).sent;
			if (frame.echo_inc > to->disk.inc) {
				frame.echo_inc = 0;
				frame.echo_seq = 0;
			}
			iso_edge_encode(&frame, bytes);
			ck_assert_ok(
			    iso_trade_receive(to->trade, now_ns, 1000 + i, bytes, sizeof(bytes)));
		}
}

static void round_of(struct iso_rng *rng)
{
	now_ns += TICK_NS;
	for (uint32_t i = 0; i < NODES; i++)
		tick(&nodes[i]);
	deliver(rng);
}

static int64_t share_of(uint32_t i)
{
	struct iso_trade_status status;

	iso_trade_status(nodes[i].trade, &status);
	ck_assert_int_eq(status.halt, ISO_HALT_NONE);
	ck_assert_int_ge(status.share_ucpu, FLOOR_UCPU);
	ck_assert_int_eq(status.budget_ucpu, BUDGET_UCPU);
	ck_assert_uint_le(status.lease_deadline_ns, now_ns + LEASE_NS);
	return status.share_ucpu;
}

/* What i has given to j and j has not credited yet. */
static int64_t between(uint32_t i, uint32_t j)
{
	return (int64_t)(edge_of(i, j).sent - edge_of(j, i).received);
}

static int64_t owned_by_others(void)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		if (i == LIAR)
			continue;
		sum += share_of(i);
		for (uint32_t k = 0; k < EDGES; k++)
			if (peer_of(i, k) != LIAR)
				sum += between(i, peer_of(i, k));
	}
	return sum;
}

START_TEST(an_honest_neighbour_is_given_no_more_than_its_limit)
{
	set_up(200000);
	nodes[LIAR].demand_ucpu = BUDGET_UCPU;
	for (unsigned n = 0; n < 300; n++)
		round_of(NULL);
	ck_assert_int_eq(share_of(LIAR), SHARE_UCPU + 3 * 200000);
	for (uint32_t i = 1; i < NODES; i++) {
		ck_assert_int_eq(edge_of(i, LIAR).reason, ISO_SHARE_LIMIT);
		ck_assert_int_eq(edge_of(i, LIAR).limit_ucpu, 200000);
		ck_assert(!edge_of(i, LIAR).withheld);
		ck_assert_int_eq(between(i, LIAR), 0);
	}
	/* Back over the same edges there is twice the way. */
	nodes[LIAR].demand_ucpu = 0;
	for (uint32_t i = 1; i < NODES; i++)
		nodes[i].demand_ucpu = BUDGET_UCPU;
	for (unsigned n = 0; n < 300; n++)
		round_of(NULL);
	ck_assert_int_eq(share_of(LIAR), SHARE_UCPU - 3 * 200000);
	ck_assert_int_eq(share_of(1) + share_of(2) + share_of(3), 3 * (SHARE_UCPU + 200000));
}
END_TEST

START_TEST(limits_bind_nobody_else)
{
	set_up(0);
	for (uint32_t i = 1; i < NODES; i++)
		nodes[i].demand_ucpu = i == 1 ? BUDGET_UCPU : 0;
	for (unsigned n = 0; n < 300; n++)
		round_of(NULL);
	ck_assert_int_eq(share_of(LIAR), SHARE_UCPU);
	ck_assert_int_gt(share_of(1), SHARE_UCPU * 5 / 2);
	ck_assert_int_eq(edge_of(1, 2).limit_ucpu, INT64_MAX);
}
END_TEST

START_TEST(where_two_limits_differ_nothing_stays_under_way)
{
	set_up(400000);
	/* The receiver lets in less: its head-room says so. */
	for (uint32_t i = 1; i < NODES; i++) {
		nodes[i].limits[edge_to(i, LIAR)] = 100000;
		nodes[i].demand_ucpu = BUDGET_UCPU;
	}
	nodes[LIAR].demand_ucpu = 0;
	for (unsigned n = 0; n < 300; n++) {
		round_of(NULL);
		for (uint32_t i = 1; i < NODES; i++)
			ck_assert(!edge_of(i, LIAR).withheld);
	}
	ck_assert_int_eq(share_of(LIAR), SHARE_UCPU - 3 * 100000);
	/* Lowered while it runs: nothing is taken back, and nothing more goes in. */
	for (uint32_t i = 1; i < NODES; i++)
		nodes[i].limits[edge_to(i, LIAR)] = 50000;
	for (unsigned n = 0; n < 50; n++)
		round_of(NULL);
	ck_assert_int_eq(share_of(LIAR), SHARE_UCPU - 3 * 100000);
}
END_TEST

static void lie_for_long(uint64_t seed)
{
	struct iso_rng rng = { seed };
	int64_t limit_ucpu = (int64_t)iso_rng_below(&rng, SHARE_UCPU / EDGES), most, least;
	bool was_withheld = false;

	set_up(limit_ucpu);
	most = BUDGET_UCPU - SHARE_UCPU + EDGES * limit_ucpu;
	least = BUDGET_UCPU - SHARE_UCPU - EDGES * limit_ucpu;
	for (unsigned n = 0; n < 400; n++) {
		for (uint32_t i = 0; i < NODES && n % 20 == 0; i++)
			nodes[i].demand_ucpu = (int64_t)iso_rng_below(&rng, BUDGET_UCPU);
		/* Only the honest ones: what the liar makes of its own ledger is its affair. */
		now_ns += TICK_NS;
		for (uint32_t i = 0; i < NODES; i++)
			tick(&nodes[i]);
		deliver(&rng);
		int64_t others_ucpu = owned_by_others();

		ck_assert_msg(others_ucpu >= least && others_ucpu <= most,
			      "seed %ju: the others own %jd ucpu, not %jd to %jd", (uintmax_t)seed,
			      (intmax_t)others_ucpu, (intmax_t)least, (intmax_t)most);
		for (uint32_t i = 1; i < NODES; i++)
			was_withheld = was_withheld || edge_of(i, LIAR).withheld;
	}
	ck_assert(was_withheld);
	/* Within the endowment of the liar, the others never exceed the budget. */
	ck_assert_int_le(most, BUDGET_UCPU);
}

START_TEST(a_liar_moves_no_more_than_the_limits)
{
	uint64_t base = test_seed_base();

	for (int n = 0; n < test_runs(100); n++)
		lie_for_long(base + (uint64_t)n);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade_limit");
	TCase *tcase = tcase_create("limit");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_honest_neighbour_is_given_no_more_than_its_limit);
	tcase_add_test(tcase, limits_bind_nobody_else);
	tcase_add_test(tcase, where_two_limits_differ_nothing_stays_under_way);
	tcase_add_test(tcase, a_liar_moves_no_more_than_the_limits);
	suite_add_tcase(suite, tcase);
	return suite;
}
