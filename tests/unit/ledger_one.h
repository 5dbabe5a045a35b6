/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_LEDGER_ONE_H
#define ISO_TESTS_LEDGER_ONE_H

#include "lib/ledger/ledger.h"
#include "tests/test.h"

/* One node's ledger, a kernel that does as it is told, and a disk that keeps the newest record. */

#define BUDGET 4000
#define FLOOR  100

extern const struct iso_ledger_config config;
extern struct iso_record disk; /* the newest durable record */

/* Writes what has changed and makes it durable. */
void finish(struct iso_ledger *ledger);

/* From PLANNING; the kernel does as it is told. */
void end_tick(struct iso_ledger *ledger);

/* A new process; the memory of the one before is gone. */
struct iso_ledger *open_record(const struct iso_record *record);

/* 1000 units, all of them enforced, and edges to 2001 and 2002; IDLE. */
struct iso_ledger *idle(void);

/* The same, having sent 300 to 2001 and received 50 from it. */
struct iso_ledger *used(void);

enum iso_status hear(struct iso_ledger *ledger, uint32_t index, uint64_t sent, uint64_t received);

/* PLANNING; of the ledger's generation if op.gen is 0. */
enum iso_status apply(struct iso_ledger *ledger, struct iso_op op);

/* A whole tick with this operation. */
enum iso_status tick(struct iso_ledger *ledger, struct iso_op op);

/* A whole tick, and it leaves no trace, not even of the number. */
void refused(struct iso_ledger *ledger, struct iso_op op, enum iso_status expected);

/* A whole tick in which the peer was heard to leave. */
void freeze(struct iso_ledger *ledger, uint32_t index);

struct iso_op op_of(uint64_t id, enum iso_op_kind kind, int64_t amount);
struct iso_op edge_op(uint64_t id, enum iso_op_kind kind, uint64_t peer, uint32_t gen);
struct iso_op fold_op(uint64_t id, uint64_t peer, uint64_t sent, uint64_t received);

#endif
