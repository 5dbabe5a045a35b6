/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The audit while the administrator is at work. */
#include "config.h"

#include <string.h>

#include "lib/ledger/audit.h"
#include "tests/test.h"

#define FLOOR 100

/*
 * Three nodes, all linked, of 1000 each.  3 gave 1 400, of which 150 are still
 * in flight, and got 30 from 2; 1 gave 2 20.
 */
static struct iso_audit_node nodes[3];
static struct iso_audit_void voids[2];
static struct iso_audit_terms terms;

static struct iso_record_edge *edge(uint32_t i, uint64_t peer)
{
	struct iso_record *record = &nodes[i].record;

	for (uint32_t k = 0; k < record->edge_count; k++)
		if (record->edges[k].peer == peer)
			return &record->edges[k];
	ck_abort_msg("no edge");
}

/* States what the counters give, and enforces it. */
static void state(uint32_t i)
{
	nodes[i].holdings_ucpu = iso_record_holdings(&nodes[i].record);
	nodes[i].enforced_ucpu = nodes[i].holdings_ucpu;
}

static void set_up(void)
{
	memset(nodes, 0, sizeof(nodes));
	memset(voids, 0, sizeof(voids));
	terms = (struct iso_audit_terms){ .budget_ucpu = 3000, .voids = voids };
	for (uint32_t i = 0; i < 3; i++) {
		struct iso_record *record = &nodes[i].record;

		record->cluster = 77;
		record->node = i + 1;
		record->gen = record->inc = 1;
		record->endowment_ucpu = 1000;
		record->budget_ucpu = 3000;
		record->seq = 5;
		record->edge_count = 2;
		record->edges[0] =
		    (struct iso_record_edge){ .peer = (i + 1) % 3 + 1, .peer_gen = 1 };
		record->edges[1] =
		    (struct iso_record_edge){ .peer = (i + 2) % 3 + 1, .peer_gen = 1 };
		nodes[i].floor_ucpu = FLOOR;
		nodes[i].ceiling_ucpu = 5000;
	}
	edge(2, 1)->sent = 400;
	edge(0, 3)->received = 250;
	edge(1, 3)->sent = edge(2, 2)->received = 30;
	edge(0, 2)->sent = edge(1, 1)->received = 20;
	for (uint32_t i = 0; i < 3; i++)
		state(i);
}

static struct iso_audit_result run(void)
{
	struct iso_audit_result result;

	iso_audit_run(nodes, 3, &terms, &result);
	return result;
}

static struct iso_audit_result proven(void)
{
	struct iso_audit_result result = run();

	ck_assert_msg(result.proven, "%s: node %u: %d against %d",
		      iso_audit_text(result.finding[0].check), (unsigned)result.finding[0].node,
		      (int)result.finding[0].found, (int)result.finding[0].expected);
	return result;
}

/* This is found, whatever else is. */
static void found(enum iso_audit_check check, uint64_t node)
{
	struct iso_audit_result result = run();
	bool is_found = false;

	ck_assert(!result.proven);
	for (uint32_t k = 0; k < result.findings; k++)
		is_found |= result.finding[k].check == check && result.finding[k].node == node;
	ck_assert_msg(is_found, "'%s' is not found; first: %s", iso_audit_text(check),
		      iso_audit_text(result.finding[0].check));
}

/* Everything but this holds. */
static void only(enum iso_audit_check check, uint64_t node)
{
	ck_assert_uint_eq(run().findings, 1);
	found(check, node);
}

/* Node 3 is closed at both neighbours. */
static void close_3(void)
{
	edge(0, 3)->flags = edge(1, 3)->flags = ISO_EDGE_STATE_CLOSED;
}

/* After that: everything above its floor is 1000 - 250 + 30 - 100 = 680. */
static void bury_3(void)
{
	close_3();
	voids[0] = (struct iso_audit_void){ .node = 3, .gen = 1, .reserved_ucpu = FLOOR };
	terms.void_count = 1;
	terms.minting_ucpu = 680;
	nodes[2].enforced_ucpu = FLOOR;
}

static void fold(uint32_t i, uint64_t peer)
{
	struct iso_record_edge *gone = edge(i, peer);

	nodes[i].record.endowment_ucpu += (int64_t)(gone->received - gone->sent);
	gone->sent = gone->received = 0;
	gone->flags = ISO_EDGE_STATE_FOLDED;
}

static void mint(uint32_t i, int64_t amount)
{
	nodes[i].record.endowment_ucpu += amount;
	state(i);
}

START_TEST(what_is_pending_is_part_of_the_budget)
{
	set_up();
	proven();
	terms.budget_ucpu = 3200;
	only(ISO_AUDIT_ENDOWMENTS, 0);
	terms.minting_ucpu = 200;
	ck_assert_int_eq(proven().pending_ucpu, 200);
	/* Seen by now; nothing is pending any more. */
	mint(1, 200);
	only(ISO_AUDIT_ENDOWMENTS, 0);
	terms.minting_ucpu = 0;
	proven();
	/* Burned at 1, and not taken off the budget yet. */
	mint(0, -300);
	only(ISO_AUDIT_ENDOWMENTS, 0);
	terms.burning_ucpu = 300;
	proven();
	terms.burning_ucpu = 0;
	terms.budget_ucpu = 2900;
	proven();
}
END_TEST

/* A negative amount would hide a mint that nobody has asked for. */
START_TEST(terms_out_of_range_prove_nothing)
{
	set_up();
	mint(1, 200);
	terms.minting_ucpu = -200;
	found(ISO_AUDIT_ENDOWMENTS, 0);
	terms.minting_ucpu = 0;
	terms.burning_ucpu = -200;
	found(ISO_AUDIT_ENDOWMENTS, 0);
	terms.burning_ucpu = 0;
	voids[0] = (struct iso_audit_void){ .node = 9, .gen = 1, .reserved_ucpu = -200 };
	terms.void_count = 1;
	found(ISO_AUDIT_ENDOWMENTS, 0);
	set_up();
	terms.minting_ucpu = terms.burning_ucpu = INT64_MAX;
	found(ISO_AUDIT_ENDOWMENTS, 0);
}
END_TEST

START_TEST(a_burial_is_proven_at_every_step)
{
	struct iso_audit_result result;

	set_up();
	close_3();
	/* Until it is void, its snapshot counts. */
	proven();
	bury_3();
	result = proven();
	ck_assert_int_eq(result.reserved_ucpu, FLOOR);
	ck_assert_int_eq(result.endowments_ucpu, 2000 + 250 - 30);
	/* Whatever it states now. */
	nodes[2].record.endowment_ucpu = 77777;
	nodes[2].record.halt = ISO_HALT_BURIED;
	edge(2, 1)->sent = 5;
	proven();
	/* Granted, then folded one by one. */
	mint(1, 680);
	only(ISO_AUDIT_ENDOWMENTS, 0);
	terms.minting_ucpu = 0;
	proven();
	fold(0, 3);
	proven();
	fold(1, 3);
	result = proven();
	ck_assert_int_eq(result.endowments_ucpu, 2900);
	ck_assert_int_eq(result.shares_ucpu + result.in_flight_ucpu, 2900);
}
END_TEST

START_TEST(the_void_keep_to_what_is_reserved)
{
	set_up();
	bury_3();
	nodes[2].enforced_ucpu = FLOOR + 1;
	only(ISO_AUDIT_RESERVED, 3);
	voids[0].reserved_ucpu = 0;
	nodes[2].enforced_ucpu = 0;
	/* The floor is nobody's now: a budget without it. */
	only(ISO_AUDIT_ENDOWMENTS, 0);
	terms.budget_ucpu = 2900;
	proven();
	/* With the reserved floor the kernels would enforce too much. */
	set_up();
	terms.budget_ucpu = 3000;
	voids[0] = (struct iso_audit_void){ .node = 9, .gen = 1, .reserved_ucpu = 200 };
	terms.void_count = 1;
	found(ISO_AUDIT_TOTAL, 0);
}
END_TEST

START_TEST(a_burial_without_all_closes_is_found)
{
	uint32_t index = 9;

	set_up();
	bury_3();
	edge(1, 3)->flags = 0;
	only(ISO_AUDIT_VOID, 2);
	/* It may have been read before it closed. */
	ck_assert_ok(iso_audit_reread(nodes, 3, &terms, &index));
	ck_assert_uint_eq(index, 1);
	/* An edge that never carried anything could still carry something. */
	set_up();
	bury_3();
	*edge(1, 3) = (struct iso_record_edge){ .peer = 3, .peer_gen = 1 };
	found(ISO_AUDIT_VOID, 2);
}
END_TEST

START_TEST(an_edge_to_a_life_before_is_found_unless_it_is_void)
{
	set_up();
	bury_3();
	/* Node 3 is back with what was kept for it; its neighbours have not opened yet. */
	terms.void_count = 0;
	nodes[2].record = (struct iso_record){ .cluster = 77,
					       .node = 3,
					       .gen = 2,
					       .endowment_ucpu = FLOOR,
					       .budget_ucpu = 3000,
					       .seq = 9,
					       .edge_count = 2 };
	nodes[2].record.edges[0] = (struct iso_record_edge){ .peer = 1, .peer_gen = 1 };
	nodes[2].record.edges[1] = (struct iso_record_edge){ .peer = 2, .peer_gen = 1 };
	state(2);
	found(ISO_AUDIT_ONE_SIDED, 1);
	found(ISO_AUDIT_ONE_SIDED, 3);
	/* Even if nothing went over it. */
	*edge(1, 3) = (struct iso_record_edge){ .peer = 3, .peer_gen = 1 };
	found(ISO_AUDIT_ONE_SIDED, 2);
	*edge(1, 3) = (struct iso_record_edge){ 3, 1, ISO_EDGE_STATE_CLOSED, 30, 0 };
	voids[0].reserved_ucpu = 0;
	terms.void_count = 1;
	proven();
	mint(1, 680);
	terms.minting_ucpu = 0;
	fold(0, 3);
	fold(1, 3);
	/* Tombstones need nobody's word. */
	terms.void_count = 0;
	proven();
	/* 3 has sent on, and 1 has not opened its end: in flight. */
	edge(2, 1)->sent = 40;
	nodes[2].floor_ucpu = FLOOR - 40;
	state(2);
	proven();
	*edge(0, 3) = (struct iso_record_edge){ .peer = 3, .peer_gen = 2, .received = 40 };
	state(0);
	proven();
	/* Credited to a life of 1 that is over: no cut that reading again could mend. */
	edge(2, 1)->peer_gen = 7;
	found(ISO_AUDIT_ONE_SIDED, 3);
}
END_TEST

START_TEST(a_tombstone_of_who_lives_is_found)
{
	set_up();
	close_3();
	fold(0, 3);
	state(0);
	/* Nobody says that 3 has ended, and its own end is open. */
	found(ISO_AUDIT_ONE_SIDED, 3);
}
END_TEST

/* Everything of 3 is with 1, and both neighbours have frozen. */
static void leave_3(void)
{
	edge(2, 1)->sent += (uint64_t)nodes[2].holdings_ucpu;
	edge(0, 3)->received = edge(2, 1)->sent;
	edge(0, 3)->flags = edge(1, 3)->flags = ISO_EDGE_STATE_FROZEN;
	nodes[2].record.flags = ISO_NODE_LEAVING;
	for (uint32_t i = 0; i < 3; i++)
		state(i);
}

/* What 1 knows of is a later life than the one that is read. */
START_TEST(a_snapshot_from_before_a_burial_is_found)
{
	set_up();
	close_3();
	fold(0, 3);
	edge(0, 3)->peer_gen = 5;
	state(0);
	found(ISO_AUDIT_ONE_SIDED, 3);
}
END_TEST

/* 2 and 3 are off; their estate is what 1 did not get of theirs. */
START_TEST(a_joint_burial_is_proven)
{
	uint32_t index = 9;

	set_up();
	edge(0, 3)->flags = edge(0, 2)->flags = ISO_EDGE_STATE_CLOSED;
	nodes[1].enforced_ucpu = nodes[2].enforced_ucpu = 0;
	voids[0] = (struct iso_audit_void){ .node = 2, .gen = 1 };
	voids[1] = (struct iso_audit_void){ .node = 3, .gen = 1 };
	terms.void_count = 2;
	terms.minting_ucpu = 2000 - 250 + 20;
	proven();
	/* They do not matter to each other any more. */
	ck_assert_int_eq(iso_audit_reread(nodes, 3, &terms, &index), ISO_E_UNKNOWN);
}
END_TEST

START_TEST(who_leaves_may_be_below_its_floor)
{
	set_up();
	leave_3();
	proven();
	nodes[2].record.flags = ISO_NODE_DRAINING;
	only(ISO_AUDIT_FLOOR, 3);
}
END_TEST

START_TEST(who_has_left_ends_its_generation_itself)
{
	uint32_t index = 9;

	set_up();
	leave_3();
	nodes[2].record.halt = ISO_HALT_LEFT;
	proven();
	fold(0, 3);
	proven();
	fold(1, 3);
	proven();
	/* One that enforces something has not. */
	nodes[2].enforced_ucpu = 1;
	only(ISO_AUDIT_RESERVED, 3);

	/* 1 was read before the last credit. */
	set_up();
	leave_3();
	nodes[2].record.halt = ISO_HALT_LEFT;
	edge(0, 3)->received -= 10;
	state(0);
	found(ISO_AUDIT_VOID, 1);
	ck_assert_ok(iso_audit_reread(nodes, 3, &terms, &index));
	ck_assert_uint_eq(index, 0);
	/* Or 2 before it froze. */
	edge(0, 3)->received += 10;
	state(0);
	proven();
	edge(1, 3)->flags = 0;
	only(ISO_AUDIT_VOID, 2);
	/* A generation before was buried, and this one says nothing of it. */
	*edge(1, 3) = (struct iso_record_edge){ 3, 1, ISO_EDGE_STATE_CLOSED, 30, 0 };
	*edge(0, 3) = (struct iso_record_edge){ 3, 1, ISO_EDGE_STATE_CLOSED, 0, 250 };
	state(0);
	state(1);
	nodes[2].record.gen = 2;
	voids[0] = (struct iso_audit_void){ .node = 3, .gen = 1 };
	terms.void_count = 1;
	terms.minting_ucpu = 1000 - 250 + 30;
	proven();
	/* Nor of one that is to come. */
	*edge(0, 3) = (struct iso_record_edge){ 3, 3, 0, 0, 5 };
	state(0);
	found(ISO_AUDIT_ONE_SIDED, 1);
	/* Or before its last debit. */
	set_up();
	leave_3();
	nodes[2].record.halt = ISO_HALT_LEFT;
	edge(1, 3)->flags = ISO_EDGE_STATE_FROZEN;
	edge(1, 3)->sent -= 5;
	state(1);
	found(ISO_AUDIT_VOID, 2);
	ck_assert_ok(iso_audit_reread(nodes, 3, &terms, &index));
	ck_assert_uint_eq(index, 1);
}
END_TEST

START_TEST(who_waits_for_admission_is_no_finding)
{
	set_up();
	bury_3();
	nodes[2].record = (struct iso_record){ .cluster = 77, .node = 4, .seq = 1 };
	nodes[2].holdings_ucpu = nodes[2].enforced_ucpu = 0;
	proven();
	/* Its job must not run yet. */
	nodes[2].enforced_ucpu = 1;
	only(ISO_AUDIT_ENFORCED, 4);
	/* A neighbour has opened its edge before. */
	nodes[2].enforced_ucpu = 0;
	nodes[0].record.edges[2] = (struct iso_record_edge){ .peer = 4, .peer_gen = 1 };
	nodes[0].record.edge_count = 3;
	proven();
	nodes[0].record.edges[2].received = 1;
	state(0);
	found(ISO_AUDIT_ONE_SIDED, 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("audit-terms");
	TCase *tcase = tcase_create("audit");

	tcase_add_test(tcase, what_is_pending_is_part_of_the_budget);
	tcase_add_test(tcase, terms_out_of_range_prove_nothing);
	tcase_add_test(tcase, a_burial_is_proven_at_every_step);
	tcase_add_test(tcase, the_void_keep_to_what_is_reserved);
	tcase_add_test(tcase, a_burial_without_all_closes_is_found);
	tcase_add_test(tcase, an_edge_to_a_life_before_is_found_unless_it_is_void);
	tcase_add_test(tcase, a_tombstone_of_who_lives_is_found);
	tcase_add_test(tcase, a_snapshot_from_before_a_burial_is_found);
	tcase_add_test(tcase, a_joint_burial_is_proven);
	tcase_add_test(tcase, who_leaves_may_be_below_its_floor);
	tcase_add_test(tcase, who_has_left_ends_its_generation_itself);
	tcase_add_test(tcase, who_waits_for_admission_is_no_finding);
	suite_add_tcase(suite, tcase);
	return suite;
}
