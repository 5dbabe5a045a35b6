/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DATA_LIBSVM_H
#define ISO_DATA_LIBSVM_H

#include "lib/data/text.h"

/*
 * The sparse text format of LIBSVM, LIBLINEAR and SVMlight: a line for each sample,
 *
 *   LABEL INDEX:VALUE INDEX:VALUE ...  # comment
 *
 * with indices from 1, ascending; features that are not there are 0.  Fields are
 * parted by blanks.  A line with nothing but blanks and a comment is no sample.  A
 * sample may come without its label.  A list of labels and SVMlight's qid are
 * refused.
 */

/* A larger index could not be trained with, see ISO_MODEL_PARAMS_MAX. */
#define ISO_LIBSVM_INDEX_MAX (1u << 28)

struct iso_libsvm {
	uint64_t line; /* lines decoded */
};

/* Arrays of the caller's, to be filled with the features that are there. */
struct iso_libsvm_row {
	uint32_t *columns; /* INDEX - 1, ascending */
	float *values;
	uint32_t capacity; /* of both */
	uint32_t count;
	bool has_label;
	float label; /* 0 without one */
};

/*
 * Decodes the next sample of bytes[available), which begin at the start of a line.
 * *ret_used: bytes to drop before the next call, also when no sample is in them.
 * is_end: the file ends there.
 *   ISO_OK           row->count, has_label and label are set
 *   ISO_E_SHORT      more bytes are needed; with is_end, that was all
 *   ISO_E_FULL       row->capacity is too small; nothing is used of that line
 *   ISO_E_MALFORMED  *ret_error says where and why
 */
ISO_MUST_USE enum iso_status iso_libsvm_row(struct iso_libsvm *libsvm, const char *bytes,
					    size_t available, bool is_end,
					    struct iso_libsvm_row *row, size_t *ret_used,
					    struct iso_text_error *ret_error);

#endif
