/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_FUZZ_MEMORY_H
#define TESTS_FUZZ_MEMORY_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A file in memory for readers that take a path.  Made at the first call
 * (*fd < 0), then overwritten: no input leaves anything behind.
 */

#define FUZZ_MEMORY_PATH_BYTES 64

static inline void fuzz_memory_write(int *fd, char path[FUZZ_MEMORY_PATH_BYTES],
				     const uint8_t *data, size_t size)
{
	if (*fd < 0) {
		*fd = memfd_create("input", MFD_CLOEXEC);
		assert(*fd >= 0);
		int r = fchmod(*fd, 0600);
		assert(r == 0);
	}
	snprintf(path, FUZZ_MEMORY_PATH_BYTES, "/proc/self/fd/%d", *fd);
	int r = ftruncate(*fd, 0);
	assert(r == 0);
	ssize_t count = pwrite(*fd, data, size, 0);
	assert(count == (ssize_t)size);
}

#endif
