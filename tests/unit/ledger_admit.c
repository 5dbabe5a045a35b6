/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a node comes into a cluster, or back into it. */
#include "config.h"

#include <string.h>

#include "tests/unit/ledger_one.h"

static const struct iso_ledger_peer peers[] = { { 2001, 4 }, { 2003, 1 } };

static const struct iso_ledger_admission admission = {
	.id = 9,
	.gen = 2,
	.endowment_ucpu = 500,
	.budget_ucpu = 6000,
	.peers = peers,
	.peer_count = 2,
};

static struct iso_record buried(void)
{
	struct iso_ledger *ledger = used();

	ck_assert_ok(tick(ledger, edge_op(5, ISO_OP_CLOSE, 2001, 1)));
	iso_ledger_void(ledger);
	iso_ledger_begin(ledger);
	end_tick(ledger);
	return disk;
}

START_TEST(a_new_generation_begins_where_the_numbers_ended)
{
	struct iso_record old = buried(), record;
	struct iso_ledger *ledger;

	ck_assert_ok(iso_ledger_admit(&config, &old, &admission, &record));
	ck_assert_uint_eq(record.gen, 2);
	ck_assert_uint_eq(record.seq, old.seq + 1);
	ck_assert_uint_eq(record.inc, old.inc);
	ck_assert_uint_eq(record.last_op, 9);
	ck_assert_int_eq(record.halt, ISO_HALT_NONE);
	ck_assert_int_eq(record.budget_ucpu, 6000);
	ck_assert_int_eq(record.floor_ucpu, FLOOR);
	ck_assert_int_eq(iso_record_holdings(&record), 500);
	ck_assert_uint_eq(record.edge_count, 2);
	ck_assert_uint_eq(record.edges[0].peer_gen, 4);
	ck_assert_uint_eq(record.edges[0].sent | record.edges[0].received, 0);
	ck_assert_uint_eq(record.edges[0].flags, 0);
	ledger = open_record(&record);
	ck_assert_uint_eq(ledger->inc, old.inc + 1);
	iso_ledger_begin(ledger);
	end_tick(ledger);
	refused(ledger, op_of(9, ISO_OP_MINT, 5), ISO_E_STALE);
	ck_assert_int_eq(iso_ledger_admit(&config, &record, &admission, &record), ISO_E_STALE);
}
END_TEST

START_TEST(admission_is_from_void_states_only)
{
	static const enum iso_halt halts[] = { ISO_HALT_AMNESIA, ISO_HALT_OVERDRAFT,
					       ISO_HALT_BURIED, ISO_HALT_LEFT };
	struct iso_record old, record;

	ck_assert_ok(iso_ledger_genesis(&config, 0, 0, &old));
	ck_assert_ok(iso_ledger_admit(&config, &old, &admission, &record));
	ck_assert_uint_eq(record.seq, 2);
	ck_assert_ok(iso_ledger_genesis(&config, 1, 1000, &old));
	ck_assert_int_eq(iso_ledger_admit(&config, &old, &admission, &record), ISO_E_BUSY);
	for (unsigned k = 0; k < 4; k++) {
		old.halt = halts[k];
		old.endowment_ucpu = old.halt == ISO_HALT_LEFT ? 0 : 1000;
		ck_assert_ok(iso_ledger_admit(&config, &old, &admission, &record));
	}
	/* Leaving is not having left. */
	old.halt = ISO_HALT_NONE;
	old.flags = ISO_NODE_LEAVING;
	ck_assert_int_eq(iso_ledger_admit(&config, &old, &admission, &record), ISO_E_BUSY);
}
END_TEST

START_TEST(admissions_out_of_range_are_refused)
{
	static const struct iso_ledger_peer twice[] = { { 2003, 1 }, { 2003, 2 } };
	static const struct iso_ledger_peer itself[] = { { 1001, 1 } };
	static const struct iso_ledger_peer none[] = { { 2003, 0 } };
	/* Closed in old: that generation of 2001 is over. */
	static const struct iso_ledger_peer ended[] = { { 2001, 1 } };
	static const struct iso_ledger_peer many[] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 } };
	const struct iso_record old = buried();
	struct iso_record record, untouched, other = old;
	struct iso_ledger_admission bad;

	memset(&record, 0x5a, sizeof(record));
	untouched = record;
#define refuse(field, value, status)                                                               \
	do {                                                                                       \
		bad = admission;                                                                   \
		bad.field = (value);                                                               \
		ck_assert_int_eq(iso_ledger_admit(&config, &old, &bad, &record), status);          \
		ck_assert_mem_eq(&record, &untouched, sizeof(record));                             \
	} while (0)
	refuse(id, 5, ISO_E_STALE);
	refuse(id, 4, ISO_E_STALE);
	refuse(id, 0, ISO_E_RANGE);
	refuse(id, UINT64_MAX, ISO_E_RANGE);
	refuse(gen, 1, ISO_E_RANGE);
	refuse(gen, 0, ISO_E_RANGE);
	refuse(endowment_ucpu, FLOOR - 1, ISO_E_RANGE);
	refuse(endowment_ucpu, 6001, ISO_E_RANGE);
	refuse(endowment_ucpu, -1, ISO_E_RANGE);
	refuse(budget_ucpu, 0, ISO_E_RANGE);
	refuse(budget_ucpu, ISO_UNITS_MAX + 1, ISO_E_RANGE);
	refuse(peers, twice, ISO_E_RANGE);
#undef refuse
#define refuse_peers(list)                                                                         \
	do {                                                                                       \
		bad = admission;                                                                   \
		bad.peers = list;                                                                  \
		bad.peer_count = sizeof(list) / sizeof(list[0]);                                   \
		ck_assert_int_eq(iso_ledger_admit(&config, &old, &bad, &record),                   \
				 bad.peer_count > 3 ? ISO_E_FULL : ISO_E_RANGE);                   \
	} while (0)
	refuse_peers(itself);
	refuse_peers(none);
	refuse_peers(ended);
	refuse_peers(many);
#undef refuse_peers
	other.node++;
	ck_assert_int_eq(iso_ledger_admit(&config, &other, &admission, &record), ISO_E_FOREIGN);
	ck_assert_mem_eq(&record, &untouched, sizeof(record));
}
END_TEST

START_TEST(who_waits_for_admission_owns_nothing)
{
	struct iso_record record;
	struct iso_ledger *ledger;
	struct iso_op op = op_of(5, ISO_OP_MINT, 100);
	int64_t moved;
	uint32_t index;

	ck_assert_int_eq(iso_ledger_genesis(&config, 0, 1, &record), ISO_E_RANGE);
	ck_assert_ok(iso_ledger_genesis(&config, 0, 0, &record));
	ledger = open_record(&record);
	ck_assert_int_eq(iso_ledger_edge(ledger, 2001, 1, &index), ISO_E_UNKNOWN);
	iso_ledger_begin(ledger);
	ck_assert_int_eq(iso_ledger_room(ledger), 0);
	ck_assert_int_eq(iso_ledger_apply(ledger, &op, &moved), ISO_E_HALTED);
	op.gen = 1;
	ck_assert_int_eq(iso_ledger_apply(ledger, &op, &moved), ISO_E_FOREIGN);
	/* An admission that was given up must not come late either. */
	op = op_of(9, ISO_OP_VOID, 0);
	op.budget_ucpu = 5000;
	ck_assert_ok(iso_ledger_apply(ledger, &op, &moved));
	end_tick(ledger);
	ck_assert_int_eq(iso_ledger_target(ledger), 0);
	ck_assert_uint_eq(disk.last_op, 9);
	ck_assert_int_eq(disk.budget_ucpu, 0);
	ck_assert_int_eq(disk.floor_ucpu, 0);
	ck_assert_int_eq(iso_ledger_admit(&config, &disk, &admission, &record), ISO_E_STALE);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger-admit");
	TCase *tcase = tcase_create("admission");

	tcase_add_test(tcase, a_new_generation_begins_where_the_numbers_ended);
	tcase_add_test(tcase, admission_is_from_void_states_only);
	tcase_add_test(tcase, admissions_out_of_range_are_refused);
	tcase_add_test(tcase, who_waits_for_admission_owns_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
