/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/libsvm.h"

#include <assert.h>

/* The rest of a line. */
struct cursor {
	const char *bytes;
	size_t length, at;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->length && is_blank(cursor->bytes[cursor->at]))
		cursor->at++;
}

/* At the end of the line, or where a comment begins. */
static bool at_end(const struct cursor *cursor)
{
	return cursor->at == cursor->length || cursor->bytes[cursor->at] == '#';
}

static bool at_field_end(const struct cursor *cursor)
{
	return at_end(cursor) || is_blank(cursor->bytes[cursor->at]);
}

static char peek(const struct cursor *cursor)
{
	return cursor->at < cursor->length ? cursor->bytes[cursor->at] : '\0';
}

/* A number and nothing behind it; on failure the cursor is where it should have begun. */
static enum iso_text_reason take_number(struct cursor *cursor, float *ret_value)
{
	size_t used;
	enum iso_text_reason reason = iso_text_number(
	    cursor->bytes + cursor->at, cursor->length - cursor->at, ret_value, &used);

	if (reason == ISO_TEXT_FINE)
		cursor->at += used;
	return reason;
}

/* The label is the first field, if that has no colon. */
static enum iso_text_reason take_label(struct cursor *cursor, struct iso_libsvm_row *row)
{
	struct cursor look = *cursor;

	row->has_label = false;
	row->label = 0;
	while (!at_field_end(&look) && peek(&look) != ':')
		look.at++;
	if (peek(&look) == ':')
		return ISO_TEXT_FINE;
	enum iso_text_reason reason = take_number(cursor, &row->label);
	if (reason != ISO_TEXT_FINE)
		return reason;
	if (!at_field_end(cursor))
		return peek(cursor) == ',' ? ISO_TEXT_MANY_LABELS : ISO_TEXT_NOT_A_NUMBER;
	row->has_label = true;
	return ISO_TEXT_FINE;
}

/* INDEX and its colon; 0-based in *ret_column. */
static enum iso_text_reason take_index(struct cursor *cursor, uint32_t *ret_column)
{
	uint64_t index = 0;
	size_t at = cursor->at;

	for (; at < cursor->length && cursor->bytes[at] >= '0' && cursor->bytes[at] <= '9'; at++) {
		index = 10 * index + (uint64_t)(cursor->bytes[at] - '0');
		if (index > ISO_LIBSVM_INDEX_MAX)
			return ISO_TEXT_INDEX_LARGE;
	}
	if (at == cursor->at || at == cursor->length || cursor->bytes[at] != ':')
		return ISO_TEXT_NOT_AN_INDEX;
	if (index == 0)
		return ISO_TEXT_INDEX_ZERO;
	cursor->at = at + 1;
	*ret_column = (uint32_t)index - 1;
	return ISO_TEXT_FINE;
}

static enum iso_text_reason take_feature(struct cursor *cursor, struct iso_libsvm_row *row)
{
	size_t start = cursor->at;
	uint32_t column;
	float value;
	enum iso_text_reason reason = take_index(cursor, &column);

	if (reason != ISO_TEXT_FINE)
		return reason;
	if (row->count > 0 && column <= row->columns[row->count - 1]) {
		cursor->at = start;
		return ISO_TEXT_INDEX_ORDER;
	}
	if (at_field_end(cursor))
		return ISO_TEXT_MISSING_VALUE;
	reason = take_number(cursor, &value);
	if (reason != ISO_TEXT_FINE)
		return reason;
	if (!at_field_end(cursor))
		return ISO_TEXT_NOT_A_NUMBER;
	row->columns[row->count] = column;
	row->values[row->count++] = value;
	return ISO_TEXT_FINE;
}

/* ISO_E_SHORT: no sample in this line. */
static enum iso_status decode_line(struct cursor *cursor, struct iso_libsvm_row *row,
				   enum iso_text_reason *ret_reason)
{
	enum iso_text_reason reason;

	skip_blanks(cursor);
	if (at_end(cursor))
		return ISO_E_SHORT;
	row->count = 0;
	reason = take_label(cursor, row);
	for (skip_blanks(cursor); reason == ISO_TEXT_FINE && !at_end(cursor); skip_blanks(cursor)) {
		if (row->count == row->capacity)
			return ISO_E_FULL;
		reason = take_feature(cursor, row);
		if (reason != ISO_TEXT_FINE)
			break;
	}
	*ret_reason = reason;
	return reason == ISO_TEXT_FINE ? ISO_OK : ISO_E_MALFORMED;
}

enum iso_status iso_libsvm_row(struct iso_libsvm *libsvm, const char *bytes, size_t available,
			       bool is_end, struct iso_libsvm_row *row, size_t *ret_used,
			       struct iso_text_error *ret_error)
{
	enum iso_status status = ISO_E_SHORT;
	size_t done = 0;

	while (status == ISO_E_SHORT) {
		enum iso_text_reason reason = ISO_TEXT_FINE;
		struct iso_text_line line;
		size_t used;

		if (iso_text_line(bytes + done, available - done, is_end, &line, &used) != ISO_OK)
			break;
		struct cursor cursor = { line.bytes, line.length, 0 };
		status = decode_line(&cursor, row, &reason);
		assert(cursor.at <= line.length);
		if (status == ISO_E_FULL)
			break;
		libsvm->line++;
		done += used;
		if (status == ISO_E_MALFORMED)
			*ret_error = (struct iso_text_error){ libsvm->line, cursor.at + 1, reason };
	}
	*ret_used = done;
	return status;
}
