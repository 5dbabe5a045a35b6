/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset.h"
#include "agent/train/dataset_spec.h"
#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define HEART "/usr/share/doc/liblinear-tools/examples/heart_scale"

static char folder[64];
static struct dataset data;
static struct error error;

static void put(const char *name, const char *text)
{
	char path[128];
	size_t length = strlen(text);

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (strstr(name, ".gz") != NULL) {
		gzFile file = gzopen(path, "wbe");

		ck_assert_int_eq(gzwrite(file, text, (unsigned)length), (int)length);
		ck_assert_int_eq(gzclose(file), Z_OK);
		return;
	}
	FILE *file = fopen(path, "wbe");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, length, file), length);
	ck_assert_int_eq(fclose(file), 0);
}

/* name and options behind the folder. */
static int load(const char *spec, enum dataset_half half)
{
	char text[256];

	dataset_close(&data);
	memset(&error, 0, sizeof(error));
	snprintf(text, sizeof(text), "%s/%s", folder, spec);
	return dataset_open(text, half, &data, &error);
}

static void must_load(const char *spec, enum dataset_half half)
{
	int r = load(spec, half);

	ck_assert_msg(r == 0, "%s: %s", spec, error.text);
}

static void must_refuse(const char *spec, enum dataset_half half, const char *place,
			const char *reason)
{
	ck_assert_msg(load(spec, half) < 0, "%s is taken", spec);
	ck_assert_uint_eq(data.samples, 0);
	ck_assert_msg(strstr(error.text, place) != NULL, "no '%s' in: %s", place, error.text);
	ck_assert_msg(strstr(error.text, reason) != NULL, "no '%s' in: %s", reason, error.text);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-text-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[400];

	dataset_close(&data);
	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		(void)unlink(path); /* not the dots */
	}
	closedir(dir);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* Row `sample` must be these floats. */
static void check_row(uint32_t sample, const float *row)
{
	float got[16] = { 0 };

	ck_assert_uint_le(data.features, 16);
	dataset_gather(&data, &sample, 1, got);
	for (uint32_t f = 0; f < data.features; f++)
		ck_assert_double_eq_tol((double)got[f], (double)row[f], 1e-6);
}

static const float row_0[6] = { 0.5f, 0, 0, 0, 0, 2 }, row_2[6] = { 0, 0, -1, 0, 0, 0 };

START_TEST(sparse_text_loads_and_labels_become_classes)
{
	const uint32_t all[3] = { 0, 1, 2 };
	float targets[3];
	char text[200];

	put("a.gz", "# x\n+1 1:0.5 6:2\n-1\n+1 3:-1\n");
	put("a", "+1 1:0.5 6:2\n-1\n+1 3:-1\n");
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, 3);
	ck_assert_uint_eq(data.features, 6);
	ck_assert_uint_eq(data.classes, 2);
	ck_assert_ptr_nonnull(data.starts);
	check_row(0, row_0);
	check_row(2, row_2);
	dataset_targets(&data, true, all, 3, targets);
	ck_assert_double_eq((double)targets[0], 1);
	ck_assert_double_eq((double)targets[1], 0);
	dataset_targets(&data, false, all, 3, targets);
	ck_assert_double_eq((double)targets[1], -1);
	dataset_describe(&data, text, sizeof(text));
	ck_assert_str_eq(text, "3 samples, 6 features, 2 classes (-1, 1), sparse");
	uint64_t checksum = data.checksum;
	must_load("a.gz,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.checksum, checksum);
	static const char *const others[] = {
		"+1 1:0.5 6:2\n+1\n+1 3:-1\n", /* another label */
		"+1 1:0.5 6:2\n-1\n+1 3:-2\n", /* another value */
		"+1 1:0.5 6:2\n-1\n+1 4:-1\n", /* of another feature */
		"+1 1:0.5 6:2\n-1 3:-1\n+1\n", /* of another sample */
		"+1 1:0.5 7:2\n-1\n+1 3:-1\n", /* more features */
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		put("a", others[i]);
		must_load("a,holdout=0", DATASET_TRAIN);
		ck_assert_msg(data.checksum != checksum, "%zu", i);
	}
}
END_TEST

START_TEST(full_rows_are_kept_dense)
{
	static const float first[2] = { 1, 2 }, second[2] = { 3, 0 };

	put("a", "1 1:1 2:2\n2 1:3\n");
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert_ptr_nonnull(data.dense);
	ck_assert_ptr_null(data.starts);
	check_row(0, first);
	check_row(1, second);
}
END_TEST

START_TEST(csv_loads_by_its_name_or_by_its_first_line)
{
	static const char text[] = "x,kind,y\n1,7,2\n3,5,4\n";
	static const float first[2] = { 1, 2 };

	put("a.csv", text);
	put("b", text);
	put("c.tsv.gz", "x\tkind\ty\n1\t7\t2\n3\t5\t4\n");
	must_load("a.csv,label=kind,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.features, 2);
	ck_assert_double_eq((double)data.targets[1], 5);
	ck_assert_uint_eq(data.labels[0], 1);
	check_row(0, first);
	uint64_t checksum = data.checksum;
	must_load("b,label=kind,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.checksum, checksum);
	must_load("c.tsv.gz,label=kind,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.checksum, checksum);
	must_load("b,holdout=0", DATASET_TRAIN);
	ck_assert_double_eq((double)data.targets[1], 4);
	must_refuse("b,format=libsvm", DATASET_TRAIN, "b: line 1, column 1:", "not a number");
}
END_TEST

/* Whole numbers are classes as long as they are few; anything else only targets. */
START_TEST(values_are_told_from_classes)
{
	const struct iso_model linear = { ISO_MODEL_LINEAR, 1, 1, 0, 0 };
	const struct iso_model logistic = { ISO_MODEL_LOGISTIC, 1, 2, 0, 0 };
	const uint32_t first = 0;
	char text[257 * 12], line[16];
	float target;

	put("a", "0.5 1:1\n1 1:2\n");
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert_ptr_null(data.labels);
	ck_assert_uint_eq(data.classes, 1);
	ck_assert(dataset_fits(&data, &linear));
	ck_assert(!dataset_fits(&data, &logistic));
	dataset_targets(&data, false, &first, 1, &target);
	ck_assert_double_eq((double)target, 0.5);
	put("a", "3 1:1\n-4 1:2\n");
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert(dataset_fits(&data, &linear));
	ck_assert(dataset_fits(&data, &logistic));
	text[0] = '\0';
	for (int i = 0; i < 257; i++) {
		snprintf(line, sizeof(line), "%d 1:1\n", i);
		strncat(text, line, sizeof(text) - strlen(text) - 1);
		put("a", text);
		if (i < 254)
			continue;
		must_load("a,holdout=0", DATASET_TRAIN);
		ck_assert_uint_eq(data.classes, i < 256 ? (uint32_t)i + 1 : 1);
	}
}
END_TEST

/* As the model was trained with: features and classes of the training file. */
START_TEST(a_test_file_follows_the_training_file)
{
	static const float row[6] = { 0, 0, 0, 0, 9, 0 };

	put("a", "1 1:0.5 6:2\n2\n3 3:-1\n");
	put("a.t", "3 5:9 7:1\n1\n");
	must_load("a", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, 3);
	ck_assert_uint_eq(data.held_out, 0);
	must_load("a", DATASET_TEST);
	ck_assert_uint_eq(data.samples, 2);
	ck_assert_uint_eq(data.features, 6);
	ck_assert_uint_eq(data.classes, 3);
	ck_assert_uint_eq(data.labels[0], 2);
	ck_assert_uint_eq(data.foreign, 1);
	check_row(0, row);
	put("a.t", "# one\n3 5:9\n4\n");
	must_refuse("a", DATASET_TEST, "a.t: line 3:", "label 4");
	put("b.t", "2 2:1\n");
	must_load("a,test=b.t", DATASET_TEST);
	ck_assert_uint_eq(data.samples, 1);
	must_refuse("a,test=c.t", DATASET_TEST, "c.t:", "No such file");
	must_load("a,test=c.t", DATASET_TRAIN);
	must_load("a,holdout=0", DATASET_TEST);
	ck_assert_uint_eq(data.samples, 3);
}
END_TEST

START_TEST(a_test_file_is_found_by_its_name)
{
	static const struct {
		const char *train, *test;
	} names[] = {
		{ "a", "a.t" },
		{ "b.gz", "b.t" },
		{ "c", "c.t.gz" },
		{ "d.libsvm", "d-test.libsvm" },
		{ "e-train.libsvm.gz", "e-test.libsvm" },
		{ "f", "f-test.gz" },
	};
	char spec[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put(names[i].train, "1 1:1\n2 1:2\n");
		put(names[i].test, "2 1:7\n");
		snprintf(spec, sizeof(spec), "%s", names[i].train);
		must_load(spec, DATASET_TEST);
		ck_assert_msg(data.samples == 1, "%s: %u", names[i].train, data.samples);
	}
}
END_TEST

START_TEST(csv_of_other_columns_is_no_test_file)
{
	put("a.csv", "x,y\n1,2\n");
	put("a-test.csv", "y,x\n1,2\n");
	must_load("a.csv", DATASET_TRAIN);
	must_refuse("a.csv", DATASET_TEST, "a-test.csv: line 1:", "columns are not those");
}
END_TEST

START_TEST(a_held_out_part_is_the_same_everywhere_and_disjoint)
{
	char text[2000 * 12] = "";
	bool seen[2000] = { false };
	size_t length = 0;

	for (int i = 0; i < 2000; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%d.5 1:1\n", i);
	put("a", text);
	for (int half = DATASET_TRAIN; half <= DATASET_TEST; half++) {
		must_load("a,holdout=0.25", (enum dataset_half)half);
		ck_assert_uint_eq(data.samples + data.held_out, 2000);
		for (uint32_t j = 0; j < data.samples; j++) {
			int number = (int)data.targets[j];

			ck_assert(!seen[number]);
			seen[number] = true;
		}
	}
	/* Six standard deviations. */
	ck_assert_double_eq_tol(data.samples, 500, 120);
	must_load("a", DATASET_TEST);
	ck_assert_double_eq_tol(data.samples, 200, 81);
	put("a", "1 1:1\n");
	must_refuse("a", DATASET_TEST, "a:", "holdout");
}
END_TEST

START_TEST(samples_without_label_are_refused_or_left_out)
{
	put("a", "1 1:1\n1:5\n2 1:2\n");
	must_refuse("a,holdout=0", DATASET_TRAIN, "a: line 2, column 1:", "missing label");
	must_load("a,holdout=0,unlabelled=skip", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, 2);
	ck_assert_uint_eq(data.unlabelled, 1);
	put("a.csv", "x,y\n1,2\n3,\n");
	must_refuse("a.csv,holdout=0", DATASET_TRAIN, "a.csv: line 3,", "missing label");
	must_load("a.csv,holdout=0,unlabelled=skip", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, 1);
}
END_TEST

START_TEST(rows_are_scaled_to_unit_norm)
{
	static const float sparse[6] = { 0.6f, 0, 0, 0, 0, 0.8f }, dense[2] = { 0.6f, -0.8f };
	static const float zeros[6] = { 0 };

	put("a", "1 1:3 6:4\n1\n");
	must_load("a,holdout=0,scale=unit", DATASET_TRAIN);
	check_row(0, sparse);
	check_row(1, zeros);
	put("a.csv", "x,y,z\n3,-4,1\n0,0,1\n");
	must_load("a.csv,holdout=0,scale=unit", DATASET_TRAIN);
	check_row(0, dense);
	check_row(1, zeros);
}
END_TEST

START_TEST(malformed_files_are_named_with_line_and_reason)
{
	static const struct {
		const char *name, *text, *place, *reason;
	} cases[] = {
		{ "a", "1 1:1\n1 1:x\n", "a: line 2, column 5:", "not a number" },
		{ "a", "1 2:1 1:1\n", "a: line 1, column 7:", "not larger" },
		{ "a", "", "a: line 0:", "without a sample" },
		{ "a", "# nothing\n\n", "a: line 2:", "without a sample" },
		{ "a", "1\n2\n", "a:", "no feature" },
		{ "a", "\x1f\x8b\x08junkjunkjunk", "a: offset", "gzip" },
		{ "a.csv", "", "a.csv:", "empty" },
		{ "a.csv", "x,y\n", "a.csv: line 1:", "without a sample" },
		{ "a.csv", "1,2\n", "a.csv: line 1, column 1:", "no header" },
		{ "a.csv", "x,y\n1,2\n1\n", "a.csv: line 3, column 2:", "fewer fields" },
		{ "a.csv", "x,y\n1,nan\n", "a.csv: line 2, column 3:", "not a finite" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(cases[i].name, cases[i].text);
		must_refuse(cases[i].name, DATASET_TRAIN, cases[i].place, cases[i].reason);
	}
	ck_assert_int_eq(load("nowhere", DATASET_TRAIN), -ENOENT);
	char path[128];
	snprintf(path, sizeof(path), "%s/idx", folder);
	FILE *file = fopen(path, "wbe");
	ck_assert_uint_eq(fwrite("\0\0\x8\x3", 1, 4, file), 4);
	fclose(file);
	must_refuse("idx", DATASET_TRAIN, "idx: offset 0:", "folder");
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
	static const char *const cases[][2] = {
		{ "a,form=csv", "no option 'form'" },
		{ "a,format=xls", "idx, libsvm or csv" },
		{ "a,format", "OPTION=VALUE" },
		{ "a,", "OPTION=VALUE" },
		{ "a,=b", "OPTION=VALUE" },
		{ "a,holdout=1", "0 to 0.9" },
		{ "a,holdout=-0.1", "0 to 0.9" },
		{ "a,holdout=x", "0 to 0.9" },
		{ "a,holdout=nan", "0 to 0.9" },
		{ "a,test=", "a file" },
		{ "a,test=b,holdout=0.1", "one of both" },
		{ "a,label=", "name of a column" },
		{ "a,scale=2", "usual or unit" },
		{ "a,separator=;", "comma, semicolon or tab" },
		{ "a,unlabelled=no", "refuse or skip" },
		{ "a,format=idx", "IDX is a folder" },
		{ ".,format=csv", "IDX is a folder" },
		{ ".,label=x", "its own" },
	};

	put("a", "1 1:1\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_refuse(cases[i][0], DATASET_TRAIN, "data:", cases[i][1]);
	ck_assert_int_lt(dataset_spec_check("", &error), 0);
	ck_assert_int_eq(dataset_spec_check("/a,separator=tab,label=b c", &error), 0);
}
END_TEST

/* Room is made twice and more while lines without a sample wait to be dropped. */
START_TEST(comments_before_a_sample_that_needs_room_are_dropped_once)
{
	const uint32_t rows = 7, features = 5000;
	size_t room = (size_t)rows * features * 8, length = 0;
	char *text = malloc(room);

	for (uint32_t row = 0; row < rows; row++) {
		length += (size_t)snprintf(text + length, 64, "# row %u\n\n%u", row, row % 2);
		for (uint32_t i = 1; i <= features; i++)
			length += (size_t)snprintf(text + length, 16, " %u:%u", i, row);
		text[length++] = '\n';
	}
	ck_assert_uint_lt(length, room);
	text[length] = '\0';
	put("a", text);
	free(text);
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, rows);
	ck_assert_uint_eq(data.features, features);
	for (uint32_t row = 0; row < rows; row++)
		ck_assert_double_eq((double)data.dense[(row + 1) * features - 1], row);
}
END_TEST

/* Longer than what is read at once, so that lines lie across pieces. */
START_TEST(long_files_and_lines_are_read_whole)
{
	size_t size = 3 << 20, length = 0;
	char *text = malloc(size + 64);
	uint64_t features = 0;

	length = (size_t)snprintf(text, 64, "1");
	while (length < size / 2)
		length +=
		    (size_t)snprintf(text + length, 64, " %llu:1", (unsigned long long)++features);
	text[length++] = '\n';
	uint32_t rows = 1;
	for (; length < size; rows++)
		length += (size_t)snprintf(text + length, 64, "%u 1:%u.25 2:2 # comment\n",
					   rows % 2, rows);
	text[length] = '\0';
	put("a", text);
	free(text);
	must_load("a,holdout=0", DATASET_TRAIN);
	ck_assert_uint_eq(data.samples, rows);
	ck_assert_uint_eq(data.features, features);
	ck_assert_uint_eq(data.starts[rows], features + 2ull * (rows - 1));
	ck_assert_double_eq((double)data.values[features + 2ull * (rows - 2)], rows - 0.75);
}
END_TEST

START_TEST(heart_scale_is_what_it_should_be)
{
	char text[200];

	if (access(HEART, R_OK) != 0)
		return; /* of an optional package, liblinear-tools */
	ck_assert_int_eq(dataset_open(HEART ",holdout=0", DATASET_TRAIN, &data, &error), 0);
	dataset_describe(&data, text, sizeof(text));
	ck_assert_str_eq(text, "270 samples, 13 features, 2 classes (-1, 1), dense");
	float row[13];
	dataset_gather(&data, &(uint32_t){ 1 }, 1, row);
	ck_assert_double_eq_tol((double)row[0], 0.583333, 1e-7);
	ck_assert_double_eq((double)row[12], 1);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("dataset_text");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sparse_text_loads_and_labels_become_classes);
	tcase_add_test(tcase, full_rows_are_kept_dense);
	tcase_add_test(tcase, csv_loads_by_its_name_or_by_its_first_line);
	tcase_add_test(tcase, values_are_told_from_classes);
	tcase_add_test(tcase, a_test_file_follows_the_training_file);
	tcase_add_test(tcase, a_test_file_is_found_by_its_name);
	tcase_add_test(tcase, csv_of_other_columns_is_no_test_file);
	tcase_add_test(tcase, a_held_out_part_is_the_same_everywhere_and_disjoint);
	tcase_add_test(tcase, samples_without_label_are_refused_or_left_out);
	tcase_add_test(tcase, rows_are_scaled_to_unit_norm);
	tcase_add_test(tcase, malformed_files_are_named_with_line_and_reason);
	tcase_add_test(tcase, options_that_make_no_sense_are_refused);
	tcase_add_test(tcase, comments_before_a_sample_that_needs_room_are_dropped_once);
	tcase_add_test(tcase, long_files_and_lines_are_read_whole);
	tcase_add_test(tcase, heart_scale_is_what_it_should_be);
	suite_add_tcase(suite, tcase);
	return suite;
}
