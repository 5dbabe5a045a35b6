/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/modelfile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "tests/test.h"

#define PARAMS 9u /* logistic regression of 8 features */
#define BYTES  (64u + PARAMS * 8u + 8u)

static char folder[64], path[96];
static double params[PARAMS];
static struct modelfile file;
static struct error error;

static void setup(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-model.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/model", folder);
	for (unsigned i = 0; i < PARAMS; i++)
		params[i] = 1.0 / (i + 1);
	file = (struct modelfile){
		.model = { ISO_MODEL_LOGISTIC, PARAMS - 1, 2, 0, 0.25f },
		.round = 1ull << 40,
		.plan = 0xfedcba9876543210u,
		.params = params,
	};
	ck_assert_int_eq(modelfile_write(folder, &file, &error), 0);
}

static void teardown(void)
{
	(void)unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void read_bytes(uint8_t bytes[BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, bytes, BYTES), BYTES);
	close(fd);
}

static void write_bytes(const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static void refuses(int code, const char *why)
{
	struct modelfile read, poisoned;

	memset(&read, 0x5a, sizeof(read));
	memset(&poisoned, 0x5a, sizeof(poisoned));
	ck_assert_int_eq(modelfile_read(folder, &read, &error), code);
	ck_assert_mem_eq(&read, &poisoned, sizeof(read));
	ck_assert_msg(strstr(error.text, why) != NULL && strstr(error.text, path) != NULL, "%s",
		      error.text);
}

/* As written, with the checksum that belongs to it. */
static void write_valid(uint8_t bytes[BYTES])
{
	iso_put_le(bytes + BYTES - 8, iso_checksum(bytes, BYTES - 8), 8);
	write_bytes(bytes, BYTES);
}

START_TEST(reads_what_it_writes)
{
	struct modelfile read;

	ck_assert_msg(modelfile_read(folder, &read, &error) == 0, "%s", error.text);
	ck_assert_int_eq(read.model.kind, ISO_MODEL_LOGISTIC);
	ck_assert_uint_eq(read.model.features, PARAMS - 1);
	ck_assert_uint_eq(read.round, file.round);
	ck_assert_uint_eq(read.plan, file.plan);
	ck_assert_mem_eq(read.params, params, sizeof(params));
	free(read.params);
}
END_TEST

/* isobar-worker(8) has this layout for others. */
START_TEST(is_laid_out_as_the_manual_says)
{
	uint8_t bytes[BYTES];

	read_bytes(bytes);
	ck_assert_mem_eq(bytes, "isomodel", 8);
	ck_assert_uint_eq(iso_get_le(bytes + 8, 4), 1);
	ck_assert_uint_eq(iso_get_le(bytes + 12, 4), 5);
	ck_assert_uint_eq(iso_get_le(bytes + 16, 4), PARAMS - 1);
	ck_assert_uint_eq(iso_get_le(bytes + 20, 4), 2);
	ck_assert_uint_eq(iso_get_le(bytes + 24, 8), 0);
	ck_assert_uint_eq(iso_get_le(bytes + 32, 8), PARAMS);
	ck_assert_uint_eq(iso_get_le(bytes + 40, 8), file.round);
	ck_assert_uint_eq(iso_get_le(bytes + 48, 8), file.plan);
	ck_assert_double_eq(iso_double_of_bits(iso_get_le(bytes + 56, 8)), 0.25);
	ck_assert_double_eq(iso_double_of_bits(iso_get_le(bytes + 64 + 8, 8)), 0.5);
	ck_assert_uint_eq(iso_get_le(bytes + BYTES - 8, 8), iso_checksum(bytes, BYTES - 8));
}
END_TEST

START_TEST(every_bit_that_is_wrong_is_noticed)
{
	uint8_t bytes[BYTES];

	read_bytes(bytes);
	for (unsigned i = 0; i < BYTES; i++) {
		bytes[i] ^= 0x10;
		write_bytes(bytes, BYTES);
		refuses(-EBADMSG, "it");
		bytes[i] ^= 0x10;
	}
}
END_TEST

START_TEST(what_cannot_be_is_refused_whatever_its_checksum)
{
	uint8_t good[BYTES], bytes[BYTES];

	read_bytes(good);
	write_bytes(good, 70);
	refuses(-EBADMSG, "no model of ours by its size");
	memcpy(bytes, good, BYTES);
	bytes[8] = 2;
	write_valid(bytes);
	refuses(-EBADMSG, "another version");
	memcpy(bytes, good, BYTES);
	bytes[12] = 77; /* kind */
	write_valid(bytes);
	refuses(-EBADMSG, "its numbers do not go together");
	memcpy(bytes, good, BYTES);
	bytes[16]++; /* features */
	write_valid(bytes);
	refuses(-EBADMSG, "its numbers do not go together");
	memcpy(bytes, good, BYTES);
	iso_put_le(bytes + 64, iso_bits_of_double((double)INFINITY), 8);
	write_valid(bytes);
	refuses(-EBADMSG, "a parameter is no number");
}
END_TEST

START_TEST(that_there_is_none_is_no_damage)
{
	ck_assert_int_eq(unlink(path), 0);
	refuses(-ENOENT, "No such file");
	file.round = 7;
	ck_assert_int_eq(modelfile_write(folder, &file, &error), 0);
	ck_assert_int_eq(modelfile_write("/nowhere/at/all", &file, &error), -ENOENT);
	ck_assert_str_eq(error.text, "write '/nowhere/at/all/model': No such file or directory");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("modelfile");
	TCase *tcase = tcase_create("file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, reads_what_it_writes);
	tcase_add_test(tcase, is_laid_out_as_the_manual_says);
	tcase_add_test(tcase, every_bit_that_is_wrong_is_noticed);
	tcase_add_test(tcase, what_cannot_be_is_refused_whatever_its_checksum);
	tcase_add_test(tcase, that_there_is_none_is_no_damage);
	suite_add_tcase(suite, tcase);
	return suite;
}
