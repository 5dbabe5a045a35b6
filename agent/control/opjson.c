/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/opjson.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/conf/confvalue.h"
#include "agent/control/printable.h"
#include "agent/net/curve.h"
#include "lib/ledger/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Reading: the first field that is wrong ends it. */
struct reader {
	const json_t *object;
	const char *where; /* "op.", "neighbours[3]." or "" */
	struct error *reterr;
	bool failed;
};

static void fail(struct reader *reader, const char *field, const char *what)
{
	if (!reader->failed)
		error_set(reader->reterr, -EINVAL, "%s%.64s: %s", reader->where, field, what);
	reader->failed = true;
}

/* A field that is not there is zero; whether it must be is for the caller. */
static int64_t integer(struct reader *reader, const char *field, int64_t min, int64_t max)
{
	const json_t *value = json_object_get(reader->object, field);

	if (value == NULL && min <= 0)
		return 0;
	if (!json_is_integer(value))
		fail(reader, field, value == NULL ? "missing" : "not a whole number");
	else if (json_integer_value(value) < min || json_integer_value(value) > max)
		fail(reader, field, "out of range");
	else
		return json_integer_value(value);
	return 0;
}

static bool boolean(struct reader *reader, const char *field)
{
	const json_t *value = json_object_get(reader->object, field);

	if (value != NULL && !json_is_boolean(value))
		fail(reader, field, "neither true nor false");
	return json_is_true(value);
}

/* Text of a configuration's kind, with its rules.  Strings that hold a NUL end there. */
static void text(struct reader *reader, const char *field, enum confutil_type type, char *out,
		 size_t size)
{
	const struct confutil_option option = { .name = field, .type = type, .size = size };
	const json_t *value = json_object_get(reader->object, field);
	const char *string = json_string_value(value);
	struct error error;

	if (string == NULL || strlen(string) != json_string_length(value))
		fail(reader, field, value == NULL ? "missing" : "no text");
	else if (confvalue_set(&option, string, out, &error) < 0)
		fail(reader, field, error.text);
}

/* As text: a key in a request is never the name of a file. */
static void key(struct reader *reader, const char *field, char out[CONF_KEY_BYTES])
{
	const char *string = json_string_value(json_object_get(reader->object, field));

	if (string == NULL)
		fail(reader, field, "missing, or no text");
	else if (!curve_key_valid(string))
		fail(reader, field, "not a public key");
	else
		memcpy(out, string, CONF_KEY_BYTES);
}

/* What is not understood must not be left out. */
static void only(struct reader *reader, const char *const *known, size_t count)
{
	json_t *object = json_incref((json_t *)(uintptr_t)reader->object);
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value) {
		bool is_known = false;

		for (size_t i = 0; i < count && !is_known; i++)
			is_known = strcmp(known[i], name) == 0;
		if (!is_known)
			fail(reader, name, "no such field");
	}
	json_decref(object);
}

static bool names_a_peer(enum iso_op_kind kind)
{
	return kind == ISO_OP_OPEN || kind == ISO_OP_CLOSE || kind == ISO_OP_FOLD;
}

static enum iso_op_kind kind_of(struct reader *reader)
{
	const char *name = json_string_value(json_object_get(reader->object, "kind"));
	enum iso_op_kind kind = ISO_OP_VOID;

	if (name == NULL)
		fail(reader, "kind", "missing, or no text");
	else if (iso_op_find(name, &kind) != ISO_OK)
		fail(reader, "kind", "there is no such operation");
	return kind;
}

static void read_op(struct reader *reader, const char *cluster, struct opjson_op *op)
{
	static const char *const known[] = {
		"id",	    "kind", "gen",	"amount_ucpu", "budget_ucpu", "peer",
		"peer_gen", "sent", "received", "on",	       "address",     "public_key",
	};

	only(reader, known, COUNT(known));
	op->op.kind = kind_of(reader);
	op->op.id = (uint64_t)integer(reader, "id", 1, ISO_UNITS_MAX);
	op->op.gen = (uint32_t)integer(reader, "gen", 1, UINT32_MAX);
	op->op.amount_ucpu = integer(reader, "amount_ucpu", 0, ISO_UNITS_MAX);
	op->op.budget_ucpu = integer(reader, "budget_ucpu", 0, ISO_UNITS_MAX);
	op->op.peer_gen = (uint32_t)integer(reader, "peer_gen", 0, UINT32_MAX);
	op->op.sent = (uint64_t)integer(reader, "sent", 0, ISO_UNITS_MAX);
	op->op.received = (uint64_t)integer(reader, "received", 0, ISO_UNITS_MAX);
	op->op.on = boolean(reader, "on");
	if (names_a_peer(op->op.kind)) {
		text(reader, "peer", CONFUTIL_NAME, op->peer, sizeof(op->peer));
		op->op.peer = conf_node_id(cluster, op->peer);
	}
	if (op->op.kind == ISO_OP_OPEN) {
		text(reader, "address", CONFUTIL_ADDRESS, op->address, sizeof(op->address));
		key(reader, "public_key", op->public_key);
	}
	if (!reader->failed && iso_op_check(&op->op) != ISO_OK)
		fail(reader, iso_op_name(op->op.kind), "an amount or a generation is missing");
}

int opjson_op_read(const json_t *request, const char *cluster, struct opjson_op *ret_op,
		   struct error *reterr)
{
	struct reader reader = { .object = json_object_get(request, "op"),
				 .where = "op.",
				 .reterr = reterr };
	struct opjson_op op;

	memset(&op, 0, sizeof(op));
	if (!json_is_object(reader.object))
		return error_set(reterr, -EINVAL, "op: missing, or no object");
	read_op(&reader, cluster, &op);
	if (reader.failed)
		return -EINVAL;
	*ret_op = op;
	return 0;
}

static void read_neighbour(struct reader *reader, struct opjson_neighbour *neighbour)
{
	static const char *const known[] = { "name", "gen", "address", "public_key" };

	only(reader, known, COUNT(known));
	text(reader, "name", CONFUTIL_NAME, neighbour->name, sizeof(neighbour->name));
	neighbour->gen = (uint32_t)integer(reader, "gen", 1, UINT32_MAX);
	text(reader, "address", CONFUTIL_ADDRESS, neighbour->address, sizeof(neighbour->address));
	key(reader, "public_key", neighbour->public_key);
}

int opjson_neighbours_read(const json_t *list,
			   struct opjson_neighbour ret_neighbours[CONF_NEIGHBOURS_MAX],
			   uint32_t *ret_count, struct error *reterr)
{
	struct opjson_neighbour neighbours[CONF_NEIGHBOURS_MAX];
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > CONF_NEIGHBOURS_MAX)
		return error_set(reterr, -EINVAL, "neighbours: missing, no array, or too long");
	memset(neighbours, 0, sizeof(neighbours));
	for (size_t i = 0; i < count; i++) {
		char where[40];

		snprintf(where, sizeof(where), "neighbours[%zu].", i);
		struct reader reader = { .object = json_array_get(list, i),
					 .where = where,
					 .reterr = reterr };
		read_neighbour(&reader, &neighbours[i]);
		for (size_t j = 0; j < i; j++)
			if (strcmp(neighbours[j].name, neighbours[i].name) == 0)
				fail(&reader, "name", "named twice");
		if (reader.failed)
			return -EINVAL;
	}
	memcpy(ret_neighbours, neighbours, sizeof(neighbours));
	*ret_count = (uint32_t)count;
	return 0;
}

int opjson_admission_read(const json_t *request, struct opjson_admission *ret_admission,
			  struct error *reterr)
{
	static const char *const known[] = {
		"command", "id", "gen", "endowment_ucpu", "budget_ucpu", "neighbours",
	};
	struct reader reader = { .object = request, .where = "", .reterr = reterr };
	struct opjson_admission admission;

	memset(&admission, 0, sizeof(admission));
	only(&reader, known, COUNT(known));
	admission.id = (uint64_t)integer(&reader, "id", 1, ISO_UNITS_MAX);
	admission.gen = (uint32_t)integer(&reader, "gen", 1, UINT32_MAX);
	admission.endowment_ucpu = integer(&reader, "endowment_ucpu", 0, ISO_UNITS_MAX);
	admission.budget_ucpu = integer(&reader, "budget_ucpu", 1, ISO_UNITS_MAX);
	if (reader.failed ||
	    opjson_neighbours_read(json_object_get(request, "neighbours"), admission.neighbours,
				   &admission.neighbour_count, reterr) < 0)
		return -EINVAL;
	*ret_admission = admission;
	return 0;
}

/* Leaves out what is zero, but for those that an operation of this kind must have. */
static void put_integer(json_t *object, const char *field, uint64_t value)
{
	if (value != 0)
		(void)json_object_set_new(object, field, json_integer((json_int_t)value));
}

json_t *opjson_op_write(const struct opjson_op *op)
{
	json_t *object = json_pack("{s:s, s:I, s:I}", "kind", iso_op_name(op->op.kind), "id",
				   (json_int_t)op->op.id, "gen", (json_int_t)op->op.gen);

	put_integer(object, "amount_ucpu", (uint64_t)op->op.amount_ucpu);
	put_integer(object, "budget_ucpu", (uint64_t)op->op.budget_ucpu);
	put_integer(object, "peer_gen", op->op.peer_gen);
	put_integer(object, "sent", op->op.sent);
	put_integer(object, "received", op->op.received);
	if (op->op.on)
		(void)json_object_set_new(object, "on", json_true());
	if (names_a_peer(op->op.kind))
		(void)json_object_set_new(object, "peer", json_string(op->peer));
	if (op->op.kind == ISO_OP_OPEN) {
		(void)json_object_set_new(object, "address", json_string(op->address));
		(void)json_object_set_new(object, "public_key", json_string(op->public_key));
	}
	return json_pack("{s:s, s:o}", "command", "op", "op", object);
}

json_t *opjson_neighbours_write(const struct opjson_neighbour *neighbours, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		(void)json_array_append_new(
		    list, json_pack("{s:s, s:I, s:s, s:s}", "name", neighbours[i].name, "gen",
				    (json_int_t)neighbours[i].gen, "address", neighbours[i].address,
				    "public_key", neighbours[i].public_key));
	return list;
}

json_t *opjson_admission_write(const struct opjson_admission *admission)
{
	json_t *list = opjson_neighbours_write(admission->neighbours, admission->neighbour_count);

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "command", "admit", "id",
			 (json_int_t)admission->id, "gen", (json_int_t)admission->gen,
			 "endowment_ucpu", (json_int_t)admission->endowment_ucpu, "budget_ucpu",
			 (json_int_t)admission->budget_ucpu, "neighbours", list);
}

int opjson_answer_read(const json_t *reply, struct opjson_answer *ret_answer, struct error *reterr)
{
	const json_t *ok = json_object_get(reply, "ok");
	struct error error = { 0 };
	struct reader reader = { .object = reply, .where = "", .reterr = &error };
	struct opjson_answer answer = {
		.error = printable(json_object_get(reply, "error")),
		.record = json_object_get(reply, "record"),
	};

	answer.last_op = (uint64_t)integer(&reader, "last_op", 0, ISO_UNITS_MAX);
	answer.moved_ucpu = integer(&reader, "moved_ucpu", -ISO_UNITS_MAX, ISO_UNITS_MAX);
	answer.retry_ms = (uint32_t)integer(&reader, "retry_ms", 0, UINT32_MAX);
	bool is_stale = boolean(&reader, "stale"), is_busy = boolean(&reader, "busy");
	if (json_is_true(ok))
		answer.outcome = OPJSON_APPLIED;
	else if (is_busy)
		answer.outcome = OPJSON_BUSY;
	else
		answer.outcome = is_stale ? OPJSON_STALE : OPJSON_REFUSED;
	if (!reader.failed && !json_is_boolean(ok))
		fail(&reader, "ok", "missing");
	if (answer.outcome == OPJSON_APPLIED && !boolean(&reader, "applied"))
		fail(&reader, "applied", "missing: this was no operation");
	if (answer.outcome != OPJSON_APPLIED && answer.error == NULL)
		fail(&reader, "error", "missing");
	if (reader.failed)
		return error_set(reterr, -EBADMSG, "the node's answer cannot be understood: %s",
				 error.text);
	*ret_answer = answer;
	return 0;
}
