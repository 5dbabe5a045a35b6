/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/train/dataset_stream.h"
#include "agent/train/dataset_table.h"
#include "lib/data/csv.h"
#include "lib/data/libsvm.h"

/* Which samples of a file are kept. */
enum keep { KEEP_ALL, KEEP_NONE, KEEP_TRAIN, KEEP_TEST };

/* One file on its way into a table. */
struct reading {
	const struct dataset_spec *spec;
	const char *path;
	enum dataset_format format;
	enum keep keep;
	const struct table *known; /* labels other than its are an error; NULL: none is */
	uint64_t names;		   /* of CSV: what the header must be; 0: anything */
	struct stream *stream;
	struct table table;
	uint64_t rows; /* with a label */
	uint32_t held_out, unlabelled;
	struct iso_libsvm libsvm;
	struct iso_csv csv;
};

static bool has_ending(const char *path, const char *ending)
{
	size_t length = strlen(path), end = strlen(ending);

	return length > end && strcmp(path + length - end, ending) == 0;
}

static bool has_ending_gz(const char *path, const char *ending)
{
	char zipped[16];

	snprintf(zipped, sizeof(zipped), "%s.gz", ending);
	return has_ending(path, ending) || has_ending(path, zipped);
}

static char separator_of(const struct dataset_spec *spec)
{
	if (spec->separator != '\0')
		return spec->separator;
	return has_ending_gz(spec->path, ".tsv") ? '\t' : ',';
}

/* A first line with a comma and no colon is CSV's header. */
static enum dataset_format format_of(const struct dataset_spec *spec, const char *bytes,
				     size_t available, bool is_end)
{
	struct iso_text_line line;
	size_t used;

	if (spec->format != DATASET_FORMAT_AUTO)
		return spec->format;
	if (has_ending_gz(spec->path, ".csv") || has_ending_gz(spec->path, ".tsv"))
		return DATASET_FORMAT_CSV;
	if (iso_text_line(bytes, available, is_end, &line, &used) == ISO_OK && line.length > 0 &&
	    line.bytes[0] != '#' && memchr(line.bytes, ',', line.length) != NULL &&
	    memchr(line.bytes, ':', line.length) == NULL)
		return DATASET_FORMAT_CSV;
	return DATASET_FORMAT_LIBSVM;
}

static uint64_t line_of(const struct reading *reading)
{
	return reading->format == DATASET_FORMAT_CSV ? reading->csv.line : reading->libsvm.line;
}

static int refuse(const struct reading *reading, const struct iso_text_error *wrong,
		  struct error *reterr)
{
	return error_set(reterr, -EBADMSG, "%s: line %llu, column %llu: %s", reading->path,
			 (unsigned long long)wrong->line, (unsigned long long)wrong->column,
			 iso_text_reason_text(wrong->reason));
}

static int no_room(const struct reading *reading, int code, struct error *reterr)
{
	if (code == -EFBIG)
		return error_set(reterr, code, "%s: line %llu: the data are more than %llu MiB",
				 reading->path, (unsigned long long)line_of(reading),
				 (unsigned long long)(TABLE_BYTES_MAX >> 20));
	return error_errno(reterr, code, "%s", reading->path);
}

/* A decoded sample lies behind the table's cells: keeps it, or only takes note of it. */
static int take(struct reading *reading, uint32_t cells, bool has_label, float label,
		struct error *reterr)
{
	struct table *table = &reading->table;

	if (!has_label) {
		const struct iso_text_error wrong = { line_of(reading), 1, ISO_TEXT_MISSING_LABEL };

		if (!reading->spec->skip_unlabelled)
			return refuse(reading, &wrong, reterr);
		reading->unlabelled++;
		return 0;
	}
	if (reading->known != NULL && reading->known->has_classes &&
	    table_class_of(reading->known, label) < 0)
		return error_set(
		    reterr, -EBADMSG, "%s: line %llu: label %g is none of the training half's",
		    reading->path, (unsigned long long)line_of(reading), (double)label);
	table_note_label(table, label);
	if (!table->is_dense)
		table_note_columns(table, table->columns + table->cells, cells);

	bool is_test = dataset_spec_holds_out(reading->spec, reading->rows++);
	bool is_kept = reading->keep == KEEP_ALL || (reading->keep == KEEP_TRAIN && !is_test) ||
		       (reading->keep == KEEP_TEST && is_test);
	if (is_kept)
		table_add(table, cells, label);
	else
		reading->held_out++;
	return 0;
}

/* Room for one row, at least `cells` values. */
static int make_room(struct reading *reading, uint32_t cells, struct error *reterr)
{
	int r = table_make_room(&reading->table, cells);

	return r < 0 ? no_room(reading, r, reterr) : 0;
}

/* Decodes one sample of bytes[available); 1: more bytes are needed. */
static int libsvm_step(struct reading *reading, const char *bytes, size_t available, bool is_end,
		       size_t *ret_used, struct error *reterr)
{
	struct table *table = &reading->table;
	struct iso_text_error wrong;
	uint32_t cells = 32;
	size_t skipped = 0; /* lines without a sample, before one that needs more room */

	for (;;) {
		int r = make_room(reading, cells, reterr);
		if (r < 0)
			return r;
		uint64_t room = table->cells_room - table->cells;
		struct iso_libsvm_row row = {
			.columns = table->columns + table->cells,
			.values = table->values + table->cells,
			.capacity = room < UINT32_MAX / 2 ? (uint32_t)room : UINT32_MAX / 2,
		};
		enum iso_status status = iso_libsvm_row(&reading->libsvm, bytes, available, is_end,
							&row, ret_used, &wrong);
		size_t used = *ret_used;

		*ret_used += skipped;
		if (status == ISO_E_MALFORMED)
			return refuse(reading, &wrong, reterr);
		if (status == ISO_E_SHORT)
			return 1;
		if (status == ISO_OK)
			return take(reading, row.count, row.has_label, row.label, reterr);
		bytes += used;
		available -= used;
		skipped += used;
		cells = 2 * row.capacity;
	}
}

static int csv_step(struct reading *reading, const char *bytes, size_t available, bool is_end,
		    size_t *ret_used, struct error *reterr)
{
	struct table *table = &reading->table;
	struct iso_text_error wrong;

	int r = make_room(reading, table->features, reterr);
	if (r < 0)
		return r;
	struct iso_csv_row row = { .values = table->values + table->cells };
	enum iso_status status =
	    iso_csv_row(&reading->csv, bytes, available, is_end, &row, ret_used, &wrong);
	if (status == ISO_E_MALFORMED)
		return refuse(reading, &wrong, reterr);
	if (status == ISO_E_SHORT)
		return 1;
	return take(reading, table->features, row.has_label, row.label, reterr);
}

static int csv_start(struct reading *reading, const char *bytes, size_t available, bool is_end,
		     size_t *ret_used, struct error *reterr)
{
	const struct dataset_spec *spec = reading->spec;
	struct iso_text_error wrong;
	enum iso_status status =
	    iso_csv_header(separator_of(spec), spec->label[0] != '\0' ? spec->label : NULL, bytes,
			   available, is_end, &reading->csv, ret_used, &wrong);

	if (status == ISO_E_MALFORMED)
		return refuse(reading, &wrong, reterr);
	if (status == ISO_E_SHORT)
		return is_end ? error_set(reterr, -EBADMSG, "%s: empty file", reading->path) : 1;
	if (reading->names != 0 && reading->names != reading->csv.names)
		return error_set(reterr, -EBADMSG, "%s: line %llu: its columns are not those of %s",
				 reading->path, (unsigned long long)reading->csv.line, spec->path);
	table_init(&reading->table, reading->csv.columns - 1);
	return 0;
}

/* The next step of whatever format; the first one finds out which it is. */
static int step(struct reading *reading, const char *bytes, size_t available, bool is_end,
		size_t *ret_used, struct error *reterr)
{
	if (reading->format == DATASET_FORMAT_AUTO) {
		if (available >= 2 && bytes[0] == 0 && bytes[1] == 0)
			return error_set(reterr, -EINVAL,
					 "%s: offset 0: this is IDX; its folder is to be given",
					 reading->path);
		reading->format = format_of(reading->spec, bytes, available, is_end);
	}
	if (reading->format == DATASET_FORMAT_LIBSVM)
		return libsvm_step(reading, bytes, available, is_end, ret_used, reterr);
	if (reading->csv.columns == 0)
		return csv_start(reading, bytes, available, is_end, ret_used, reterr);
	return csv_step(reading, bytes, available, is_end, ret_used, reterr);
}

static void reading_close(struct reading *reading)
{
	reading->stream = stream_close(reading->stream);
	table_close(&reading->table);
}

static int read_file(struct reading *reading, struct error *reterr)
{
	const char *bytes = NULL;
	size_t available = 0, at = 0, used;
	bool is_end = false;

	table_init(&reading->table, 0);
	int r = stream_open(reading->path, &reading->stream, reterr);
	if (r < 0)
		return r;
	do {
		r = stream_more(reading->stream, at, &bytes, &available, &is_end, reterr);
		if (r == -EFBIG)
			return error_set(reterr, r, "%s: line %llu: longer than %zu MiB",
					 reading->path, (unsigned long long)line_of(reading) + 1,
					 STREAM_PIECE_MAX >> 20);
		if (r < 0)
			return r;
		for (at = 0, r = 0; r == 0; at += used) {
			used = 0;
			r = step(reading, bytes + at, available - at, is_end, &used, reterr);
		}
		if (r < 0)
			return r;
	} while (!is_end);
	reading->stream = stream_close(reading->stream);
	if (reading->rows == 0)
		return error_set(reterr, -EBADMSG, "%s: line %llu: the file ends without a sample",
				 reading->path, (unsigned long long)line_of(reading));
	if (reading->table.features == 0)
		return error_set(reterr, -EBADMSG, "%s: no feature in it", reading->path);
	return 0;
}

/* PATH with `ending` in place of the file's own ending; false: too long. */
static bool beside(const char *path, const char *insert, bool before_ending, const char *zip,
		   char out[PATH_MAX])
{
	size_t length = strlen(path) - (has_ending(path, ".gz") ? 3 : 0);
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t stem = length;

	for (size_t i = length; before_ending && i > (size_t)(name - path) + 1; i--)
		if (path[i - 1] == '.') {
			stem = i - 1;
			break;
		}
	size_t kept = stem;
	if (before_ending && kept >= 6 && strncmp(path + kept - 6, "-train", 6) == 0)
		kept -= 6;
	int written = snprintf(out, PATH_MAX, "%.*s%s%.*s%s", (int)kept, path, insert,
			       (int)(length - stem), path + stem, zip);
	return written > 0 && written < PATH_MAX;
}

/* The file of the test half: as given, or one that lies beside; false: there is none. */
static bool find_test(const struct dataset_spec *spec, char out[PATH_MAX])
{
	static const char *const zips[] = { "", ".gz" };

	if (spec->test[0] != '\0') {
		snprintf(out, PATH_MAX, "%s", spec->test);
		return true;
	}
	for (size_t i = 0; i < 4 && !spec->has_holdout; i++)
		if (beside(spec->path, i < 2 ? ".t" : "-test", i >= 2, zips[i % 2], out) &&
		    strcmp(out, spec->path) != 0 && access(out, F_OK) == 0)
			return true;
	return false;
}

static int finish(struct reading *reading, const struct table *known, struct dataset *ret_dataset,
		  struct error *reterr)
{
	struct dataset dataset;

	if (reading->table.rows == 0)
		return error_set(reterr, -EBADMSG,
				 "%s: none of its %llu samples is left for this half; "
				 "holdout is to be another",
				 reading->path, (unsigned long long)reading->rows);
	int r = table_finish(&reading->table, known, &dataset);
	if (r < 0)
		return no_room(reading, r, reterr);
	dataset.held_out = reading->held_out;
	dataset.unlabelled = reading->unlabelled;
	*ret_dataset = dataset;
	return 0;
}

/* The second file, as far as the first one knows its labels and features. */
static int load_test(struct reading *train, const char *path, struct dataset *ret_dataset,
		     struct error *reterr)
{
	__attribute__((cleanup(reading_close))) struct reading test = {
		.spec = train->spec,
		.path = path,
		.format = train->format,
		.keep = KEEP_ALL,
		.known = &train->table,
		.names = train->csv.names,
	};

	int r = read_file(&test, reterr);
	if (r < 0)
		return r;
	return finish(&test, &train->table, ret_dataset, reterr);
}

int dataset_text_load(const struct dataset_spec *spec, enum dataset_half half,
		      struct dataset *ret_dataset, struct error *reterr)
{
	__attribute__((cleanup(reading_close))) struct reading train = {
		.spec = spec,
		.path = spec->path,
		.format = spec->format,
	};
	char path[PATH_MAX];
	bool is_test = half == DATASET_TEST, has_test_file = find_test(spec, path);

	if (has_test_file)
		train.keep = is_test ? KEEP_NONE : KEEP_ALL;
	else if (spec->holdout > 0)
		train.keep = is_test ? KEEP_TEST : KEEP_TRAIN;
	int r = read_file(&train, reterr);
	if (r < 0)
		return r;
	if (has_test_file && is_test)
		return load_test(&train, path, ret_dataset, reterr);
	return finish(&train, &train.table, ret_dataset, reterr);
}
