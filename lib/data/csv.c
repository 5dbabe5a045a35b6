/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/csv.h"

#include <assert.h>
#include <string.h>

#include "lib/checksum.h"

/* The rest of a line. */
struct cursor {
	const char *bytes;
	size_t length, at;
	char separator;
	bool is_done; /* the last field was taken */
};

struct field {
	const char *text;
	size_t length;
	size_t start; /* in the line, for messages */
};

/* A separator is none, even if it is a tab. */
static bool is_blank(const struct cursor *cursor, size_t at)
{
	char c = cursor->bytes[at];

	return (c == ' ' || c == '\t') && c != cursor->separator;
}

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->length && is_blank(cursor, cursor->at))
		cursor->at++;
}

static bool at_field_end(const struct cursor *cursor)
{
	return cursor->at == cursor->length || cursor->bytes[cursor->at] == cursor->separator;
}

/* Behind the opening quote.  Two quotes in a row stand for one, and stay in the text. */
static enum iso_text_reason take_quoted(struct cursor *cursor, struct field *field)
{
	size_t end = cursor->at;

	for (;; end++) {
		if (end == cursor->length)
			return ISO_TEXT_OPEN_QUOTE;
		if (cursor->bytes[end] != '"')
			continue;
		if (end + 1 == cursor->length || cursor->bytes[end + 1] != '"')
			break;
		end++;
	}
	field->text = cursor->bytes + cursor->at;
	field->length = end - cursor->at;
	cursor->at = end + 1;
	skip_blanks(cursor);
	return at_field_end(cursor) ? ISO_TEXT_FINE : ISO_TEXT_STRAY_QUOTE;
}

static enum iso_text_reason take_plain(struct cursor *cursor, struct field *field)
{
	size_t end;

	for (; !at_field_end(cursor); cursor->at++)
		if (cursor->bytes[cursor->at] == '"')
			return ISO_TEXT_STRAY_QUOTE;
	for (end = cursor->at; end > field->start && is_blank(cursor, end - 1); end--)
		;
	field->text = cursor->bytes + field->start;
	field->length = end - field->start;
	return ISO_TEXT_FINE;
}

/* The next field; the caller has looked whether there is one. */
static enum iso_text_reason take_field(struct cursor *cursor, struct field *ret_field)
{
	enum iso_text_reason reason;

	assert(!cursor->is_done);
	skip_blanks(cursor);
	ret_field->start = cursor->at;
	if (cursor->at < cursor->length && cursor->bytes[cursor->at] == '"') {
		cursor->at++;
		reason = take_quoted(cursor, ret_field);
	} else {
		reason = take_plain(cursor, ret_field);
	}
	if (reason != ISO_TEXT_FINE)
		return reason;
	cursor->is_done = cursor->at == cursor->length;
	if (!cursor->is_done)
		cursor->at++;
	return ISO_TEXT_FINE;
}

static bool is_empty(const struct iso_text_line *line)
{
	for (size_t i = 0; i < line->length; i++)
		if (line->bytes[i] != ' ' && line->bytes[i] != '\t')
			return false;
	return true;
}

/* The next line that is not empty, as iso_text_line(); counts all of them. */
static enum iso_status next_line(uint64_t *line_number, const char *bytes, size_t available,
				 bool is_end, struct iso_text_line *ret_line, size_t *ret_used)
{
	size_t done = 0, used;
	enum iso_status status;

	do {
		status = iso_text_line(bytes + done, available - done, is_end, ret_line, &used);
		if (status != ISO_OK)
			break;
		done += used;
		(*line_number)++;
	} while (is_empty(ret_line));
	*ret_used = done;
	return status;
}

static bool is_named(const struct field *field, const char *name)
{
	size_t at = 0;

	for (; *name != '\0'; name++, at++) {
		if (at >= field->length || field->text[at] != *name)
			return false;
		at += *name == '"'; /* it is there twice */
	}
	return at == field->length;
}

static bool is_number(const struct field *field)
{
	float value;
	size_t used;

	return iso_text_number(field->text, field->length, &value, &used) == ISO_TEXT_FINE &&
	       used == field->length;
}

/* The columns of the header line; *ret_at: which field is wrong, or where the line ends. */
static enum iso_text_reason decode_names(struct cursor *cursor, const char *label,
					 struct iso_csv *csv, size_t *ret_at)
{
	bool has_label = false, has_name = false;
	struct field field;

	while (!cursor->is_done) {
		*ret_at = cursor->at;
		enum iso_text_reason reason = take_field(cursor, &field);
		if (reason == ISO_TEXT_FINE && field.length == 0)
			reason = ISO_TEXT_NO_NAME;
		if (reason == ISO_TEXT_FINE && csv->columns == ISO_CSV_COLUMNS_MAX)
			reason = ISO_TEXT_MANY_COLUMNS;
		if (reason != ISO_TEXT_FINE)
			return reason;
		*ret_at = field.start;
		has_name |= !is_number(&field);
		if (label != NULL && is_named(&field, label)) {
			if (has_label)
				return ISO_TEXT_TWO_LABEL_COLUMNS;
			has_label = true;
			csv->label = csv->columns;
		}
		csv->columns++;
	}
	*ret_at = 0;
	if (!has_name)
		return ISO_TEXT_NO_HEADER;
	if (label != NULL && !has_label)
		return ISO_TEXT_NO_LABEL_COLUMN;
	if (csv->columns < 2)
		return ISO_TEXT_ONE_COLUMN;
	return ISO_TEXT_FINE;
}

enum iso_status iso_csv_header(char separator, const char *label, const char *bytes,
			       size_t available, bool is_end, struct iso_csv *ret_csv,
			       size_t *ret_used, struct iso_text_error *ret_error)
{
	static const char mark[3] = { '\xef', '\xbb', '\xbf' };
	bool has_mark = available >= 3 && memcmp(bytes, mark, 3) == 0;
	size_t start = has_mark ? 3 : 0, used, at;
	struct iso_csv csv = { .separator = separator };
	struct iso_text_line line;

	if (next_line(&csv.line, bytes + start, available - start, is_end, &line, &used) != ISO_OK)
		return ISO_E_SHORT;
	struct cursor cursor = { line.bytes, line.length, 0, separator, false };
	enum iso_text_reason reason = decode_names(&cursor, label, &csv, &at);
	if (reason != ISO_TEXT_FINE) {
		/* Bytes of the file's line, to which the mark belongs. */
		*ret_error =
		    (struct iso_text_error){ csv.line, (csv.line == 1 ? start : 0) + at + 1,
					     reason };
		return ISO_E_MALFORMED;
	}
	if (label == NULL)
		csv.label = csv.columns - 1;
	csv.names = iso_checksum(line.bytes, line.length);
	*ret_csv = csv;
	*ret_used = start + used;
	return ISO_OK;
}

/* A missing one: *ret_value is untouched. */
static enum iso_text_reason read_value(const struct field *field, float *ret_value)
{
	size_t used;

	if (field->length == 0 || is_named(field, "?") || is_named(field, "NA"))
		return ISO_TEXT_MISSING_VALUE;
	enum iso_text_reason reason = iso_text_number(field->text, field->length, ret_value, &used);
	if (reason == ISO_TEXT_FINE && used < field->length)
		return ISO_TEXT_NOT_A_NUMBER;
	return reason;
}

/* *ret_at as in decode_names(). */
static enum iso_text_reason decode_line(const struct iso_csv *csv, struct cursor *cursor,
					struct iso_csv_row *row, size_t *ret_at)
{
	float *next = row->values;
	struct field field;

	row->has_label = true;
	row->label = 0;
	for (uint32_t column = 0; column < csv->columns; column++) {
		bool is_label = column == csv->label;

		*ret_at = cursor->at;
		if (cursor->is_done)
			return ISO_TEXT_FEW_FIELDS;
		enum iso_text_reason reason = take_field(cursor, &field);
		if (reason != ISO_TEXT_FINE)
			return reason;
		*ret_at = field.start;
		reason = read_value(&field, is_label ? &row->label : next);
		if (reason == ISO_TEXT_MISSING_VALUE && is_label) {
			row->has_label = false;
			continue;
		}
		if (reason != ISO_TEXT_FINE)
			return reason;
		next += !is_label;
	}
	*ret_at = cursor->at;
	return cursor->is_done ? ISO_TEXT_FINE : ISO_TEXT_MANY_FIELDS;
}

enum iso_status iso_csv_row(struct iso_csv *csv, const char *bytes, size_t available, bool is_end,
			    struct iso_csv_row *row, size_t *ret_used,
			    struct iso_text_error *ret_error)
{
	struct iso_text_line line;
	size_t at = 0;

	if (next_line(&csv->line, bytes, available, is_end, &line, ret_used) != ISO_OK)
		return ISO_E_SHORT;
	struct cursor cursor = { line.bytes, line.length, 0, csv->separator, false };
	enum iso_text_reason reason = decode_line(csv, &cursor, row, &at);
	assert(at <= line.length);
	if (reason == ISO_TEXT_FINE)
		return ISO_OK;
	*ret_error = (struct iso_text_error){ csv->line, at + 1, reason };
	return ISO_E_MALFORMED;
}
