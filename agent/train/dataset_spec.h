/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_SPEC_H
#define AGENT_DATASET_SPEC_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * Where data are and how they are to be read: PATH[,OPTION=VALUE]..., the value of
 * `data` in the configuration.  isobar-data(5) describes it.
 */

enum dataset_format {
	DATASET_FORMAT_AUTO, /* a folder: IDX; else by the file's name, then its first line */
	DATASET_FORMAT_IDX,
	DATASET_FORMAT_LIBSVM,
	DATASET_FORMAT_CSV,
};

#define DATASET_LABEL_BYTES 128u

struct dataset_spec {
	char path[PATH_MAX];
	char test[PATH_MAX]; /* file of the test half, or empty */
	enum dataset_format format;
	char separator;			 /* of CSV; 0: as the file's name says */
	char label[DATASET_LABEL_BYTES]; /* name of CSV's label column; empty: the last */
	bool has_holdout;		 /* it was given: no test file is looked for */
	double holdout;			 /* part of the samples that is the test half, < 1 */
	bool unit_rows;			 /* scale each sample to 2-norm 1 */
	bool skip_unlabelled;		 /* a sample without label is left out, not an error */
};

int dataset_spec_parse(const char *text, struct dataset_spec *ret_spec, struct error *reterr);

/* Whether it could be one; says what is wrong with it.  Reads no file. */
int dataset_spec_check(const char *text, struct error *reterr);

/* Whether sample number `row` of a file belongs to the test half: a matter of both alone. */
bool dataset_spec_holds_out(const struct dataset_spec *spec, uint64_t row);

#endif
