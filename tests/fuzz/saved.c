/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of this group the corpus speaks. */
#define GROUP_ID 4711

/* The limit of before is read whole, or nothing of the group changes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static struct cgroup cgroup, before;
	struct error error = { 0 };
	bool found = true;

	memset(&cgroup, 0x5a, sizeof(cgroup));
	cgroup.id = GROUP_ID;
	fuzz_memory_write(&fd, cgroup.saved_path, data, size);
	memcpy(&before, &cgroup, sizeof(before));
	int r = cgroup_saved_load(&cgroup, &found, &error);
	if (r < 0) {
		assert(r == -EBADMSG && error.code == r);
		assert(strstr(error.text, cgroup.saved_path) != NULL);
	}
	assert(r == 0 || !found);
	if (!found) {
		assert(memcmp(&cgroup, &before, sizeof(before)) == 0);
		return 0;
	}
	assert(cgroup.original.period_us > 0);
	assert(cgroup.created_top <= CGROUP_DEPTH_MAX);
	before.original = cgroup.original;
	before.original_burst_us = cgroup.original_burst_us;
	before.created_top = cgroup.created_top;
	assert(memcmp(&cgroup, &before, sizeof(before)) == 0);
	return 0;
}
