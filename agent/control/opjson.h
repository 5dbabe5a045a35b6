/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_OPJSON_H
#define ISO_OPJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "lib/ledger/op.h"

/*
 * The administrator's operations as JSON, read and written in one place for
 * the node and for isobarctl.  Amounts are whole numbers of ucpu.
 *
 *   {"command": "op", "op": {"id": 12, "kind": "mint", "gen": 1, ...}}
 *       with amount_ucpu (mint, burn), budget_ucpu (any; without: unchanged),
 *       peer, peer_gen (open, close, fold), address, public_key (open),
 *       sent, received (fold), on (drain, close)
 *   {"command": "admit", "id": 12, "gen": 2, "endowment_ucpu": ..,
 *    "budget_ucpu": .., "neighbours": [{"name": .., "gen": ..,
 *    "address": .., "public_key": ..}, ...]}
 *
 * Answers:
 *
 *   {"ok": true, "applied": true, "last_op": .., "moved_ucpu": .., "record": {...}}
 *   {"ok": false, "busy": true, "error": why, "retry_ms": ..}   nothing done: ask again
 *   {"ok": false, "stale": true, "error": why, "last_op": ..}   a newer one was applied
 *   {"ok": false, "error": why}                                 refused for good
 *
 * "record" is what the command "ledger" answers.
 */

struct opjson_op {
	struct iso_op op; /* its peer is the id of the name below; not written, set by reading */
	char peer[CONF_NAME_BYTES]; /* open, close, fold */
	/* open: where the peer listens, and who it is. */
	char address[CONF_ADDRESS_BYTES];
	char public_key[CONF_KEY_BYTES];
};

struct opjson_neighbour {
	char name[CONF_NAME_BYTES];
	uint32_t gen;
	char address[CONF_ADDRESS_BYTES];
	char public_key[CONF_KEY_BYTES];
};

struct opjson_admission {
	uint64_t id;
	uint32_t gen;
	int64_t endowment_ucpu, budget_ucpu;
	uint32_t neighbour_count;
	struct opjson_neighbour neighbours[CONF_NEIGHBOURS_MAX];
};

/* The whole request, {"command": "op", ...}; a new reference. */
json_t *opjson_op_write(const struct opjson_op *op);
json_t *opjson_admission_write(const struct opjson_admission *admission);

/*
 * From the whole request.  cluster: its name, for the peer's id.  -EINVAL names
 * the field, also one that is not known: what it would mean must not be left
 * out.  *ret is untouched then.
 */
int opjson_op_read(const json_t *request, const char *cluster, struct opjson_op *ret_op,
		   struct error *reterr);
int opjson_admission_read(const json_t *request, struct opjson_admission *ret_admission,
			  struct error *reterr);

/*
 * A list of neighbours on its own, as in an admission; the journal's folder has
 * one, too (agent/node/peers.h).  -EINVAL as above, also for a name twice.
 */
json_t *opjson_neighbours_write(const struct opjson_neighbour *neighbours, uint32_t count);
int opjson_neighbours_read(const json_t *list,
			   struct opjson_neighbour ret_neighbours[CONF_NEIGHBOURS_MAX],
			   uint32_t *ret_count, struct error *reterr);

/* What a node answered. */
enum opjson_outcome {
	OPJSON_APPLIED = 1,
	OPJSON_BUSY,
	OPJSON_STALE,
	OPJSON_REFUSED,
};

struct opjson_answer {
	enum opjson_outcome outcome;
	int64_t moved_ucpu;   /* applied */
	uint64_t last_op;     /* applied, stale */
	uint32_t retry_ms;    /* busy */
	const char *error;    /* not applied; borrowed from the reply */
	const json_t *record; /* applied; borrowed, may be NULL */
};

/* -EBADMSG: no such answer. */
int opjson_answer_read(const json_t *reply, struct opjson_answer *ret_answer,
		       struct error *reterr);

#endif
