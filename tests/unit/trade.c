/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/trade/trade.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"

#define MEMORY_WORDS 8192u
#define TICK_NS	     200000000u

/* Two neighbours, 1001 and 1002, with 1 CPU each. */
struct side {
	struct iso_trade_peer peer;
	struct iso_trade_config config;
	struct iso_trade *trade;
	uint64_t memory[MEMORY_WORDS];
	struct iso_record disk;
	int64_t enforced_ucpu;
	int64_t ceiling_ucpu;
	int64_t demand_ucpu;
	bool hold, paused, release;
	uint64_t now_ns;
	uint8_t message[ISO_EDGE_BYTES];
};

static struct iso_quant quant;
static struct side left, right;

static struct iso_trade_config config_of(const struct iso_trade_peer *peer, uint64_t node)
{
	return (struct iso_trade_config){
		.cluster = 77,
		.node = node,
		.epoch = 3,
		.budget_ucpu = 2000000,
		.floor_ucpu = 100000,
		.share = { .mode = ISO_SHARE_DIFFERENCE,
			   .quant = &quant,
			   .gamma = 0.9,
			   .dead_band = 0.005,
			   .relay_allow = 0.01,
			   .stop_and_wait = true,
			   .base_age_ns = 32 * (uint64_t)TICK_NS,
			   .fresh_age_ns = 50 * (uint64_t)TICK_NS },
		.peers = peer,
		.peer_count = 1,
	};
}

static void start(struct side *side, uint64_t node, uint64_t peer, int64_t demand_ucpu)
{
	memset(side, 0, sizeof(*side));
	side->peer = (struct iso_trade_peer){ peer, 1 };
	side->config = config_of(&side->peer, node);
	side->ceiling_ucpu = 1800000;
	side->demand_ucpu = demand_ucpu;
	ck_assert_ok(
	    iso_trade_init(side->memory, sizeof(side->memory), &side->config, &side->trade));
	ck_assert_ok(iso_trade_genesis(&side->config, 1, 1000000, &side->disk));
	ck_assert_ok(iso_trade_open(side->trade, &side->disk));
}

static void set_up(void)
{
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	start(&left, 1001, 1002, 400000);
	start(&right, 1002, 1001, 1600000);
}

static struct iso_trade_plan begin(struct side *side)
{
	struct iso_trade_input input = {
		.now_ns = side->now_ns += TICK_NS,
		.enforced_ucpu = side->enforced_ucpu,
		.ceiling_ucpu = side->ceiling_ucpu,
		.cost = { .kind = ISO_COST_QUADRATIC,
			  .penalty = ISO_PENALTY_NONE,
			  .weight = 1,
			  .kappa = 1,
			  .demand_ucpu = side->demand_ucpu },
		.hold = side->hold,
		.paused = side->paused,
		.release = side->release,
	};
	struct iso_trade_plan plan;

	ck_assert_ok(iso_trade_begin(side->trade, &input, &plan));
	return plan;
}

static void finish(struct side *side, const struct iso_trade_plan *plan)
{
	uint64_t peer = 0;
	int64_t target;

	if (plan->lower) {
		side->enforced_ucpu = plan->limit_ucpu;
		ck_assert_ok(iso_trade_lowered(side->trade, side->enforced_ucpu));
	}
	if (plan->record)
		iso_trade_record(side->trade, &side->disk);
	target = iso_trade_commit(side->trade, side->disk.seq);
	ck_assert_int_eq(target, plan->target_ucpu);
	side->enforced_ucpu = target;
	if (iso_trade_message(side->trade, 0, &peer, side->message) == ISO_OK)
		ck_assert_uint_eq(peer, side->peer.node);
}

static struct iso_trade_plan tick(struct side *side)
{
	struct iso_trade_plan plan = begin(side);

	finish(side, &plan);
	return plan;
}

static enum iso_status hear(struct side *side, const uint8_t *bytes)
{
	return iso_trade_receive(side->trade, side->now_ns, side->peer.node, bytes, ISO_EDGE_BYTES);
}

/* Both tick, then each hears the other. */
static void exchange(void)
{
	tick(&left);
	tick(&right);
	ck_assert_ok(hear(&left, right.message));
	ck_assert_ok(hear(&right, left.message));
}

static struct iso_trade_status status_of(const struct side *side)
{
	struct iso_trade_status status;

	iso_trade_status(side->trade, &status);
	return status;
}

static struct iso_trade_edge edge_of(const struct side *side)
{
	struct iso_trade_edge edge;

	ck_assert_ok(iso_trade_edge(side->trade, 0, &edge));
	return edge;
}

static struct iso_edge_frame frame_of(const uint8_t *bytes)
{
	struct iso_edge_frame frame;

	ck_assert_ok(iso_edge_decode(bytes, ISO_EDGE_BYTES, &frame));
	return frame;
}

static void audit_proves(int64_t in_flight_ucpu)
{
	static struct iso_audit_node nodes[2];
	struct iso_audit_result result;

	iso_trade_snapshot(left.trade, left.enforced_ucpu, left.ceiling_ucpu, &nodes[0]);
	iso_trade_snapshot(right.trade, right.enforced_ucpu, right.ceiling_ucpu, &nodes[1]);
	iso_audit_run(nodes, 2, &(struct iso_audit_terms){ .budget_ucpu = 2000000 }, &result);
	ck_assert_msg(result.proven, "%s", iso_audit_text(result.finding[0].check));
	if (in_flight_ucpu >= 0)
		ck_assert_int_eq(result.in_flight_ucpu, in_flight_ucpu);
}

START_TEST(two_nodes_meet_at_equal_prices)
{
	set_up();
	for (int i = 0; i < 60; i++) {
		exchange();
		audit_proves(-1);
	}
	/* x - 0.4 = y - 1.6 and x + y = 2. */
	struct iso_trade_status a = status_of(&left), b = status_of(&right);

	ck_assert_double_eq_tol((double)a.share_ucpu, 400000, 2000);
	ck_assert_double_eq_tol((double)b.share_ucpu, 1600000, 2000);
	ck_assert_int_eq(a.share_ucpu + b.share_ucpu, 2000000);
	ck_assert_int_eq(a.unacked_ucpu, 0);
	ck_assert_int_eq(left.enforced_ucpu, a.share_ucpu);
	ck_assert_uint_eq(a.seq, 60);
	ck_assert_uint_eq(a.received, 60);
	/* At rest nothing is written. */
	struct iso_trade_plan plan = tick(&left);
	ck_assert(!plan.record);
	ck_assert(!plan.lower);
}
END_TEST

START_TEST(a_transfer_is_told_step_by_step)
{
	struct iso_trade_plan plan;

	set_up();
	/* Prices 0.6 and -0.6: the first symbols are absolute. */
	exchange();
	ck_assert_uint_eq(frame_of(left.message).base_seq, 0);
	ck_assert_uint_eq(frame_of(left.message).inc, 1);
	ck_assert_double_eq_tol(iso_price_real(status_of(&left).price_q32), 0.6, 1e-6);
	ck_assert_double_eq_tol(iso_price_real(edge_of(&left).heard.price.value_q32), -0.6, 0.08);
	/* The dearer side gives; its quota is lowered before anything else. */
	plan = begin(&left);
	ck_assert(plan.lower);
	ck_assert(plan.record);
	ck_assert_int_gt(plan.debited_ucpu, 300000);
	ck_assert_int_eq(plan.limit_ucpu, 1000000 - plan.debited_ucpu);
	ck_assert_int_eq(plan.share_ucpu, plan.limit_ucpu);
	ck_assert_int_eq(edge_of(&left).reason, ISO_SHARE_GAVE);
	ck_assert_int_eq(status_of(&left).gave.given_ucpu, plan.debited_ucpu);
	ck_assert_uint_eq(status_of(&left).gave_edge, 0);
	/* Until the commit the world sees the old state. */
	ck_assert_uint_eq(edge_of(&left).sent, 0);
	ck_assert_int_eq(status_of(&left).share_ucpu, 1000000);
	finish(&left, &plan);
	ck_assert_uint_eq(edge_of(&left).sent, (uint64_t)plan.debited_ucpu);
	ck_assert_int_eq(status_of(&left).unacked_ucpu, plan.debited_ucpu);
	ck_assert_uint_eq(frame_of(left.message).sent, (uint64_t)plan.debited_ucpu);
	/* This time the symbol is relative to what was heard. */
	ck_assert_uint_eq(frame_of(left.message).base_seq, 1);
	ck_assert_uint_eq(frame_of(left.message).echo_seq, 1);
	audit_proves(plan.debited_ucpu);
	/* The receiver credits at its next tick and raises only at the commit. */
	ck_assert_ok(hear(&right, left.message));
	ck_assert_int_eq(status_of(&right).arriving_ucpu, plan.debited_ucpu);
	struct iso_trade_plan credit = begin(&right);
	ck_assert_int_eq(credit.credited_ucpu, plan.debited_ucpu);
	ck_assert(!credit.lower);
	ck_assert_int_eq(credit.limit_ucpu, 1000000);
	ck_assert_int_eq(credit.target_ucpu, 1000000 + plan.debited_ucpu);
	ck_assert_int_eq(edge_of(&right).reason, ISO_SHARE_CHEAPER);
	finish(&right, &credit);
	ck_assert_int_eq(right.enforced_ucpu, 1000000 + plan.debited_ucpu);
	audit_proves(0);
	ck_assert_ok(hear(&left, right.message));
	ck_assert_int_eq(status_of(&left).unacked_ucpu, 0);
}
END_TEST

START_TEST(waits_until_its_transfer_is_acknowledged)
{
	set_up();
	exchange();
	tick(&left); /* gives; the message is lost */
	tick(&right);
	ck_assert_ok(hear(&left, right.message));
	struct iso_trade_plan plan = tick(&left);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(edge_of(&left).reason, ISO_SHARE_WAITING);
	/* The next heartbeat carries it all the same. */
	ck_assert_ok(hear(&right, left.message));
	ck_assert_int_gt(tick(&right).credited_ucpu, 0);
}
END_TEST

START_TEST(an_abort_gives_nothing_away)
{
	struct iso_trade_plan plan;

	set_up();
	exchange();
	plan = begin(&left);
	ck_assert_int_eq(iso_trade_lowered(left.trade, plan.limit_ucpu + 1), ISO_E_RANGE);
	iso_trade_abort(left.trade, &plan);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(plan.share_ucpu, 1000000);
	ck_assert(!plan.lower);
	ck_assert(!plan.record);
	ck_assert_int_eq(edge_of(&left).reason, ISO_SHARE_ABORTED);
	finish(&left, &plan);
	ck_assert_uint_eq(frame_of(left.message).sent, 0);
	ck_assert_double_le(edge_of(&left).remainder_ucpu, 1);
	/* And the next chance is taken. */
	tick(&right);
	ck_assert_ok(hear(&left, right.message));
	ck_assert_int_gt(tick(&left).debited_ucpu, 0);
}
END_TEST

START_TEST(a_held_node_receives_but_does_not_give)
{
	set_up();
	exchange();
	left.hold = true;
	struct iso_trade_plan plan = tick(&left);
	ck_assert_int_eq(plan.debited_ucpu, 0);
	ck_assert_int_eq(edge_of(&left).reason, ISO_SHARE_HELD);
	right.hold = true;
	left.hold = false;
	exchange();
	tick(&left);
	ck_assert_ok(hear(&right, left.message));
	ck_assert_int_gt(tick(&right).credited_ucpu, 0);
}
END_TEST

START_TEST(a_paused_node_keeps_its_share_whatever_the_others_have)
{
	set_up();
	exchange();
	left.paused = true;
	for (int i = 0; i < 5; i++)
		exchange();
	ck_assert_int_eq(status_of(&left).share_ucpu, 1000000);
	/* Nor does it take: now it is the one in need. */
	left.demand_ucpu = 1600000;
	right.demand_ucpu = 400000;
	for (int i = 0; i < 5; i++)
		exchange();
	ck_assert_int_eq(status_of(&left).share_ucpu, 1000000);
	ck_assert_int_eq(status_of(&right).share_ucpu, 1000000);
	audit_proves(0);
	left.paused = false;
	for (int i = 0; i < 60; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&left).share_ucpu, 1600000, 2000);
	audit_proves(-1);
}
END_TEST

/* What was given before the other side could know of it still arrives. */
START_TEST(a_paused_node_takes_in_what_is_under_way)
{
	set_up();
	exchange();
	struct iso_trade_plan plan = tick(&left);
	ck_assert_int_gt(plan.debited_ucpu, 0);
	right.paused = true;
	ck_assert_ok(hear(&right, left.message));
	ck_assert_int_eq(tick(&right).credited_ucpu, plan.debited_ucpu);
	ck_assert_int_eq(right.enforced_ucpu, 1000000 + plan.debited_ucpu);
	audit_proves(0);
}
END_TEST

START_TEST(nothing_is_heard_before_the_incarnation_is_durable)
{
	set_up();
	tick(&left);
	ck_assert_int_eq(hear(&right, left.message), ISO_E_UNKNOWN);
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_CLOSED], 1);
	tick(&right);
	ck_assert_ok(hear(&right, left.message));
}
END_TEST

/* Changes a genuine message, seals it again and expects it to be dropped for this reason. */
static void dropped(unsigned offset, uint64_t value, unsigned size, enum iso_status status,
		    enum iso_trade_drop drop)
{
	uint8_t bytes[ISO_EDGE_BYTES];
	struct iso_trade_edge before, after;
	uint64_t count = status_of(&right).drops[drop];

	before = edge_of(&right);
	memcpy(bytes, left.message, sizeof(bytes));
	iso_put_le(bytes + offset, value, size);
	iso_put_le(bytes + 144, iso_checksum(bytes, 144), 8);
	ck_assert_int_eq(hear(&right, bytes), status);
	ck_assert_uint_eq(status_of(&right).drops[drop], count + 1);
	after = edge_of(&right);
	if (status != ISO_OK)
		ck_assert_uint_eq(before.last_ns, after.last_ns);
	ck_assert_uint_eq(before.heard.at_ns, after.heard.at_ns);
}

START_TEST(every_drop_has_its_reason)
{
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	exchange();
	exchange();
	tick(&left);
	dropped(8, 78, 8, ISO_E_FOREIGN, ISO_DROP_CLUSTER);
	dropped(16, 4, 4, ISO_E_CONFIG, ISO_DROP_CONFIG);
	dropped(24, 4, 8, ISO_E_CONFIG, ISO_DROP_CONFIG);
	dropped(32, 1003, 8, ISO_E_FOREIGN, ISO_DROP_SENDER);
	dropped(40, 1003, 8, ISO_E_FOREIGN, ISO_DROP_ADDRESS);
	dropped(48, 2, 4, ISO_E_FOREIGN, ISO_DROP_GENERATION);
	dropped(52, 2, 4, ISO_E_FOREIGN, ISO_DROP_GENERATION);
	dropped(4, 1, 2, ISO_E_VERSION, ISO_DROP_VERSION);
	dropped(70, 1, 2, ISO_E_MALFORMED, ISO_DROP_FORM);
	/* The ledger's part is used, the price is not. */
	dropped(72, 1, 8, ISO_OK, ISO_DROP_STALE);
	dropped(104, 1000, 8, ISO_OK, ISO_DROP_REFERENCE);
	tick(&left);
	dropped(64, 9, 4, ISO_OK, ISO_DROP_REFERENCE);
	tick(&left);
	dropped(68, 30000, 2, ISO_OK, ISO_DROP_REFERENCE);
	ck_assert_int_eq(iso_trade_receive(right.trade, right.now_ns, 1001, left.message, 10),
			 ISO_E_SHORT);
	ck_assert_int_eq(iso_trade_receive(right.trade, right.now_ns, 1001, left.message, 153),
			 ISO_E_LONG);
	memcpy(bytes, left.message, sizeof(bytes));
	bytes[80] ^= 1;
	ck_assert_int_eq(hear(&right, bytes), ISO_E_CHECKSUM);
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_CHECKSUM], 1);
	/* Genuine, but not from whom the link says, or from no neighbour. */
	ck_assert_int_eq(
	    iso_trade_receive(right.trade, right.now_ns, 1009, left.message, ISO_EDGE_BYTES),
	    ISO_E_FOREIGN);
	ck_assert_ok(hear(&right, left.message));
	for (int a = 0; a < ISO_DROP_COUNT; a++)
		for (int b = 0; b < a; b++)
			ck_assert_str_ne(iso_trade_drop_text((enum iso_trade_drop)a),
					 iso_trade_drop_text((enum iso_trade_drop)b));
}
END_TEST

START_TEST(a_long_silence_heals_by_itself)
{
	set_up();
	exchange();
	exchange();
	/* A long partition: both send into the void. */
	for (int i = 0; i < 100; i++) {
		tick(&left);
		tick(&right);
	}
	/* The references have aged: absolute symbols again, which anyone can decode. */
	ck_assert_uint_eq(frame_of(left.message).base_seq, 0);
	ck_assert_ok(hear(&right, left.message));
	ck_assert_ok(hear(&left, right.message));
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_REFERENCE], 0);
	/* Each has heard that the other has let go of the old ones, and shows a new one. */
	exchange();
	exchange();
	ck_assert_uint_ne(frame_of(left.message).base_seq, 0);
}
END_TEST

START_TEST(what_is_named_is_kept_until_another_is)
{
	uint8_t named_2[ISO_EDGE_BYTES], named_1[ISO_EDGE_BYTES];

	set_up();
	exchange();
	exchange();
	memcpy(named_1, left.message, sizeof(named_1));
	ck_assert_uint_eq(frame_of(named_1).base_seq, 1);
	tick(&left); /* coded against right's message 2 */
	memcpy(named_2, left.message, sizeof(named_2));
	ck_assert_uint_eq(frame_of(named_2).base_seq, 2);
	/* However many of right's messages are lost meanwhile. */
	for (int n = 0; n < 200; n++)
		tick(&right);
	ck_assert_ok(hear(&right, named_2));
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_REFERENCE], 0);
	/* Message 1 can only be named by a forger now. */
	iso_put_le(named_1 + 72, 50, 8);
	iso_put_le(named_1 + 144, iso_checksum(named_1, 144), 8);
	ck_assert_ok(hear(&right, named_1));
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_REFERENCE], 1);
}
END_TEST

START_TEST(only_what_is_kept_may_become_a_reference)
{
	set_up();
	exchange();
	exchange();
	ck_assert_uint_eq(frame_of(right.message).flags, ISO_EDGE_REFERABLE);
	/* One is named, one was lost: there is no place for more until left is heard again. */
	tick(&right);
	tick(&right);
	ck_assert_uint_eq(frame_of(right.message).flags, 0);
	ck_assert_ok(hear(&left, right.message));
	tick(&left);
	ck_assert_uint_eq(frame_of(left.message).echo_seq, 4);
	ck_assert_uint_eq(frame_of(left.message).base_seq, 1);
	ck_assert_ok(hear(&right, left.message));
	tick(&right);
	ck_assert_uint_eq(frame_of(right.message).flags, ISO_EDGE_REFERABLE);
	ck_assert_ok(hear(&left, right.message));
	tick(&left);
	ck_assert_uint_eq(frame_of(left.message).base_seq, 5);
}
END_TEST

/* Its first message comes between our commit and our message. */
START_TEST(a_peer_that_started_again_is_told_an_absolute_price)
{
	uint64_t peer;

	set_up();
	exchange();
	exchange();
	iso_trade_close(right.trade);
	ck_assert_ok(iso_trade_open(right.trade, &right.disk));
	tick(&right);
	tick(&left);
	ck_assert_uint_ne(frame_of(left.message).base_seq, 0);
	ck_assert_ok(hear(&left, right.message));
	ck_assert_ok(iso_trade_message(left.trade, 0, &peer, left.message));
	ck_assert_uint_eq(frame_of(left.message).base_seq, 0);
	ck_assert_uint_eq(frame_of(left.message).echo_seq, 0);
	ck_assert_ok(hear(&right, left.message));
	ck_assert_uint_eq(status_of(&right).drops[ISO_DROP_REFERENCE], 0);
	ck_assert_double_eq_tol(iso_price_real(edge_of(&right).heard.price.value_q32),
				iso_price_real(status_of(&left).price_q32), 0.1);
}
END_TEST

START_TEST(a_message_is_decided_on_once)
{
	set_up();
	left.config.share.stop_and_wait = false;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	exchange();
	ck_assert_int_gt(tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(edge_of(&left).reason, ISO_SHARE_GAVE);
}
END_TEST

START_TEST(refers_to_what_it_could_decode_and_echoes_what_came)
{
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	exchange();
	exchange();
	tick(&right);
	tick(&left);
	memcpy(bytes, left.message, sizeof(bytes));
	iso_put_le(bytes + 104, 1000, 8); /* a base that nobody sent */
	iso_put_le(bytes + 144, iso_checksum(bytes, 144), 8);
	ck_assert_ok(hear(&right, bytes));
	tick(&right);
	ck_assert_uint_eq(frame_of(right.message).base_seq, 2);
	ck_assert_uint_eq(frame_of(right.message).echo_seq, 3);
}
END_TEST

START_TEST(other_prices_are_another_configuration)
{
	uint64_t digest;

	set_up();
	digest = status_of(&left).digest;
	ck_assert_uint_eq(status_of(&right).digest, digest);
	right.config.shared_digest = 5;
	ck_assert_ok(
	    iso_trade_init(right.memory, sizeof(right.memory), &right.config, &right.trade));
	ck_assert_uint_ne(status_of(&right).digest, digest);
	right.config.shared_digest = 0;
	right.config.share.mode = ISO_SHARE_LOG;
	ck_assert_ok(
	    iso_trade_init(right.memory, sizeof(right.memory), &right.config, &right.trade));
	ck_assert_uint_ne(status_of(&right).digest, digest);
	ck_assert_ok(iso_trade_open(right.trade, &right.disk));
	tick(&right);
	tick(&left);
	ck_assert_int_eq(hear(&right, left.message), ISO_E_CONFIG);
	ck_assert_int_eq(hear(&left, right.message), ISO_E_CONFIG);
}
END_TEST

START_TEST(a_restart_goes_on_where_the_disk_is)
{
	set_up();
	for (int i = 0; i < 3; i++)
		exchange();
	int64_t share = status_of(&left).share_ucpu;
	struct iso_trade_plan plan = begin(&left);
	ck_assert_int_ne(plan.debited_ucpu, 0);
	/* Killed after the decision, before the record. */
	iso_trade_close(left.trade);
	left.enforced_ucpu = plan.limit_ucpu;
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	ck_assert_int_eq(status_of(&left).share_ucpu, share);
	plan = tick(&left);
	ck_assert(plan.record);
	ck_assert_uint_eq(left.disk.inc, 2);
	ck_assert_int_eq(left.enforced_ucpu, share);
	ck_assert_uint_eq(frame_of(left.message).base_seq, 0);
	audit_proves(-1);
	/* The neighbour takes the newer incarnation and answers it absolutely at first. */
	ck_assert_ok(hear(&right, left.message));
	ck_assert_uint_eq(edge_of(&right).peer_inc, 2);
	for (int i = 0; i < 60; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&left).share_ucpu, 400000, 2000);
}
END_TEST

/* Left starts again from a journal, with so much in the kernel and a journal to be verified. */
static void start_again(const struct iso_record *journal, int64_t enforced_ucpu)
{
	uint64_t now_ns = left.now_ns;

	left.config.verify_ns = 10 * (uint64_t)TICK_NS;
	left.disk = *journal;
	left.enforced_ucpu = enforced_ucpu;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	left.now_ns = now_ns;
}

START_TEST(a_start_enforces_no_more_than_before_until_it_is_verified)
{
	struct iso_record disk;

	set_up();
	for (int i = 0; i < 3; i++)
		exchange();
	disk = left.disk;
	int64_t share = status_of(&left).share_ucpu;

	/* A guard has lowered the limit meanwhile. */
	start_again(&disk, 300000);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, 300000);
	ck_assert(!status_of(&left).verified);
	/* What the neighbour sent before it heard of the start says nothing; nothing is given. */
	tick(&right);
	ck_assert_ok(hear(&left, right.message));
	ck_assert_int_eq(tick(&left).debited_ucpu, 0);
	ck_assert_int_eq(left.enforced_ucpu, 300000);
	/* One that the neighbour has sent after it heard of the start does. */
	ck_assert_ok(hear(&right, left.message));
	tick(&right);
	ck_assert_ok(hear(&left, right.message));
	ck_assert(status_of(&left).verified);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, status_of(&left).share_ucpu);

	/* Nobody answers: for so long, and no longer. */
	start_again(&disk, 300000);
	for (int i = 0; i < 10; i++) {
		tick(&left);
		ck_assert_int_eq(left.enforced_ucpu, 300000);
	}
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, share);

	/* No limit at all, or less than the floor, was nobody's share. */
	start_again(&disk, INT64_MAX);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
	start_again(&disk, left.config.floor_ucpu / 2);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
}
END_TEST

START_TEST(an_old_journal_that_owned_more_is_never_enforced)
{
	struct iso_record old;

	set_up();
	exchange();
	old = left.disk;
	for (int i = 0; i < 60; i++)
		exchange();
	int64_t share = status_of(&left).share_ucpu;

	ck_assert_int_lt(share, iso_record_holdings(&old));
	start_again(&old, share);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, share);
	tick(&right);
	ck_assert_int_eq(hear(&left, right.message), ISO_E_HALTED);
	ck_assert_int_eq(status_of(&left).halt, ISO_HALT_AMNESIA);
	tick(&left);
	ck_assert_int_eq(left.enforced_ucpu, left.config.floor_ucpu);
}
END_TEST

START_TEST(edges_that_left_the_configuration_lie_dormant)
{
	uint64_t peer;
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	for (int i = 0; i < 5; i++)
		exchange();
	int64_t share = status_of(&left).share_ucpu;
	left.peer.node = 1005;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	ck_assert_uint_eq(iso_trade_edges(left.trade), 2);
	ck_assert_int_eq(status_of(&left).share_ucpu, share);
	tick(&left);
	ck_assert(edge_of(&left).dormant);
	ck_assert_int_eq(iso_trade_message(left.trade, 0, &peer, bytes), ISO_E_UNKNOWN);
	ck_assert_ok(iso_trade_message(left.trade, 1, &peer, bytes));
	ck_assert_uint_eq(peer, 1005);
	ck_assert_int_eq(iso_trade_message(left.trade, 2, &peer, bytes), ISO_E_UNKNOWN);
	ck_assert_int_eq(
	    iso_trade_receive(left.trade, left.now_ns, 1002, right.message, ISO_EDGE_BYTES),
	    ISO_E_UNKNOWN);
	/* It was never deleted, so it can come back. */
	left.peer.node = 1002;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &left.config, &left.trade));
	ck_assert_ok(iso_trade_open(left.trade, &left.disk));
	tick(&left);
	ck_assert(!edge_of(&left).dormant);
	audit_proves(-1);
}
END_TEST

START_TEST(an_old_journal_stops_the_node)
{
	struct iso_record old;
	uint64_t peer;
	uint8_t bytes[ISO_EDGE_BYTES];

	set_up();
	exchange();
	old = left.disk;
	for (int i = 0; i < 5; i++)
		exchange();
	iso_trade_close(left.trade);
	ck_assert_ok(iso_trade_open(left.trade, &old));
	left.disk = old;
	tick(&left);
	ck_assert_int_eq(hear(&left, right.message), ISO_E_HALTED);
	ck_assert_int_eq(status_of(&left).halt, ISO_HALT_AMNESIA);
	ck_assert_uint_eq(status_of(&left).drops[ISO_DROP_HALTED], 1);
	ck_assert_int_eq(iso_trade_message(left.trade, 0, &peer, bytes), ISO_E_HALTED);
	struct iso_trade_plan plan = tick(&left);
	ck_assert(plan.record);
	ck_assert_int_eq(left.enforced_ucpu, 100000);
	ck_assert_int_eq(left.disk.halt, ISO_HALT_AMNESIA);
}
END_TEST

START_TEST(a_ceiling_may_fall_and_rise)
{
	set_up();
	tick(&right);
	right.ceiling_ucpu = 300000;
	struct iso_trade_plan plan = tick(&right);
	ck_assert(plan.lower);
	ck_assert_int_eq(right.enforced_ucpu, 300000);
	ck_assert_int_eq(status_of(&right).share_ucpu, 1000000);
	/* What it cannot use it does not ask for, and gives away. */
	ck_assert_int_eq(frame_of(right.message).head_ucpu, 0);
	for (int i = 0; i < 60; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&right).share_ucpu, 300000, 15000);
	right.ceiling_ucpu = 1800000;
	for (int i = 0; i < 60; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&right).share_ucpu, 1600000, 5000);
	audit_proves(0);
}
END_TEST

START_TEST(what_is_released_goes_to_those_who_have_a_use_for_it)
{
	set_up();
	tick(&right);
	right.release = true;
	struct iso_trade_plan plan = tick(&right);
	/* Nothing is taken from it: it stays enforced until somebody wants it. */
	ck_assert(!plan.lower);
	ck_assert_int_eq(right.enforced_ucpu, 1000000);
	ck_assert_int_eq(frame_of(right.message).head_ucpu, 0);
	left.ceiling_ucpu = 1500000;
	for (int i = 0; i < 100; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&left).share_ucpu, 1500000, 16000);
	left.ceiling_ucpu = 1900000;
	for (int i = 0; i < 100; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&right).share_ucpu, 100000, 5000);

	/* Where nobody runs at all nothing moves. */
	left.release = true;
	for (int i = 0; i < 100; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&right).share_ucpu, 100000, 5000);

	left.release = right.release = false;
	for (int i = 0; i < 60; i++)
		exchange();
	ck_assert_double_eq_tol((double)status_of(&right).share_ucpu, 1600000, 5000);
	audit_proves(0);
}
END_TEST

START_TEST(impossible_inputs_change_nothing)
{
	struct iso_trade_input input = { .now_ns = TICK_NS,
					 .enforced_ucpu = 0,
					 .ceiling_ucpu = 1,
					 .cost = { .kind = ISO_COST_QUADRATIC,
						   .penalty = ISO_PENALTY_NONE,
						   .weight = 1,
						   .kappa = 1 } };
	struct iso_trade_plan plan = { .share_ucpu = 99 };
	struct iso_trade_edge edge = { .peer = 99 };
	struct iso_trade_input bad;

	set_up();
	bad = input;
	bad.ceiling_ucpu = 0;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	bad = input;
	bad.enforced_ucpu = -1;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	bad = input;
	bad.cost.weight = NAN;
	ck_assert_int_eq(iso_trade_begin(left.trade, &bad, &plan), ISO_E_RANGE);
	ck_assert_int_eq(plan.share_ucpu, 99);
	ck_assert_int_eq(iso_trade_edge(left.trade, 1, &edge), ISO_E_UNKNOWN);
	ck_assert_uint_eq(edge.peer, 99);
	ck_assert_ok(iso_trade_begin(left.trade, &input, &plan));
	ck_assert_int_eq(plan.target_ucpu, 1);
}
END_TEST

START_TEST(a_node_of_64_edges_fits_in_8_KiB)
{
	struct iso_trade_config config = config_of(NULL, 1001);

	set_up();
	config.peer_count = 0;
	config.edges_max = ISO_DEGREE_MAX;
	ck_assert_uint_gt(iso_trade_size(&config), 0);
	ck_assert_uint_le(iso_trade_size(&config), 8192);
}
END_TEST

START_TEST(impossible_configurations_are_refused)
{
	struct iso_trade_peer peers[2] = { { 1002, 1 }, { 1003, 1 } };
	struct iso_trade *untouched = (struct iso_trade *)left.memory, *trade = untouched;
	struct iso_trade_config good, bad;
	struct iso_record record;

	set_up();
	good = config_of(peers, 1001);
	good.peer_count = 2;
#define refused(status, change)                                                                    \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		ck_assert_int_eq(iso_trade_init(left.memory, sizeof(left.memory), &bad, &trade),   \
				 status);                                                          \
		ck_assert_ptr_eq(trade, untouched);                                                \
	} while (0)
	refused(ISO_E_RANGE, bad.share.gamma = 2);
	refused(ISO_E_RANGE, bad.node = 1003);
	refused(ISO_E_RANGE, bad.edges_max = 65);
	refused(ISO_E_RANGE, bad.budget_ucpu = 0);
	refused(ISO_E_FULL, bad.edges_max = 1);
#undef refused
	peers[1].node = 1002;
	ck_assert_int_eq(iso_trade_init(left.memory, sizeof(left.memory), &good, &trade),
			 ISO_E_RANGE);
	ck_assert_uint_eq(iso_trade_size(&good), 0);
	peers[1] = (struct iso_trade_peer){ 1003, 0 };
	ck_assert_uint_eq(iso_trade_size(&good), 0);
	peers[1].gen = 1;
	ck_assert_int_eq(iso_trade_init(left.memory, iso_trade_size(&good) - 1, &good, &trade),
			 ISO_E_SHORT);
	ck_assert_int_eq(iso_trade_genesis(&good, 1, 5, &record), ISO_E_RANGE);
	/* More edges in the journal than there is room for. */
	good.edges_max = 2;
	ck_assert_ok(iso_trade_init(left.memory, sizeof(left.memory), &good, &trade));
	ck_assert_ok(iso_trade_genesis(&good, 1, 1000000, &record));
	record.edge_count = 1;
	record.edges[0] = (struct iso_record_edge){ .peer = 1009, .peer_gen = 1 };
	ck_assert_int_eq(iso_trade_open(trade, &record), ISO_E_FULL);
	record.edge_count = 0;
	record.node = 5;
	ck_assert_int_eq(iso_trade_open(trade, &record), ISO_E_FOREIGN);
	record.node = 1001;
	ck_assert_ok(iso_trade_open(trade, &record));
}
END_TEST

START_TEST(dies_when_a_message_is_taken_before_the_commit)
{
	uint64_t peer;

	set_up();
	begin(&left);
	(void)!iso_trade_message(left.trade, 0, &peer, left.message);
}
END_TEST

START_TEST(dies_when_the_commit_comes_before_lowering)
{
	set_up();
	exchange();
	begin(&left);
	iso_trade_commit(left.trade, left.disk.seq);
}
END_TEST

START_TEST(dies_when_the_record_was_not_made_durable)
{
	struct iso_record record;

	set_up();
	begin(&left);
	iso_trade_record(left.trade, &record);
	iso_trade_commit(left.trade, left.disk.seq);
}
END_TEST

START_TEST(dies_when_time_goes_back)
{
	set_up();
	tick(&left);
	left.now_ns -= 2 * (uint64_t)TICK_NS;
	begin(&left);
}
END_TEST

START_TEST(dies_when_used_after_the_journal_failed)
{
	set_up();
	tick(&left);
	iso_trade_close(left.trade);
	begin(&left);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade");
	TCase *tcase = tcase_create("tick");

	tcase_add_test(tcase, two_nodes_meet_at_equal_prices);
	tcase_add_test(tcase, a_transfer_is_told_step_by_step);
	tcase_add_test(tcase, waits_until_its_transfer_is_acknowledged);
	tcase_add_test(tcase, an_abort_gives_nothing_away);
	tcase_add_test(tcase, a_held_node_receives_but_does_not_give);
	tcase_add_test(tcase, a_paused_node_keeps_its_share_whatever_the_others_have);
	tcase_add_test(tcase, a_paused_node_takes_in_what_is_under_way);
	tcase_add_test(tcase, nothing_is_heard_before_the_incarnation_is_durable);
	tcase_add_test(tcase, every_drop_has_its_reason);
	tcase_add_test(tcase, a_long_silence_heals_by_itself);
	tcase_add_test(tcase, what_is_named_is_kept_until_another_is);
	tcase_add_test(tcase, only_what_is_kept_may_become_a_reference);
	tcase_add_test(tcase, a_peer_that_started_again_is_told_an_absolute_price);
	tcase_add_test(tcase, a_message_is_decided_on_once);
	tcase_add_test(tcase, refers_to_what_it_could_decode_and_echoes_what_came);
	tcase_add_test(tcase, other_prices_are_another_configuration);
	tcase_add_test(tcase, a_restart_goes_on_where_the_disk_is);
	tcase_add_test(tcase, a_start_enforces_no_more_than_before_until_it_is_verified);
	tcase_add_test(tcase, an_old_journal_that_owned_more_is_never_enforced);
	tcase_add_test(tcase, edges_that_left_the_configuration_lie_dormant);
	tcase_add_test(tcase, an_old_journal_stops_the_node);
	tcase_add_test(tcase, a_ceiling_may_fall_and_rise);
	tcase_add_test(tcase, what_is_released_goes_to_those_who_have_a_use_for_it);
	tcase_add_test(tcase, impossible_inputs_change_nothing);
	tcase_add_test(tcase, a_node_of_64_edges_fits_in_8_KiB);
	tcase_add_test(tcase, impossible_configurations_are_refused);
	tcase_add_test_raise_signal(tcase, dies_when_a_message_is_taken_before_the_commit, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_the_commit_comes_before_lowering, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_the_record_was_not_made_durable, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_time_goes_back, SIGABRT);
	tcase_add_test_raise_signal(tcase, dies_when_used_after_the_journal_failed, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
