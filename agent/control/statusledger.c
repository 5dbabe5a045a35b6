/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/conf.h"
#include "agent/conf/confvalue.h"
#include "agent/control/status.h"

#define ID_DIGITS 16

/* As the JSON calls them; NULL in place of "none". */
static const char *const halts[] = {
	[ISO_HALT_NONE] = NULL,
	[ISO_HALT_AMNESIA] = "amnesia",
	[ISO_HALT_OVERDRAFT] = "overdraft",
	[ISO_HALT_BURIED] = "buried",
	[ISO_HALT_LEFT] = "left",
};

const char *status_halt_name(enum iso_halt halt)
{
	return halts[halt];
}

static json_t *id_json(uint64_t id)
{
	/* As text: JSON's numbers lose the low bits elsewhere. */
	return json_sprintf("%016" PRIx64, id);
}

static json_t *enforced_json(int64_t ucpu)
{
	if (ucpu == STATUS_UNKNOWN)
		return json_null();
	if (ucpu == INT64_MAX)
		return json_string("unlimited");
	return json_integer(ucpu);
}

/* Left out where it is not known. */
static void put_limit(json_t *edge, int64_t limit_ucpu)
{
	if (limit_ucpu != STATUS_UNKNOWN)
		(void)json_object_set_new(edge, "limit_ucpu",
					  limit_ucpu < INT64_MAX ? json_integer(limit_ucpu) :
								   json_null());
}

static json_t *edges_json(const struct status_ledger *ledger)
{
	const struct iso_record *record = &ledger->snapshot.record;
	json_t *edges = json_array();

	for (uint32_t i = 0; i < record->edge_count; i++) {
		const struct iso_record_edge *edge = &record->edges[i];
		const char *name = ledger->peers[i];

		json_t *json = json_pack(
		    "{s:o, s:o, s:I, s:I, s:I, s:I}", "peer",
		    name != NULL ? json_string(name) : json_null(), "peer_id", id_json(edge->peer),
		    "peer_generation", (json_int_t)edge->peer_gen, "flags",
		    (json_int_t)edge->flags, "sent_ucpu", (json_int_t)edge->sent, "received_ucpu",
		    (json_int_t)edge->received);

		put_limit(json, ledger->limits_ucpu[i]);
		(void)json_array_append_new(edges, json);
	}
	return edges;
}

json_t *status_ledger_json(const struct status_ledger *ledger)
{
	const struct iso_audit_node *node = &ledger->snapshot;
	const struct iso_record *record = &node->record;
	const char *halt = halts[record->halt];

	return json_pack(
	    "{s:b, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
	    "s:I, s:I, s:o}",
	    "ok", 1, "cluster", ledger->cluster, "node", ledger->node, "id", id_json(record->node),
	    "generation", (json_int_t)record->gen, "incarnation", (json_int_t)record->inc,
	    "config_epoch", (json_int_t)record->epoch, "sequence", (json_int_t)record->seq, "halt",
	    halt != NULL ? json_string(halt) : json_null(), "flags", (json_int_t)record->flags,
	    "last_op", (json_int_t)record->last_op, "last_op_ucpu",
	    (json_int_t)record->last_op_ucpu, "budget_ucpu", (json_int_t)record->budget_ucpu,
	    "endowment_ucpu", (json_int_t)record->endowment_ucpu, "share_ucpu",
	    (json_int_t)node->holdings_ucpu, "enforced_ucpu", enforced_json(node->enforced_ucpu),
	    "floor_ucpu", (json_int_t)node->floor_ucpu, "ceiling_ucpu",
	    (json_int_t)node->ceiling_ucpu, "edges", edges_json(ledger));
}

/* Reading: the first field that is wrong ends it. */
struct reader {
	const json_t *object;
	const char *where; /* "edges[3]." or "" */
	struct error *reterr;
	bool failed;
};

static void fail(struct reader *reader, const char *field, const char *what)
{
	if (!reader->failed)
		error_set(reader->reterr, -EINVAL, "%s%s: %s", reader->where, field, what);
	reader->failed = true;
}

static int64_t integer(struct reader *reader, const char *field, int64_t min, int64_t max)
{
	const json_t *value = json_object_get(reader->object, field);

	if (!json_is_integer(value)) {
		fail(reader, field, value == NULL ? "missing" : "not a whole number");
		return min;
	}
	if (json_integer_value(value) < min || json_integer_value(value) > max) {
		fail(reader, field, "out of range");
		return min;
	}
	return json_integer_value(value);
}

static const char *string(struct reader *reader, const char *field)
{
	const char *value = json_string_value(json_object_get(reader->object, field));

	if (value == NULL)
		fail(reader, field, "missing, or no text");
	return value != NULL ? value : "";
}

/* Somebody else's text, which will be shown: names as configurations take them. */
static const char *name(struct reader *reader, const char *field, bool is_optional)
{
	const json_t *value = json_object_get(reader->object, field);

	if (is_optional && (value == NULL || json_is_null(value)))
		return NULL;

	const char *text = string(reader, field);

	if (!reader->failed && confvalue_check_name(text, CONF_NAME_BYTES, NULL) < 0)
		fail(reader, field, "not a name");
	return text;
}

static uint64_t id(struct reader *reader, const char *field)
{
	const char *value = string(reader, field);

	if (strlen(value) == ID_DIGITS && strspn(value, "0123456789abcdef") == ID_DIGITS)
		return strtoull(value, NULL, 16);
	fail(reader, field, "not an id of 16 hexadecimal digits");
	return 0;
}

static enum iso_halt halt(struct reader *reader)
{
	const json_t *value = json_object_get(reader->object, "halt");

	if (value == NULL || json_is_null(value))
		return ISO_HALT_NONE;
	for (size_t i = 1; i < sizeof(halts) / sizeof(halts[0]); i++)
		if (json_is_string(value) && strcmp(json_string_value(value), halts[i]) == 0)
			return (enum iso_halt)i;
	fail(reader, "halt", "unknown");
	return ISO_HALT_NONE;
}

static int64_t enforced(struct reader *reader)
{
	const json_t *value = json_object_get(reader->object, "enforced_ucpu");

	if (json_is_null(value))
		return STATUS_UNKNOWN;
	if (json_is_string(value) && strcmp(json_string_value(value), "unlimited") == 0)
		return INT64_MAX;
	return integer(reader, "enforced_ucpu", 0, ISO_UNITS_MAX);
}

static int64_t limit(struct reader *reader)
{
	const json_t *value = json_object_get(reader->object, "limit_ucpu");

	if (value == NULL)
		return STATUS_UNKNOWN;
	if (json_is_null(value))
		return INT64_MAX;
	return integer(reader, "limit_ucpu", 0, INT64_MAX - 1);
}

static void read_edge(struct reader *reader, struct iso_record_edge *edge, const char **peer)
{
	*peer = name(reader, "peer", true);
	edge->peer = id(reader, "peer_id");
	edge->peer_gen = (uint32_t)integer(reader, "peer_generation", 1, UINT32_MAX);
	edge->flags = (uint32_t)integer(reader, "flags", 0, ISO_EDGE_STATE_FLAGS);
	edge->sent = (uint64_t)integer(reader, "sent_ucpu", 0, ISO_UNITS_MAX);
	edge->received = (uint64_t)integer(reader, "received_ucpu", 0, ISO_UNITS_MAX);
}

static void read_edges(struct reader *reader, struct status_ledger *ledger)
{
	struct iso_record *record = &ledger->snapshot.record;
	const json_t *edges = json_object_get(reader->object, "edges");

	if (!json_is_array(edges) || json_array_size(edges) > ISO_DEGREE_MAX) {
		fail(reader, "edges", "missing, no array, or too long");
		return;
	}
	for (size_t i = 0; i < json_array_size(edges) && !reader->failed; i++) {
		char where[32];

		snprintf(where, sizeof(where), "edges[%zu].", i);
		struct reader inner = {
			.object = json_array_get(edges, i),
			.where = where,
			.reterr = reader->reterr,
		};
		read_edge(&inner, &record->edges[i], &ledger->peers[i]);
		ledger->limits_ucpu[i] = limit(&inner);
		reader->failed = inner.failed;
	}
	record->edge_count = (uint32_t)json_array_size(edges);
}

int status_ledger_read(const json_t *json, struct status_ledger *ret_ledger, struct error *reterr)
{
	struct reader reader = { .object = json, .where = "", .reterr = reterr };
	struct status_ledger ledger;
	struct iso_record *record = &ledger.snapshot.record;

	memset(&ledger, 0, sizeof(ledger));
	ledger.cluster = name(&reader, "cluster", false);
	ledger.node = name(&reader, "node", false);
	record->node = id(&reader, "id");
	record->gen = (uint32_t)integer(&reader, "generation", 0, UINT32_MAX);
	record->inc = (uint32_t)integer(&reader, "incarnation", 0, UINT32_MAX);
	record->epoch = (uint32_t)integer(&reader, "config_epoch", 0, UINT32_MAX);
	record->seq = (uint64_t)integer(&reader, "sequence", 0, INT64_MAX);
	record->halt = halt(&reader);
	record->flags = (uint32_t)integer(&reader, "flags", 0, ISO_NODE_FLAGS);
	record->last_op = (uint64_t)integer(&reader, "last_op", 0, ISO_UNITS_MAX);
	record->last_op_ucpu = integer(&reader, "last_op_ucpu", -ISO_UNITS_MAX, ISO_UNITS_MAX);
	/* A node that was never admitted was told of none. */
	record->budget_ucpu = integer(&reader, "budget_ucpu", record->gen != 0, ISO_UNITS_MAX);
	record->endowment_ucpu = integer(&reader, "endowment_ucpu", -ISO_UNITS_MAX, ISO_UNITS_MAX);
	ledger.snapshot.holdings_ucpu = integer(&reader, "share_ucpu", 0, ISO_UNITS_MAX);
	ledger.snapshot.enforced_ucpu = enforced(&reader);
	ledger.snapshot.floor_ucpu = integer(&reader, "floor_ucpu", 0, ISO_UNITS_MAX);
	record->floor_ucpu = record->gen != 0 ? ledger.snapshot.floor_ucpu : 0;
	ledger.snapshot.ceiling_ucpu = integer(&reader, "ceiling_ucpu", 0, ISO_UNITS_MAX);
	read_edges(&reader, &ledger);
	if (!reader.failed && record->node != conf_node_id(ledger.cluster, ledger.node))
		fail(&reader, "id", "not that of this node and cluster");
	record->cluster = conf_cluster_id(ledger.cluster);
	if (reader.failed)
		return -EINVAL;
	*ret_ledger = ledger;
	return 0;
}
