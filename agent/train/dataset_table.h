/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_TABLE_H
#define AGENT_DATASET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/train/dataset.h"

/*
 * Samples as they come out of a text file, one by one: a table that grows.  It keeps
 * the labels that occur, whether their samples are kept or not.
 */

/* At most this much in memory. */
#define TABLE_BYTES_MAX ((uint64_t)1 << 30)

struct table {
	/* Rows that are kept; all owned. */
	uint32_t rows, rows_room;
	uint64_t *starts;
	float *targets;
	uint64_t cells, cells_room; /* of the next two */
	uint32_t *columns;	    /* unused if is_dense: a row has `features` values */
	float *values;

	bool is_dense;
	uint32_t features; /* the largest column of any row + 1 */

	/* Labels of all rows, ascending, as long as they are few whole numbers. */
	bool has_classes;
	uint32_t classes;
	float class_labels[ISO_MODEL_CLASSES_MAX];
};

/* features: of each row, of a dense one; 0: rows are sparse. */
void table_init(struct table *table, uint32_t features);
void table_close(struct table *table);

/*
 * Room for one more row of `cells` values behind those that are there: fill
 * table->columns and table->values from table->cells on, then table_add().
 * -ENOMEM, or -EFBIG: more than TABLE_BYTES_MAX.
 */
int table_make_room(struct table *table, uint32_t cells);
void table_add(struct table *table, uint32_t cells, float target);

/* Takes note of a sample's label and columns; for every sample, kept or not. */
void table_note_label(struct table *table, float label);
void table_note_columns(struct table *table, const uint32_t *columns, uint32_t count);

/* The number of the class with that label; -1: there is none. */
int table_class_of(const struct table *table, float label);

/*
 * Moves the rows into *ret_dataset: dense if that takes less, labels if there are
 * classes.  `known` has the features and labels that count (of the training file; may be
 * the table itself); columns beyond are dropped.  -ENOMEM.
 */
int table_finish(struct table *table, const struct table *known, struct dataset *ret_dataset);

#endif
