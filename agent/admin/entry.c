/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/checksum.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ID_DIGITS    16u

/* ,"sum":"................"} */
#define SEAL_HEAD  ",\"sum\":\""
#define SEAL_BYTES (sizeof(SEAL_HEAD) - 1 + ID_DIGITS + 2)

static const char *const kinds[] = {
	[ISO_REGISTRY_CREATE] = "create", [ISO_REGISTRY_MEMBER] = "member",
	[ISO_REGISTRY_EDGE] = "edge",	  [ISO_REGISTRY_READY] = "ready",
	[ISO_REGISTRY_NOTE] = "note",	  [ISO_REGISTRY_TARGET] = "target",
	[ISO_REGISTRY_RAISE] = "raise",	  [ISO_REGISTRY_SHRINK] = "shrink",
	[ISO_REGISTRY_BEGIN] = "begin",	  [ISO_REGISTRY_ISSUE] = "issue",
	[ISO_REGISTRY_ACK] = "ack",	  [ISO_REGISTRY_CERTIFY] = "certify",
	[ISO_REGISTRY_VOID] = "void",	  [ISO_REGISTRY_UNDO] = "undo",
	[ISO_REGISTRY_END] = "end",
};

static const char *const procedures[] = {
	[ISO_REGISTRY_JOIN] = "join",
	[ISO_REGISTRY_LEAVE] = "leave",
	[ISO_REGISTRY_BURY] = "bury",
	[ISO_REGISTRY_FORGET] = "forget",
};

static const struct {
	const char *name;
	uint32_t flag;
} flags[] = {
	{ "fenced", ISO_REGISTRY_FENCED },
	{ "adds", ISO_REGISTRY_ADDS },
	{ "on", ISO_REGISTRY_ON },
	{ "guarded", ISO_REGISTRY_GUARDED },
};

const char *entry_kind_name(enum iso_registry_kind kind)
{
	return kinds[kind];
}

const char *entry_procedure_name(enum iso_registry_procedure_kind kind)
{
	return procedures[kind];
}

const char *entry_op_name(int op_kind)
{
	return op_kind == ISO_REGISTRY_ADMIT ? "admit" : iso_op_name((enum iso_op_kind)op_kind);
}

/* The numbers of an entry: what they are called and where they are. */
enum number_type { ID, U64, U32, I64 };
static const struct {
	const char *name;
	enum number_type type;
	size_t offset;
} numbers[] = {
#define NUMBER(name, type, field)                                                                  \
	{                                                                                          \
		name, type, offsetof(struct iso_registry_entry, field)                             \
	}
	NUMBER("procedure", U64, procedure),
	NUMBER("op", U64, op),
	NUMBER("node", ID, node),
	NUMBER("gen", U32, gen),
	NUMBER("peer", ID, peer),
	NUMBER("peer_gen", U32, peer_gen),
	NUMBER("amount_ucpu", I64, amount_ucpu),
	NUMBER("budget_ucpu", I64, budget_ucpu),
	NUMBER("floor_ucpu", I64, floor_ucpu),
	NUMBER("sent_ucpu", U64, sent),
	NUMBER("received_ucpu", U64, received),
#undef NUMBER
};

static int64_t number_get(const struct iso_registry_entry *entry, size_t i)
{
	const char *field = (const char *)entry + numbers[i].offset;

	switch (numbers[i].type) {
	case U32: return *(const uint32_t *)field;
	case I64: return *(const int64_t *)field;
	case ID:
	case U64: break;
	}
	return (int64_t) * (const uint64_t *)field;
}

static void number_set(struct iso_registry_entry *entry, size_t i, int64_t value)
{
	char *field = (char *)entry + numbers[i].offset;

	switch (numbers[i].type) {
	case U32: *(uint32_t *)field = (uint32_t)value; return;
	case I64: *(int64_t *)field = value; return;
	case ID:
	case U64: break;
	}
	*(uint64_t *)field = (uint64_t)value;
}

static json_t *id_json(uint64_t id)
{
	return json_sprintf("%016" PRIx64, id);
}

static json_t *entry_json(const struct iso_registry_entry *entry, int64_t time_s)
{
	json_t *json = json_pack("{s:I, s:s}", "seq", (json_int_t)entry->seq, "entry",
				 entry_kind_name(entry->kind));
	time_t seconds = (time_t)time_s;
	char text[32];
	struct tm tm;

	if (time_s != 0 && gmtime_r(&seconds, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
		(void)json_object_set_new(json, "time", json_string(text));
	if (entry->begins != 0)
		(void)json_object_set_new(json, "begins",
					  json_string(entry_procedure_name(entry->begins)));
	if (entry->op_kind != 0)
		(void)json_object_set_new(json, "kind", json_string(entry_op_name(entry->op_kind)));
	for (size_t i = 0; i < COUNT(numbers); i++) {
		int64_t value = number_get(entry, i);

		if (value == 0)
			continue;
		(void)json_object_set_new(json, numbers[i].name,
					  numbers[i].type == ID ? id_json((uint64_t)value)
								: json_integer(value));
	}
	for (size_t i = 0; i < COUNT(flags); i++)
		if ((entry->flags & flags[i].flag) != 0)
			(void)json_object_set_new(json, flags[i].name, json_true());
	if (entry->name[0] != '\0')
		(void)json_object_set_new(json, "name", json_string(entry->name));
	if (entry->list_count > 0) {
		json_t *list = json_array();

		for (uint32_t i = 0; i < entry->list_count; i++)
			(void)json_array_append_new(list, id_json(entry->list[i]));
		(void)json_object_set_new(json, "list", list);
	}
	return json;
}

int entry_write(const struct iso_registry_entry *entry, int64_t time_s,
		char ret_line[ENTRY_LINE_BYTES], size_t *ret_size, struct error *reterr)
{
	json_t *json = entry_json(entry, time_s);
	size_t room = ENTRY_LINE_BYTES - SEAL_BYTES - 2;
	size_t size = json_dumpb(json, ret_line, room, JSON_COMPACT);

	json_decref(json);
	if (size < 2 || size > room)
		return error_set(reterr, -EMSGSIZE, "entry %" PRIu64 " does not fit into a line",
				 entry->seq);
	/* Over the closing brace, which comes after the seal. */
	size--;
	uint64_t sum = iso_checksum(ret_line, size);
	size += (size_t)snprintf(ret_line + size, ENTRY_LINE_BYTES - size,
				 SEAL_HEAD "%016" PRIx64 "\"}\n", sum);
	*ret_size = size;
	return 0;
}

static bool read_id(const json_t *json, uint64_t *ret_id)
{
	const char *text = json_string_value(json);

	if (text == NULL || strlen(text) != ID_DIGITS ||
	    strspn(text, "0123456789abcdef") != ID_DIGITS)
		return false;
	*ret_id = strtoull(text, NULL, 16);
	return true;
}

static int find(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 1; i < count; i++)
		if (words[i] != NULL && strcmp(words[i], word) == 0)
			return (int)i;
	return 0;
}

static bool read_list(const json_t *list, struct iso_registry_entry *entry)
{
	if (!json_is_array(list) || json_array_size(list) > ISO_REGISTRY_LIST_MAX)
		return false;
	entry->list_count = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < entry->list_count; i++)
		if (!read_id(json_array_get(list, i), &entry->list[i]))
			return false;
	return true;
}

static bool read_number(const json_t *value, size_t i, struct iso_registry_entry *entry)
{
	uint64_t id = 0;

	if (numbers[i].type == ID) {
		if (!read_id(value, &id))
			return false;
		number_set(entry, i, (int64_t)id);
		return true;
	}
	json_int_t number = json_integer_value(value);
	if (!json_is_integer(value) || (numbers[i].type != I64 && number < 0) ||
	    (numbers[i].type == U32 && number > UINT32_MAX))
		return false;
	number_set(entry, i, number);
	return true;
}

/* One field; false for one that is wrong or not known: what it means must not be left out. */
static bool read_field(const char *key, const json_t *value, struct iso_registry_entry *entry)
{
	const char *text = json_string_value(value);
	enum iso_op_kind op_kind;

	for (size_t i = 0; i < COUNT(numbers); i++)
		if (strcmp(key, numbers[i].name) == 0)
			return read_number(value, i, entry);
	for (size_t i = 0; i < COUNT(flags); i++)
		if (strcmp(key, flags[i].name) == 0) {
			entry->flags |= flags[i].flag;
			return json_is_true(value);
		}
	if (strcmp(key, "list") == 0)
		return read_list(value, entry);
	if (strcmp(key, "seq") == 0) {
		entry->seq = (uint64_t)json_integer_value(value);
		return json_is_integer(value) && json_integer_value(value) > 0;
	}
	if (text == NULL)
		return false;
	if (strcmp(key, "entry") == 0) {
		entry->kind = (enum iso_registry_kind)find(kinds, COUNT(kinds), text);
		return entry->kind != 0;
	}
	if (strcmp(key, "begins") == 0) {
		int kind = find(procedures, COUNT(procedures), text);

		entry->begins = (enum iso_registry_procedure_kind)kind;
		return kind != 0;
	}
	if (strcmp(key, "kind") == 0) {
		entry->op_kind = strcmp(text, "admit") == 0 ? ISO_REGISTRY_ADMIT : 0;
		if (iso_op_find(text, &op_kind) == ISO_OK)
			entry->op_kind = (int)op_kind;
		return entry->op_kind != 0;
	}
	if (strcmp(key, "name") == 0) {
		int n = snprintf(entry->name, sizeof(entry->name), "%s", text);

		return n > 0 && (size_t)n < sizeof(entry->name);
	}
	return strcmp(key, "time") == 0 || strcmp(key, "sum") == 0;
}

int entry_read(const char *line, size_t size, struct iso_registry_entry *ret_entry,
	       struct error *reterr)
{
	struct iso_registry_entry entry = { 0 };
	char seal[SEAL_BYTES + 1];
	json_error_t why;
	const char *key;
	json_t *value;

	if (size < SEAL_BYTES)
		return error_set(reterr, -EBADMSG, "too short");
	snprintf(seal, sizeof(seal), SEAL_HEAD "%016" PRIx64 "\"}",
		 iso_checksum(line, size - SEAL_BYTES));
	if (memcmp(line + size - SEAL_BYTES, seal, SEAL_BYTES) != 0)
		return error_set(reterr, -EBADMSG, "its checksum does not match");
	json_t *json = json_loadb(line, size, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(json)) {
		json_decref(json);
		return error_set(reterr, -EINVAL, "not a JSON object");
	}
	json_object_foreach (json, key, value) {
		if (read_field(key, value, &entry))
			continue;
		error_set(reterr, -EINVAL, "field '%.64s' is not known, or wrong", key);
		json_decref(json);
		return -EINVAL;
	}
	json_decref(json);
	if (entry.seq == 0 || entry.kind == 0)
		return error_set(reterr, -EINVAL, "seq or entry is missing");
	*ret_entry = entry;
	return 0;
}
