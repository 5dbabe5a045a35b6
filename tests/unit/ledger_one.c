/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/ledger_one.h"

#include <string.h>

static uint64_t memory[512];
struct iso_record disk;

const struct iso_ledger_config config = {
	.cluster = 77,
	.node = 1001,
	.epoch = 2,
	.budget_ucpu = BUDGET,
	.floor_ucpu = FLOOR,
	.edges_max = 3,
};

void finish(struct iso_ledger *ledger)
{
	if (iso_ledger_changed(ledger)) {
		iso_ledger_record(ledger, &disk);
		iso_ledger_commit(ledger, disk.seq);
	} else {
		iso_ledger_commit(ledger, ledger->seq);
	}
}

void end_tick(struct iso_ledger *ledger)
{
	iso_ledger_plan(ledger, 3000, ledger->enforced_ucpu);
	if (ledger->phase == ISO_LEDGER_LOWERING)
		ck_assert_ok(iso_ledger_lowered(ledger, iso_ledger_limit(ledger)));
	finish(ledger);
	if (iso_ledger_target(ledger) > ledger->enforced_ucpu)
		ledger->enforced_ucpu = iso_ledger_target(ledger);
}

struct iso_ledger *open_record(const struct iso_record *record)
{
	struct iso_ledger *ledger;

	ck_assert_ok(iso_ledger_init(memory, sizeof(memory), &config, &ledger));
	ck_assert_ok(iso_ledger_open(ledger, record));
	return ledger;
}

struct iso_ledger *idle(void)
{
	struct iso_record record;
	struct iso_ledger *ledger;
	uint32_t index;

	ck_assert_ok(iso_ledger_genesis(&config, 1, 1000, &record));
	ledger = open_record(&record);
	ck_assert_ok(iso_ledger_edge(ledger, 2001, 1, &index));
	ck_assert_ok(iso_ledger_edge(ledger, 2002, 1, &index));
	iso_ledger_begin(ledger);
	end_tick(ledger);
	ck_assert_int_eq(ledger->enforced_ucpu, 1000);
	return ledger;
}

enum iso_status hear(struct iso_ledger *ledger, uint32_t index, uint64_t sent, uint64_t received)
{
	struct iso_ledger_news news = { sent, received, 1, 0 };

	return iso_ledger_heard(ledger, index, &news);
}

enum iso_status apply(struct iso_ledger *ledger, struct iso_op op)
{
	int64_t moved = -12345;
	enum iso_status status;

	op.gen = op.gen != 0 ? op.gen : ledger->gen;
	status = iso_ledger_apply(ledger, &op, &moved);
	/* Untouched by a failure. */
	ck_assert_int_eq(moved, status == ISO_OK ? ledger->last_op_ucpu : -12345);
	return status;
}

enum iso_status tick(struct iso_ledger *ledger, struct iso_op op)
{
	enum iso_status status;

	iso_ledger_begin(ledger);
	status = apply(ledger, op);
	end_tick(ledger);
	return status;
}

void refused(struct iso_ledger *ledger, struct iso_op op, enum iso_status expected)
{
	struct iso_record before, after;

	iso_ledger_durable(ledger, &before);
	ck_assert_int_eq(tick(ledger, op), expected);
	iso_ledger_durable(ledger, &after);
	ck_assert_mem_eq(&after, &before, sizeof(after));
}

struct iso_op op_of(uint64_t id, enum iso_op_kind kind, int64_t amount)
{
	return (struct iso_op){ .id = id, .kind = kind, .amount_ucpu = amount };
}

struct iso_op edge_op(uint64_t id, enum iso_op_kind kind, uint64_t peer, uint32_t gen)
{
	return (struct iso_op){ .id = id, .kind = kind, .peer = peer, .peer_gen = gen };
}

struct iso_op fold_op(uint64_t id, uint64_t peer, uint64_t sent, uint64_t received)
{
	struct iso_op op = edge_op(id, ISO_OP_FOLD, peer, 1);

	op.sent = sent;
	op.received = received;
	return op;
}

struct iso_ledger *used(void)
{
	struct iso_ledger *ledger = idle();

	ck_assert_ok(hear(ledger, 0, 50, 0));
	iso_ledger_begin(ledger);
	iso_ledger_debit(ledger, 0, 300);
	end_tick(ledger);
	ck_assert_int_eq(iso_ledger_holdings(ledger), 750);
	return ledger;
}

void freeze(struct iso_ledger *ledger, uint32_t index)
{
	iso_ledger_begin(ledger);
	iso_ledger_freeze(ledger, index);
	end_tick(ledger);
}
