/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_table.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *table, uint32_t features)
{
	*table = (struct table){
		.is_dense = features > 0,
		.features = features,
		.has_classes = true,
	};
}

void table_close(struct table *table)
{
	free(table->starts);
	free(table->targets);
	free(table->columns);
	free(table->values);
	memset(table, 0, sizeof(*table));
}

static bool grow(void *array, uint64_t count, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, count, size);
	if (grown == NULL)
		return false;
	memcpy(array, &grown, sizeof(grown));
	return true;
}

static int make_rows(struct table *table)
{
	uint32_t room = table->rows_room < 512 ? 1024 : 2 * table->rows_room;

	if (table->rows_room >= UINT32_MAX / 4)
		return -EFBIG;
	if (!grow(&table->starts, room + 1ull, sizeof(*table->starts)) ||
	    !grow(&table->targets, room, sizeof(*table->targets)))
		return -ENOMEM;
	table->starts[0] = 0;
	table->rows_room = room;
	return 0;
}

int table_make_room(struct table *table, uint32_t cells)
{
	uint64_t cell_bytes = table->is_dense ? 4 : 8;
	uint64_t least = table->cells + cells, room = table->cells_room;

	if (least * cell_bytes + table->rows * 12ull > TABLE_BYTES_MAX)
		return -EFBIG;
	if (table->rows == table->rows_room) {
		int r = make_rows(table);

		if (r < 0)
			return r;
	}
	if (least <= room)
		return 0;
	room = room < least / 2 ? least : 2 * room;
	room = room < 4096 ? 4096 : room;
	if (!grow(&table->values, room, sizeof(*table->values)))
		return -ENOMEM;
	if (!table->is_dense && !grow(&table->columns, room, sizeof(*table->columns)))
		return -ENOMEM;
	table->cells_room = room;
	return 0;
}

void table_add(struct table *table, uint32_t cells, float target)
{
	assert(table->rows < table->rows_room);
	assert(table->cells + cells <= table->cells_room);
	table->cells += cells;
	table->targets[table->rows++] = target;
	table->starts[table->rows] = table->cells;
}

void table_note_columns(struct table *table, const uint32_t *columns, uint32_t count)
{
	/* Ascending: the last is the largest. */
	if (count > 0 && columns[count - 1] >= table->features)
		table->features = columns[count - 1] + 1;
}

/* The first label that is not below this one. */
static uint32_t find(const struct table *table, float label)
{
	uint32_t low = 0, high = table->classes;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (table->class_labels[middle] < label)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int table_class_of(const struct table *table, float label)
{
	uint32_t at = find(table, label);

	/* Neither is larger: they are equal. */
	return at < table->classes && !(table->class_labels[at] > label) ? (int)at : -1;
}

void table_note_label(struct table *table, float label)
{
	const uint32_t room = ISO_MODEL_CLASSES_MAX;

	if (!table->has_classes || table_class_of(table, label) >= 0)
		return;
	/* A float holds whole numbers exactly up to here. */
	bool is_whole = fabsf(label) <= 0x1p24f && !(rintf(label) < label || rintf(label) > label);
	if (!is_whole || table->classes == room) {
		table->has_classes = false;
		table->classes = 0;
		return;
	}
	uint32_t at = find(table, label);
	memmove(&table->class_labels[at + 1], &table->class_labels[at],
		(table->classes - at) * sizeof(label));
	table->class_labels[at] = label + 0.0f; /* no negative zero */
	table->classes++;
}

/* Cells with columns of `features` or more go; says how many. */
static uint64_t drop_foreign(struct table *table, uint32_t features)
{
	uint64_t to = 0, from = 0;

	for (uint32_t row = 0; row < table->rows; row++) {
		for (; from < table->starts[row + 1]; from++) {
			if (table->columns[from] >= features)
				continue;
			table->columns[to] = table->columns[from];
			table->values[to++] = table->values[from];
		}
		table->starts[row + 1] = to;
	}
	table->cells = to;
	return from - to;
}

/* Zeros and all, as one row behind the other. */
static int make_dense(struct table *table, uint32_t features)
{
	float *dense = calloc((size_t)table->rows * features, sizeof(*dense));

	if (dense == NULL)
		return -ENOMEM;
	for (uint32_t row = 0; row < table->rows; row++)
		for (uint64_t i = table->starts[row]; i < table->starts[row + 1]; i++)
			dense[(size_t)row * features + table->columns[i]] = table->values[i];
	free(table->values);
	free(table->columns);
	table->values = dense;
	table->columns = NULL;
	table->is_dense = true;
	return 0;
}

static int set_labels(const struct table *table, const struct table *known, struct dataset *dataset)
{
	dataset->classes = 1;
	if (!known->has_classes)
		return 0;
	dataset->classes = known->classes;
	dataset->labels = calloc(table->rows, sizeof(*dataset->labels));
	dataset->class_labels = calloc(known->classes, sizeof(*dataset->class_labels));
	if (dataset->labels == NULL || dataset->class_labels == NULL)
		return -ENOMEM;
	memcpy(dataset->class_labels, known->class_labels,
	       known->classes * sizeof(*dataset->class_labels));
	for (uint32_t row = 0; row < table->rows; row++) {
		int class = table_class_of(known, table->targets[row]);

		assert(class >= 0);
		dataset->labels[row] = (uint8_t) class;
	}
	return 0;
}

int table_finish(struct table *table, const struct table *known, struct dataset *ret_dataset)
{
	struct dataset dataset = { .samples = table->rows, .features = known->features };

	if (!table->is_dense) {
		uint64_t full = (uint64_t)table->rows * known->features;

		dataset.foreign = drop_foreign(table, known->features);
		if (4 * full <= 8 * (table->cells + table->rows) &&
		    make_dense(table, known->features) < 0)
			return -ENOMEM;
	}
	if (set_labels(table, known, &dataset) < 0) {
		dataset_close(&dataset);
		return -ENOMEM;
	}
	dataset.targets = table->targets;
	if (table->is_dense) {
		dataset.dense = table->values;
	} else {
		dataset.starts = table->starts;
		dataset.columns = table->columns;
		dataset.values = table->values;
		dataset.sparse =
		    (struct iso_sparse){ dataset.starts, dataset.columns, dataset.values };
		table->starts = NULL;
	}
	table->targets = NULL;
	table->columns = NULL;
	table->values = NULL;
	*ret_dataset = dataset;
	return 0;
}
