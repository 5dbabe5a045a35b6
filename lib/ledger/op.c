/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ledger/op.h"

#include <assert.h>
#include <string.h>

#include "lib/ledger/record.h"

static const char *const names[] = {
	[ISO_OP_MINT] = "mint",	  [ISO_OP_BURN] = "burn",   [ISO_OP_BUDGET] = "budget",
	[ISO_OP_OPEN] = "open",	  [ISO_OP_CLOSE] = "close", [ISO_OP_FOLD] = "fold",
	[ISO_OP_DRAIN] = "drain", [ISO_OP_LEAVE] = "leave", [ISO_OP_VOID] = "void",
};

#define KINDS (sizeof(names) / sizeof(names[0]))

const char *iso_op_name(enum iso_op_kind kind)
{
	assert(kind >= ISO_OP_MINT);
	assert(kind < KINDS);
	return names[kind];
}

enum iso_status iso_op_find(const char *name, enum iso_op_kind *ret_kind)
{
	for (unsigned k = ISO_OP_MINT; k < KINDS; k++) {
		if (strcmp(names[k], name) != 0)
			continue;
		*ret_kind = (enum iso_op_kind)k;
		return ISO_OK;
	}
	return ISO_E_UNKNOWN;
}

static bool amount_possible(const struct iso_op *op)
{
	if (op->kind != ISO_OP_MINT && op->kind != ISO_OP_BURN)
		return true;
	return op->amount_ucpu > 0 && op->amount_ucpu <= ISO_UNITS_MAX;
}

enum iso_status iso_op_check(const struct iso_op *op)
{
	if (op->kind < ISO_OP_MINT || op->kind >= KINDS)
		return ISO_E_RANGE;
	if (op->id == 0 || op->id > (uint64_t)ISO_UNITS_MAX)
		return ISO_E_RANGE;
	if (op->budget_ucpu < 0 || op->budget_ucpu > ISO_UNITS_MAX || !amount_possible(op))
		return ISO_E_RANGE;
	if (op->kind == ISO_OP_BUDGET && op->budget_ucpu == 0)
		return ISO_E_RANGE;
	if (op->kind == ISO_OP_OPEN || op->kind == ISO_OP_CLOSE || op->kind == ISO_OP_FOLD)
		return op->peer_gen > 0 ? ISO_OK : ISO_E_RANGE;
	return ISO_OK;
}
