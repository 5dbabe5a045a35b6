/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_TEXT_H
#define ISO_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * What the decoders of text formats have in common: lines, numbers, and the place and
 * reason of what is wrong.  Independent of any locale.
 */

#define ISO_TEXT_REASON_MAP(X)                                                       \
	X(ISO_TEXT_NOT_A_NUMBER, "not a number")                                     \
	X(ISO_TEXT_NOT_FINITE, "not a finite number")                                \
	X(ISO_TEXT_TOO_LARGE, "number out of range")                                 \
	X(ISO_TEXT_MISSING_VALUE, "missing value")                                   \
	X(ISO_TEXT_MISSING_LABEL, "missing label")                                   \
	X(ISO_TEXT_MANY_LABELS, "more than one label")                               \
	X(ISO_TEXT_NOT_AN_INDEX, "expected INDEX:VALUE")                             \
	X(ISO_TEXT_INDEX_ZERO, "index 0: the first feature is 1")                    \
	X(ISO_TEXT_INDEX_ORDER, "index is not larger than the one before it")        \
	X(ISO_TEXT_INDEX_LARGE, "index is too large")                                \
	X(ISO_TEXT_FEW_FIELDS, "fewer fields than the header has")                   \
	X(ISO_TEXT_MANY_FIELDS, "more fields than the header has")                   \
	X(ISO_TEXT_OPEN_QUOTE, "quote is not closed in its line")                    \
	X(ISO_TEXT_STRAY_QUOTE, "quote inside a field, or text behind a closing one") \
	X(ISO_TEXT_NO_HEADER, "no header line: only numbers")                        \
	X(ISO_TEXT_NO_NAME, "column without a name")                                 \
	X(ISO_TEXT_NO_LABEL_COLUMN, "no column has the name of the label")           \
	X(ISO_TEXT_TWO_LABEL_COLUMNS, "two columns have the name of the label")      \
	X(ISO_TEXT_ONE_COLUMN, "no column is left beside the label")                 \
	X(ISO_TEXT_MANY_COLUMNS, "too many columns")

enum iso_text_reason {
	ISO_TEXT_FINE,
#define X(name, text) name,
	ISO_TEXT_REASON_MAP(X)
#undef X
};

/* A phrase without full stop; static, never NULL. */
const char *iso_text_reason_text(enum iso_text_reason reason);

/* Where a file is wrong, both from 1; the column counts bytes. */
struct iso_text_error {
	uint64_t line, column;
	enum iso_text_reason reason;
};

/* One line, without its end (LF or CR LF). */
struct iso_text_line {
	const char *bytes;
	size_t length;
};

/*
 * The line at the start of bytes[available).  *ret_used counts its end as well.
 * ISO_E_SHORT: no whole line is there; at the end of the file (is_end) the last line
 * needs no end, and ISO_E_SHORT says that there is none left.
 */
ISO_MUST_USE enum iso_status iso_text_line(const char *bytes, size_t available, bool is_end,
					   struct iso_text_line *ret_line, size_t *ret_used);

/*
 * A decimal number at the start of text[length): sign, digits, a point, an
 * exponent.  *ret_used is where it ends.  Correctly rounded to double up to 15 digits
 * with exponents up to 22, else within 2^-50 of it; then rounded to float.  What is
 * too small for a float becomes 0.  ISO_TEXT_FINE, ISO_TEXT_NOT_A_NUMBER,
 * ISO_TEXT_NOT_FINITE (nan, inf), ISO_TEXT_TOO_LARGE; then *ret_used is untouched.
 */
ISO_MUST_USE enum iso_text_reason iso_text_number(const char *text, size_t length,
						  float *ret_value, size_t *ret_used);

#endif
