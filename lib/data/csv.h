/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_CSV_H
#define ISO_DATA_CSV_H

#include "lib/data/text.h"

/*
 * Comma-separated values as of RFC 4180, with a header line and numbers below it.
 * One column is the label, every other one a feature.  Fields may be quoted, and
 * blanks around them do not count; a quoted field ends in its line.  Empty lines are
 * no samples.  A sample may come without its label, but not without a value: an empty
 * field, "?" and "NA" are missing values.
 */
#define ISO_CSV_COLUMNS_MAX (1u << 24)

struct iso_csv {
	char separator;
	uint32_t columns; /* 2 .. ISO_CSV_COLUMNS_MAX */
	uint32_t label;	  /* which of them; from 0 */
	uint64_t line;	  /* lines decoded */
	uint64_t names;	  /* checksum of the header: equal in files with the same columns */
};

/*
 * Decodes the header of bytes[available), the start of the file; a UTF-8 byte-order
 * mark is skipped.  label: name of the label's column; NULL: the last one is it.
 * *ret_used: bytes to drop before the next call.
 *   ISO_OK           *ret_csv is filled
 *   ISO_E_SHORT      more bytes are needed; with is_end: the file is empty
 *   ISO_E_MALFORMED  *ret_error says where and why
 */
ISO_MUST_USE enum iso_status iso_csv_header(char separator, const char *label, const char *bytes,
					    size_t available, bool is_end, struct iso_csv *ret_csv,
					    size_t *ret_used, struct iso_text_error *ret_error);

struct iso_csv_row {
	float *values; /* room for columns - 1: the features, as the columns lie */
	bool has_label;
	float label; /* 0 without one */
};

/* The next sample, as iso_libsvm_row() does it; never ISO_E_FULL. */
ISO_MUST_USE enum iso_status iso_csv_row(struct iso_csv *csv, const char *bytes, size_t available,
					 bool is_end, struct iso_csv_row *row, size_t *ret_used,
					 struct iso_text_error *ret_error);

#endif
