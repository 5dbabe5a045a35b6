/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ledger/audit.h"

#include <string.h>

#include "tests/test.h"

/* Three nodes in a line: 1 gave 2 300 (100 still in flight), 2 gave 3 50. */
static struct iso_audit_node nodes[3];

static void set_up(void)
{
	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; i < 3; i++) {
		nodes[i].record = (struct iso_record){ .cluster = 77,
						       .node = i + 1,
						       .gen = 1,
						       .inc = 1,
						       .endowment_ucpu = 1000,
						       .budget_ucpu = 3000,
						       .seq = 5 };
		nodes[i].floor_ucpu = 100;
		nodes[i].ceiling_ucpu = 2000;
	}
	nodes[0].record.edge_count = 1;
	nodes[0].record.edges[0] = (struct iso_record_edge){ 2, 1, 0, 300, 0 };
	nodes[1].record.edge_count = 2;
	nodes[1].record.edges[0] = (struct iso_record_edge){ 1, 1, 0, 0, 200 };
	nodes[1].record.edges[1] = (struct iso_record_edge){ 3, 1, 0, 50, 0 };
	nodes[2].record.edge_count = 1;
	nodes[2].record.edges[0] = (struct iso_record_edge){ 2, 1, 0, 0, 50 };
	for (uint32_t i = 0; i < 3; i++) {
		nodes[i].holdings_ucpu = iso_record_holdings(&nodes[i].record);
		nodes[i].enforced_ucpu = nodes[i].holdings_ucpu;
	}
}

/* Nothing is under way. */
static const struct iso_audit_terms plain = { .budget_ucpu = 3000 };

static struct iso_audit_result run(const struct iso_audit_node *some, uint32_t count,
				   int64_t budget_ucpu)
{
	const struct iso_audit_terms terms = { .budget_ucpu = budget_ucpu };
	struct iso_audit_result result;

	iso_audit_run(some, count, &terms, &result);
	return result;
}

/* Exactly this is found, about this node. */
static struct iso_audit_finding only(enum iso_audit_check check, uint64_t node)
{
	struct iso_audit_result result = run(nodes, 3, 3000);

	ck_assert(!result.proven);
	ck_assert_msg(result.findings == 1, "%u findings, first: %s", result.findings,
		      iso_audit_text(result.finding[0].check));
	ck_assert_int_eq(result.finding[0].check, check);
	ck_assert_uint_eq(result.finding[0].node, node);
	return result.finding[0];
}

START_TEST(proves_a_sound_cluster)
{
	struct iso_audit_result result;
	uint32_t index = 7;

	set_up();
	ck_assert_int_eq(iso_audit_reread(nodes, 3, &plain, &index), ISO_E_UNKNOWN);
	ck_assert_uint_eq(index, 7);
	nodes[2].enforced_ucpu -= 30;
	result = run(nodes, 3, 3000);
	ck_assert(result.proven);
	ck_assert_uint_eq(result.findings, 0);
	ck_assert_int_eq(result.shares_ucpu, 2900);
	ck_assert_int_eq(result.in_flight_ucpu, 100);
	ck_assert_int_eq(result.endowments_ucpu, 3000);
	ck_assert_int_eq(result.enforced_ucpu, 2870);
	ck_assert_int_eq(result.reserve_ucpu, 30);
}
END_TEST

START_TEST(names_who_must_be_read_again)
{
	struct iso_audit_finding finding;
	uint32_t index = 7;

	set_up();
	nodes[0].record.edges[0].sent = 150; /* read before its last debit */
	nodes[0].holdings_ucpu = 850;
	nodes[0].enforced_ucpu = 700;
	ck_assert_ok(iso_audit_reread(nodes, 3, &plain, &index));
	ck_assert_uint_eq(index, 0);
	finding = only(ISO_AUDIT_CUT, 1);
	ck_assert_uint_eq(finding.peer, 2);
	ck_assert_int_eq(finding.found, 150);
	ck_assert_int_eq(finding.expected, 200);
	/* A snapshot from before the edge was made counts as having sent nothing. */
	set_up();
	nodes[1].record.edge_count = 1;
	nodes[1].holdings_ucpu = nodes[1].enforced_ucpu = 1200;
	ck_assert_ok(iso_audit_reread(nodes, 3, &plain, &index));
	ck_assert_uint_eq(index, 1);
}
END_TEST

START_TEST(each_check_names_its_node)
{
	struct iso_audit_finding finding;

	set_up();
	nodes[1].record.cluster++;
	only(ISO_AUDIT_CLUSTER, 2);
	set_up();
	nodes[1].enforced_ucpu = nodes[1].holdings_ucpu + 1;
	nodes[0].enforced_ucpu = 100;
	finding = only(ISO_AUDIT_ENFORCED, 2);
	ck_assert_int_eq(finding.found, finding.expected + 1);
	set_up();
	nodes[2].ceiling_ucpu = 1049;
	only(ISO_AUDIT_CEILING, 3);
	set_up();
	nodes[0].floor_ucpu = 701;
	only(ISO_AUDIT_FLOOR, 1);
	set_up();
	nodes[0].record.halt = ISO_HALT_AMNESIA;
	only(ISO_AUDIT_HALTED, 1);
	set_up();
	nodes[2].record.edges[0].peer_gen = 2;
	struct iso_audit_result result;

	/* Both ends of that edge disagree about the life of node 2. */
	result = run(nodes, 3, 3000);
	ck_assert_uint_eq(result.findings, 2);
	ck_assert_int_eq(result.finding[0].check, ISO_AUDIT_ONE_SIDED);
	ck_assert_int_eq(result.finding[1].check, ISO_AUDIT_ONE_SIDED);
}
END_TEST

START_TEST(a_wrong_share_breaks_equation_and_sum)
{
	struct iso_audit_result result;

	set_up();
	nodes[1].holdings_ucpu += 10;
	result = run(nodes, 3, 3000);
	ck_assert_uint_eq(result.findings, 2);
	ck_assert_int_eq(result.finding[0].check, ISO_AUDIT_EQUATION);
	ck_assert_int_eq(result.finding[1].check, ISO_AUDIT_SUM);
	ck_assert_int_eq(result.finding[1].found, 3010);
}
END_TEST

START_TEST(a_missing_node_is_no_proof)
{
	struct iso_audit_result result;

	set_up();
	result = run(nodes, 2, 3000);
	ck_assert(!result.proven);
	ck_assert_int_eq(result.finding[0].check, ISO_AUDIT_PEER);
	ck_assert_uint_eq(result.finding[0].peer, 3);
	/* An edge that never carried anything does not need its other end. */
	set_up();
	nodes[1].record.edges[1].sent = 0;
	nodes[1].holdings_ucpu = nodes[1].enforced_ucpu = 1200;
	result = run(nodes, 2, 2000);
	ck_assert(result.proven);
}
END_TEST

START_TEST(the_whole_is_checked_against_the_budget)
{
	struct iso_audit_result result;

	set_up();
	result = run(nodes, 3, 2999);
	ck_assert_int_eq(result.finding[0].check, ISO_AUDIT_ENDOWMENTS);
	ck_assert_uint_eq(result.finding[0].node, 0);
	set_up();
	nodes[0].enforced_ucpu =
	    900; /* 200 above its share, 100 above the budget with the others */
	result = run(nodes, 3, 3000);
	ck_assert_uint_eq(result.findings, 2);
	ck_assert_int_eq(result.finding[1].check, ISO_AUDIT_TOTAL);
	/* Twice the same node is no second node. */
	set_up();
	nodes[2] = nodes[1];
	result = run(nodes, 3, 3000);
	ck_assert_int_eq(result.finding[0].check, ISO_AUDIT_PEER);
	ck_assert_int_eq(result.finding[1].check, ISO_AUDIT_TWICE);
}
END_TEST

static bool finds(const struct iso_audit_result *result, enum iso_audit_check check, uint64_t node)
{
	for (uint32_t i = 0; i < result->findings && i < ISO_AUDIT_FINDINGS_MAX; i++)
		if (result->finding[i].check == check && result->finding[i].node == node)
			return true;
	return false;
}

START_TEST(forged_amounts_are_reported_and_never_wrap)
{
	struct iso_audit_result result;

	/* Shares of 2^62 each: four of them would add up to nothing. */
	set_up();
	for (uint32_t i = 0; i < 3; i++)
		nodes[i].holdings_ucpu = ISO_UNITS_MAX;
	result = run(nodes, 3, 3000);
	ck_assert(!result.proven);
	ck_assert(!finds(&result, ISO_AUDIT_AMOUNTS, 1));
	ck_assert(finds(&result, ISO_AUDIT_AMOUNTS, 2));
	ck_assert(finds(&result, ISO_AUDIT_AMOUNTS, 3));
	ck_assert_int_eq(result.shares_ucpu, INT64_MAX);
	/* Downwards, over the edges. */
	set_up();
	for (uint32_t i = 0; i < 3; i++)
		nodes[i].record.edges[0].received = ISO_UNITS_MAX;
	result = run(nodes, 3, 3000);
	ck_assert(finds(&result, ISO_AUDIT_AMOUNTS, 3));
	ck_assert_int_eq(result.in_flight_ucpu, INT64_MIN);
	/* One share and what is on its way fit alone, and not together. */
	set_up();
	nodes[0].holdings_ucpu = nodes[1].holdings_ucpu = ISO_UNITS_MAX / 2;
	nodes[0].record.edges[0].sent = ISO_UNITS_MAX;
	result = run(nodes, 3, 3000);
	ck_assert(!finds(&result, ISO_AUDIT_AMOUNTS, 1));
	ck_assert(finds(&result, ISO_AUDIT_SUM, 0));
	ck_assert_int_eq(result.finding[result.findings - 1].found, INT64_MAX);
	/* Differences that have no int64_t, and counters that have none. */
	set_up();
	nodes[0].enforced_ucpu = INT64_MIN;
	nodes[1].record.edges[1].sent = UINT64_MAX;
	result = run(nodes, 3, 3000);
	ck_assert(finds(&result, ISO_AUDIT_AMOUNTS, 1));
	ck_assert(finds(&result, ISO_AUDIT_AMOUNTS, 2));
	ck_assert(!finds(&result, ISO_AUDIT_AMOUNTS, 3));
	ck_assert(!result.proven);
}
END_TEST

START_TEST(counts_more_findings_than_it_keeps)
{
	static struct iso_audit_node many[50];
	struct iso_audit_result result;

	for (uint32_t i = 0; i < 50; i++) {
		set_up();
		many[i] = nodes[0];
		many[i].record.node = i + 1;
		many[i].record.edge_count = 0;
		many[i].holdings_ucpu = 50;
		many[i].enforced_ucpu = 50;
	}
	result = run(many, 50, 50000);
	ck_assert_uint_eq(result.findings, 101);
	ck_assert(!result.proven);
}
END_TEST

START_TEST(texts_are_told_apart)
{
	for (int a = 0; a <= ISO_AUDIT_TOTAL; a++)
		for (int b = 0; b < a; b++)
			ck_assert_str_ne(iso_audit_text((enum iso_audit_check)a),
					 iso_audit_text((enum iso_audit_check)b));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("audit");
	TCase *tcase = tcase_create("proof");

	tcase_add_test(tcase, proves_a_sound_cluster);
	tcase_add_test(tcase, names_who_must_be_read_again);
	tcase_add_test(tcase, each_check_names_its_node);
	tcase_add_test(tcase, a_wrong_share_breaks_equation_and_sum);
	tcase_add_test(tcase, a_missing_node_is_no_proof);
	tcase_add_test(tcase, the_whole_is_checked_against_the_budget);
	tcase_add_test(tcase, forged_amounts_are_reported_and_never_wrap);
	tcase_add_test(tcase, counts_more_findings_than_it_keeps);
	tcase_add_test(tcase, texts_are_told_apart);
	suite_add_tcase(suite, tcase);
	return suite;
}
