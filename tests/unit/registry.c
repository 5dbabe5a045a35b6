/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may be asked of a registry, what follows from it, and what it refuses. */
#include "config.h"

#include "lib/ledger/registry.h"

#include <string.h>

#include "tests/test.h"

#define A 1001u
#define B 1002u
#define C 1003u
#define D 1004u

static struct iso_registry registry, before;

static void enter(struct iso_registry_entry entry)
{
	entry.seq = registry.seq + 1;
	ck_assert_ok(iso_registry_apply(&registry, &entry));
	ck_assert(!registry.ready || iso_registry_imbalance(&registry) == 0);
}

/* Refused, and nothing has changed. */
static void refused(struct iso_registry_entry entry, enum iso_status status)
{
	entry.seq = registry.seq + 1;
	memcpy(&before, &registry, sizeof(registry));
	ck_assert_int_eq(iso_registry_apply(&registry, &entry), status);
	ck_assert_int_eq(memcmp(&before, &registry, sizeof(registry)), 0);
}

static void add_member(uint64_t node, const char *name)
{
	struct iso_registry_entry entry = {
		.kind = ISO_REGISTRY_MEMBER,
		.node = node,
		.gen = 1,
		.op = 1,
		.amount_ucpu = 1000,
		.budget_ucpu = 4000,
		.floor_ucpu = 100,
		.flags = ISO_REGISTRY_GUARDED,
	};

	memcpy(entry.name, name, strlen(name));
	enter(entry);
}

/* A line a - b - c - d, each with 1000. */
static void set_up(void)
{
	static const uint64_t nodes[] = { A, B, C, D };
	static const char *const names[] = { "a", "b", "c", "d" };

	iso_registry_init(&registry);
	enter((struct iso_registry_entry){
	    .kind = ISO_REGISTRY_CREATE, .node = 77, .op = 2, .amount_ucpu = 4000 });
	for (int i = 0; i < 4; i++)
		add_member(nodes[i], names[i]);
	for (int i = 0; i < 3; i++)
		enter((struct iso_registry_entry){
		    .kind = ISO_REGISTRY_EDGE, .node = nodes[i], .peer = nodes[i + 1] });
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_READY });
}

static void see(uint64_t node, int64_t share_ucpu)
{
	uint32_t member = iso_registry_find(&registry, node);
	const struct iso_record record = {
		.node = node,
		.gen = registry.members[member].gen,
		.last_op = registry.members[member].last_op,
	};
	const struct iso_registry_look look = { &record, share_ucpu, 100 };

	ck_assert_ok(iso_registry_look(&registry, node, &look));
}

static void see_all(void)
{
	see(A, 1000);
	see(B, 1000);
	see(C, 1000);
	see(D, 1000);
}

static void see_all_who_live(void)
{
	for (uint32_t i = 0; i < registry.member_count; i++)
		if (registry.members[i].state == ISO_REGISTRY_LIVE)
			see(registry.members[i].id, 500);
}

static enum iso_registry_refusal bury(struct iso_registry_wish wish,
				      struct iso_registry_entry *ret_entry)
{
	return iso_registry_bury(&registry, &wish, ret_entry).why;
}

/* B is to be buried, and C gets what it had. */
static void begin_burial(void)
{
	struct iso_registry_entry entry;

	set_up();
	see_all();
	ck_assert_int_eq(bury((struct iso_registry_wish){ .node = B, .heir = C }, &entry),
			 ISO_REGISTRY_FINE);
	enter(entry);
}

/* Whatever can go on without another look. */
static void enter_all(void)
{
	struct iso_registry_entry entry;

	while (iso_registry_next(&registry, &entry) == ISO_OK)
		enter(entry);
}

START_TEST(parts_are_in_proportion_and_add_up)
{
	struct iso_rng rng = { test_seed_base() };
	int64_t room[20], part[20];

	for (int run = 0; run < test_runs(20000); run++) {
		uint32_t count = 1 + (uint32_t)iso_rng_below(&rng, 20);
		int64_t total = 0, sum = 0;

		for (uint32_t i = 0; i < count; i++) {
			room[i] =
			    (int64_t)iso_rng_below(&rng, (uint64_t)1 << iso_rng_below(&rng, 50));
			total += room[i];
		}
		int64_t amount = (int64_t)iso_rng_below(&rng, 2 * (uint64_t)total + 10);
		iso_registry_spread(amount, room, count, part);
		for (uint32_t i = 0; i < count; i++) {
			ck_assert_int_ge(part[i], 0);
			ck_assert_int_le(part[i], room[i]);
			sum += part[i];
			/* Off by what rounding can do, at most. */
			double exact = amount < total
					   ? (double)amount * (double)room[i] / (double)total
					   : (double)room[i];
			ck_assert_double_le((double)part[i] - exact, (double)count + exact * 1e-9);
			ck_assert_double_le(exact - (double)part[i], (double)count + exact * 1e-9);
		}
		ck_assert_int_eq(sum, amount < total ? amount : total);
	}
}
END_TEST

START_TEST(a_budget_below_what_must_be_there_is_refused)
{
	struct iso_registry_entry entry = { 0 };
	struct iso_registry_wish wish = { .amount_ucpu = 399 };

	set_up();
	struct iso_registry_reason reason = iso_registry_budget(&registry, &wish, &entry);
	ck_assert_int_eq(reason.why, ISO_REGISTRY_BELOW_FLOORS);
	ck_assert_int_eq(reason.amount_ucpu, 400);
	ck_assert_int_eq(entry.kind, 0);
	wish.amount_ucpu = 400;
	ck_assert_int_eq(iso_registry_budget(&registry, &wish, &entry).why, ISO_REGISTRY_FINE);
	wish.heir = 5;
	ck_assert_int_eq(iso_registry_budget(&registry, &wish, &entry).why,
			 ISO_REGISTRY_NO_SUCH_NODE);
}
END_TEST

START_TEST(the_budget_rises_before_it_is_given_out_and_falls_after_it_was_given_back)
{
	struct iso_registry_entry entry;

	set_up();
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET, .amount_ucpu = 4400 });
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.kind, ISO_REGISTRY_RAISE);
	enter(entry);
	ck_assert_int_eq(registry.budget_ucpu, 4400);
	/* Who does not answer gets nothing. */
	ck_assert_int_eq(iso_registry_next(&registry, &entry), ISO_E_SHORT);
	see_all();
	for (int i = 0; i < 4; i++) {
		ck_assert_ok(iso_registry_next(&registry, &entry));
		ck_assert_int_eq(entry.op_kind, ISO_OP_MINT);
		ck_assert_int_eq(entry.amount_ucpu, 100);
		enter(entry);
	}
	ck_assert_int_eq(registry.pool_ucpu, 0);

	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET, .amount_ucpu = 4000 });
	see_all();
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.op_kind, ISO_OP_BURN);
	ck_assert_int_eq(entry.amount_ucpu, 100);
	uint64_t burn = entry.op;
	enter(entry);
	ck_assert_int_eq(registry.budget_ucpu, 4400);
	enter((struct iso_registry_entry){
	    .kind = ISO_REGISTRY_ACK, .op = burn, .node = A, .amount_ucpu = 60 });
	ck_assert_int_eq(registry.budget_ucpu, 4340);
	/* What was not burned there is asked of somebody again. */
	ck_assert_int_eq(iso_registry_burning(&registry, 0), 0);
}
END_TEST

START_TEST(operations_go_to_a_node_one_after_the_other)
{
	uint32_t cursor = 0;

	set_up();
	see_all();
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET, .amount_ucpu = 4400 });
	enter_all();
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_ISSUE,
					   .op = registry.next_op,
					   .op_kind = ISO_OP_DRAIN,
					   .node = A,
					   .gen = 1,
					   .flags = ISO_REGISTRY_ON });
	ck_assert_uint_eq(registry.op_count, 5);
	uint64_t last = 0;
	int due = 0;
	for (const struct iso_registry_op *op; (op = iso_registry_due(&registry, &cursor)) != NULL;
	     due++) {
		ck_assert_uint_gt(op->id, last);
		ck_assert_int_eq(op->kind, ISO_OP_MINT);
		last = op->id;
	}
	ck_assert_int_eq(due, 4);
}
END_TEST

START_TEST(an_answer_that_cannot_be_is_refused)
{
	struct iso_registry_entry entry;
	struct iso_record record = { .node = A, .gen = 1 };

	set_up();
	see_all();
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET, .amount_ucpu = 4400 });
	enter_all();
	uint64_t op = registry.ops[0].id;
	record.last_op = op - 1;
	ck_assert_int_eq(iso_registry_acknowledge(&registry, op, 100, &record, &entry),
			 ISO_E_MALFORMED);
	record.last_op = op + 1;
	ck_assert_int_eq(iso_registry_acknowledge(&registry, op, 100, &record, &entry),
			 ISO_E_FOREIGN);
	record.last_op = op;
	ck_assert_int_eq(iso_registry_acknowledge(&registry, op, 99, &record, &entry),
			 ISO_E_MALFORMED);
	ck_assert_int_eq(iso_registry_acknowledge(&registry, 99, 100, &record, &entry),
			 ISO_E_UNKNOWN);
	ck_assert_ok(iso_registry_acknowledge(&registry, op, 100, &record, &entry));
	enter(entry);
	/* Twice is once. */
	ck_assert_int_eq(iso_registry_acknowledge(&registry, op, 100, &record, &entry),
			 ISO_E_UNKNOWN);
	refused(entry, ISO_E_UNKNOWN);
}
END_TEST

/* The certificate of an operation that was issued last for this node. */
static void certify(uint64_t node, uint64_t sent, uint64_t received)
{
	for (uint32_t i = 0; i < registry.op_count; i++) {
		if (registry.ops[i].kind != ISO_OP_CLOSE ||
		    registry.members[registry.ops[i].member].id != node)
			continue;
		enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_ACK,
						   .op = registry.ops[i].id,
						   .node = node,
						   .sent = sent,
						   .received = received });
		return;
	}
	ck_abort_msg("nothing to certify");
}

START_TEST(an_estate_is_what_went_in_less_what_came_out)
{
	struct iso_registry_entry entry;

	begin_burial();
	ck_assert_int_eq(bury((struct iso_registry_wish){ .node = B }, &entry),
			 ISO_REGISTRY_UNDER_WAY);
	enter_all();
	/* a gave it 300 and got 100; c gave 50 and got 400: 1000 + 300 - 100 + 50 - 400. */
	certify(A, 300, 100);
	ck_assert_int_eq(iso_registry_next(&registry, &entry), ISO_E_UNKNOWN);
	certify(C, 50, 400);
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.kind, ISO_REGISTRY_VOID);
	ck_assert_int_eq(entry.amount_ucpu, 850 - 100);
	struct iso_registry_entry forged = entry;
	forged.amount_ucpu++;
	refused(forged, ISO_E_MALFORMED);
	enter(entry);
	ck_assert_int_eq(registry.members[1].state, ISO_REGISTRY_BURIED);
	ck_assert_int_eq(registry.members[1].reserved_ucpu, 100);
	ck_assert_int_eq(registry.members[0].endowment_ucpu, 1000 + 100 - 300);
	ck_assert_int_eq(registry.members[2].endowment_ucpu, 1000 + 400 - 50);
	/* b was what held the line together. */
	ck_assert(!iso_registry_adjacent(&registry, 0, 2));
	enter_all();
	ck_assert(iso_registry_adjacent(&registry, 0, 2));
	ck_assert_int_eq(registry.members[2].endowment_ucpu, 1350 + 750);
	ck_assert_int_eq(registry.budget_ucpu, 4000);
}
END_TEST

/* As in isobar(7), SECURITY: who makes the estate larger is endowed with less by as much. */
START_TEST(a_witness_that_lies_does_so_at_the_cost_of_its_own_endowment)
{
	struct iso_registry_entry entry;

	begin_burial();
	enter_all();
	certify(A, 300 + 2000, 100);
	certify(C, 50, 400);
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.amount_ucpu, 850 + 2000 - 100);
	enter(entry);
	ck_assert_int_eq(registry.members[0].endowment_ucpu, 1000 + 100 - 300 - 2000);
	enter_all();
	ck_assert_int_eq(registry.members[2].endowment_ucpu, 1350 + 750 + 2000);
	ck_assert_int_eq(iso_registry_imbalance(&registry), 0);
}
END_TEST

START_TEST(an_estate_beyond_the_budget_is_nobodys)
{
	struct iso_registry_entry entry;

	begin_burial();
	enter_all();
	certify(A, 3101, 100);
	certify(C, 0, 0);
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.amount_ucpu, 4001 - 100);
	refused(entry, ISO_E_MALFORMED);
}
END_TEST

START_TEST(several_dead_are_buried_with_their_floors_and_without_each_others_word)
{
	struct iso_registry_entry entry;
	const uint64_t others[] = { C };
	struct iso_registry_wish wish = { .node = B, .list = others, .list_count = 1 };

	set_up();
	see_all();
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_JOINT_NEEDS_FENCE);
	wish.flags = ISO_REGISTRY_FENCED;
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_FINE);
	enter(entry);
	enter_all();
	ck_assert_uint_eq(registry.op_count, 2);
	certify(A, 10, 0);
	certify(D, 0, 20);
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.amount_ucpu, 2000 + 10 - 20);
	enter(entry);
	ck_assert_int_eq(registry.members[1].reserved_ucpu, 0);
	enter_all();
	ck_assert(iso_registry_adjacent(&registry, 0, 3));
}
END_TEST

START_TEST(a_burial_that_could_break_the_budget_is_refused)
{
	struct iso_registry_entry entry;
	const uint64_t others[] = { C };
	struct iso_registry_wish wish = { .node = B };

	set_up();
	see_all();
	/* A neighbour does not answer. */
	ck_assert_ok(iso_registry_look(&registry, A, NULL));
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_NEIGHBOUR_SILENT);
	see(A, 1000);
	/* Another member need not. */
	ck_assert_ok(iso_registry_look(&registry, D, NULL));
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_FINE);
	/* Its guard is not known to have worked. */
	enter(
	    (struct iso_registry_entry){ .kind = ISO_REGISTRY_NOTE, .node = B, .floor_ucpu = 100 });
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_UNGUARDED);
	wish.trust = true;
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_FINE);
	enter(entry);
	/* Its neighbour, until that is over. */
	see_all();
	ck_assert_int_eq(bury((struct iso_registry_wish){ .node = C }, &entry),
			 ISO_REGISTRY_NEIGHBOUR_DYING);
	ck_assert_int_eq(
	    iso_registry_leave(&registry, &(struct iso_registry_wish){ .node = A }, &entry).why,
	    ISO_REGISTRY_NEIGHBOUR_DYING);
	/* Both together take over what has begun. */
	wish = (struct iso_registry_wish){
		.node = B, .list = others, .list_count = 1, .flags = ISO_REGISTRY_FENCED
	};
	enter_all();
	ck_assert_int_eq(bury(wish, &entry), ISO_REGISTRY_FINE);
	enter(entry);
	ck_assert_uint_eq(registry.procedure_count, 1);
	for (uint32_t i = 0; i < registry.op_count; i++)
		ck_assert(registry.ops[i].kind != ISO_OP_CLOSE || registry.ops[i].on);
	/* What was closed without waiting is not counted as waited for. */
	ck_assert_int_ne(bury((struct iso_registry_wish){ .node = B }, &entry), ISO_REGISTRY_FINE);
	/* Nobody is left to inherit. */
	const uint64_t all[] = { A, C, D };
	ck_assert_int_eq(bury((struct iso_registry_wish){ .node = B,
							  .list = all,
							  .list_count = 3,
							  .flags = ISO_REGISTRY_FENCED },
			      &entry),
			 ISO_REGISTRY_LAST_ONE);
}
END_TEST

START_TEST(a_share_is_gathered_before_a_node_is_admitted)
{
	struct iso_registry_entry entry;
	const uint64_t neighbours[] = { A, D };
	struct iso_registry_wish wish = {
		.node = 1005,
		.name = "e",
		.amount_ucpu = 90,
		.floor_ucpu = 100,
		.list = neighbours,
		.list_count = 2,
	};

	set_up();
	see_all();
	ck_assert_int_eq(iso_registry_join(&registry, &wish, &entry).why,
			 ISO_REGISTRY_SHARE_TOO_SMALL);
	wish.amount_ucpu = 3601;
	ck_assert_int_eq(iso_registry_join(&registry, &wish, &entry).why,
			 ISO_REGISTRY_SHARE_TOO_LARGE);
	wish.amount_ucpu = 360;
	wish.list_count = 0;
	ck_assert_int_eq(iso_registry_join(&registry, &wish, &entry).why,
			 ISO_REGISTRY_NO_NEIGHBOUR);
	wish.list_count = 2;
	ck_assert_int_eq(iso_registry_join(&registry, &wish, &entry).why, ISO_REGISTRY_FINE);
	enter(entry);
	ck_assert_int_eq(iso_registry_join(&registry, &wish, &entry).why, ISO_REGISTRY_UNDER_WAY);
	while (iso_registry_next(&registry, &entry) == ISO_OK) {
		ck_assert_int_eq(entry.op_kind, ISO_OP_BURN);
		enter(entry);
	}
	ck_assert_uint_eq(registry.op_count, 4);
	while (registry.op_count > 0)
		enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_ACK,
						   .op = registry.ops[0].id,
						   .node =
						       registry.members[registry.ops[0].member].id,
						   .amount_ucpu = registry.ops[0].amount_ucpu });
	ck_assert_int_eq(registry.procedures[0].held_ucpu, 360);
	ck_assert_int_eq(registry.budget_ucpu, 4000);
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.op_kind, ISO_REGISTRY_ADMIT);
	enter(entry);
	ck_assert_int_eq(registry.members[4].endowment_ucpu, 360);
	/* Its neighbours open their side only once it is there. */
	ck_assert_int_ne(iso_registry_next(&registry, &entry), ISO_OK);
	enter((struct iso_registry_entry){
	    .kind = ISO_REGISTRY_ACK, .op = registry.ops[0].id, .node = 1005 });
	ck_assert_ok(iso_registry_next(&registry, &entry));
	ck_assert_int_eq(entry.op_kind, ISO_OP_OPEN);
	ck_assert_int_eq(iso_registry_undo(&registry, &wish, &entry).why, ISO_REGISTRY_TOO_LATE);
}
END_TEST

START_TEST(entries_that_cannot_follow_change_nothing)
{
	set_up();
	refused(
	    (struct iso_registry_entry){ .kind = ISO_REGISTRY_CREATE, .op = 1, .amount_ucpu = 1 },
	    ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_READY }, ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_RAISE, .amount_ucpu = 1 },
		ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_SHRINK, .amount_ucpu = 1 },
		ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_TARGET, .amount_ucpu = -1 },
		ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_EDGE, .node = A, .peer = B },
		ISO_E_MALFORMED);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_EDGE, .node = A, .peer = 7 },
		ISO_E_UNKNOWN);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_VOID, .procedure = 1 },
		ISO_E_UNKNOWN);
	refused((struct iso_registry_entry){ .kind = ISO_REGISTRY_END, .procedure = 1 },
		ISO_E_UNKNOWN);
	/* A number out of turn; an amount that was not there; for another life. */
	struct iso_registry_entry mint = { .kind = ISO_REGISTRY_ISSUE,
					   .op = registry.next_op,
					   .op_kind = ISO_OP_MINT,
					   .node = A,
					   .gen = 1,
					   .amount_ucpu = 1 };
	refused(mint, ISO_E_MALFORMED);
	mint.op_kind = ISO_OP_DRAIN;
	mint.op++;
	refused(mint, ISO_E_MALFORMED);
	mint.op--;
	mint.gen = 2;
	refused(mint, ISO_E_MALFORMED);
	mint.gen = 1;
	mint.op_kind = ISO_OP_CLOSE;
	mint.peer = D;
	mint.peer_gen = 1;
	refused(mint, ISO_E_UNKNOWN);
	/* Out of order. */
	struct iso_registry_entry note = { .kind = ISO_REGISTRY_NOTE, .node = A };
	note.seq = registry.seq + 2;
	ck_assert_int_eq(iso_registry_apply(&registry, &note), ISO_E_MALFORMED);
}
END_TEST

/* Random entries, most of which make no sense: none may break the books. */
START_TEST(no_entry_breaks_the_books)
{
	struct iso_rng rng = { test_seed_base() };
	uint64_t taken = 0;

	for (int run = 0; run < test_runs(300); run++) {
		set_up();
		for (int i = 0; i < 200; i++) {
			struct iso_registry_entry entry = {
				.kind = 1 + (enum iso_registry_kind)iso_rng_below(&rng, 16),
				.seq = registry.seq + 1,
				.procedure = iso_rng_below(&rng, 2) * (1 + iso_rng_below(&rng, 60)),
				.begins = (enum iso_registry_procedure_kind)iso_rng_below(&rng, 5),
				.op = iso_rng_below(&rng, 3) == 0 ? iso_rng_below(&rng, 40)
								  : registry.next_op,
				.op_kind = (int)iso_rng_below(&rng, 10),
				.node = A + iso_rng_below(&rng, 6),
				.gen = (uint32_t)iso_rng_below(&rng, 3),
				.peer = iso_rng_below(&rng, 2) * (A + iso_rng_below(&rng, 6)),
				.peer_gen = (uint32_t)iso_rng_below(&rng, 3),
				.amount_ucpu = (int64_t)iso_rng_below(&rng, 5000),
				.floor_ucpu = (int64_t)iso_rng_below(&rng, 200),
				.sent = iso_rng_below(&rng, 500),
				.received = iso_rng_below(&rng, 500),
				.flags = (uint32_t)iso_rng_below(&rng, 16),
				.name = { (char)('a' + iso_rng_below(&rng, 8)) },
				.list_count = (uint32_t)iso_rng_below(&rng, 2),
				.list = { A + iso_rng_below(&rng, 4) },
			};

			if (iso_rng_below(&rng, 10) == 0)
				entry.op_kind = ISO_REGISTRY_ADMIT;
			/* What follows by itself, too: so it gets further. */
			if (iso_rng_below(&rng, 3) == 0 &&
			    iso_registry_next(&registry, &entry) != ISO_OK)
				see_all_who_live();
			memcpy(&before, &registry, sizeof(registry));
			if (iso_registry_apply(&registry, &entry) == ISO_OK)
				taken++;
			else
				ck_assert_int_eq(memcmp(&before, &registry, sizeof(registry)), 0);
			ck_assert_int_eq(iso_registry_imbalance(&registry), 0);
			ck_assert_int_ge(registry.pool_ucpu, 0);
		}
	}
	ck_assert_uint_gt(taken, 1000);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("registry");
	TCase *tcase = tcase_create("registry");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, parts_are_in_proportion_and_add_up);
	tcase_add_test(tcase, a_budget_below_what_must_be_there_is_refused);
	tcase_add_test(tcase,
		       the_budget_rises_before_it_is_given_out_and_falls_after_it_was_given_back);
	tcase_add_test(tcase, operations_go_to_a_node_one_after_the_other);
	tcase_add_test(tcase, an_answer_that_cannot_be_is_refused);
	tcase_add_test(tcase, an_estate_is_what_went_in_less_what_came_out);
	tcase_add_test(tcase, a_witness_that_lies_does_so_at_the_cost_of_its_own_endowment);
	tcase_add_test(tcase, an_estate_beyond_the_budget_is_nobodys);
	tcase_add_test(tcase,
		       several_dead_are_buried_with_their_floors_and_without_each_others_word);
	tcase_add_test(tcase, a_burial_that_could_break_the_budget_is_refused);
	tcase_add_test(tcase, a_share_is_gathered_before_a_node_is_admitted);
	tcase_add_test(tcase, entries_that_cannot_follow_change_nothing);
	tcase_add_test(tcase, no_entry_breaks_the_books);
	suite_add_tcase(suite, tcase);
	return suite;
}
