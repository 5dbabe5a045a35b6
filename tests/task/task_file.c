/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/task/task_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/test.h"

#define BYTES_MAX (1u << 20)

void task_file(const char *name, const char *fault, const char *path)
{
	const char *builddir = getenv("top_builddir");
	char from[256];
	char *bytes = malloc(BYTES_MAX);

	ck_assert_ptr_nonnull(bytes);
	snprintf(from, sizeof(from), "%s/tests/task/%s.so", builddir != NULL ? builddir : ".",
		 name);
	FILE *file = fopen(from, "re");
	ck_assert_msg(file != NULL, "%s is not built", from);
	size_t size = fread(bytes, 1, BYTES_MAX, file);
	fclose(file);
	ck_assert_uint_lt(size, BYTES_MAX);
	if (fault != NULL) {
		char *order = memmem(bytes, size, "hostile:    ", 12);

		ck_assert_ptr_nonnull(order);
		memcpy(order + 8, fault, strlen(fault));
	}
	/* Another file, not the same one with other bytes: it may be loaded. */
	(void)remove(path);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0644), 0);
	free(bytes);
}

bool task_file_under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload != NULL && strstr(preload, "vgpreload") != NULL;
}
