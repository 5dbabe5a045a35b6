/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_SECOND_H
#define ISO_TESTS_SECOND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <check.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/vectorfile.h"

/*
 * What the two halves of the second implementation share; see second.c.  No
 * header of the library may be used here.
 */

#define TWO_62	     ((int64_t)1 << 62)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Suite *test_suite(void);

static inline uint64_t get(const uint8_t *at, unsigned size)
{
	uint64_t value = 0;

	while (size-- > 0)
		value = value << 8 | at[size];
	return value;
}

static inline void put(uint8_t *at, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t checksum(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

/* A row of a table: offset, size and name; what the code of a table checks besides. */
struct row {
	unsigned at, size;
	const char *name;
};

static inline uint64_t mask(unsigned size)
{
	return size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
}

static inline void check_rows(struct vectorfile *file, const char *prefix, const struct row *rows,
			      size_t count, const uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s", prefix, rows[i].name);
		uint64_t said = vectorfile_number(file, key) & mask(rows[i].size);
		ck_assert_msg(get(bytes + rows[i].at, rows[i].size) == said, "%s: %s", file->name,
			      key);
	}
}

static inline void fill_rows(struct vectorfile *file, const char *prefix, const struct row *rows,
			     size_t count, uint8_t *bytes)
{
	for (size_t i = 0; i < count; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s", prefix, rows[i].name);
		put(bytes + rows[i].at, vectorfile_number(file, key), rows[i].size);
	}
}

#endif
