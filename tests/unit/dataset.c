/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_idx.h"
#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define FASHION "/usr/share/datasets/fashion-mnist"

static char folder[64];
static char images[128], labels[128];

/* 3 images of 2 x 2 and their labels. */
static const uint8_t image_bytes[28] = { 0, 0, 8, 3, 0, 0, 0, 3,  0,  0,  0,  2,  0,  0,
					 0, 2, 1, 2, 3, 4, 5, 6,  7,  8,  9,  10, 11, 12 };
static const uint8_t label_bytes[11] = { 0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 2 };

static void put(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "wbe");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-dataset-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(images, sizeof(images), "%s/train-images-idx3-ubyte", folder);
	snprintf(labels, sizeof(labels), "%s/train-labels-idx1-ubyte", folder);
	put(images, image_bytes, sizeof(image_bytes));
	put(labels, label_bytes, sizeof(label_bytes));
}

static void teardown(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[400];

	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		(void)unlink(path); /* not the dots */
	}
	closedir(dir);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* The load must fail, say all of these, and leave the dataset alone. */
static void check_refused(const char *file, const char *offset, const char *reason)
{
	struct dataset dataset = { .samples = 4711 };
	struct error error = { 0 };

	ck_assert_int_lt(dataset_idx_load(images, labels, &dataset, &error), 0);
	ck_assert_uint_eq(dataset.samples, 4711);
	ck_assert_msg(strstr(error.text, file) != NULL, "no file in: %s", error.text);
	ck_assert_msg(strstr(error.text, offset) != NULL, "no offset in: %s", error.text);
	ck_assert_msg(strstr(error.text, reason) != NULL, "no reason in: %s", error.text);
}

START_TEST(plain_files_load)
{
	struct dataset dataset;
	struct error error;

	ck_assert_int_eq(dataset_idx_load(images, labels, &dataset, &error), 0);
	ck_assert_uint_eq(dataset.samples, 3);
	ck_assert_uint_eq(dataset.features, 4);
	ck_assert_uint_eq(dataset.classes, 5);
	ck_assert_mem_eq(dataset.pixels, image_bytes + 16, 12);
	ck_assert_mem_eq(dataset.labels, label_bytes + 8, 3);
	dataset_close(&dataset);
	ck_assert_ptr_null(dataset.pixels);
	dataset_close(&dataset);
}
END_TEST

START_TEST(gzip_in_a_folder_loads_the_same)
{
	struct dataset plain, zipped;
	struct error error;
	char path[160];

	ck_assert_int_eq(dataset_open(folder, DATASET_TRAIN, &plain, &error), 0);
	snprintf(path, sizeof(path), "%s.gz", images);
	gzFile file = gzopen(path, "wbe");
	ck_assert_int_eq(gzwrite(file, image_bytes, sizeof(image_bytes)), sizeof(image_bytes));
	ck_assert_int_eq(gzclose(file), Z_OK);
	ck_assert_int_eq(unlink(images), 0);
	ck_assert_int_eq(dataset_open(folder, DATASET_TRAIN, &zipped, &error), 0);
	ck_assert_mem_eq(plain.pixels, zipped.pixels, 12);
	ck_assert_uint_eq(plain.checksum, zipped.checksum);
	dataset_close(&plain);
	dataset_close(&zipped);
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &plain, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "t10k-images-idx3-ubyte"));
}
END_TEST

/* It may lack the last class; the model needs all of them. */
START_TEST(the_test_half_has_the_classes_of_the_training_half)
{
	static const uint8_t test_labels[11] = { 0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 2 };
	struct dataset dataset;
	struct error error;
	char path[160];

	snprintf(path, sizeof(path), "%s/t10k-images-idx3-ubyte", folder);
	put(path, image_bytes, sizeof(image_bytes));
	snprintf(path, sizeof(path), "%s/t10k-labels-idx1-ubyte", folder);
	put(path, test_labels, sizeof(test_labels));
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &dataset, &error), 0);
	ck_assert_uint_eq(dataset.classes, 5);
	ck_assert_mem_eq(dataset.labels, test_labels + 8, 3);
	dataset_close(&dataset);
	put(labels, label_bytes, 10);
	ck_assert_int_lt(dataset_open(folder, DATASET_TEST, &dataset, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.text, "train-labels-idx1-ubyte: offset 10:"));
	/* A coordinator may have nothing else. */
	ck_assert_int_eq(unlink(labels), 0);
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &dataset, &error), 0);
	ck_assert_uint_eq(dataset.classes, 3);
	dataset_close(&dataset);
}
END_TEST

/* A model of the training half would be measured beyond its own arrays. */
START_TEST(a_test_half_of_other_images_or_classes_is_refused)
{
	static const uint8_t wide[22] = { 0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3 };
	static const uint8_t one[9] = { 0, 0, 8, 1, 0, 0, 0, 1, 0 };
	static const uint8_t above[11] = { 0, 0, 8, 1, 0, 0, 0, 3, 1, 5, 2 };
	struct dataset dataset = { .samples = 4711 };
	struct error error;
	char test_images[160], test_labels[160];

	snprintf(test_images, sizeof(test_images), "%s/t10k-images-idx3-ubyte", folder);
	snprintf(test_labels, sizeof(test_labels), "%s/t10k-labels-idx1-ubyte", folder);
	put(test_images, wide, sizeof(wide));
	put(test_labels, one, sizeof(one));
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &dataset, &error), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error.text, "t10k-images-idx3-ubyte: offset 8: 6 values an "
						 "image, but 4 in "));
	put(test_images, image_bytes, sizeof(image_bytes));
	put(test_labels, above, sizeof(above));
	ck_assert_int_eq(dataset_open(folder, DATASET_TEST, &dataset, &error), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(error.text, "t10k-labels-idx1-ubyte: offset 9: label 5, but 4 "
						 "is the largest in "));
	ck_assert_uint_eq(dataset.samples, 4711);
}
END_TEST

START_TEST(damage_is_named_with_file_offset_and_reason)
{
	uint8_t bytes[64] = { 0 };

	memcpy(bytes, image_bytes, sizeof(image_bytes));
	for (size_t size = 0; size < 16; size += 5) {
		char offset[32];

		snprintf(offset, sizeof(offset), "offset %zu:", size);
		put(images, bytes, size);
		check_refused(images, offset, "cut off");
	}
	put(images, bytes, 27);
	check_refused(images, "offset 27:", "cut off");
	put(images, bytes, 29);
	check_refused(images, "offset 28:", "behind the last value");
	bytes[1] = 'P';
	put(images, bytes, 28);
	check_refused(images, "offset 1:", "not an IDX file");
	bytes[1] = 0;
	bytes[2] = 0x0b;
	put(images, bytes, 28);
	check_refused(images, "offset 2:", "unsigned bytes");
	bytes[2] = 8;
	bytes[4] = 0x7f; /* two thousand million images */
	put(images, bytes, 28);
	check_refused(images, "offset 4:", "out of range");
	put(images, image_bytes, sizeof(image_bytes));
	memcpy(bytes, label_bytes, sizeof(label_bytes));
	bytes[7] = 2;
	put(labels, bytes, 10);
	check_refused(labels, "offset 4:", "2 labels for 3 images");
	put(labels, image_bytes, sizeof(image_bytes));
	check_refused(labels, "offset 3:", "3 dimensions");
	put(labels, label_bytes, sizeof(label_bytes));
	put(images, label_bytes, sizeof(label_bytes));
	check_refused(images, "offset 3:", "2 dimensions or more");
	ck_assert_int_eq(unlink(labels), 0);
	put(images, image_bytes, sizeof(image_bytes));
	check_refused(labels, "", "No such file");
}
END_TEST

/* One value or nothing behind the header, which is read in one go with it. */
START_TEST(tiny_files_load_and_are_measured_right)
{
	uint8_t one_label[10] = { 0, 0, 8, 1, 0, 0, 0, 1, 3 };
	uint8_t one_image[17] = { 0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9 };
	struct dataset dataset;
	struct error error;

	put(images, one_image, 17);
	put(labels, one_label, 9);
	ck_assert_int_eq(dataset_idx_load(images, labels, &dataset, &error), 0);
	ck_assert_uint_eq(dataset.samples, 1);
	ck_assert_uint_eq(dataset.pixels[0], 9);
	dataset_close(&dataset);
	put(labels, one_label, 10);
	check_refused(labels, "offset 9:", "behind the last value");
	put(labels, one_label, 8);
	check_refused(labels, "offset 8:", "cut off");
}
END_TEST

/* The images as a gzip'd file; how many bytes. */
static size_t gzip_images(uint8_t bytes[256])
{
	gzFile file = gzopen(images, "wbe");

	ck_assert_int_gt(gzwrite(file, image_bytes, sizeof(image_bytes)), 0);
	ck_assert_int_eq(gzclose(file), Z_OK);
	FILE *in = fopen(images, "rbe");
	size_t size = fread(bytes, 1, 256, in);
	fclose(in);
	return size;
}

static void must_load(void)
{
	struct dataset dataset;
	struct error error;

	ck_assert_msg(dataset_idx_load(images, labels, &dataset, &error) == 0, "%s", error.text);
	ck_assert_mem_eq(dataset.pixels, image_bytes + 16, 12);
	dataset_close(&dataset);
}

/* Offsets are those of the file as it is stored. */
START_TEST(damaged_gzip_is_named)
{
	uint8_t bytes[256], twice[512] = { 0 };
	size_t size = gzip_images(bytes);
	char offset[32];

	for (size_t cut = 2; cut < size; cut++) {
		snprintf(offset, sizeof(offset), "offset %zu: ", cut);
		put(images, bytes, cut);
		check_refused(images, offset, ": gzip data is cut off");
	}
	put(images, bytes, size);
	must_load();
	bytes[size - 6] ^= 1; /* its checksum */
	put(images, bytes, size);
	snprintf(offset, sizeof(offset), "offset %zu: ", size - 4);
	check_refused(images, offset, ": damaged gzip data: incorrect data check");
	bytes[size - 6] ^= 1;
	bytes[2] = 7; /* the method */
	put(images, bytes, size);
	check_refused(images, "offset", ": damaged gzip data: unknown compression method");
	bytes[2] = 8;

	/* Zeros may follow, and nothing else. */
	memcpy(twice, bytes, size);
	put(images, twice, size + 100);
	must_load();
	for (size_t behind = 0; behind < 2; behind++) {
		twice[size + behind] = 'x';
		put(images, twice, size + behind + 1);
		snprintf(offset, sizeof(offset), "offset %zu: ", size + behind);
		check_refused(images, offset, ": bytes behind the gzip data");
		twice[size + behind] = 0;
	}
}
END_TEST

/* As gzip makes one file of two. */
START_TEST(gzip_of_several_members_is_read_on)
{
	uint8_t bytes[256];
	gzFile file = gzopen(images, "wbe");

	ck_assert_int_eq(gzwrite(file, image_bytes, 20), 20);
	ck_assert_int_eq(gzclose(file), Z_OK);
	file = gzopen(images, "abe");
	ck_assert_int_eq(gzwrite(file, image_bytes + 20, 8), 8);
	ck_assert_int_eq(gzclose(file), Z_OK);
	must_load();
	FILE *in = fopen(images, "rbe");
	size_t size = fread(bytes, 1, 256, in);
	fclose(in);
	put(images, bytes, size - 3);
	check_refused(images, "offset", "gzip data is cut off");
}
END_TEST

START_TEST(fashion_mnist_is_what_it_should_be)
{
	struct dataset dataset;
	struct error error;

	if (access(FASHION, R_OK) != 0)
		return; /* an optional package: the others test the code */
	ck_assert_msg(dataset_open(FASHION, DATASET_TEST, &dataset, &error) == 0, "%s",
		      error.text);
	ck_assert_uint_eq(dataset.samples, 10000);
	ck_assert_uint_eq(dataset.features, 784);
	ck_assert_uint_eq(dataset.classes, 10);
	uint32_t counts[10] = { 0 };
	for (uint32_t i = 0; i < dataset.samples; i++)
		counts[dataset.labels[i]]++;
	for (int c = 0; c < 10; c++)
		ck_assert_uint_eq(counts[c], 1000);
	dataset_close(&dataset);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("dataset");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, plain_files_load);
	tcase_add_test(tcase, gzip_in_a_folder_loads_the_same);
	tcase_add_test(tcase, the_test_half_has_the_classes_of_the_training_half);
	tcase_add_test(tcase, a_test_half_of_other_images_or_classes_is_refused);
	tcase_add_test(tcase, damage_is_named_with_file_offset_and_reason);
	tcase_add_test(tcase, tiny_files_load_and_are_measured_right);
	tcase_add_test(tcase, damaged_gzip_is_named);
	tcase_add_test(tcase, gzip_of_several_members_is_read_on);
	tcase_add_test(tcase, fashion_mnist_is_what_it_should_be);
	suite_add_tcase(suite, tcase);
	return suite;
}
