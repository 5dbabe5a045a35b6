/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leases, burial, and the lives after it, as one node after the other sees them. */
#include "config.h"

#include <string.h>

#include "tests/test.h"
#include "tests/unit/trade_trio.h"

START_TEST(more_than_the_floor_needs_a_lease)
{
	trio_set_up_leased();
	now_ns += TRIO_TICK_NS;
	trio_tick(0, NULL);
	/* Nobody has answered yet. */
	ck_assert(!trio_status(0).lease_valid);
	ck_assert_int_eq(members[0].enforced_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_uint_eq(iso_trade_lease_deadline(members[0].trade), 0);
	uint64_t sent_ns = now_ns;
	trio_tick(1, NULL);
	ck_assert_ok(trio_hear(1, 0));
	now_ns += 2 * S;
	trio_tick(1, NULL);
	ck_assert_ok(trio_hear(0, 1));
	/* It counts from when the question was sent. */
	uint64_t deadline_ns = iso_trade_lease_deadline(members[0].trade);
	ck_assert_uint_le(deadline_ns, sent_ns + 5 * S);
	ck_assert_uint_gt(deadline_ns, sent_ns + 5 * S - TRIO_COARSE_NS);
	ck_assert(trio_status(0).lease_valid);
	trio_tick(0, NULL);
	int64_t share = trio_status(0).share_ucpu;
	ck_assert_int_ge(share, TRIO_SHARE_UCPU / 2);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	now_ns = deadline_ns - S / 5 - 1;
	trio_tick(0, NULL);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	now_ns++;
	ck_assert(trio_tick(0, NULL).lower);
	ck_assert_int_eq(members[0].enforced_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_int_eq(trio_status(0).share_ucpu, share);
	/* Another start does not know what it sent, but whoever kept the deadline does. */
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	iso_trade_lease_resume(members[0].trade, now_ns + 2 * S);
	trio_tick(0, NULL);
	ck_assert_int_eq(members[0].enforced_ucpu, share);
	/* An answer to the start before is none. */
	ck_assert_ok(trio_hear(0, 1));
	ck_assert_uint_eq(iso_trade_lease_deadline(members[0].trade), now_ns + 2 * S);
}
END_TEST

static const struct iso_op bury_third = {
	.id = 9, .kind = ISO_OP_CLOSE, .gen = 1, .peer = 1003, .peer_gen = 1
};

START_TEST(an_edge_is_closed_when_its_promise_has_passed)
{
	trio_set_up_leased();
	trio_rounds(5);
	now_ns += TRIO_TICK_NS;
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert(trio_edge(0, 2).closing);
	uint64_t close_ns = trio_edge(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	ck_assert_uint_le(close_ns, asked_ns + 6 * S + TRIO_COARSE_NS);
	/* From then on it answers no more, and hears nothing that it would have to answer. */
	ck_assert(!members[0].has_said[2]);
	trio_tick(2, NULL);
	ck_assert_int_eq(trio_hear(0, 2), ISO_E_UNKNOWN);
	now_ns = close_ns - 1;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert_uint_eq(trio_edge(0, 2).close_at_ns, close_ns);
	ck_assert_uint_eq(members[0].disk.edges[1].flags, 0);
	now_ns++;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_OK);
	ck_assert_uint_eq(members[0].disk.edges[1].flags, ISO_EDGE_STATE_CLOSED);
	ck_assert_uint_eq(iso_trade_close_at_ns(members[0].trade, 1), UINT64_MAX);
	ck_assert_uint_eq(iso_trade_close_at_ns(members[0].trade, 7), UINT64_MAX);
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_STALE);
}
END_TEST

START_TEST(the_promise_counts_from_the_request_on)
{
	trio_set_up_leased();
	trio_rounds(5);
	/* Silent for long: but another neighbour may have heard it, and be gone since. */
	for (int i = 0; i < 100; i++) {
		now_ns += TRIO_TICK_NS;
		trio_tick(0, NULL);
	}
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	uint64_t close_ns = trio_edge(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	now_ns = close_ns - 1;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	now_ns++;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_OK);
}
END_TEST

START_TEST(a_start_forgets_the_burial_but_not_the_promise)
{
	trio_set_up_leased();
	trio_rounds(5);
	now_ns += TRIO_TICK_NS;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	now_ns += 5 * S;
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	trio_tick(0, NULL);
	ck_assert(!trio_edge(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	now_ns += 3 * S;
	uint64_t asked_ns = now_ns;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_E_BUSY);
	uint64_t close_ns = trio_edge(0, 2).close_at_ns;
	ck_assert_uint_ge(close_ns, asked_ns + 6 * S);
	ck_assert_uint_le(close_ns, asked_ns + 6 * S + TRIO_COARSE_NS);
	now_ns = close_ns;
	ck_assert_int_eq(trio_tick(0, &bury_third).op_status, ISO_OK);
}
END_TEST

START_TEST(a_burial_can_be_given_up_until_it_is_done)
{
	struct iso_op op = { .id = 10, .kind = ISO_OP_VOID, .gen = 1 };

	trio_set_up_leased();
	trio_rounds(5);
	ck_assert_int_eq(trio_apply(0, &bury_third).op_status, ISO_E_BUSY);
	ck_assert_int_eq(trio_apply(0, &op).op_status, ISO_OK);
	ck_assert(!trio_edge(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	/* The one that was given up comes late. */
	ck_assert_int_eq(trio_apply(0, &bury_third).op_status, ISO_E_STALE);
	ck_assert(!trio_edge(0, 2).closing);
	trio_rounds(2);
	ck_assert(trio_status(2).lease_valid);
}
END_TEST

START_TEST(without_leases_a_burial_needs_a_word)
{
	struct iso_op op = bury_third;

	trio_set_up();
	trio_rounds(5);
	ck_assert_int_eq(trio_apply(0, &bury_third).op_status, ISO_E_RANGE);
	ck_assert(!trio_edge(0, 2).closing);
	ck_assert(members[0].has_said[2]);
	op.on = true;
	ck_assert_int_eq(trio_apply(0, &op).op_status, ISO_OK);
	ck_assert_uint_eq(trio_edge(0, 2).flags, ISO_EDGE_STATE_CLOSED);
}
END_TEST

START_TEST(who_was_buried_is_told)
{
	struct iso_op op = bury_third;

	trio_set_up();
	trio_rounds(5);
	op.on = true;
	cut[2][0] = true;
	ck_assert_int_eq(trio_apply(0, &op).op_status, ISO_OK);
	/* It has heard nothing of that and goes on. */
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_NONE);
	ck_assert(!members[0].has_said[2]);
	trio_rounds(3);
	ck_assert(!members[0].has_said[2]);
	cut[2][0] = false;
	trio_rounds(2);
	ck_assert_uint_eq(trio_said(0, 2).flags, ISO_EDGE_TOMBSTONE);
	ck_assert_uint_eq(trio_said(0, 2).destination_gen, 1);
	ck_assert_uint_eq(trio_said(0, 2).sent, 0);
	trio_rounds(2);
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_BURIED);
	ck_assert_int_eq(members[2].disk.halt, ISO_HALT_BURIED);
	ck_assert_int_le(members[2].enforced_ucpu, TRIO_FLOOR_UCPU);
	ck_assert(!members[2].has_said[1]);
	/* It falls silent, and so do those who told it. */
	trio_rounds(2);
	ck_assert(!members[0].has_said[2]);
	/* A start changes nothing. */
	iso_trade_close(members[2].trade);
	ck_assert_ok(iso_trade_open(members[2].trade, &members[2].disk));
	trio_rounds(2);
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_BURIED);
}
END_TEST

START_TEST(a_tombstone_of_another_life_does_nothing)
{
	struct iso_edge_frame frame;

	trio_set_up();
	trio_rounds(3);
	frame = trio_said(0, 2);
	frame.flags = ISO_EDGE_TOMBSTONE;
	frame.destination_gen = 2;
	ck_assert_int_eq(trio_hear_forged(2, 1001, &frame), ISO_E_FOREIGN);
	/* And only a neighbour is believed, by its key. */
	frame.destination_gen = 1;
	ck_assert_int_eq(trio_hear_forged(2, 1002, &frame), ISO_E_FOREIGN);
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_NONE);
	/* Whatever life of its own the neighbour is in. */
	frame.source_gen = 4;
	ck_assert_int_eq(trio_hear_forged(2, 1001, &frame), ISO_E_HALTED);
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_BURIED);
}
END_TEST

/* Buries the third, which is off, by a word; its estate but for the floor goes to the first. */
static void bury_and_fold(void)
{
	struct iso_op op = bury_third;

	members[2].is_off = true;
	op.on = true;
	ck_assert_ok(trio_apply(0, &op).op_status);
	ck_assert_ok(trio_apply(1, &op).op_status);
	trio_fold(0, 2, 10);
	trio_fold(1, 2, 10);
	int64_t kept = members[0].disk.endowment_ucpu + members[1].disk.endowment_ucpu;
	op = (struct iso_op){ .id = 11,
			      .kind = ISO_OP_MINT,
			      .gen = 1,
			      .amount_ucpu = TRIO_BUDGET_UCPU - TRIO_FLOOR_UCPU - kept };
	ck_assert_ok(trio_apply(0, &op).op_status);
}

/* A new life of the third, with its floor as endowment and two new edges. */
static void readmit(void)
{
	const struct iso_ledger_peer peers[] = { { 1001, 1 }, { 1002, 1 } };
	struct iso_ledger_admission admission = { .id = 12,
						  .gen = 2,
						  .endowment_ucpu = TRIO_FLOOR_UCPU,
						  .budget_ucpu = TRIO_BUDGET_UCPU,
						  .peers = peers,
						  .peer_count = 2 };
	struct iso_op op = {
		.id = 13, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1003, .peer_gen = 2
	};
	struct member *third = &members[2];
	struct iso_record record;

	ck_assert_int_eq(iso_trade_admit(&third->config, &third->disk, &admission, &record),
			 ISO_E_BUSY);
	third->disk.halt = ISO_HALT_BURIED;
	ck_assert_ok(iso_trade_admit(&third->config, &third->disk, &admission, &record));
	third->disk = record;
	third->enforced_ucpu = 0;
	ck_assert_ok(iso_trade_init(third->memory, sizeof(third->memory), &third->config,
				    &third->trade));
	ck_assert_ok(iso_trade_open(third->trade, &record));
	third->is_off = false;
	ck_assert_ok(trio_apply(0, &op).op_status);
	ck_assert_ok(trio_apply(1, &op).op_status);
}

START_TEST(a_later_life_begins_at_zero)
{
	uint8_t old[ISO_EDGE_BYTES];

	trio_set_up();
	members[2].demand_ucpu = 0;
	trio_rounds(30);
	ck_assert_uint_gt(trio_edge(0, 2).received, 0);
	memcpy(old, members[2].said[0], sizeof(old));
	bury_and_fold();
	ck_assert(trio_edge(0, 2).dormant);
	readmit();
	ck_assert_uint_eq(trio_edge(0, 2).peer_gen, 2);
	ck_assert_uint_eq(trio_edge(0, 2).received, 0);
	trio_rounds(5);
	/* What the first life sent long ago is credited to nobody. */
	ck_assert_int_eq(iso_trade_receive(members[0].trade, now_ns, 1003, old, sizeof(old)),
			 ISO_E_FOREIGN);
	members[2].demand_ucpu = 1000000;
	trio_rounds(60);
	trio_check_sum(TRIO_BUDGET_UCPU);
	for (uint32_t i = 0; i < TRIO_NODES; i++)
		ck_assert_double_eq_tol((double)trio_status(i).share_ucpu, 1000000, 20000);
}
END_TEST

START_TEST(an_old_life_is_told_beside_the_new_one)
{
	uint8_t old[ISO_EDGE_BYTES];
	unsigned tombstones = 0, ordinary = 0;

	trio_set_up();
	trio_rounds(5);
	memcpy(old, members[2].said[0], sizeof(old));
	bury_and_fold();
	readmit();
	trio_rounds(3);
	/* Somebody runs a copy of the machine: it is told, but every other time at most. */
	for (int i = 0; i < 10; i++) {
		(void)!iso_trade_receive(members[0].trade, now_ns, 1003, old, sizeof(old));
		trio_rounds(1);
		struct iso_edge_frame frame = trio_said(0, 2);
		tombstones += frame.flags == ISO_EDGE_TOMBSTONE && frame.destination_gen == 1;
		ordinary += frame.flags == 0 && frame.destination_gen == 2;
	}
	ck_assert_uint_eq(tombstones, 5);
	ck_assert_uint_eq(ordinary, 5);
	ck_assert_int_eq(trio_status(2).halt, ISO_HALT_NONE);
	ck_assert_uint_eq(trio_status(2).drops[ISO_DROP_GENERATION], 5);
}
END_TEST

START_TEST(a_tombstone_among_the_peers_stays_one)
{
	trio_set_up();
	trio_rounds(5);
	bury_and_fold();
	iso_trade_close(members[0].trade);
	ck_assert_ok(iso_trade_open(members[0].trade, &members[0].disk));
	trio_rounds(2);
	ck_assert(trio_edge(0, 2).dormant);
	ck_assert(!members[0].has_said[2]);
	ck_assert_int_eq(trio_status(0).halt, ISO_HALT_NONE);
}
END_TEST

START_TEST(a_node_waits_for_its_admission)
{
	struct member *third = &members[2];
	const struct iso_ledger_peer peers[] = { { 1001, 1 } };
	struct iso_ledger_admission admission = { .id = 12,
						  .gen = 1,
						  .endowment_ucpu = 400000,
						  .budget_ucpu = TRIO_BUDGET_UCPU,
						  .peers = peers,
						  .peer_count = 1 };
	struct iso_record record;

	trio_set_up();
	iso_trade_close(third->trade);
	ck_assert_ok(iso_trade_genesis(&third->config, 0, 0, &third->disk));
	ck_assert_ok(iso_trade_open(third->trade, &third->disk));
	trio_rounds(3);
	ck_assert_uint_eq(iso_trade_edges(third->trade), 0);
	ck_assert_int_eq(third->enforced_ucpu, 0);
	ck_assert(!third->has_said[0]);
	ck_assert_int_eq(trio_apply(2, &bury_third).op_status, ISO_E_FOREIGN);
	ck_assert_ok(iso_trade_admit(&third->config, &third->disk, &admission, &record));
	iso_trade_close(third->trade);
	third->disk = record;
	ck_assert_ok(iso_trade_open(third->trade, &record));
	trio_rounds(5);
	ck_assert_uint_eq(trio_status(2).gen, 1);
	/* One neighbour by admission; the configuration makes no other one any more. */
	ck_assert_uint_eq(iso_trade_edges(third->trade), 1);
	ck_assert_uint_gt(trio_edge(2, 0).received + trio_edge(2, 0).sent, 0);
	ck_assert_int_gt(third->enforced_ucpu, 400000);
	/* It is done once. */
	ck_assert_int_eq(iso_trade_admit(&third->config, &third->disk, &admission, &record),
			 ISO_E_STALE);
}
END_TEST

START_TEST(a_node_without_edges_needs_no_lease_until_it_has_one)
{
	struct member *third = &members[2];
	struct iso_op op = {
		.id = 5, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1001, .peer_gen = 1
	};

	trio_set_up_leased();
	third->config.peer_count = 0;
	ck_assert_ok(iso_trade_init(third->memory, sizeof(third->memory), &third->config,
				    &third->trade));
	ck_assert_ok(iso_trade_open(third->trade, &third->disk));
	trio_rounds(5);
	ck_assert_uint_eq(iso_trade_lease_deadline(third->trade), UINT64_MAX);
	ck_assert_int_eq(third->enforced_ucpu, TRIO_SHARE_UCPU);
	/* In the very tick: from its answer on it may be buried without another word. */
	now_ns += TRIO_TICK_NS;
	ck_assert_ok(trio_tick(2, &op).op_status);
	ck_assert_int_eq(third->enforced_ucpu, TRIO_FLOOR_UCPU);
	ck_assert_uint_eq(iso_trade_lease_deadline(third->trade), 0);
	ck_assert_uint_eq(iso_trade_edges(third->trade), 1);
	ck_assert_ok(trio_hear(0, 2));
	trio_rounds(3);
	ck_assert(trio_status(2).lease_valid);
	ck_assert_int_gt(third->enforced_ucpu, TRIO_FLOOR_UCPU);
}
END_TEST

START_TEST(an_opened_edge_is_promised_from_then_on)
{
	struct iso_op open = {
		.id = 13, .kind = ISO_OP_OPEN, .gen = 1, .peer = 1007, .peer_gen = 1
	};
	struct iso_op close = {
		.id = 14, .kind = ISO_OP_CLOSE, .gen = 1, .peer = 1007, .peer_gen = 1
	};

	trio_set_up_leased();
	trio_rounds(60);
	now_ns += TRIO_TICK_NS;
	uint64_t opened_ns = now_ns;
	ck_assert_ok(trio_tick(0, &open).op_status);
	ck_assert_uint_eq(iso_trade_edges(members[0].trade), 3);
	/* It was never heard, but a life before may have been. */
	uint64_t close_ns = iso_trade_close_at_ns(members[0].trade, 2);
	ck_assert_uint_ge(close_ns, opened_ns + 6 * S);
	ck_assert_uint_le(close_ns, opened_ns + 6 * S + TRIO_COARSE_NS);
	now_ns = opened_ns + 6 * S - 1;
	ck_assert_int_eq(trio_tick(0, &close).op_status, ISO_E_BUSY);
	/* From the request on it is promised anew. */
	now_ns = close_ns;
	ck_assert_int_eq(trio_tick(0, &close).op_status, ISO_E_BUSY);
	now_ns = iso_trade_close_at_ns(members[0].trade, 2);
	ck_assert_int_eq(trio_tick(0, &close).op_status, ISO_OK);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("trade_burial");
	TCase *tcase = tcase_create("burial");

	tcase_add_test(tcase, more_than_the_floor_needs_a_lease);
	tcase_add_test(tcase, an_edge_is_closed_when_its_promise_has_passed);
	tcase_add_test(tcase, the_promise_counts_from_the_request_on);
	tcase_add_test(tcase, a_start_forgets_the_burial_but_not_the_promise);
	tcase_add_test(tcase, a_burial_can_be_given_up_until_it_is_done);
	tcase_add_test(tcase, without_leases_a_burial_needs_a_word);
	tcase_add_test(tcase, who_was_buried_is_told);
	tcase_add_test(tcase, a_tombstone_of_another_life_does_nothing);
	tcase_add_test(tcase, a_later_life_begins_at_zero);
	tcase_add_test(tcase, an_old_life_is_told_beside_the_new_one);
	tcase_add_test(tcase, a_tombstone_among_the_peers_stays_one);
	tcase_add_test(tcase, a_node_waits_for_its_admission);
	tcase_add_test(tcase, a_node_without_edges_needs_no_lease_until_it_has_one);
	tcase_add_test(tcase, an_opened_edge_is_promised_from_then_on);
	suite_add_tcase(suite, tcase);
	return suite;
}
